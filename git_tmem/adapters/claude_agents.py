"""The log of a Claude Code session with those of its sub-agents woven in.

A sub-agent's steps lie in ``<session>/subagents/agent-<id>.jsonl``, or in versions up to 2.1.3x
in ``agent-<id>.jsonl`` beside the session's log, which then names the id. Each record comes
where its time puts it among those of the session, with ``"woven": true`` as its first field,
so that the session's own records can be counted without it. What the session's log repeats of
its sub-agents is for the adapter to tell by the ids.
"""

from __future__ import annotations

import contextlib
import heapq
import os
import re
from collections.abc import Generator, Iterator, Mapping
from itertools import count
from typing import Any, BinaryIO

from git_tmem.adapters.base import mapping, string
from git_tmem.adapters.places import entries
from git_tmem.adapters.records import LINE_LIMIT, parse_record

_NAME = re.compile(r"agent-([\w-]{1,100})\.jsonl")

#: A sub-agent's log in the queue: the time of its next record, a number that keeps the order
#: of logs with the same time, the record if it was read already, and those after it.
_Queued = tuple[str, int, bytes, Iterator[tuple[str, bytes]]]


def lines(location: str) -> Iterator[bytes] | None:
    """The lines of a session's log and, between them, of its sub-agents; None when it has none.

    Raises OSError, on the first line, when the session's log cannot be read.
    """
    inside = _inside(location)
    if not inside and not _has_beside(location):
        return None
    return _weave(location, inside)


def measure(location: str) -> tuple[float, int] | None:
    """Last change in seconds since the epoch and size in bytes, those of sub-agents in the
    session's own folder included; None when it has none. Raises OSError."""
    inside = _inside(location)
    if not inside:
        return None
    stats = [os.stat(path) for path in (location, *inside.values())]
    return max(stat.st_mtime for stat in stats), sum(stat.st_size for stat in stats)


def _inside(location: str) -> dict[str, str]:
    """The logs in the session's own folder, by the ids of their sub-agents."""
    stem, end = os.path.splitext(location)
    places = entries(os.path.join(stem, "subagents")) if end == ".jsonl" else []
    found = [(_NAME.fullmatch(os.path.basename(path)), path) for path in places]
    return {name.group(1): path for name, path in found if name}


def _has_beside(location: str) -> bool:
    """Whether a log of a sub-agent, of whatever session, lies beside that of a session."""
    folder, name = os.path.split(location)
    if not name.endswith(".jsonl") or _NAME.fullmatch(name):
        return False
    try:
        return any(map(_NAME.fullmatch, os.listdir(folder or ".")))
    except OSError:
        return False


def _weave(location: str, inside: dict[str, str]) -> Iterator[bytes]:
    queue: list[_Queued] = []
    numbers = count()
    for path in inside.values():
        _enqueue(queue, next(numbers), path)
    known = {"", *inside}
    with open(location, "rb") as stream:
        while line := stream.readline(LINE_LIMIT):
            if queue or b'"agentId"' in line:
                record = parse_record(line) or {}
                agent = _agent(record)
                name = f"agent-{agent}.jsonl"
                if agent not in known and _NAME.fullmatch(name):
                    known.add(agent)
                    path = os.path.join(os.path.dirname(location), name)
                    _enqueue(queue, next(numbers), path)
                if time := string(record.get("timestamp")):
                    yield from _due(queue, time)
            yield line if line.endswith(b"\n") or len(line) == LINE_LIMIT else line + b"\n"
    yield from _due(queue, "\U0010ffff")  # whenever they were


def _agent(record: Mapping[str, Any]) -> str:
    """The sub-agent that a record of the session names."""
    told = (mapping(record.get("toolUseResult")), mapping(record.get("data")))
    return next((name for part in told if (name := string(part.get("agentId")))), "")


def _enqueue(queue: list[_Queued], number: int, path: str) -> None:
    # The log is opened again when its turn comes: only those that work at once are open.
    with contextlib.closing(_records(path)) as records:
        first = next(records, None)
    if first:
        heapq.heappush(queue, (first[0], number, b"", _records(path)))


def _due(queue: list[_Queued], time: str) -> Iterator[bytes]:
    """The queued lines up to a time."""
    while queue and queue[0][0] <= time:
        _, number, line, rest = heapq.heappop(queue)
        if line:
            yield line
        following = next(rest, None)
        if following:
            heapq.heappush(queue, (following[0], number, following[1], rest))


def _records(path: str) -> Generator[tuple[str, bytes], None, None]:
    """Time and line of each record of a sub-agent's log; of one that cannot be read, none."""
    try:
        with open(path, "rb") as stream:
            yield from _marked(stream)
    except OSError:
        return


def _marked(stream: BinaryIO) -> Iterator[tuple[str, bytes]]:
    time = ""
    while line := stream.readline(LINE_LIMIT):
        record = parse_record(line)
        if record:
            time = max(time, string(record.get("timestamp")))
            yield time, b'{"woven":true,' + line.strip()[1:] + b"\n"
