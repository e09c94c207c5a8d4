"""Owned copies of what an edit or a commit did to files.

Everything that git or a log knows about a change is copied into these values first, so
that slicing and compiling are functions on values, with no repository in sight.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

#: Lines of two files that are compared; longer ones are generated, or take too long.
DIFF_LINES = 20_000


class Hunk(NamedTuple):
    """Lines taken out and lines put in, without context and without line ends.

    ``partial`` says that the first and last ones may be pieces of lines: the log tells which
    text was replaced, and not which lines.
    """

    removed: tuple[str, ...]
    added: tuple[str, ...]
    partial: bool = False


class FileChange(NamedTuple):
    """What one commit did to one path. Blob ids are hex; an absent side is ''."""

    path: str
    old_blob: str
    new_blob: str


class Commit(NamedTuple):
    """A commit as anchors need it; ``time`` is the committer's, in seconds."""

    id: str
    tree: str
    time: int
    changes: tuple[FileChange, ...]


def hunk_of(before: str, after: str) -> Hunk:
    """The one hunk between two texts: their common head and tail lines are left out."""
    old, new = before.splitlines(), after.splitlines()
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    return Hunk(tuple(old[start : len(old) - end]), tuple(new[start : len(new) - end]))


def hunks_of(before: Sequence[str], after: Sequence[str]) -> tuple[Hunk, ...]:
    """The hunks between two files' lines, in order; none between files of more than
    ``DIFF_LINES`` lines together."""
    from difflib import SequenceMatcher  # slow to import, and only capture compares files

    if len(before) + len(after) > DIFF_LINES:
        return ()
    codes = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    return tuple(
        Hunk(tuple(before[a:b]), tuple(after[c:d])) for tag, a, b, c, d in codes if tag != "equal"
    )


def complete(hunk: Hunk, lines: Sequence[str]) -> Hunk:
    """A partial hunk as one of whole lines, where a file's ``lines`` have the text it put in."""
    text, piece = "\n".join(lines), "\n".join(hunk.added)
    at = text.find(piece) if hunk.partial and piece.strip() else -1
    if at < 0:
        return hunk
    start = text.rfind("\n", 0, at) + 1
    end = text.find("\n", at + len(piece))
    return Hunk(hunk.removed, tuple(text[start : end if end >= 0 else None].split("\n")))
