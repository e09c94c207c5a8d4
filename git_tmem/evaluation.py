"""How well sessions are compiled, in figures: what is kept, what is dropped, what git confirms.

Nothing is stored. A session is held against the newest commit made until shortly after it
ended, or against the work tree while it is fresh.
"""

from __future__ import annotations

import json
import time
from typing import NamedTuple

from git_tmem.actions import EXEC, MUTATE, PROMPT, READ, Session
from git_tmem.capture import WORK_TREE, Captured, Target, compiled
from git_tmem.history import commit_before, exactly
from git_tmem.index import Index
from git_tmem.lookup import decode, find
from git_tmem.playbook import MUTATE as EDIT
from git_tmem.playbook import READ as LOOK
from git_tmem.playbook import Playbook, to_document
from git_tmem.query import Query
from git_tmem.repo import Repository

#: Seconds after its end in which a session's work is committed, or is still in the work tree.
_AFTER = 3600
#: Characters to a token, as a rule of thumb for English and code.
_TOKEN = 4


class Evaluated(NamedTuple):
    """One session. ``outcome`` is compiled or nothing, ``missing`` why nothing.

    ``actions`` and ``steps`` are before and after slicing, ``trace`` and ``card`` the tokens of
    both (characters / 4), ``looks`` and ``reads`` the reads before and after, ``edited`` the
    files of L0's edits, ``committed`` those of its commits, ``both`` those of both; ``seconds``
    is what compiling took.
    """

    agent: str
    session: str
    outcome: str
    missing: str
    actions: int
    steps: int = 0
    trace: int = 0
    card: int = 0
    looks: int = 0
    reads: int = 0
    edited: int = 0
    committed: int = 0
    both: int = 0
    repairs: int = 0
    seconds: float = 0.0


def evaluate(repository: Repository, session: Session) -> Evaluated:
    """The figures of one session. Raises InputError for a log of another repository."""
    start = time.perf_counter()
    done = compiled(repository, session, _target(repository, session))
    seconds = time.perf_counter() - start
    told = Evaluated(
        session.agent,
        session.id,
        done.outcome,
        done.missing,
        sum(action.kind != PROMPT for action in done.session.actions),
        looks=sum(action.kind == READ for action in done.session.actions),
        trace=_trace(done) // _TOKEN,
        seconds=seconds,
    )
    return told if done.playbook is None else _kept(repository, told, done.playbook)


def _target(repository: Repository, session: Session) -> Target:
    if repository.layout.top and (not session.ended or session.ended + _AFTER > time.time()):
        return WORK_TREE
    commit = commit_before(repository.git, session.ended + _AFTER)
    return Target(commit) if commit else WORK_TREE


def _trace(done: Captured) -> int:
    """Characters of the session as an agent would have to read it."""
    total = 0
    for action in done.session.actions:
        total += len(action.text) + len(action.reason) + len(action.path)
        total += len(action.command) + len(action.output) if action.kind == EXEC else 0
        if action.kind == MUTATE:
            total += sum(len(line) for hunk in action.hunks for side in hunk[:2] for line in side)
    return total


def _kept(repository: Repository, told: Evaluated, book: Playbook) -> Evaluated:
    edited = {step.path for step in book.steps if step.kind == EDIT}
    commits = exactly(repository.git, book.anchor.commits) if book.anchor.commits else []
    committed = {change.path for commit in commits for change in commit.changes}
    return told._replace(
        steps=len(book.steps),
        card=len(json.dumps(to_document(book)["l0"], ensure_ascii=False)) // _TOKEN,
        reads=sum(step.kind == LOOK for step in book.steps),
        edited=len(edited),
        committed=len(committed),
        both=len(edited & committed),
        repairs=len(book.repairs),
    )


def own_rank(index: Index, number: int) -> int:
    """The place at which a record comes back for its own title, 0 when it does not."""
    title = decode(index.by_number(number)).title
    hits = [hit.number for hit in find(index, Query(text=title)) if hit.passes]
    return hits.index(number) + 1 if number in hits else 0
