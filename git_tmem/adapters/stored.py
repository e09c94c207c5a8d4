"""Sessions that are no file of their own, as streams of JSON lines.

A location names one: a file for most agents, which for Claude Code stands also for the files of
the session's sub-agents, a folder for OpenHands, which has a file for each event, or
``FILE#ID`` for one of the many sessions in a database. An agent that keeps its sessions otherwise
adds the module that reads them to ``STORES``; it answers for its own locations and leaves all
others alone.
"""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple, Protocol, cast

from git_tmem.adapters import aider_store, claude_agents, opencode_store, openhands_store
from git_tmem.errors import InputError


class Store(Protocol):
    """A way of keeping sessions. Both functions know a place by what is in it and answer None
    for any other; they raise OSError when it cannot be read and InputError when it holds no
    such session."""

    def lines(self, location: str, /) -> Iterator[bytes] | None:
        """The session's records, one a line."""

    def measure(self, location: str, /) -> tuple[float, int] | None:
        """The session's last change in seconds since the epoch, and its size in bytes."""


class Measure(NamedTuple):
    """Last change in seconds since the epoch, and size in bytes."""

    changed: float
    size: int


STORES: tuple[Store, ...] = (opencode_store, openhands_store, aider_store, claude_agents)


def open_log(location: str) -> BinaryIO:
    """A session's log as a stream. Raises OSError, and InputError for a session that is not
    in the place that was named."""
    for store in STORES:
        lines = store.lines(location)
        if lines is not None:
            return cast(BinaryIO, io.BufferedReader(_Lines(lines)))
    return open(location, "rb")


def measure(location: str) -> Measure:
    """When a session was last changed and how long it is. Raises as :func:`open_log` does, and
    InputError for a folder or a pipe, which whoever opens it may wait at for ever."""
    for store in STORES:
        measured = store.measure(location)
        if measured is not None:
            return Measure(*measured)
    found = os.stat(location)
    if not stat.S_ISREG(found.st_mode):
        raise InputError(f"{location} is no file")
    return Measure(found.st_mtime, found.st_size)


class _Lines(io.RawIOBase):
    """Lines as a stream, made while they are read."""

    def __init__(self, lines: Iterator[bytes]) -> None:
        self._lines = lines
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        while not self._rest:
            line = next(self._lines, None)
            if line is None:
                return 0
            self._rest = line
        count = min(len(buffer), len(self._rest))
        buffer[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count

    def close(self) -> None:
        if hasattr(self._lines, "close"):
            self._lines.close()
        super().close()
