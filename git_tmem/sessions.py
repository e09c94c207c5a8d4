"""Finding the session logs of this repository where the agents keep them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from git_tmem import adapters
from git_tmem.errors import InputError
from git_tmem.workspace import is_below


class Log(NamedTuple):
    """A session log on disk, at a location that ``adapters.open_log`` takes; ``changed`` is the
    time of its last change in seconds."""

    agent: str
    path: str
    changed: float
    size: int


def find_sessions(
    tops: Sequence[str],
    env: Mapping[str, str],
    agent: str = "",
    since: float = 0,
    most: int | None = None,
) -> list[Log]:
    """Logs whose session worked below one of the work trees, newest first.

    ``agent`` restricts to one agent, ``since`` to logs changed at or after that time, and
    after ``most`` found ones no other log is opened. Raises InputError for an agent nobody
    knows.
    """
    if agent and agent not in adapters.ADAPTERS:
        known = ", ".join(sorted(adapters.ADAPTERS))
        raise InputError(f"unknown agent {agent!r}", f"known agents: {known}")
    logs = [
        log
        for name, adapter in adapters.ADAPTERS.items()
        if agent in ("", name)
        for path in adapter.find_logs(tops, env)
        for log in _stat(name, path)
        if log.changed >= since
    ]
    logs.sort(key=lambda log: (-log.changed, log.path))
    real = [*tops, *(os.path.realpath(top) for top in tops)]
    return list(islice((log for log in logs if _worked_in(log, real)), most))


def _stat(agent: str, path: str) -> list[Log]:
    with contextlib.suppress(OSError, InputError):
        return [Log(agent, path, *adapters.measure(path))]
    return []


def _worked_in(log: Log, tops: Sequence[str]) -> bool:
    if log.agent in adapters.PLACED:
        return True
    try:
        folder = adapters.working_directory(log.path)
    except (OSError, InputError):
        return False
    places = (folder, os.path.realpath(folder)) if folder else ()
    return any(is_below(place, top) for place in places for top in tops)
