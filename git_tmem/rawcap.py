"""Keeping what lies at ``refs/tmem-local/raw`` small: by size, and by the age of the work.

The ref has no history that would keep what was dropped: what is left starts anew, so that
git's own gc frees the rest.
"""

from __future__ import annotations

import time
from typing import NamedTuple

from git_tmem.errors import InputError, StoreError
from git_tmem.git import Git
from git_tmem.index import Index
from git_tmem.repo import NOBODY
from git_tmem.store import RAW, Store

#: Bytes of text kept, before compression, and days since the work ended. No limit of days: a
#: log of long ago may be captured today, and what was asked for just now is not to go at once.
SIZE = 256 << 20
DAYS = 0
_TRIES = 20


class Caps(NamedTuple):
    """Bytes and days; 0 for no limit."""

    size: int
    days: int


def caps(git: Git) -> Caps:
    """``tmem.rawSize`` (git's k, m and g after the number) and ``tmem.rawDays``.

    Raises InputError for a value that is no number.
    """
    return Caps(_number(git, "tmem.rawSize", SIZE), _number(git, "tmem.rawDays", DAYS))


def wanted(git: Git) -> bool:
    """Whether raw traces are kept at all: ``tmem.raw``, true unless it says otherwise."""
    status, data = git.output("config", "--type=bool", "--get", "tmem.raw")
    return not (status == 0 and data.strip() == b"false")


def _number(git: Git, name: str, default: int) -> int:
    if not git.config(name):
        return default
    status, data = git.output("config", "--type=int", "--get", name)
    text = data.decode("ascii", "replace").strip()
    if status != 0 or not text.isdecimal():
        raise InputError(
            f"{name} must be a number, 0 for no limit", f"git config --edit, at {name}"
        )
    return int(text)


def prune(store: Store, limits: Caps, now: float | None = None) -> int:
    """Drop the traces of the oldest work until both caps are kept; how many records lost theirs.

    Raises StoreError when the ref or the disk refuses.
    """
    repository = store.repository
    with store.lock():
        for _ in range(_TRIES):
            old = repository.ref(RAW)
            sizes = _sizes(repository.git, old) if old else {}
            dropped = _dropped(store, sizes, limits, time.time() if now is None else now)
            if not dropped:
                return 0
            paths = [
                path
                for record in dropped
                for path in (f"{record[:2]}/{record}/{name}" for name in sizes[record])
            ]
            tree = repository.edit_tree(repository.tree_of(old), dict.fromkeys(paths, ""))
            moment = repository.time_of(old)
            words = f"raw: {len(dropped)} dropped\n"
            commit = repository.write_commit(tree, (), words, NOBODY, moment)
            repository.flush()
            if repository.move_ref(RAW, old, commit, "tmem: raw: drop what is old"):
                limit = ("--expire=all", "--expire-unreachable=all")
                repository.git.attempt("reflog", "expire", *limit, RAW)
                return len(dropped)
            time.sleep(0.02)
    raise StoreError(f"{RAW} is being changed by others, or locked", "try again")


def _sizes(git: Git, tip: str) -> dict[str, dict[str, int]]:
    """Record -> file name -> bytes."""
    found: dict[str, dict[str, int]] = {}
    data = git.run("ls-tree", "-r", "-l", "-z", "--full-tree", tip)
    for entry in data.decode("utf-8", "replace").split("\0"):
        head, _, path = entry.partition("\t")
        parts = path.split("/")
        if len(parts) == 3:
            found.setdefault(parts[1], {})[parts[2]] = int(head.split()[3])
    return found


def _dropped(store: Store, sizes: dict[str, dict[str, int]], limits: Caps, now: float) -> list[str]:
    """Records past a cap: of the newest work first, what is within both stays."""
    with Index(store.repository.layout) as index:
        ended = {row.id: row.ended for row in index.rows("1 = 1")}
    left, dropped = limits.size, []
    for record in sorted(sizes, key=lambda record: (-ended.get(record, 0), record)):
        size = sum(sizes[record].values())
        late = limits.days and ended.get(record, 0) < now - limits.days * 86_400
        if late or (limits.size and size > left):
            dropped.append(record)
        else:
            left -= size
    return dropped
