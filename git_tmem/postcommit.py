"""What runs, detached, after a commit: the sessions behind it are captured quietly.

The hook leaves the commit's id in a spool; whoever holds the lock drains it, so a burst of
commits runs one worker. Nothing here may fail loudly: every outcome is a line in the log.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping

from git_tmem import hooklog, mirror
from git_tmem.adapters import parse
from git_tmem.capture import NOTHING, Target, capture, describe_missing
from git_tmem.errors import TmemError
from git_tmem.history import worktrees
from git_tmem.index import Index
from git_tmem.repo import Repository
from git_tmem.sessions import Log, find_sessions

#: A session log untouched for longer than this before the commit is not its session, seconds.
_WINDOW = 24 * 3600
#: Sessions looked at for one commit, newest first.
_MOST = 8
#: How HEAD's reflog starts when a person or an agent committed; a rebase or cherry-pick
#: writes otherwise.
_OWN_COMMIT = ("commit:", "commit (amend):", "commit (initial):", "commit (merge):")


def after_commit(repository: Repository, commit: str, env: Mapping[str, str]) -> None:
    """Queue a commit and drain the queue, unless another worker does. Never raises TmemError."""
    layout = repository.layout
    if not _made_by_hand(repository, commit):
        return
    _spool(layout.own_dir, commit)
    while os.path.exists(os.path.join(layout.own_dir, "spool")):
        with _alone(layout.own_dir) as first:
            if not first:
                return
            if commits := _take(layout.own_dir):
                _capture_all(repository, commits[-1], env)


def _capture_all(repository: Repository, commit: str, env: Mapping[str, str]) -> None:
    layout = repository.layout
    time = repository.time_of(commit)
    try:
        logs = find_sessions(worktrees(repository.git), env, since=time - _WINDOW)[:_MOST]
        for log in logs:
            hooklog.write(layout, f"{commit[:12]} {_capture_one(repository, commit, log)}")
        if not logs:
            hooklog.write(layout, f"{commit[:12]} no session of this repository was found")
        with Index(layout) as index:
            mirror.refresh(layout, index)
    except TmemError as error:
        hooklog.write(layout, f"{commit[:12]} {error.message}")


def _capture_one(repository: Repository, commit: str, log: Log) -> str:
    """Capture one log and say in a line what came of it."""
    try:
        with open(log.path, "rb") as stream:
            session = parse(stream, log.agent)
        done = capture(repository, session, Target(commit))
    except (TmemError, OSError) as error:
        return f"{log.agent}: {error}"
    name = f"{session.agent} {session.id[:12]}"
    if done.outcome == NOTHING:
        return f"{name}: nothing to keep, {describe_missing(done.missing)}"
    return f"{name}: {done.outcome} {done.id[:12]}"


def _made_by_hand(repository: Repository, commit: str) -> bool:
    status, data = repository.git.output("reflog", "show", "-n", "20", "--format=%H %gs", "HEAD")
    lines = data.decode("utf-8", "replace").splitlines() if status == 0 else []
    reasons = [line.partition(" ")[2] for line in lines if line.startswith(commit)]
    return not reasons or reasons[0].startswith(_OWN_COMMIT)


def _spool(folder: str, commit: str) -> None:
    with contextlib.suppress(OSError):
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "spool"), "a", encoding="ascii") as stream:
            stream.write(f"{commit}\n")


def _take(folder: str) -> list[str]:
    """The queued commits, oldest first; the queue is empty afterwards."""
    spool = os.path.join(folder, "spool")
    taken = f"{spool}.{os.getpid()}"
    try:
        os.replace(spool, taken)
        with open(taken, encoding="ascii", errors="replace") as stream:
            commits = stream.read().split()
        os.unlink(taken)
    except OSError:
        return []
    return commits


@contextlib.contextmanager
def _alone(folder: str) -> Iterator[bool]:
    """Whether no other worker runs; the kernel lock vanishes with the process."""
    try:
        import fcntl
    except ImportError:  # Windows: two workers do the same work twice, which stores it once
        yield True
        return
    try:
        stream = open(os.path.join(folder, "worker.lock"), "ab")  # noqa: SIM115
    except OSError:
        yield True
        return
    with stream:
        try:
            fcntl.flock(stream.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
        else:
            yield True
