"""Candidates: what ended sessions left that is no record yet. They wait, and no agent sees them.

A session that ends with work which no commit holds, or with a failure that it cured and no
work at all, leaves one. It becomes a record when somebody accepts it, when a commit brings its
work, or by use: when ``USES`` later sessions met a failure that it has the repair for.

Format of the tree of ``refs/tmem-local/inbox``, which never leaves this clone (history: 1 is
the first)::

    <xx>/<id>/record.json   the record as it would be stored
    <xx>/<id>/uses          a line for each later session that met one of its failures

The ref has no history, and the newest ``MOST`` candidates stay. A session has one at most.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from git_tmem import schema, trust
from git_tmem.errors import InputError, NothingFound, StoreError, TmemError
from git_tmem.index import Index
from git_tmem.merge import SIZE_LIMIT
from git_tmem.playbook import (
    Playbook,
    canonical,
    from_document,
    keywords,
    record_id,
    to_document,
)
from git_tmem.repo import Repository
from git_tmem.store import FORGOTTEN, INBOX, KNOWN, Edits, Put, Store

#: Candidates that are kept, and later sessions after which one becomes a record by itself.
MOST = 50
USES = 2

CANDIDATE = "candidate"

_PATH = re.compile(r"(?P<fan>[0-9a-f]{2})/(?P<id>(?P=fan)[0-9a-f]{62})/(?P<name>record\.json|uses)")


class Candidate(NamedTuple):
    """A record to be; ``uses`` are the later sessions that met one of its failures."""

    id: str
    playbook: Playbook
    uses: tuple[str, ...] = ()

    @property
    def session(self) -> str:
        """The agent and the id of its session, as the index has them."""
        return f"{self.playbook.agent} {self.playbook.session}"


def candidates(repository: Repository) -> list[Candidate]:
    """All that wait, the newest first; what is not a valid record is none."""
    tip = repository.ref(INBOX)
    files = repository.files(repository.tree_of(tip)) if tip else {}
    entries = [(path, oid) for path, (_, oid) in files.items() if _PATH.fullmatch(path)]
    records: dict[str, Playbook] = {}
    uses: dict[str, tuple[str, ...]] = {}
    for path, data in repository.git.blobs(entries, SIZE_LIMIT):
        name = path.split("/")[1]
        if path.endswith("/uses"):
            uses[name] = tuple(data.decode("utf-8", "replace").splitlines())
        elif book := _valid(name, data):
            records[name] = book
    found = [Candidate(name, book, uses.get(name, ())) for name, book in records.items()]
    return sorted(found, key=lambda one: (-one.playbook.ended, one.id))


def _valid(name: str, data: bytes) -> Playbook | None:
    try:
        document = schema.parse(data, name)
        schema.validate(document, schema.kind_of(document, name), name)
    except TmemError:
        return None
    return from_document(document) if record_id(data) == name else None


def resolve(waiting: Sequence[Candidate], name: str) -> Candidate:
    """The candidate whose id starts so. Raises InputError for a start that is too short or fits
    several, NothingFound for none."""
    if not re.fullmatch(r"[0-9a-f]{4,64}", name):
        raise InputError(f"{name!r} is no id of a candidate", "see: git tmem inbox")
    found = [one for one in waiting if one.id.startswith(name)]
    if not found:
        raise NothingFound(f"no candidate's id starts with {name}", "see: git tmem inbox")
    if len(found) > 1:
        raise InputError(f"{len(found)} candidates start with {name}", "give more of the id")
    return found[0]


def propose(store: Store, playbook: Playbook) -> Put:
    """Put a session's candidate in the place of its earlier one; redacted, as a record is.

    Raises InputError for what is no valid record, StoreError when git or the disk refuses.
    """
    document = store.clean(to_document(playbook))
    schema.validate(document, document["kind"], "the candidate")
    data = canonical(document)
    if len(data) > SIZE_LIMIT:
        raise StoreError(f"the candidate has {len(data)} bytes, more than {SIZE_LIMIT}")
    new = Candidate(record_id(data), from_document(document))
    waiting = candidates(store.repository)
    earlier = [one for one in waiting if one.session == new.session]
    if any(one.id == new.id for one in earlier):
        return Put(new.id, KNOWN)
    others = [one for one in waiting if one not in earlier]
    uses = dict.fromkeys(use for one in earlier for use in one.uses)
    edits = dict.fromkeys(_paths([*earlier, *others[MOST - 1 :]]), "")
    edits[_path(new.id, "record.json")] = store.repository.write_blob(data)
    if uses:
        edits[_path(new.id, "uses")] = store.repository.write_blob(_lines(uses))
    _publish(store, edits, f"inbox: {new.id[:12]}")
    return Put(new.id, CANDIDATE)


def accept(store: Store, candidate: Candidate) -> Put:
    """Make a record of a candidate: stored, known (also where its session has one), or forgotten.

    Raises StoreError when git or the disk refuses; the candidate then stays.
    """
    with Index(store.repository.layout) as index:
        earlier = index.by_session(candidate.session)
        gone = [name for name, (session, _) in index.gone().items() if session == candidate.session]
    if gone:
        put = Put(gone[0], FORGOTTEN)
    elif earlier:
        put = Put(earlier[0].id, KNOWN)
    else:
        book = candidate.playbook
        put = store.put(to_document(book), keywords=keywords(book))
        trust.mark_own(store, [put.id])
    drop(store, [candidate])
    return put


def drop(store: Store, gone: Iterable[Candidate]) -> None:
    """Take candidates out; nothing of them is kept."""
    edits = dict.fromkeys(_paths(gone), "")
    if edits:
        _publish(store, edits, "inbox: drop")


def settle(store: Store, session: str) -> None:
    """Take out the candidate of a session (agent and id) that has a record now."""
    if store.repository.ref(INBOX):
        drop(store, [one for one in candidates(store.repository) if one.session == session])


def used(store: Store, session: str, failures: Iterable[str]) -> list[Put]:
    """Count a session that met these failures (near signatures) for the candidates that repair
    one; those that were used often enough become records, and these are returned."""
    if not store.repository.ref(INBOX):
        return []
    met = set(failures)
    session = " ".join(store.clean(session).split())
    accepted = []
    for one in candidates(store.repository):
        nears = {repair.near for repair in one.playbook.repairs if repair.near}
        if session in (one.session, *one.uses) or met.isdisjoint(nears):
            continue
        uses = (*one.uses, session)
        if len(uses) >= USES:
            accepted.append(accept(store, one))
        else:
            blob = store.repository.write_blob(_lines(uses))
            _publish(store, {_path(one.id, "uses"): blob}, f"inbox: {one.id[:12]} was of use")
    return accepted


def _publish(store: Store, edits: Edits, subject: str) -> None:
    def changes(tree: str) -> Edits:
        there = store.repository.entry
        return {path: blob for path, blob in edits.items() if blob or there(tree, path)}

    store.publish(INBOX, changes, f"{subject}\n", root=False, history=False)


def _paths(several: Iterable[Candidate]) -> list[str]:
    return [_path(one.id, name) for one in several for name in ("record.json", "uses")]


def _path(record: str, name: str) -> str:
    return f"{record[:2]}/{record}/{name}"


def _lines(uses: Iterable[str]) -> bytes:
    return "".join(f"{use}\n" for use in uses).encode()
