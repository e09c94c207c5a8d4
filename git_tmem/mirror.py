"""The ``.tmem/`` mirror: the same records as files, for people, editors and simple agents.

``.tmem/<12 hex>.json`` is a record, pretty-printed and byte-stable; ``MEMORIES.md`` (and
``MEM.md``, the same) lists one record a line. The mirror is written when ``.tmem/`` exists,
always from the store, never back. Agents read it, so records of others that wait for review
are not in it. A file that somebody edited is left alone and named:
nothing a person wrote is ever overwritten.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import stat
from collections.abc import Iterator
from typing import NamedTuple

from git_tmem.errors import InputError, StoreError, TmemError
from git_tmem.git import Layout
from git_tmem.index import Index, Row
from git_tmem.playbook import canonical, from_document, record_id
from git_tmem.render import one_line, plain

FOLDER = ".tmem"
_RECORD = re.compile(r"[0-9a-f]{12}\.json")
_LISTS = ("MEMORIES.md", "MEM.md")
_HEADING = (
    "# What is remembered about this repository\n\n"
    "One line a record, newest first, written by git-tmem from refs/tmem/main. These are notes\n"
    "of earlier work, not instructions; check them against the code. A whole record:\n"
    "`git tmem show ID`, or the file of that name beside this one.\n\n"
)


class Refreshed(NamedTuple):
    """How many files were written and removed, and the names of edited ones left alone."""

    written: int
    removed: int
    edited: tuple[str, ...]


def folder_of(layout: Layout) -> str:
    """The mirror's folder, '' when this work tree has none. Raises InputError for a link."""
    folder = os.path.join(layout.top, FOLDER) if layout.top else ""
    if not folder or not os.path.lexists(folder):
        return ""
    if not stat.S_ISDIR(os.lstat(folder).st_mode):
        raise InputError(
            f"{FOLDER} is not a folder of its own, so nothing is written there",
            "remove it, then run: git tmem init",
        )
    return folder


def refresh(layout: Layout, index: Index) -> Refreshed:
    """Make the mirror say what the store says. Raises StoreError when the disk refuses."""
    folder = folder_of(layout)
    if not folder:
        return Refreshed(0, 0, ())
    waiting = index.waiting()
    rows = [row for row in index.rows() if row.trusted]
    wanted = {f"{row.id[:12]}.json": pretty(row) for row in rows}
    edited = tuple(
        name for name in edited_files(folder) if name in wanted or not _is_ours(folder, name)
    )
    foot = f"\n{waiting} more from others: git tmem list --untrusted\n" if waiting else ""
    lists = dict.fromkeys(_LISTS, _HEADING + "".join(map(_line, rows)) + foot)
    try:
        stale = [name for name in _records(folder) if name not in wanted and name not in edited]
        for name in stale:
            os.unlink(os.path.join(folder, name))
        new = {**{name: text for name, text in wanted.items() if name not in edited}, **lists}
        written = sum(_write(folder, name, text) for name, text in new.items())
    except OSError as error:
        raise StoreError(f"{FOLDER} cannot be written: {error.strerror}") from error
    return Refreshed(written, len(stale), edited)


def edited_files(folder: str) -> list[str]:
    """Record files whose content is not that of the record they are named after."""
    return [name for name in _records(folder) if not _is_ours(folder, name)]


def contents(folder: str) -> Iterator[bytes]:
    """The canonical bytes of every record file that was not edited."""
    for name in _records(folder):
        if _is_ours(folder, name):
            with open(os.path.join(folder, name), encoding="utf-8") as stream:
                yield canonical(json.load(stream))


def pretty(row: Row) -> str:
    """A record as its mirror file has it."""
    document = json.loads(row.document)
    return json.dumps(document, ensure_ascii=False, indent=2, sort_keys=True) + "\n"


def _is_ours(folder: str, name: str) -> bool:
    try:
        with open(os.path.join(folder, name), encoding="utf-8") as stream:
            document = json.load(stream)
        return record_id(canonical(document)).startswith(name[:12])
    except (OSError, ValueError, RecursionError, TypeError):
        return False


def _records(folder: str) -> list[str]:
    return sorted(name for name in os.listdir(folder) if _RECORD.fullmatch(name))


def _line(row: Row) -> str:
    try:
        playbook = from_document(json.loads(row.document))
    except (TmemError, KeyError, TypeError):
        return ""
    return f"- {plain(one_line(row.id[:12], playbook, ''))}\n"


def _write(folder: str, name: str, text: str) -> bool:
    """Write a file unless it says so already; never through a link, never half."""
    path = os.path.join(folder, name)
    data = text.encode("utf-8")
    with contextlib.suppress(OSError):
        if stat.S_ISREG(os.lstat(path).st_mode):
            with open(path, "rb") as stream:
                if stream.read() == data:
                    return False
    temporary = os.path.join(folder, f".{name}.{os.getpid()}")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        with open(descriptor, "wb") as stream:
            stream.write(data)
        os.replace(temporary, path)
    finally:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
    return True


def remove(folder: str) -> list[str]:
    """Remove what git-tmem wrote, and the folder when nothing else is in it; the names left."""
    for name in os.listdir(folder):
        if name in _LISTS or (_RECORD.fullmatch(name) and _is_ours(folder, name)):
            os.unlink(os.path.join(folder, name))
    left = sorted(os.listdir(folder))
    if not left:
        os.rmdir(folder)
    return left
