"""What leaked, and where it is: a string in all forms in which we store it, and records.

A search reads every object of the repository, reachable or not, and every file of ours.
What it looks for is never written, printed or hashed into anything.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import zlib
from collections.abc import Iterable, Iterator
from typing import NamedTuple
from urllib.parse import quote

from git_tmem.errors import InputError
from git_tmem.git import Git
from git_tmem.merge import NOTE_ABBREV
from git_tmem.playbook import record_id

#: Shorter strings are in everything.
SHORTEST = 6
#: Bytes of objects read in one run of git, and of the largest object that is looked into.
_CHUNK = 16 << 20
_LARGEST = 256 << 20
#: How often a text is JSON inside JSON: a trace in the journal is, and a tool's result in it.
_NESTED = 4


class Leak(NamedTuple):
    """``needles``: the string, as bytes, in every form it may be stored in; ``ids``: records
    that go as a whole."""

    needles: tuple[bytes, ...] = ()
    ids: frozenset[str] = frozenset()

    def hits(self, data: bytes) -> bool:
        """Whether the string is in there."""
        return any(needle in data for needle in self.needles)

    def names(self, data: bytes) -> bool:
        """Whether the string is in there, or the start of an id of one of the records."""
        return self.hits(data) or any(i[:NOTE_ABBREV].encode() in data for i in self.ids)

    def clean(self, data: bytes) -> bytes:
        """The data with a marker for the string."""
        for needle in self.needles:
            data = data.replace(needle, b"[REDACTED:purged]")
        return data


class Found(NamedTuple):
    """Objects that hold it, id -> kind, records among them, and objects too large to read."""

    objects: dict[str, str]
    records: frozenset[str]
    unread: tuple[str, ...]


def leak_of(text: str, ids: Iterable[str] = ()) -> Leak:
    """What to look for. Raises InputError for a string so short that it is in everything."""
    if text and len(text.encode()) < SHORTEST:
        raise InputError(f"a string of less than {SHORTEST} bytes is not looked for")
    forms = {text, quote(text), quote(text, safe="")}
    for ascii_alone in (True, False):
        nested = text
        for _ in range(_NESTED):
            nested = json.dumps(nested, ensure_ascii=ascii_alone)[1:-1]
            forms.add(nested)
    longest = sorted(filter(None, forms), key=lambda form: (-len(form), form))
    return Leak(tuple(form.encode() for form in longest), frozenset(ids))


def in_objects(git: Git, leak: Leak) -> Found:
    """Search every object of the repository."""
    found: dict[str, str] = {}
    records: set[str] = set()
    unread: list[str] = []
    for oid, kind, data in _objects(git, unread):
        hit = leak.hits(data)
        record = record_id(data) if kind == "blob" and _is_record(data) else ""
        if hit and record:
            records.add(record)
        if hit or record in leak.ids or _is_about(kind, data, leak.ids):
            found[oid] = kind
    return Found(found, frozenset(records), tuple(unread))


def in_files(folders: Iterable[str], leak: Leak) -> list[str]:
    """Files below the folders that hold the string, or one of the records, sorted."""
    hits = []
    for folder in folders:
        for here, _, names in os.walk(folder):
            for name in names:
                path = os.path.join(here, name)
                if leak.names(file_text(path)):
                    hits.append(path)
    return sorted(hits)


def file_text(path: str) -> bytes:
    """A file's bytes, a put-aside git object unpacked; nothing of what cannot be read."""
    try:
        with open(path, "rb") as stream:
            data = stream.read()
    except OSError:
        return b""
    if data[:1] == b"\x78":
        with contextlib.suppress(zlib.error):
            return zlib.decompress(data)
    return data


def note_lines(data: bytes, leak: Leak) -> bytes:
    """The lines of a note that stay."""
    return b"".join(line for line in data.splitlines(True) if not leak.names(line))


def _is_record(data: bytes) -> bool:
    return data.startswith(b"{") and b'"kind":"playbook"' in data


def _is_about(kind: str, data: bytes, ids: frozenset[str]) -> bool:
    """Whether a commit or a note tells of one of the records."""
    if kind == "commit":
        return any(f"\nTmem-Id: {record}\n".encode() in data for record in ids)
    starts = tuple(f"{record[:NOTE_ABBREV]} ".encode() for record in ids)
    return bool(starts) and any(line.startswith(starts) for line in data.splitlines())


def _objects(git: Git, unread: list[str]) -> Iterator[tuple[str, str, bytes]]:
    """Every blob, commit and tag: id, kind and content. Names in trees of ours are hex."""
    listing = git.run("cat-file", "--batch-all-objects", "--batch-check", "--unordered")
    chunk: list[str] = []
    size = 0
    for line in listing.decode("ascii").splitlines():
        oid, kind, length = line.split(" ")
        if kind == "tree":
            continue
        if int(length) > _LARGEST:
            unread.append(oid)
            continue
        if chunk and size + int(length) > _CHUNK:
            yield from contents(git, chunk)
            chunk, size = [], 0
        chunk.append(oid)
        size += int(length)
    yield from contents(git, chunk)


def contents(git: Git, ids: list[str]) -> Iterator[tuple[str, str, bytes]]:
    """Those of the objects that can be read: id, kind and content."""
    if not ids:
        return
    asked = "".join(f"{oid}\n" for oid in ids).encode()
    _, data, _ = git.attempt("cat-file", "--batch", "--buffer", data=asked)
    at = 0
    while at < len(data):
        end = data.index(b"\n", at)
        head = re.fullmatch(r"(\S+) (\S+) (\d+)", data[at:end].decode("utf-8", "replace"))
        at = end + 1
        if head is not None:
            yield head[1], head[2], data[at : at + int(head[3])]
            at += int(head[3]) + 1
