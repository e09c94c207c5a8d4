"""What runs, detached, after git's hooks: sessions behind commits are captured, records follow
rewritten commits, and where the user wants it they are pushed beside the user's own push.

A hook leaves a line in a spool: a new commit's id, or the old and the new id of a rewritten
one. Whoever holds the lock drains it, so a burst of commits runs one worker. Nothing here
may fail loudly: every outcome is a line in the log.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence

from git_tmem import anchors, history, hooklog, inbox, mirror
from git_tmem.adapters import glance, open_log, parse
from git_tmem.anchors import follow, relink
from git_tmem.capture import NOTHING, Captured, Target, at_end, capture, describe_missing, failures
from git_tmem.errors import InputError, TmemError
from git_tmem.history import worktrees
from git_tmem.index import Index
from git_tmem.remote import Limits, default_remote, push
from git_tmem.repo import Repository
from git_tmem.sessions import Log, find_sessions
from git_tmem.store import Store

#: A session log untouched for longer than this before the commit is not its session, seconds.
_WINDOW = 24 * 3600
#: Sessions looked at for one commit, newest first.
_MOST = 8
#: A push that nobody waits for and nobody can answer.
_PUSHING = Limits(seconds=60.0, prompts=False)
#: How HEAD's reflog starts when a person or an agent committed; a rebase or cherry-pick
#: writes otherwise.
_OWN_COMMIT = ("commit:", "commit (amend):", "commit (initial):", "commit (merge):")
_PAIR = re.compile(r"[0-9a-f]{40,64} [0-9a-f]{40,64}")


def after_commit(repository: Repository, commit: str, env: Mapping[str, str]) -> None:
    """Queue a commit and drain the queue, unless another worker does. Never raises TmemError."""
    if _made_by_hand(repository, commit):
        _spool(repository.layout.own_dir, [commit])
        _drain(repository, env)


def after_rewrite(repository: Repository, lines: Iterable[str], env: Mapping[str, str]) -> None:
    """Queue what git says it rewrote, ``<old> <new>`` a line, and drain the queue as above."""
    pairs = [" ".join(line.split()[:2]) for line in lines]
    _spool(repository.layout.own_dir, [pair for pair in pairs if _PAIR.fullmatch(pair)])
    _drain(repository, env)


def before_push(repository: Repository, remote: str) -> None:
    """Push the records to where the user pushes, without a terminal that could be asked for a
    password. Never raises TmemError."""
    if repository.git.config("tmem.push").lower() == "off":
        return
    with contextlib.suppress(AttributeError, OSError):  # Windows; or it has a session already
        os.setsid()
    try:
        remote = remote or default_remote(repository.git)
        done = push(repository, remote, _PUSHING)
    except TmemError as error:
        hooklog.write(repository.layout, error.message)
    else:
        if done.published:
            hooklog.write(repository.layout, f"push to {remote}: {done.published} new records")


def after_session(
    repository: Repository, agent: str, session: str, path: str, env: Mapping[str, str]
) -> None:
    """Settle a session that has ended, from its log or from where its agent keeps it: what a
    commit holds is captured, the rest may become a candidate."""
    layout = repository.layout
    try:
        if path and os.path.isfile(path):
            logs = [Log(agent, path, 0, 0)]
        else:
            tops = worktrees(repository.git)
            logs = find_sessions(tops, env, agent, time.time() - _WINDOW, _MOST)
            logs = [log for log in logs if _is_of(log, session)]
        for log in logs[:1]:
            hooklog.write(layout, f"session {session[:12]} {_settle(repository, log)}")
        if logs:
            with Index(layout) as index:
                mirror.refresh(layout, index)
    except (TmemError, OSError) as error:
        hooklog.write(layout, f"session {session[:12]} {agent}: {error}")


def _settle(repository: Repository, log: Log) -> str:
    """Do what is done at the end of a session, and say in a line what came of it."""
    with open_log(log.path) as stream:
        session = parse(stream, log.agent)
    said = _outcome(at_end(repository, session))
    key = f"{session.agent} {session.id}"
    for put in inbox.used(Store(repository), key, failures(session)):
        said += f"; {put.id[:12]} was of use again and is a record now"
    return said


def _is_of(log: Log, session: str) -> bool:
    with contextlib.suppress(OSError, InputError):
        told = glance(log.path)
        return told is not None and told.id == session
    return False


def _drain(repository: Repository, env: Mapping[str, str]) -> None:
    layout = repository.layout
    while os.path.exists(os.path.join(layout.own_dir, "spool")):
        with _alone(layout.own_dir) as first:
            if not first:
                return
            taken = _take(layout.own_dir)
            commits = [words[0] for words in taken if len(words) == 1]
            pairs = [(words[0], words[1]) for words in taken if len(words) == 2]
            if commits:
                _capture_all(repository, commits[-1], env)
                _accept_landed(repository, commits)
            if taken:
                _relink(repository, pairs)


def _accept_landed(repository: Repository, commits: Sequence[str]) -> None:
    """Make records of the candidates whose files the commits brought as they were, for sessions
    whose log is gone by now."""
    try:
        waiting = [one for one in inbox.candidates(repository) if one.playbook.anchor.blobs]
        landed = history.exactly(repository.git, commits) if waiting else []
        for one in waiting:
            blobs = one.playbook.anchor.blobs
            if any(anchors.holds(repository, commit, blobs) for commit in landed):
                put = inbox.accept(Store(repository), one)
                hooklog.write(repository.layout, f"inbox: {put.id[:12]} {put.outcome}: committed")
    except TmemError as error:
        hooklog.write(repository.layout, f"inbox: {error.message}")


def _relink(repository: Repository, pairs: Sequence[tuple[str, str]]) -> None:
    """Let notes follow the pairs, then find by content what else lost its commit."""
    try:
        links = (*follow(repository, pairs), *relink(repository).links)
    except TmemError as error:
        hooklog.write(repository.layout, f"relink: {error.message}")
        return
    for link in links:
        before = link.old[:12] or "not committed"
        line = f"{link.record[:12]} found again by {link.proof}, before {before}"
        hooklog.write(repository.layout, f"{link.new[:12]} {line}")


def _capture_all(repository: Repository, commit: str, env: Mapping[str, str]) -> None:
    layout = repository.layout
    made = repository.time_of(commit)
    try:
        logs = find_sessions(worktrees(repository.git), env, since=made - _WINDOW)[:_MOST]
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
        with open_log(log.path) as stream:
            session = parse(stream, log.agent)
        done = capture(repository, session, Target(commit))
    except (TmemError, OSError) as error:
        return f"{log.agent}: {error}"
    return _outcome(done)


def _outcome(done: Captured) -> str:
    name = f"{done.session.agent} {done.session.id[:12]}"
    if done.outcome == NOTHING:
        return f"{name}: nothing to keep, {describe_missing(done.missing)}"
    return f"{name}: {done.outcome} {done.id[:12]}"


def _made_by_hand(repository: Repository, commit: str) -> bool:
    status, data = repository.git.output("reflog", "show", "-n", "20", "--format=%H %gs", "HEAD")
    lines = data.decode("utf-8", "replace").splitlines() if status == 0 else []
    reasons = [line.partition(" ")[2] for line in lines if line.startswith(commit)]
    return not reasons or reasons[0].startswith(_OWN_COMMIT)


def _spool(folder: str, lines: Iterable[str]) -> None:
    with contextlib.suppress(OSError):
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "spool"), "a", encoding="ascii") as stream:
            stream.write("".join(f"{line}\n" for line in lines))


def _take(folder: str) -> list[list[str]]:
    """The queued lines as words, oldest first; the queue is empty afterwards."""
    spool = os.path.join(folder, "spool")
    taken = f"{spool}.{os.getpid()}"
    try:
        os.replace(spool, taken)
        with open(taken, encoding="ascii", errors="replace") as stream:
            lines = [line.split() for line in stream if line.strip()]
        os.unlink(taken)
    except OSError:
        return []
    return lines


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
