"""Merging two stores: set union of records, and a tombstone always wins.

There are no conflicts, because records never change: one path can only ever hold one
content. The table, for a record ``R`` and its tombstone ``T``:

======================  ======================  =================
ours                    theirs                  merged
======================  ======================  =================
R                       (nothing) or R          R
(nothing)               R                       R
R or (nothing)          T                       T, R taken out
T                       R or (nothing)          T
R, R' superseding it    T                       T and R'
======================  ======================  =================

So merging is commutative, associative and idempotent, and needs no merge base.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

#: The only names a store's tree may have; all else is ignored and reported.
RECORD_PATH = re.compile(
    r"(?P<room>mem|gone)/(?P<fan>[0-9a-f]{2})/(?P<id>(?P=fan)[0-9a-f]{62})\.json"
)
FORMAT_PATH = "format.json"
#: An event of a task, below the id of the event that opened the task.
TASK_PATH = re.compile(
    r"tasks/(?P<fan>[0-9a-f]{2})/(?P<task>(?P=fan)[0-9a-f]{62})/(?P<id>[0-9a-f]{64})\.json"
)
#: What a purge leaves for each object that must not come back: a file with nothing in it.
PURGED_PATH = re.compile(r"purged/(?P<fan>[0-9a-f]{2})/(?P<hash>(?P=fan)[0-9a-f]{62})")
#: Bytes of the largest record that is stored or accepted.
SIZE_LIMIT = 256 * 1024


def record_path(room: str, record: str) -> str:
    """Where a record (room ``mem``) or its tombstone (``gone``) lies in the tree."""
    return f"{room}/{record[:2]}/{record}.json"


def task_path(task: str, event: str) -> str:
    """Where an event of a task lies in the tree."""
    return f"tasks/{task[:2]}/{task}/{event}.json"


def content_name(path: str) -> str:
    """The id in the name of a record, tombstone or event; '' for any other path."""
    match = RECORD_PATH.fullmatch(path) or TASK_PATH.fullmatch(path)
    return match["id"] if match else ""


def purged_path(oid: str) -> str:
    """Where the store says that an object was purged. Its id is hashed: hosts hand out an
    object that nothing refers to any more to whoever knows its id."""
    import hashlib  # not needed by hooks, and slow to import

    digest = hashlib.sha256(f"git-tmem purged {oid}".encode()).hexdigest()
    return f"purged/{digest[:2]}/{digest}"


def merge_trees(ours: Mapping[str, str], theirs: Mapping[str, str]) -> dict[str, str]:
    """The union of two stores, each as path -> blob id, in sorted order of paths.

    Where both sides hold a tombstone for one record with different reasons, the smaller
    blob id is taken, so that both sides agree.
    """
    union = {
        path: min(filter(None, (ours.get(path), theirs.get(path))))
        for path in sorted({*ours, *theirs})
    }
    gone = {match["id"] for path in union if (match := _match("gone", path))}
    dead = {record_path("mem", record) for record in gone}
    return {path: blob for path, blob in union.items() if path not in dead}


def merge_lines(ours: Iterable[str], theirs: Iterable[str], gone: Iterable[str]) -> list[str]:
    """The union of two notes: sorted unique lines, without those of forgotten records.

    A line starts with an abbreviated record id; ``gone`` holds full ids.
    """
    dead = {record[:NOTE_ABBREV] for record in gone}
    lines = {line.strip() for line in (*ours, *theirs)}
    return sorted(line for line in lines if line and line.split(" ", 1)[0] not in dead)


#: Hex digits of a record id in a note; with 48 bits, chance does not make two alike.
NOTE_ABBREV = 12


def _match(room: str, path: str) -> re.Match[str] | None:
    match = RECORD_PATH.fullmatch(path)
    return match if match and match["room"] == room else None
