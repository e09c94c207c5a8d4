"""Evidence from channels becomes one score, the same in every run."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from git_tmem.query import FIELDS, Match
from git_tmem.ranking import (
    EXACT_ERROR,
    FLOOR,
    NEAR_ERROR,
    PATH,
    SYMBOL,
    Evidence,
    fuse,
    score_words,
    shared,
)

evidence = st.builds(Evidence, st.sampled_from("abc"), st.integers(0, 10**6), st.just("why"))


@given(st.dictionaries(st.integers(0, 9), st.lists(evidence, min_size=1, max_size=4)))
def test_more_evidence_never_lowers_and_order_never_matters(
    found: dict[int, list[Evidence]],
) -> None:
    whole = {hit.number: hit.score for hit in fuse(found)}
    turned = {hit.number: hit.score for hit in fuse({n: e[::-1] for n, e in found.items()})}
    assert whole == turned
    for number, items in found.items():
        assert whole[number] >= max(item.score for item in items)
        (less,) = fuse({number: items[1:] or items})
        assert less.score <= whole[number]


def test_an_exact_error_outdoes_a_like_one_and_weak_hints_together() -> None:
    weak = [
        Evidence("words", FLOOR, ""),
        Evidence("path", PATH, ""),
        Evidence("symbol", SYMBOL, ""),
    ]
    (hints,) = fuse({1: weak})
    (like,) = fuse({2: [Evidence("error", NEAR_ERROR, "")]})
    (exact,) = fuse({3: [Evidence("error", EXACT_ERROR, "")]})
    assert exact.score > like.score
    assert exact.score > hints.score
    assert like.passes


@given(st.integers(1, 10**6), st.integers(1, 1000))
def test_what_more_records_share_is_worth_less(score: int, records: int) -> None:
    assert shared(score, 1) == score
    assert shared(score, records + 1) <= shared(score, records)


def match(number: int, *words: str) -> Match:
    return Match(number, ([], list(words), *([] for _ in FIELDS[2:])))


def known(**counts: int) -> dict[str, tuple[int, ...]]:
    """Frequencies of words that stand in the intent alone."""
    return {word: (n, 0, n, *(0 for _ in FIELDS[2:])) for word, n in counts.items()}


def test_words_must_cover_a_good_part_of_what_was_asked() -> None:
    frequency = known(cart=1, total=1)
    asked = ["cart", "total", "deploy", "cluster", "kubernetes", "fail"]
    found = score_words(asked, [match(1, "cart", "total")], frequency, 100)
    assert found[1].score < FLOOR
    found = score_words(["cart", "total"], [match(1, "cart", "total")], frequency, 100)
    assert found[1].score > FLOOR


def test_a_rare_word_counts_for_more_than_a_common_one() -> None:
    frequency = known(the=90, cart=2, x=2)
    asked = ["the", "cart", "x"]
    found = score_words(asked, [match(1, "cart", "x"), match(2, "the", "x")], frequency, 100)
    assert found[1].score > found[2].score


def test_one_common_word_of_many_is_no_evidence() -> None:
    assert score_words(["a", "b", "c"], [match(1, "a")], known(a=1), 10) == {}


def test_a_long_field_cannot_drown_a_short_one() -> None:
    frequency = {"cart": (2, 1, 0, 0, 0, 1, 0, 0), "total": (2, 1, 0, 0, 0, 1, 0, 0)}
    title = Match(1, (["cart", "total"], [], [], [], [], [], []))
    diff = Match(2, ([], [], [], [], ["cart", "total"] * 50, [], []))
    found = score_words(["cart", "total"], [title, diff], frequency, 100)
    assert found[1].score > found[2].score
