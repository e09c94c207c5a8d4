"""The store's own history, read from what its commits did to its tree, newest first.

Messages are for people who use plain ``git log``; what happened is taken from the entries
that a commit added and took out, so a message can claim nothing.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from git_tmem import merge
from git_tmem.playbook import INSIGHT, MUTATE
from git_tmem.repo import Repository
from git_tmem.store import MAIN

CAPTURED = "captured"
REMEMBERED = "remembered"
SUPERSEDED = "superseded"
FORGOTTEN = "forgotten"
MERGED = "merged"


class Event(NamedTuple):
    """One thing that happened to a record (or, merged, to the store): when in seconds since
    the epoch, by whom, in which commit of the store, and why if somebody said so."""

    what: str
    record: str
    title: str
    reason: str
    time: int
    by: str
    commit: str


class _Change(NamedTuple):
    room: str
    record: str
    blob: str  # '' when the entry was taken out
    old: str


class _Commit(NamedTuple):
    id: str
    time: int
    by: str
    merge: bool
    changes: tuple[_Change, ...]


def events(repository: Repository, most: int, file: str = "", symbol: str = "") -> list[Event]:
    """The newest ``most`` events; with ``file``, only of records that touched it, and with
    ``symbol`` only of those that edited that part of it, or something in that part."""
    commits = _commits(repository, 0 if file else most)
    wanted = {blob for commit in commits for change in commit.changes for blob in change[2:]}
    entries = [(blob, blob) for blob in sorted(wanted) if blob]
    texts = repository.git.blobs(entries, merge.SIZE_LIMIT)
    documents = {blob: _document(data) for blob, data in texts}
    told = [event for commit in commits for event in _events(commit, documents)]
    if file:
        about = {
            change.record
            for commit in commits
            for change in commit.changes
            for blob in (change.blob, change.old)
            if change.room == "mem" and _touches(documents.get(blob, {}), file, symbol)
        }
        told = [event for event in told if event.record in about]
    return told[:most]


def _commits(repository: Repository, most: int) -> list[_Commit]:
    tip = repository.ref(MAIN)
    if not tip:
        return []
    shape = ["log", "-z", "--raw", "--no-abbrev", "--no-renames", "--root", "--topo-order"]
    limit = [f"--max-count={most}"] if most else []
    form = "--format=%x01%H%x00%P%x00%ct%x00%an <%ae>"
    data = repository.git.run(*shape, *limit, form, tip, "--")
    return [_commit(block) for block in data.split(b"\x01") if block]


def _commit(block: bytes) -> _Commit:
    oid, parents, time, by, *rest = block.split(b"\0")
    pairs = zip(rest[0::2], rest[1::2], strict=False)
    found = (_change(head, path) for head, path in pairs if b":" in head)
    return _Commit(
        oid.decode("ascii"),
        int(time),
        by.decode("utf-8", "replace").strip(),
        b" " in parents,
        tuple(change for change in found if change is not None),
    )


def _change(head: bytes, path: bytes) -> _Change | None:
    match = merge.RECORD_PATH.fullmatch(os.fsdecode(path))
    _, _, old, new, _ = head.strip().decode("ascii").split()
    if match is None:
        return None
    return _Change(match["room"], match["id"], new.strip("0") and new, old.strip("0") and old)


def _document(data: bytes) -> Mapping[str, Any]:
    """A stored document; nothing of it for one that cannot be read."""
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _events(commit: _Commit, documents: Mapping[str, Mapping[str, Any]]) -> Iterable[Event]:
    def event(what: str, record: str, title: str, reason: str = "") -> Event:
        return Event(what, record, title, reason, commit.time, commit.by, commit.id)

    if commit.merge:
        yield event(MERGED, "", "two histories of the store became one")
    taken = {change.record: change.old for change in commit.changes if change.room == "mem"}
    for change in commit.changes:
        document = documents.get(change.blob, {})
        if not change.blob:
            continue
        if change.room == "gone":
            title = _title(documents.get(taken.get(change.record, ""), {}))
            yield event(FORGOTTEN, change.record, title, str(document.get("reason", "")))
            continue
        what = REMEMBERED if document.get("kind") == INSIGHT else CAPTURED
        yield event(what, change.record, _title(document))
        old = document.get("supersedes", ())
        for other in old if isinstance(old, list) else ():
            yield event(SUPERSEDED, str(other), _title(document), f"by {change.record[:12]}")


def _title(document: Mapping[str, Any]) -> str:
    return str(document.get("title", ""))


def _files(document: Mapping[str, Any]) -> set[str]:
    layer = document.get("l1", {})
    files = layer.get("files", ()) if isinstance(layer, dict) else ()
    return {str(path) for path in files} if isinstance(files, list) else set()


def _touches(document: Mapping[str, Any], file: str, symbol: str) -> bool:
    if not symbol:
        return file in _files(document)
    layer = document.get("l0", {})
    steps = layer.get("steps", ()) if isinstance(layer, dict) else ()
    own = [
        step
        for step in (steps if isinstance(steps, list) else ())
        if isinstance(step, dict) and step.get("path") == file and step.get("kind") == MUTATE
    ]
    names = [name for step in own for name in step.get("symbols", ()) if isinstance(name, str)]
    return any(symbol in _names(name) for name in names)


def _names(symbol: str) -> set[str]:
    """What a symbol may be called: by its whole name, by its last part, by what encloses it."""
    parts = symbol.split(".")
    return {*parts, *(".".join(parts[:end]) for end in range(1, len(parts) + 1))}
