"""Any record there ever was: by its id, by the commit of the store that wrote it, or by the
commit it was made for; with what became of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from git_tmem import merge, schema
from git_tmem.errors import InputError, NothingFound, TmemError
from git_tmem.index import Index, Row
from git_tmem.playbook import Playbook, from_document
from git_tmem.repo import Repository
from git_tmem.store import MAIN, Store

#: Fates of a record.
LIVE = "live"
SUPERSEDED = "superseded"
FORGOTTEN = "forgotten"


class Past(NamedTuple):
    """A record as it was stored. ``by`` is the id of the record that superseded it last, or the
    reason why it was forgotten; ``row`` is None for a forgotten one."""

    id: str
    document: dict[str, Any]
    fate: str
    by: str = ""
    row: Row | None = None

    @property
    def playbook(self) -> Playbook:
        """The document as a value."""
        return from_document(self.document)


def find(repository: Repository, index: Index, name: str) -> list[Past]:
    """The records that an id (or its unique start of four digits) or a commit names.

    Raises InputError for a name that is neither, or the start of several ids; NothingFound
    for a commit without records, and for a forgotten record that history holds no more.
    """
    if re.fullmatch(r"[0-9a-fA-F]{4,64}", name):
        gone = [record for record in index.gone() if record.startswith(name.lower())]
        if len(gone) == 1 and not index.by_prefix(name.lower()):
            return [_forgotten(repository, index, gone[0])]
        try:
            return [_present(index, index.resolve(name))]
        except InputError:
            if index.by_prefix(name.lower()) or not _is_commit(repository, name):
                raise
    elif not _is_commit(repository, name):
        raise InputError(
            f"{name!r} is no id of a record, and names no commit here", "see: git tmem list"
        )
    found = [_any(repository, index, record) for record in _of_commit(repository, name)]
    if not found:
        raise NothingFound(f"no record was made for {name}", f"why: git tmem audit -1 {name}")
    return found


def _is_commit(repository: Repository, name: str) -> bool:
    try:
        return bool(repository.resolve(name))
    except InputError:
        return False


def _of_commit(repository: Repository, name: str) -> Iterator[str]:
    """Abbreviated or whole ids of the records of a commit: of one of the store's own those that
    it wrote, of any other those that its note names."""
    commit = repository.resolve(name)
    tip = repository.ref(MAIN)
    own = ["merge-base", "--is-ancestor", commit, tip]
    if tip and repository.git.output(*own)[0] == 0:
        shape = ["diff-tree", "--root", "--no-commit-id", "-r", "--name-only", "--no-renames"]
        kinds = ["--diff-filter=A", "-m", "--first-parent"]
        for path in repository.git.run(*shape, *kinds, commit, "--").decode().splitlines():
            if match := merge.RECORD_PATH.fullmatch(path):
                yield match["id"]
        return
    for line in Store(repository).notes([commit]).get(commit, ()):
        yield line.split(" ", 1)[0]


def _any(repository: Repository, index: Index, record: str) -> Past:
    gone = [other for other in index.gone() if other.startswith(record)]
    if gone and not index.by_prefix(record):
        return _forgotten(repository, index, gone[0])
    return _present(index, index.resolve(record))


def _present(index: Index, row: Row) -> Past:
    document = schema.parse(row.document, f"record {row.id[:12]}")
    if row.live:
        return Past(row.id, document, LIVE, row=row)
    return Past(row.id, document, SUPERSEDED, _last(index, row.id), row)


def _last(index: Index, record: str) -> str:
    """The end of the chain of records that superseded one another, '' when it is unknown."""
    seen = [record]
    while newer := [row for row in index.superseding(seen[-1]) if row.id not in seen]:
        seen.append(newer[0].id)
    return seen[-1] if len(seen) > 1 else ""


def _forgotten(repository: Repository, index: Index, record: str) -> Past:
    """A forgotten record, read out of the store's history. It is still what others may have
    written, so it is checked like anything fetched."""
    path = merge.record_path("mem", record)
    shape = ["log", "-1", "--format=%H", "--diff-filter=A", "-m", "--full-history"]
    commit = repository.git.run(*shape, MAIN, "--", path).decode("ascii").split()
    reason = index.gone()[record][1]
    if not commit:
        raise NothingFound(f"{record[:12]} was forgotten: {reason}", "its content is not kept here")
    _, data = next(iter(_blobs(repository, commit[0], path)), ("", b""))
    try:
        document = schema.parse(data, f"record {record[:12]}")
        schema.validate(document, schema.kind_of(document, "it"), f"record {record[:12]}")
    except TmemError as error:
        raise NothingFound(f"{record[:12]} was forgotten: {reason}", error.message) from error
    return Past(record, document, FORGOTTEN, reason)


def _blobs(repository: Repository, commit: str, path: str) -> Iterator[tuple[str, bytes]]:
    blob = repository.entry(repository.tree_of(commit), path)
    return repository.git.blobs([(path, blob)] if blob else [], merge.SIZE_LIMIT)
