"""Hunks between texts, and pieces of lines made whole."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from git_tmem.changes import Hunk, complete, hunk_of

words = st.text(st.sampled_from("ab c"), max_size=6)
texts = st.lists(words, max_size=8).map("\n".join)


@given(texts, texts)
def test_a_hunk_turns_one_text_into_the_other(before: str, after: str) -> None:
    hunk = hunk_of(before, after)
    old, new = before.splitlines(), after.splitlines()
    start = next(
        (at for at in range(len(old) + 1) if old[:at] == new[:at] and old[at:][: len(hunk.removed)]
         == list(hunk.removed) and [*old[:at], *hunk.added, *old[at + len(hunk.removed) :]] == new),
        None,
    )  # fmt: skip
    assert start is not None


@given(texts)
def test_equal_texts_have_an_empty_hunk(text: str) -> None:
    assert hunk_of(text, text) == Hunk((), ())


def test_a_piece_of_a_line_becomes_the_line_it_is_in() -> None:
    lines = ["def f():", "    return self.lines.get(name, 0)", "end"]
    assert complete(Hunk(("pop(name)",), ("get(name, 0)",), True), lines) == Hunk(
        ("pop(name)",), ("    return self.lines.get(name, 0)",)
    )
    both = Hunk((), ("f():", "    return self.lines"), True)
    assert complete(both, lines).added == tuple(lines[:2])


def test_a_piece_that_is_not_there_stays_a_piece() -> None:
    gone = Hunk(("a",), ("nowhere",), True)
    assert complete(gone, ["x", "y"]) == gone
    whole = Hunk((), ("x",))
    assert complete(whole, ["max"]) == whole


@given(st.lists(words.filter(str.strip), min_size=1, max_size=6), st.data())
def test_whole_lines_stay_as_they_are(lines: list[str], data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(lines) - 1))
    end = data.draw(st.integers(start + 1, len(lines)))
    found = complete(Hunk((), tuple(lines[start:end]), True), lines)
    assert not found.partial
    assert len(found.added) == end - start
    assert all(piece in line for piece, line in zip(lines[start:end], found.added, strict=True))
