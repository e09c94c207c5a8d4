"""Conversations of OpenHands where it keeps them: a folder whose ``events`` has a file for each.

V0 names them ``<number>.json``, V1 ``event-<number>-<id>.json`` and keeps the conversation's
state, of which the working directory is taken and nothing else, in ``base_state.json``.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterator

from git_tmem.adapters.base import mapping, string
from git_tmem.adapters.places import entries
from git_tmem.adapters.records import LINE_LIMIT, parse_record

_EVENT = re.compile(r"(?:event-)?(\d{1,9})(?:-[\w-]{1,80})?\.json")


def lines(location: str) -> Iterator[bytes] | None:
    """The events of the conversation kept in a folder, in their order, after a record that
    names it; None for what is no such folder."""
    return _read(location) if os.path.isdir(os.path.join(location, "events")) else None


def measure(location: str) -> tuple[float, int] | None:
    """Last change in seconds since the epoch, and size in bytes, of all the events."""
    if not os.path.isdir(os.path.join(location, "events")):
        return None
    stats = [os.stat(path) for path in _files(location)] or [os.stat(location)]
    return max(stat.st_mtime for stat in stats), sum(stat.st_size for stat in stats)


def _files(location: str) -> list[str]:
    found = [
        (int(name.group(1)), path)
        for path in entries(os.path.join(location, "events"))
        if (name := _EVENT.fullmatch(os.path.basename(path)))
    ]
    return [path for _, path in sorted(found)]


def _read(location: str) -> Iterator[bytes]:
    told = {"id": os.path.basename(os.path.normpath(location)), "working_dir": ""}
    with contextlib.suppress(OSError):
        state = parse_record(_content(os.path.join(location, "base_state.json"))) or {}
        told["working_dir"] = string(mapping(state.get("workspace")).get("working_dir"))
    yield json.dumps({"conversation": told}).encode() + b"\n"
    for path in _files(location):
        # What is no JSON stays a line that is none, and is counted as damaged.
        yield _content(path).replace(b"\r", b" ").replace(b"\n", b" ") + b"\n"


def _content(path: str) -> bytes:
    with open(path, "rb") as stream:
        content = stream.read(LINE_LIMIT)
    return content if len(content) < LINE_LIMIT else b"\0"
