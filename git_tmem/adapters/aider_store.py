"""The sessions in aider's chat history, each as a log of its own.

``FILE#START`` is the session that began at that time, as aider writes it, with a ``T`` between
date and time: ``.aider.chat.history.md#2026-02-03T10:00:00``; of several that began in the same
second, all. ``FILE`` alone is the whole history as one. A record that names the session and the
folder of the file comes before the lines.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

from git_tmem.adapters.records import LINE_LIMIT
from git_tmem.errors import InputError

STARTED = re.compile(r"# aider chat started at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\s*")

_MARK = b"# aider chat started at "
_LOCATION = re.compile(r"(.+)#(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)", re.DOTALL)


class _Part(NamedTuple):
    """Where a session lies in its file, in bytes, and the time at which it was over; ``used``
    says that the user said something."""

    name: str
    start: int
    end: int
    used: bool


def identity(moment: str) -> str:
    """The id of a session that began at this time: its digits, the first twelve of which, as ids
    are shown, tell the minute."""
    return re.sub(r"\D", "", moment)


def locations(path: str) -> Iterator[str]:
    """The locations of the sessions in a history, of which nothing was said in some; none when
    it cannot be read."""
    try:
        parts = _parts_of(path)
    except OSError:
        return
    for name in dict.fromkeys(part.name for part in parts if part.used):
        yield f"{path}#{name}"


def lines(location: str) -> Iterator[bytes] | None:
    """The lines of a session as records; None for another place. Raises OSError, and
    InputError when the history holds no such session."""
    if _is_history(location):
        return _read(location, list(_parts_of(location)))
    named = _LOCATION.fullmatch(location)
    if not named or not _is_history(named.group(1)):
        return None
    return _read(named.group(1), _named(*named.groups()))


def measure(location: str) -> tuple[float, int] | None:
    """Last change in seconds since the epoch, at which the next session began or the file
    was changed last, and size in bytes. Raises as :func:`lines` does."""
    named = _LOCATION.fullmatch(location)
    if not named or not _is_history(named.group(1)):
        return None
    path, name = named.groups()
    parts = _named(path, name)
    changed = os.stat(path).st_mtime
    following = next((part for part in _parts_of(path) if part.start >= parts[-1].end), None)
    if following:
        changed = min(changed, _moment(following.name))
    return changed, sum(part.end - part.start for part in parts)


def _is_history(path: str) -> bool:
    """Whether a file begins as aider begins its histories, with an empty line or without."""
    if not os.path.isfile(path):
        return False
    with open(path, "rb") as stream:
        return stream.read(len(_MARK) + 2).lstrip().startswith(_MARK)


def _moment(name: str) -> float:
    try:
        return datetime.fromisoformat(name).timestamp()
    except (ValueError, OverflowError, OSError):
        return 0.0


def _named(path: str, name: str) -> list[_Part]:
    parts = [part for part in _parts_of(path) if part.name == name]
    if not parts:
        raise InputError(
            f"{path} holds no session that began at {name}", "git tmem sessions lists them"
        )
    return parts


def _parts_of(path: str) -> tuple[_Part, ...]:
    stat = os.stat(path)
    return _parts(path, stat.st_mtime_ns, stat.st_size)


@lru_cache(maxsize=4)  # every one of its sessions asks for the parts of a file
def _parts(path: str, changed: int, size: int) -> tuple[_Part, ...]:
    parts: list[_Part] = []
    with open(path, "rb") as stream:
        at = 0
        while line := stream.readline(LINE_LIMIT):
            started = line.startswith(_MARK) and STARTED.match(line.decode("utf-8", "replace"))
            if started:
                parts.append(_Part(started.group(1).replace(" ", "T"), at, at, False))
            at += len(line)
            if parts:
                used = parts[-1].used or line.startswith(b"#### ")
                parts[-1] = parts[-1]._replace(end=at, used=used)
    return tuple(parts)


def _read(path: str, parts: list[_Part]) -> Iterator[bytes]:
    told = {"id": identity(parts[0].name), "cwd": os.path.dirname(os.path.abspath(path))}
    yield json.dumps({"aider": told}).encode() + b"\n"
    with open(path, "rb") as stream:
        for part in parts:
            stream.seek(part.start)
            while stream.tell() < part.end and (line := stream.readline(LINE_LIMIT)):
                text = line.decode("utf-8", "replace").rstrip("\r\n")
                yield json.dumps({"line": text}).encode() + b"\n"
