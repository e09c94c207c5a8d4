"""Removing what leaked from everything that is ours, for good, and proving it.

::

    search every object and file ──▶ leak: blobs, commits, records
    refs/tmem/main    rewritten without them; tombstones; purged/<hash> for each object
    notes, raw, trust rewritten; tracking refs that reach them dropped
    reflogs of ours emptied; journal, log, index, mirror cleaned
    objects           what only the old history reached leaves loose files and packs
    search again ──▶ proof, or what is still there and why

Each ref moves by compare-and-swap below the store's lock. Ids of the objects to remove are
written down first (``<common-dir>/tmem/purging``), so that a purge that was interrupted is
finished by the next. What the user's own refs reach is never touched, only named.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterable
from typing import Any, NamedTuple

from git_tmem import journal, leak, merge, mirror, rewrite, schema
from git_tmem.errors import StoreError, TmemError
from git_tmem.index import Index
from git_tmem.leak import Found, Leak
from git_tmem.playbook import FORMAT, canonical, record_id
from git_tmem.repo import Repository
from git_tmem.store import MAIN, NOTES, RAW, Store

#: Everything that is ours below refs/.
PREFIXES = ("refs/tmem", "refs/tmem-local", "refs/tmem-remote", "refs/tmem-bundle")
_TRIES = 20


class Plan(NamedTuple):
    """What a purge would change: records that go, refs that hold something, objects and files
    of ours, and objects that only the user's own refs or nothing of ours hold."""

    leak: Leak
    records: tuple[str, ...]
    refs: tuple[str, ...]
    objects: dict[str, str]
    files: tuple[str, ...]
    others: tuple[str, ...]
    unread: tuple[str, ...]


class Purged(NamedTuple):
    """What a purge did: objects removed, and the search after it: what of ours still holds it,
    packs that a .keep file protects, remotes with the tip of theirs last seen ('' unknown)."""

    removed: int
    left: tuple[str, ...]
    others: tuple[str, ...]
    kept: tuple[str, ...]
    remotes: tuple[tuple[str, str], ...]


def plan(repository: Repository, text: str, ids: Iterable[str]) -> Plan:
    """Look for a string, and for what there is of records. Raises InputError for a string
    that is too short."""
    what = leak.leak_of(text, ids)
    found = leak.in_objects(repository.git, what)
    if found.records - what.ids:
        what = Leak(what.needles, what.ids | found.records)
        again = leak.in_objects(repository.git, what)
        found = Found(found.objects | again.objects, found.records | again.records, found.unread)
    refs = our_refs(repository)
    raw = _raw_of(repository, what.ids)
    objects = {**found.objects, **dict.fromkeys(raw, "blob")}
    ours = _ours(repository, refs) | _written_down(repository)
    tainted = [
        ref for ref, tip in refs.items() if rewrite.reachable(repository.git, tip) & {*objects}
    ]
    return Plan(
        what,
        tuple(sorted(what.ids)),
        tuple(tainted),
        {oid: kind for oid, kind in objects.items() if oid in ours},
        tuple(leak.in_files(_folders(repository), what)),
        tuple(sorted(oid for oid in objects if oid not in ours)),
        found.unread,
    )


def our_refs(repository: Repository) -> dict[str, str]:
    """Every ref of ours with the object it is at."""
    shape = "--format=%(objectname) %(refname)"
    notes = ("refs/notes/tmem", "refs/notes/tmem-*")
    data = repository.git.run("for-each-ref", shape, *PREFIXES, *notes)
    rows = (line.partition(" ") for line in data.decode("utf-8", "replace").splitlines())
    return {ref: oid for oid, _, ref in rows}


def apply(store: Store, todo: Plan) -> Purged:
    """Carry out a plan; then search again. Raises StoreError when a ref or the disk refuses."""
    repository = store.repository
    remotes = _remotes(repository)
    with store.lock():
        before = _ours(repository, our_refs(repository)) | _written_down(repository)
        before |= set(todo.objects)
        blobs = _replacements(repository, todo)
        for ref in sorted(our_refs(repository), key=lambda ref: (ref != MAIN, ref)):
            _purge_ref(store, ref, todo, blobs, before)
        if todo.objects or todo.records:
            _deny(store, todo)
        _clean_files(repository, todo.leak)
        for ref in our_refs(repository):
            limits = ("--expire=all", "--expire-unreachable=all")
            repository.git.attempt("reflog", "expire", *limits, ref)
        used = rewrite.reachable(repository.git, "--all", "--reflog", "--indexed-objects")
        doomed = before - used
        kept = rewrite.remove(repository.git, doomed)
        _refresh(repository)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(_note_of(repository))
    left = leak.in_objects(repository.git, todo.leak).objects
    held = doomed | _ours(repository, our_refs(repository))
    mine = [f"object {oid}" for oid in left if oid in held]
    files = leak.in_files(_folders(repository), Leak(todo.leak.needles))
    return Purged(
        len(doomed),
        (*mine, *files),
        tuple(sorted(oid for oid in left if oid not in held)),
        tuple(kept),
        remotes,
    )


def _purge_ref(
    store: Store, ref: str, todo: Plan, blobs: dict[str, bytes], before: set[str]
) -> None:
    """Rewrite a ref, or drop what tracks a remote; ``before`` gains what it reached."""
    repository = store.repository
    for _ in range(_TRIES):
        old = repository.ref(ref)
        reached = rewrite.reachable(repository.git, old) if old else set()
        before |= reached
        _write_down(repository, before)
        if not old or not reached & todo.objects.keys():
            return
        if ref.startswith(PREFIXES[2:]):
            if repository.drop_ref(ref, old):
                return
            continue
        new = rewrite.history(repository, old, blobs, lambda text: _words(text, todo.leak))
        repository.flush()
        if new == old or repository.move_ref(ref, old, new, "tmem: purge", repository.identity()):
            return
        time.sleep(0.02)
    raise StoreError(f"{ref} is being changed by others, or locked", "run git tmem purge again")


def _words(text: bytes, what: Leak) -> bytes:
    """A commit's message (or its head) without what leaked."""
    for record in what.ids:
        if f"\nTmem-Id: {record}\n".encode() in text:
            return f"purge: a record was here\n\nTmem-Purged: {record}\n".encode()
    return what.clean(text)


def _replacements(repository: Repository, todo: Plan) -> dict[str, bytes]:
    """For each blob that goes, what takes its place: nothing, but for notes and tombstones."""
    ids = [oid for oid, kind in todo.objects.items() if kind == "blob"]
    notes = _notes(repository)
    found = dict.fromkeys(ids, b"")
    for oid, _, data in leak.contents(repository.git, ids):
        if oid in notes:
            found[oid] = leak.note_lines(data, todo.leak)
        elif b'"kind":"tombstone"' in data:
            found[oid] = _tombstone(todo.leak, data)
    return found


def _notes(repository: Repository) -> set[str]:
    tips = [tip for ref, tip in our_refs(repository).items() if ref.startswith(NOTES)]
    return rewrite.reachable(repository.git, *tips) if tips else set()


def _tombstone(what: Leak, data: bytes) -> bytes:
    """A tombstone without the string; it must stay, or its record comes back."""
    try:
        document = schema.parse(data, "the tombstone")
        document.update(reason="purged", author="", session="")
        schema.validate(document, "tombstone", "the tombstone")
    except TmemError:
        return b""
    made = canonical(document)
    return b"" if what.hits(made) else made


def _deny(store: Store, todo: Plan) -> None:
    """Tombstones for the records, and a mark for each object, in one commit."""
    sessions = {}
    for _, _, data in leak.contents(store.repository.git, list(todo.objects)):
        if (name := record_id(data)) in todo.records:
            document = schema.parse(data, "the record")
            session = f"{document.get('agent', '')} {document.get('session', '')}"
            sessions[name] = "" if todo.leak.hits(session.encode()) else session

    def edits(tree: str) -> dict[str, str]:
        repository = store.repository
        empty = repository.write_blob(b"")
        made = dict.fromkeys(map(merge.purged_path, todo.objects), empty)
        for record in todo.records:
            if repository.entry(tree, merge.record_path("gone", record)):
                continue
            document: dict[str, Any] = {
                "format": FORMAT,
                "kind": "tombstone",
                "id": record,
                "reason": "purged",
                "author": store.clean(repository.identity().line),
                "session": sessions.get(record, ""),
            }
            made[merge.record_path("gone", record)] = repository.write_blob(canonical(document))
            made[merge.record_path("mem", record)] = ""
        return made

    store.publish(MAIN, edits, f"purge: {len(todo.records)} records\n")


def _clean_files(repository: Repository, what: Leak) -> None:
    """The journal loses lines, logs too; any other file of ours that holds it goes."""
    layout = repository.layout
    journal.purge(layout, what.names)
    Index.drop(layout)
    for path in leak.in_files([layout.own_dir], what):
        if not path.endswith((".log", ".log.1")):
            os.unlink(path)
            continue
        with open(path, "rb") as stream:
            lines = [line for line in stream.read().splitlines(True) if not what.names(line)]
        with open(path, "wb") as stream:
            stream.write(b"".join(lines))


def _refresh(repository: Repository) -> None:
    """Build the index anew, and every work tree's mirror from it."""
    with Index(repository.layout) as index:
        for top in _tops(repository):
            mirror.refresh(repository.layout._replace(top=top), index)


def _tops(repository: Repository) -> list[str]:
    """The folders of all work trees."""
    data = repository.git.run("worktree", "list", "--porcelain")
    lines = os.fsdecode(data).splitlines()
    tops = [line.partition(" ")[2] for line in lines if line.startswith("worktree ")]
    return [top for top in tops if os.path.isdir(os.path.join(top, mirror.FOLDER))]


def _folders(repository: Repository) -> list[str]:
    """Where our files and our reflogs are."""
    layout = repository.layout
    logs = os.path.join(layout.common_dir, "logs", "refs")
    ours = [os.path.join(logs, *prefix.split("/")[1:]) for prefix in PREFIXES]
    mirrors = [os.path.join(top, mirror.FOLDER) for top in _tops(repository)]
    return [layout.own_dir, *ours, *mirrors]


def _ours(repository: Repository, refs: dict[str, str]) -> set[str]:
    """Every object that our refs reach, or reached by what their reflogs say."""
    git = repository.git
    tips = set(refs.values())
    for ref in refs:
        data = git.output("reflog", "show", "--format=%H", ref, "--")[1]
        tips.update(data.decode("ascii").split())
    return rewrite.reachable(git, *sorted(tips)) if tips else set()


def _raw_of(repository: Repository, ids: frozenset[str]) -> set[str]:
    """Blobs that were ever kept beside the records."""
    tip = repository.ref(RAW)
    if not tip or not ids:
        return set()
    data = repository.git.run("rev-list", "--objects", tip).decode("utf-8", "replace")
    rows = (line.partition(" ") for line in data.splitlines())
    return {oid for oid, _, path in rows if path[3:67] in ids and path.count("/") == 2}


def _remotes(repository: Repository) -> tuple[tuple[str, str], ...]:
    data = repository.git.output("remote")[1].decode("utf-8", "replace")
    return tuple((name, repository.ref(f"refs/tmem-remote/{name}/main")) for name in data.split())


def _note_of(repository: Repository) -> str:
    return os.path.join(repository.layout.own_dir, "purging")


def _write_down(repository: Repository, ids: set[str]) -> None:
    path = _note_of(repository)
    with open(f"{path}.new", "w", encoding="ascii") as stream:
        json.dump(sorted(ids), stream)
        stream.flush()
        os.fsync(stream.fileno())
    os.replace(f"{path}.new", path)


def _written_down(repository: Repository) -> set[str]:
    """Objects that a purge which was interrupted was about to remove."""
    with contextlib.suppress(OSError, ValueError), open(_note_of(repository)) as stream:
        return set(json.load(stream))
    return set()
