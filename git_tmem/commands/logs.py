"""The session logs that a command is about: found where agents keep them, or named."""

from __future__ import annotations

import os
import sys
from typing import BinaryIO, cast

from git_tmem.actions import Session
from git_tmem.adapters import ADAPTERS, open_log, parse
from git_tmem.commands.terminal import Reading
from git_tmem.errors import InputError, NothingFound
from git_tmem.history import worktrees
from git_tmem.repo import Repository
from git_tmem.sessions import Log, find_sessions


def named_logs(repository: Repository, agent: str, session: str, since: str) -> list[Log]:
    """The log that is named, else every one since a date, else the newest alone."""
    if session:
        if agent and agent not in ADAPTERS:
            find_sessions((), os.environ, agent)  # complains with the known names
        size = os.path.getsize(session) if os.path.isfile(session) else 0
        return [Log(agent, session, 0, size)]
    return found_logs(repository, agent, since, None if since else 1)


def found_logs(
    repository: Repository, agent: str, since: str, most: int | None = None
) -> list[Log]:
    """The logs of sessions that worked in this repository, newest first, at most ``most``.
    Raises NothingFound, and InputError for an agent nobody knows."""
    moment = moment_of(repository, since)
    tops = worktrees(repository.git) if repository.layout.top else [os.getcwd()]
    found = find_sessions(tops, os.environ, agent, moment, most)
    if not found:
        what = f"{agent} session" if agent else "agent session"
        raise NothingFound(
            f"no {what} that worked in this repository was found",
            "git tmem capture --session FILE takes one from elsewhere; known agents: "
            + ", ".join(sorted(ADAPTERS)),
        )
    return found


def moment_of(repository: Repository, since: str) -> float:
    """A date as git reads it, in seconds since the epoch."""
    if not since:
        return 0
    _, data = repository.git.output("rev-parse", f"--since={since}")
    digits = data.decode("ascii", "replace").strip().partition("=")[2]
    return float(digits or 0)


def read_log(log: Log) -> Session:
    """The session in a log; standard input for ``-``. Raises InputError."""
    try:
        if log.path == "-":
            return parse(sys.stdin.buffer, log.agent or None)
        with open_log(log.path) as stream:
            reading = Reading(stream, log.size, "reading the log")
            try:
                return parse(cast(BinaryIO, reading), log.agent or None)
            finally:
                reading.close()
    except OSError as error:
        raise InputError(
            f"{log.path}: {error.strerror}", "give the path of a session log, or - for input"
        ) from error
