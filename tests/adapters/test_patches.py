"""Hunks out of texts and patches."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from git_tmem.actions import EDIT_LINES
from git_tmem.adapters.patches import (
    FileEdit,
    clip_hunks,
    marked,
    parse_patch,
    replaced,
    unified,
    written,
)
from git_tmem.changes import Hunk

LINES = st.lists(st.text(st.sampled_from("abc "), max_size=3), max_size=8)
HUNKS = st.lists(st.builds(Hunk, LINES.map(tuple), LINES.map(tuple), st.just(False)), max_size=5)


def test_each_run_of_marked_lines_is_a_hunk_without_its_context() -> None:
    lines = [" a", "-b", "+c", " d", "+e\r", "\\ No newline at end of file"]
    assert marked(lines) == [Hunk(("b",), ("c",)), Hunk((), ("e",))]


def test_a_line_that_is_no_text_ends_a_run() -> None:
    assert marked(["-a", None, "-b", 7]) == [Hunk(("a",), ()), Hunk(("b",), ())]


@given(HUNKS)
def test_hunks_come_back_from_their_marked_lines(hunks: list[Hunk]) -> None:
    lines: list[str] = []
    for removed, added, _ in hunks:
        lines += [" same", *(f"-{line}" for line in removed), *(f"+{line}" for line in added)]
    assert marked(lines) == [hunk for hunk in hunks if hunk.removed or hunk.added]


@given(HUNKS)
def test_clipping_keeps_what_is_short_and_drops_what_changes_nothing(hunks: list[Hunk]) -> None:
    assert clip_hunks(hunks) == tuple(hunk for hunk in hunks if hunk.removed or hunk.added)


def test_an_edit_keeps_so_many_lines_in_all() -> None:
    (hunk,) = written("x\n" * 2 * EDIT_LINES)
    assert len(hunk.added) == EDIT_LINES
    clipped = clip_hunks([Hunk(("o",) * EDIT_LINES, ("n",)), Hunk((), ("m",))])
    assert clipped == (Hunk(("o",) * EDIT_LINES, ()),)


def test_equal_texts_give_no_hunk() -> None:
    assert replaced("a\nb", "a\nb") == ()
    assert replaced("a\nb", "a\nc") == (Hunk(("b",), ("c",), partial=True),)


def test_the_header_of_a_unified_diff_is_no_change() -> None:
    diff = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@ def f\n a\n-b\n+c\n@@ -9 +9 @@\n-d\n"
    assert unified(diff) == (Hunk(("b",), ("c",)), Hunk(("d",), ()))
    assert unified(diff[diff.index("@@") :]) == unified(diff)
    assert unified("no diff\n-a") == ()


def test_a_patch_names_its_files() -> None:
    text = (
        "*** Begin Patch\n*** Add File: a b.txt\n+one\n+two\n"
        "*** Update File: old.py\n*** Move to: new.py\n@@ def f\n a\n-b\n+c\n"
        "*** Delete File: gone.py\n*** End Patch"
    )
    assert parse_patch(text) == [
        FileEdit("a b.txt", (Hunk((), ("one", "two")),), True),
        FileEdit("old.py", (), False),
        FileEdit("new.py", (Hunk(("b",), ("c",)),), True),
        FileEdit("gone.py", (), False),
    ]


@given(st.text(st.sampled_from("*+- @\nAddFile: x"), max_size=200))
def test_any_text_may_stand_where_a_patch_should(text: str) -> None:
    for edit in parse_patch(text):
        assert "\n" not in edit.path
    unified(text)
