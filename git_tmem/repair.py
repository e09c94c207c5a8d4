"""Putting a ref of ours back on its feet when what it points at cannot be read.

::

    reflog ── newest tip that is whole ──▶ base
    journal, index, mirror, what is left of newer trees ──▶ records, tombstones
    base + what it lacks ── compare-and-swap from the broken value ──▶ ref

Ids are hashes of the content, so what is put back is exactly what was lost. A tombstone
found anywhere wins over its record found anywhere: nothing forgotten comes back. The
broken value is kept in ``rescue.log``, not in a ref, because git stops at refs that name
missing objects.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from git_tmem import journal, merge, mirror
from git_tmem.errors import StoreError, TmemError, Unreadable
from git_tmem.git import Git
from git_tmem.index import MAIN, Index
from git_tmem.merge import NOTE_ABBREV, record_path
from git_tmem.playbook import FORMAT, canonical, record_id
from git_tmem.repo import NOBODY, Repository

if TYPE_CHECKING:
    from git_tmem.store import Store

#: Tips of the reflog that are tried as a base, newest first.
_TIPS = 200
#: Broken tips whose trees are searched for what is left.
_SEARCHED = 20
#: Objects that one run of git is asked for.
_CHUNK = 5000


class Repaired(NamedTuple):
    """What a repair did: ``base`` is the whole tip it built on ('' for none), ``back`` the
    records and tombstones it put there, ``lost`` ids of records known to be lost, ``rescued``
    where the broken value is kept ('' when the ref did not move)."""

    ref: str
    base: str
    back: int
    lost: tuple[str, ...]
    rescued: str

    def describe(self) -> str:
        """One line for people."""
        ids = ", ".join(record[:12] for record in self.lost[:20])
        loss = f"{len(self.lost)} known to be lost: {ids}" if ids else "none is known to be lost"
        kept = f"; its broken value is kept in {self.rescued}" if self.rescued else ""
        return f"repaired {self.ref}: {self.back} entries came back, {loss}{kept}"


def is_whole(git: Git, commit: str) -> bool:
    """Whether everything that a commit reaches is there and undamaged."""
    asked = ("rev-list", "--objects", "--no-object-names", commit)
    status, data, _ = git.attempt(*asked)
    return status == 0 and not unreadable(git, data.decode("ascii").split())


def is_connected(git: Git, commit: str, most: int) -> bool:
    """Whether everything that the ``most`` newest commits reach is there; not whether it is
    undamaged, so that no object is read but trees."""
    asked = ("rev-list", "--objects", "--quiet", f"--max-count={most}", commit)
    return git.output(*asked)[0] == 0


def unreadable(git: Git, ids: Iterable[str]) -> set[str]:
    """Those of the objects that are missing, cut, or not what their name says."""
    left = list(ids)
    bad: set[str] = set()
    while left:
        asked = left[:_CHUNK]
        _, data, _ = git.attempt(
            "cat-file", "--batch", data="".join(f"{i}\n" for i in asked).encode()
        )
        verdicts = list(_verdicts(data))
        bad.update(oid for oid, good in zip(asked, verdicts, strict=False) if not good)
        if len(verdicts) < len(asked):  # git stopped at this one
            bad.add(asked[len(verdicts)])
            verdicts.append(False)
        left = left[len(verdicts) :]
    return bad


def _verdicts(data: bytes) -> Iterator[bool]:
    """For each answer of ``cat-file --batch``: whether the object is as its name says."""
    import hashlib

    at = 0
    while at < len(data):
        end = data.find(b"\n", at)
        oid, _, rest = data[at:end].partition(b" ")
        if end < 0 or rest == b"missing":
            yield False
            at = len(data) if end < 0 else end + 1
            continue
        kind, _, size = rest.partition(b" ")
        body = data[end + 1 : end + 1 + int(size)]
        if len(body) < int(size):
            return
        name = hashlib.new("sha256" if len(oid) == 64 else "sha1", usedforsecurity=False)
        name.update(b"%s %d\0" % (kind, len(body)) + body)
        yield name.hexdigest().encode() == oid
        at = end + 2 + len(body)


def repair(store: Store, ref: str = MAIN) -> Repaired:
    """Repair a ref of ours; to be called with the store's lock held.

    Raises StoreError when the ref is locked or moved meanwhile, and NewerFormat never: only
    entries of the formats known here are looked into.
    """
    repository = store.repository
    known = _known(store) if ref == MAIN else {}
    _rewrite(repository, known.values())
    broken, rescued = _broken_value(repository, ref)
    tips = list(dict.fromkeys(filter(None, (broken, *_reflog(repository, ref)))))[:_TIPS]
    base, newer = _newest_whole(repository.git, tips)
    if base and base == broken:
        return Repaired(ref, base, 0, (), rescued)
    lost: tuple[str, ...] = ()
    if ref == MAIN:
        seen = _search(repository, newer, known)
        start = base or store.root()
        edits = _missing(repository, start, known)
        lost = tuple(sorted(_lost(seen, repository.salvage(start), known)))
    else:
        start = base
        tree = repository.tree_of(base) if base else ""
        edits = _notes(store, tree) if ref.startswith("refs/notes/") else {}
    new = _commit(repository, start, edits)
    rescued = rescued or _rescue(repository, ref, broken.encode())
    if not repository.move_ref(ref, broken, new, "tmem: repair", repository.identity()):
        raise StoreError(f"{ref} is being changed by others, or locked", "try again")
    for tip in newer:
        repository.put_aside(tip)
    _clean_reflog(repository, ref)
    return Repaired(ref, base, sum(map(bool, edits.values())), lost, rescued)


def _newest_whole(git: Git, tips: list[str]) -> tuple[str, list[str]]:
    """The first tip that is whole, and those before it, which are not."""
    for place, tip in enumerate(tips):
        if is_whole(git, tip):
            return tip, tips[:place]
    return "", tips


def _broken_value(repository: Repository, ref: str) -> tuple[str, str]:
    """What the ref holds; when it is no object id at all, that is kept and taken away."""
    try:
        return repository.ref(ref), ""
    except Unreadable:
        data = repository.clear_garbage(ref)
        return repository.ref(ref), _rescue(repository, ref, data)


def _rescue(repository: Repository, ref: str, data: bytes) -> str:
    path = os.path.join(repository.layout.own_dir, "rescue.log")
    with open(path, "a", encoding="ascii") as stream:
        stream.write(json.dumps({"ref": ref, "value": data.decode("latin-1")}) + "\n")
    return path


def _reflog(repository: Repository, ref: str) -> Iterator[str]:
    """Tips the ref had, newest first."""
    path = os.path.join(repository.layout.common_dir, "logs", *ref.split("/"))
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            lines = stream.read().splitlines()
    except OSError:
        return
    for line in reversed(lines):
        old, _, rest = line.partition(" ")
        for tip in (rest.partition(" ")[0], old):
            if len(tip) in (40, 64) and tip.strip("0") and not tip.strip("0123456789abcdef"):
                yield tip


def _known(store: Store) -> dict[str, bytes]:
    """Every record, tombstone and event that lies outside git: store path -> canonical bytes."""
    from git_tmem.store import event_path  # it stands on this module

    layout = store.repository.layout
    found: dict[str, bytes] = {}
    for batch in journal.finished(layout):
        for entry in batch.entries:
            if entry.room in (journal.RECORD, journal.TOMBSTONE):
                found[record_path(entry.room, entry.name)] = entry.text.encode()
            elif entry.room == journal.TASK:
                found[event_path(entry.name, entry.text.encode())] = entry.text.encode()
    with Index(layout) as index:
        for row in index.rows("1 = 1"):
            found[record_path("mem", row.id)] = bytes(row.document)
        for record, (session, reason) in index.gone().items():
            found.setdefault(record_path("gone", record), _tombstone(record, session, reason))
    found.update((record_path("mem", record_id(data)), data) for data in _mirrored(store))
    return {path: data for path, data in found.items() if _is_sound(path, data)}


def _mirrored(store: Store) -> Iterator[bytes]:
    with contextlib.suppress(TmemError, OSError):
        if folder := mirror.folder_of(store.repository.layout):
            yield from mirror.contents(folder)


def _tombstone(record: str, session: str, reason: str) -> bytes:
    document = {
        "format": FORMAT,
        "kind": "tombstone",
        "id": record,
        "reason": reason or "forgotten",
        "author": NOBODY.line,
        "session": session,
    }
    return canonical(document)


def _is_sound(path: str, data: bytes) -> bool:
    """Whether the bytes are those that the path names."""
    name = merge.content_name(path)
    if not name or not 0 < len(data) <= merge.SIZE_LIMIT:
        return False
    if not path.startswith("gone/"):
        return record_id(data) == name
    try:
        document = json.loads(data)
    except ValueError:
        return False
    return isinstance(document, dict) and document.get("id") == name


def _rewrite(repository: Repository, contents: Iterable[bytes]) -> None:
    """Write those blobs again that should be in git and are missing, empty or damaged."""
    blobs = {repository.write_blob(data): data for data in contents}
    repository.discard()
    for oid in unreadable(repository.git, blobs):
        repository.write_blob(blobs[oid])
    repository.flush()


def _search(repository: Repository, tips: list[str], known: dict[str, bytes]) -> set[str]:
    """Add to ``known`` what can still be read of broken tips; every path that they name."""
    seen: set[str] = set()
    for tip in tips[:_SEARCHED]:
        for path, oid in repository.salvage(tip).items():
            if path in seen or not merge.content_name(path):
                continue
            seen.add(path)
            with contextlib.suppress(StoreError):
                data = known.get(path) or repository.blob(oid)
                if _is_sound(path, data):
                    known[path] = data
    return seen


def _missing(repository: Repository, start: str, known: dict[str, bytes]) -> dict[str, str]:
    """Edits that put on a whole tip what it lacks: path -> blob id, '' to take away."""
    there = repository.salvage(start)
    gone = {path[-69:] for path in (*there, *known) if path.startswith("gone/")}
    edits = {
        path: repository.write_blob(data)
        for path, data in known.items()
        if path not in there and (path.startswith("gone/") or path[-69:] not in gone)
    }
    dead = [path for path in there if path.startswith("mem/") and path[-69:] in gone]
    return {**edits, **dict.fromkeys(dead, "")}


def _lost(seen: set[str], there: Iterable[str], known: Iterable[str]) -> set[str]:
    """Ids of records that a broken tip names and that are nowhere any more."""
    found = {*there, *known}
    gone = {path[-69:] for path in (*found, *seen) if path.startswith("gone/")}
    return {
        path[-69:-5] for path in seen - found if path.startswith("mem/") and path[-69:] not in gone
    }


def _commit(repository: Repository, start: str, edits: dict[str, str]) -> str:
    """A commit with the edits on top of ``start``, which itself is returned without any."""
    if start and not edits:
        repository.flush()
        return start
    tree = repository.edit_tree(repository.tree_of(start) if start else "", edits)
    moment = repository.time_of(start) if start else 0
    message = f"repair: {len(edits)} entries put back\n"
    parents = (start,) if start else ()
    commit = repository.write_commit(tree, parents, message, repository.identity(), moment)
    repository.flush()
    return commit


def _clean_reflog(repository: Repository, ref: str) -> None:
    """Drop the reflog's entries that name missing objects; git's own checks stop at them."""
    limits = ("--expire=never", "--expire-unreachable=never")
    repository.git.attempt("reflog", "expire", "--stale-fix", "--rewrite", *limits, ref)


def _notes(store: Store, tree: str) -> dict[str, str]:
    """Edits that put the lines of all live records back on their commits."""
    lines: dict[str, list[str]] = {}
    with Index(store.repository.layout) as index:
        gone = list(index.gone())
        for row in index.rows():
            for commit in json.loads(row.document).get("anchor", {}).get("commits", ()):
                lines.setdefault(commit, []).append(f"{row.id[:NOTE_ABBREV]} {row.title}")
    return dict(store.note_edits(tree, lines, gone))
