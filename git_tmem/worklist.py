"""The tasks of a repository: read from the store, and changed by one event at a time."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from git_tmem import merge, schema, tasks, trust
from git_tmem.errors import InputError, TmemError
from git_tmem.probes import safe_path
from git_tmem.probes.base import TreeView
from git_tmem.repo import Repository
from git_tmem.store import Store
from git_tmem.tasks import ARTIFACT, Event, Evidence, Task


class Worklist(NamedTuple):
    """All tasks by id, and those that this clone opened or took on: only they are shown to an
    agent unasked, as with records."""

    tasks: dict[str, Task]
    trusted: frozenset[str]


def read(repository: Repository) -> Worklist:
    """Every task of the store. Events that are not usable are passed over."""
    tip = repository.ref("refs/tmem/main")
    tree = repository.tree_of(tip) if tip else ""
    files = repository.files(tree)
    named = [(path, oid) for path, (_, oid) in files.items() if merge.TASK_PATH.fullmatch(path)]
    found: dict[str, dict[str, Event]] = {}
    for path, data in repository.git.blobs(named, merge.SIZE_LIMIT):
        match = merge.TASK_PATH.fullmatch(path)
        event = _event(data)
        if match and event:
            found.setdefault(match["task"], {})[match["id"]] = event
    folded = {name: task for name, events in found.items() if (task := tasks.fold(events))}
    return Worklist(folded, _trusted(repository, folded))


def _event(data: bytes) -> Event | None:
    try:
        document = schema.parse(data, "it")
        schema.validate(document, "task", "it")
    except TmemError:
        return None
    return tasks.from_document(document)


def _trusted(repository: Repository, found: Mapping[str, Task]) -> frozenset[str]:
    if trust.policy(repository.git) == trust.ALL:
        return frozenset(found)
    marks = trust.marks_of(Store(repository))
    return frozenset(
        name for name in found if marks.get(name, {}).keys() & {trust.OWN, trust.ACCEPTED}
    )


def resolve(worklist: Worklist, name: str) -> Task:
    """The task that an id or unique prefix of at least four hex digits names.

    Raises InputError for one that is unknown, ambiguous or no id at all.
    """
    name = name.lower()
    if not re.fullmatch(r"[0-9a-f]{4,64}", name):
        raise InputError(f"{name!r} is no id of a task", "see the ids with: git tmem task list")
    found = sorted(key for key in worklist.tasks if key.startswith(name))
    if len(found) > 1:
        ids = ", ".join(key[:12] for key in found[:5])
        raise InputError(f"{name} is the start of {len(found)} tasks", f"write more of: {ids}")
    if not found:
        raise InputError(f"no task is called {name}", "see the ids with: git tmem task list --all")
    return worklist.tasks[found[0]]


def open_task(repository: Repository, title: str) -> str:
    """Open a task as a draft; its id. Raises InputError for a title that is empty or too long."""
    text = _text(title, "title")
    by = repository.identity().line
    name = _put(repository, Event(tasks.OPEN, int(time.time()), by, text=text), text)
    trust.mark_own(Store(repository), [name])
    return name


def say_of(repository: Repository, task: Task, event: Event) -> None:
    """Add an event to a task, after all that is known of it. Time and author are filled in."""
    text = _text(event.text, "text") if event.text else ""
    at = max(int(time.time()), task.opened)
    whole = event._replace(
        at=at, by=repository.identity().line, task=task.id, text=text, after=task.heads
    )
    _put(repository, whole, task.title)


def event(what: str, **fields: Any) -> Event:
    """An event whose time, author and task :func:`say_of` fills in."""
    return Event(what, 0, "", **fields)


def take(repository: Repository, task: Task, forced: bool) -> None:
    """Claim a task, which also makes it one that an agent may be shown.

    Raises InputError for one that somebody else holds, unless forced, and one that is done.
    """
    mine = repository.identity().line
    if not tasks.is_open(task):
        raise InputError(f"{task.id[:12]} is {task.state}", "git tmem task list shows what is open")
    if task.holder and task.holder != mine and not forced:
        raise InputError(
            f"{task.id[:12]} is held by {task.holder}", "ask them, or take it over with --force"
        )
    if task.holder != mine:
        say_of(repository, task, event(tasks.CLAIM, forced=bool(task.holder)))
    trust.accept(Store(repository), {task.id: ""})


def depend(repository: Repository, worklist: Worklist, task: Task, other: Task) -> None:
    """Let a task wait for another. Raises InputError where they would wait for each other."""
    if other.id == task.id or other.id in tasks.behind(task.id, worklist.tasks):
        raise InputError(
            f"{other.id[:12]} waits for {task.id[:12]}, so it cannot be the other way round too",
            f"see: git tmem task show {other.id[:12]}",
        )
    if other.id not in task.depends:
        say_of(repository, task, event(tasks.DEPEND, other=other.id))


def evidence_gap(evidence: Evidence, view: TreeView, records: Sequence[str]) -> str:
    """Why a piece of evidence does not show anything now, '' when it does. ``records`` are the
    ids of records that are not forgotten."""
    if evidence.kind == ARTIFACT:
        blob = view.blob(evidence.path) if safe_path(evidence.path) else None
        if blob is None:
            return "is not there"
        return "" if blob == evidence.blob else "has changed since"
    if evidence.kind == tasks.MEMORY and evidence.record not in records:
        return "is not here, or was forgotten"
    return ""


def finish(repository: Repository, task: Task, shown: Sequence[Evidence], forced: str) -> None:
    """Call a task stable, on evidence. Raises InputError without any, unless ``forced`` says
    why there is none."""
    if not (shown or task.evidence or forced):
        raise InputError(
            f"nothing shows that {task.id[:12]} is done",
            "name a file (--artifact), a command to run (--check) or a record (--memory),"
            " or say why there is none (--force REASON)",
        )
    for piece in shown:
        say_of(repository, task, event(tasks.EVIDENCE, evidence=piece))
        task = read(repository).tasks[task.id]
    text = {"text": forced} if forced else {}
    say_of(repository, task, event(tasks.STATE, state=tasks.STABLE, forced=bool(forced), **text))


def _put(repository: Repository, event: Event, title: str) -> str:
    verb = event.state or event.what
    trailers = [f"Tmem-Task: {event.task}"] if event.task else []
    message = "\n".join([f"task: {verb}: {title}"[:200], "", "Tmem-Kind: task", *trailers])
    return Store(repository).put_event(tasks.to_document(event), f"{message}\n")


def _text(text: str, what: str) -> str:
    text = " ".join("".join(sign for sign in text if sign.isprintable() or sign.isspace()).split())
    if not text:
        raise InputError(f"the {what} is empty", "write some words")
    if len(text) > tasks.TEXT_LIMIT:
        raise InputError(
            f"the {what} has {len(text)} characters, and may have {tasks.TEXT_LIMIT}", "shorten it"
        )
    return text
