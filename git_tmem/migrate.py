"""From one format of the store to the next: one registry of steps, one commit, one ref move.

::

    format.json says N ── steps N, N+1, ... ──▶ edits of the tree ── compare-and-swap ──▶ ref
    refs/tmem-local/backup-format-N  ◀── the tip before

The whole way is one commit, so an interrupted migration leaves the store as it was, and
running it again is its recovery. A program that meets a later format reads the records it
knows and refuses to write (see :func:`git_tmem.schema.refuse_newer`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

from git_tmem import schema
from git_tmem.errors import StoreError
from git_tmem.merge import FORMAT_PATH
from git_tmem.playbook import FORMAT, canonical
from git_tmem.repo import Repository
from git_tmem.store import MAIN, Store

_TRIES = 20

#: What a step changes: called with the repository and a tree, it gives path -> blob id ('' to
#: take away), as :meth:`Repository.edit_tree` takes them.
Change = Callable[[Repository, str], Mapping[str, str]]


class Step(NamedTuple):
    """The way from a format to the next: what it does, in words, and how."""

    words: str
    change: Change


#: Format -> the step that leads away from it. Format 1 is the newest there is.
STEPS: Mapping[int, Step] = {}


class Plan(NamedTuple):
    """From which format to which, and what is done on the way, in words."""

    start: int
    end: int
    words: tuple[str, ...]


def plan(store: Store, steps: Mapping[int, Step] = STEPS, newest: int = FORMAT) -> Plan:
    """What there is to do. Raises NewerFormat for a store that is of a later format."""
    return _plan(store.repository, _tree(store, store.tip()), steps, newest)


def apply(
    store: Store, steps: Mapping[int, Step] = STEPS, newest: int = FORMAT
) -> tuple[Plan, str]:
    """Migrate; what was done, and the ref that keeps the store as it was ('' for nothing to do).

    Raises StoreError when the ref or the disk refuses, NewerFormat as :func:`plan` does.
    """
    repository = store.repository
    with store.lock():
        for _ in range(_TRIES):
            old = store.tip()
            tree = _tree(store, old)
            todo = _plan(repository, tree, steps, newest)
            if not todo.words or not old:
                return todo, ""
            backup = _keep(repository, old, todo.start)
            for number in range(todo.start, todo.end):
                tree = repository.edit_tree(tree, steps[number].change(repository, tree))
            blob = repository.write_blob(canonical({"format": todo.end, "kind": "store"}))
            tree = repository.edit_tree(tree, {FORMAT_PATH: blob})
            by, moment = repository.identity(), int(time.time())
            words = f"migrate: format {todo.start} to {todo.end}\n"
            commit = repository.write_commit(tree, (old,), words, by, moment)
            repository.flush()
            if repository.move_ref(MAIN, old, commit, f"tmem: {words.strip()}", by):
                return todo, backup
            time.sleep(0.02)
    raise StoreError(f"{MAIN} is being changed by others, or locked", "try again")


def _tree(store: Store, tip: str) -> str:
    return store.repository.tree_of(tip) if tip else ""


def _plan(repository: Repository, tree: str, steps: Mapping[int, Step], newest: int) -> Plan:
    blob = repository.entry(tree, FORMAT_PATH)
    document = schema.parse(repository.blob(blob), "the store's format.json") if blob else {}
    found = document.get("format", 1)
    start = found if isinstance(found, int) else 1
    if start > newest:
        schema.refuse_newer(document, "the store")
    missing = [number for number in range(start, newest) if number not in steps]
    if missing:
        raise StoreError(f"no way leads from format {missing[0]} to {missing[0] + 1}")
    return Plan(start, newest, tuple(steps[number].words for number in range(start, newest)))


def _keep(repository: Repository, tip: str, number: int) -> str:
    """Point the backup ref at the tip; one that an interrupted migration left moves along."""
    ref = f"refs/tmem-local/backup-format-{number}"
    if repository.ref(ref) != tip and not repository.move_ref(
        ref, repository.ref(ref), tip, "tmem: before a migration"
    ):
        raise StoreError(f"{ref} cannot be moved", "try again")
    return ref
