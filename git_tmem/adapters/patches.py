"""Hunks out of the forms in which logs tell an edit: texts, marked lines, patches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from git_tmem.actions import EDIT_LINES
from git_tmem.changes import Hunk, hunk_of


class FileEdit(NamedTuple):
    """What a patch does to one path; ``created`` when it makes the file."""

    path: str
    hunks: tuple[Hunk, ...] = ()
    created: bool = False


def replaced(before: str, after: str) -> tuple[Hunk, ...]:
    """The hunk between two texts, none when they are the same."""
    return clip_hunks([hunk_of(before, after)._replace(partial=True)])


def written(content: str) -> tuple[Hunk, ...]:
    """The one hunk of a file written whole."""
    return clip_hunks([Hunk((), tuple(content.splitlines()))])


def marked(lines: Iterable[Any]) -> list[Hunk]:
    """Hunks of lines marked ' ', '-' or '+' as in a diff, one for each run of changed lines."""
    hunks = []
    removed: list[str] = []
    added: list[str] = []
    for line in lines:
        mark = line[:1] if isinstance(line, str) else " "
        if mark == "-":
            removed.append(line[1:].rstrip("\r"))
        elif mark == "+":
            added.append(line[1:].rstrip("\r"))
        elif mark != "\\" and (removed or added):
            hunks.append(Hunk(tuple(removed), tuple(added)))
            removed, added = [], []
    if removed or added:
        hunks.append(Hunk(tuple(removed), tuple(added)))
    return hunks


def unified(text: str) -> tuple[Hunk, ...]:
    """Hunks of one file's unified diff; its header lines are skipped."""
    start = text.find("@@") if text.startswith("@@") else text.find("\n@@") + 1
    return clip_hunks(marked(text[start:].split("\n"))) if start or text[:2] == "@@" else ()


def parse_patch(text: str) -> list[FileEdit]:
    """The files of a patch in the form that the ``apply_patch`` tool takes.

    ``*** Add File: p``, ``*** Delete File: p`` or ``*** Update File: p``, the last perhaps
    with ``*** Move to: q``, each followed by its lines. A moved file gives an edit of both
    its paths.
    """
    edits: list[FileEdit] = []
    lines: list[str] = []
    for line in text.split("\n"):
        verb, colon, path = line.rstrip().partition(": ")
        if not (colon and line.startswith("*** ")):
            lines.append(line)
            continue
        _close(edits, lines)
        lines = []
        if verb in ("*** Add File", "*** Update File", "*** Delete File", "*** Move to"):
            edits.append(FileEdit(path, (), verb in ("*** Add File", "*** Move to")))
    _close(edits, lines)
    return edits


def _close(edits: list[FileEdit], lines: Sequence[str]) -> None:
    hunks = clip_hunks(marked(lines))
    if edits and hunks:
        edits[-1] = edits[-1]._replace(hunks=hunks)


def clip_hunks(hunks: Iterable[Hunk]) -> tuple[Hunk, ...]:
    """The hunks that change something, cut after ``EDIT_LINES`` lines in all."""
    kept = []
    left = EDIT_LINES
    for removed, added, partial in hunks:
        if left <= 0:
            break
        hunk = Hunk(removed[:left], added[: max(left - len(removed), 0)], partial)
        left -= len(hunk.removed) + len(hunk.added)
        if hunk.removed or hunk.added:
            kept.append(hunk)
    return tuple(kept)
