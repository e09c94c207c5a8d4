"""Merging stores: laws over random histories, and the table of cases."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from git_tmem.merge import RECORD_PATH, merge_lines, merge_trees, record_path

IDS = [f"{number:02x}" + "ab" * 31 for number in range(6)]
BLOBS = [f"{number:040x}" for number in range(4)]


@st.composite
def stores(draw: st.DrawFn) -> dict[str, str]:
    """A store that obeys its own rules: a forgotten record is not among the living."""
    gone = draw(st.dictionaries(st.sampled_from(IDS), st.sampled_from(BLOBS)))
    living = draw(st.sets(st.sampled_from(IDS))) - set(gone)
    tree = {record_path("gone", name): blob for name, blob in gone.items()}
    # One id has one content, so one blob.
    tree |= {record_path("mem", name): BLOBS[IDS.index(name) % 4] for name in living}
    return tree


@given(stores(), stores())
def test_it_does_not_matter_who_merges_whom(ours: dict[str, str], theirs: dict[str, str]) -> None:
    assert merge_trees(ours, theirs) == merge_trees(theirs, ours)


@given(stores(), stores(), stores())
def test_it_does_not_matter_in_which_order(
    one: dict[str, str], two: dict[str, str], three: dict[str, str]
) -> None:
    assert merge_trees(merge_trees(one, two), three) == merge_trees(one, merge_trees(two, three))


@given(stores(), stores())
def test_merging_again_changes_nothing(ours: dict[str, str], theirs: dict[str, str]) -> None:
    merged = merge_trees(ours, theirs)
    assert merge_trees(merged, theirs) == merged
    assert merge_trees(merged, merged) == merged


@given(stores(), stores())
def test_nothing_is_lost_but_what_was_forgotten(
    ours: dict[str, str], theirs: dict[str, str]
) -> None:
    merged = merge_trees(ours, theirs)
    gone = {name for name in IDS if record_path("gone", name) in {**ours, **theirs}}
    for name in IDS:
        living = record_path("mem", name)
        assert (record_path("gone", name) in merged) == (name in gone)
        assert (living in merged) == (living in {**ours, **theirs} and name not in gone)


def test_a_tombstone_wins_over_a_record_and_not_over_the_one_that_superseded_it() -> None:
    old, new = IDS[0], IDS[1]
    ours = {record_path("mem", old): BLOBS[0], record_path("mem", new): BLOBS[1]}
    theirs = {record_path("gone", old): BLOBS[2]}
    assert merge_trees(ours, theirs) == {
        record_path("gone", old): BLOBS[2],
        record_path("mem", new): BLOBS[1],
    }


def test_note_lines_are_united_and_the_forgotten_ones_left_out() -> None:
    gone = "a" * 64
    ours = ["bbbbbbbbbbbb two", "aaaaaaaaaaaa one", ""]
    theirs = ["cccccccccccc three", "bbbbbbbbbbbb two"]
    assert merge_lines(ours, theirs, [gone]) == ["bbbbbbbbbbbb two", "cccccccccccc three"]


def test_only_the_names_of_records_are_names_of_records() -> None:
    good = record_path("mem", IDS[0])
    assert RECORD_PATH.fullmatch(good)
    for bad in (
        good.replace("mem/00", "mem/01"),
        good.upper(),
        f"../{good}",
        f"{good}\n",
        good.replace(".json", ""),
        f"mem/{IDS[0]}.json",
        "mem/.git/config",
        "gone/00/../x.json",
    ):
        assert not RECORD_PATH.fullmatch(bad), bad
