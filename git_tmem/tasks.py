"""Tasks: what is to be done, by whom, after what, and what shows that it is done.

A task is a set of events that never change, so clones merge by union like records do. Each
event names the newest ones that its writer knew (``after``), which orders them without a
clock; events that did not know of each other come by time, then by id. From the events alone
everybody derives the same state::

    draft ──start──▶ active ──done, with evidence──▶ stable
      └──────────────drop──▶ dropped ◀──────┘

Of two claims made without knowing of each other, the first in that order holds. A task waits
while one that it depends on is neither stable nor dropped; one that waits for itself, as a
merge can make it, waits until a dependency is taken out.

Format history of an event (``schema/task.json``): 1 is the first.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from git_tmem.playbook import FORMAT

#: States of a task.
DRAFT, ACTIVE, STABLE, DROPPED = "draft", "active", "stable", "dropped"
STATES = (DRAFT, ACTIVE, STABLE, DROPPED)
#: Kinds of event.
OPEN, STATE, CLAIM, RELEASE, DEPEND, FREE, LINK, NOTE, EVIDENCE = (
    *("open", "state", "claim", "release", "depend", "free", "link", "note", "evidence"),
)
#: How tasks and records are related, as ``git tmem task link`` says it.
RELATIONS = ("relates-to", "part-of", "follows", "duplicates", "contradicts")
#: Kinds of evidence: a file, a command that passed, a record.
ARTIFACT, EVALUATION, MEMORY = "artifact", "evaluation", "memory"

#: Characters of a title or reason, as in the schema.
TEXT_LIMIT = 2000
#: Most events of one task that an event names as the newest.
_HEADS = 20


class Evidence(NamedTuple):
    """What shows that a task is done: a file with its blob id, a command that passed, or a
    record's id."""

    kind: str
    path: str = ""
    blob: str = ""
    command: str = ""
    record: str = ""


class Event(NamedTuple):
    """One thing said of a task, at a time in seconds since the epoch, by whom as git names
    them. ``task`` is '' in the event that opens it, whose id is the task's."""

    what: str
    at: int
    by: str
    task: str = ""
    text: str = ""
    state: str = ""
    other: str = ""
    relation: str = ""
    forced: bool = False
    evidence: Evidence | None = None
    after: tuple[str, ...] = ()


class Task(NamedTuple):
    """A task as its events leave it. ``heads`` are the newest events, for the next one to
    name; ``depends`` and ``links`` (relation, id) name other tasks, links also records."""

    id: str
    title: str
    state: str
    holder: str
    opened: int
    by: str
    depends: tuple[str, ...]
    links: tuple[tuple[str, str], ...]
    evidence: tuple[Evidence, ...]
    events: tuple[Event, ...]
    heads: tuple[str, ...]


def to_document(event: Event) -> dict[str, Any]:
    """An event as JSON; what is empty is left out."""
    fields = event._asdict() | {
        "evidence": _filled(event.evidence._asdict()) if event.evidence else {},
        "after": list(event.after),
    }
    return {"format": FORMAT, "kind": "task", "at": event.at, "by": event.by, **_filled(fields)}


def from_document(document: Mapping[str, Any]) -> Event:
    """The event in a document that the schema has passed."""
    known = {name: document[name] for name in Event._fields if name in document}
    known["after"] = tuple(document.get("after", ()))
    if "evidence" in known:
        given = known["evidence"]
        known["evidence"] = Evidence(**{n: given[n] for n in Evidence._fields if n in given})
    return Event(**known)


def _filled(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value}


def fold(events: Mapping[str, Event]) -> Task | None:
    """The task that events (id -> event) make; None without the one that opens it."""
    first = next(
        (name for name in sorted(events) if (events[name].what, events[name].task) == (OPEN, "")),
        "",
    )
    if not first:
        return None
    state, holder = DRAFT, ""
    depends: dict[str, None] = {}
    links: dict[tuple[str, str], None] = {}
    evidence: dict[Evidence, None] = {}
    ordered = order(events)
    for event in ordered:
        if event.what == STATE and event.state in STATES:
            state = event.state
        elif event.what == CLAIM and (not holder or event.forced):
            holder = event.by
        elif event.what == RELEASE and (event.by == holder or event.forced):
            holder = ""
        elif event.what == DEPEND:
            depends[event.other] = None
        elif event.what == FREE:
            depends.pop(event.other, None)
        elif event.what == LINK:
            links[event.relation, event.other] = None
        if event.evidence:
            evidence[event.evidence] = None
    opening = events[first]
    return Task(
        first,
        opening.text,
        state,
        holder,
        opening.at,
        opening.by,
        tuple(depends),
        tuple(links),
        tuple(evidence),
        tuple(ordered),
        _heads(events),
    )


def order(events: Mapping[str, Event]) -> list[Event]:
    """Events after those that they name, else by time and id; the same for every clone."""
    waits = {name: {old for old in event.after if old in events} for name, event in events.items()}
    followers: dict[str, list[str]] = {}
    for name, before in waits.items():
        for old in before:
            followers.setdefault(old, []).append(name)
    ready = [(event.at, name) for name, event in events.items() if not waits[name]]
    heapq.heapify(ready)
    found = []
    while ready:
        _, name = heapq.heappop(ready)
        found.append(events[name])
        for later in followers.get(name, ()):
            waits[later].discard(name)
            if not waits[later]:
                heapq.heappush(ready, (events[later].at, later))
    return found


def _heads(events: Mapping[str, Event]) -> tuple[str, ...]:
    named = {old for event in events.values() for old in event.after}
    newest = sorted(events.keys() - named, key=lambda name: (-events[name].at, name))
    return tuple(sorted(newest[:_HEADS]))


def waiting(task: Task, tasks: Mapping[str, Task]) -> tuple[str, ...]:
    """The ids that a task waits for: what is neither stable nor dropped. One that this clone
    does not have is waited for."""
    return tuple(
        other
        for other in task.depends
        if other not in tasks or tasks[other].state not in (STABLE, DROPPED)
    )


def is_open(task: Task) -> bool:
    """Whether something is still to be done."""
    return task.state in (DRAFT, ACTIVE)


def ready(tasks: Mapping[str, Task]) -> list[Task]:
    """What can be taken on now: open, waiting for nothing, and nobody's; first what most
    others wait for, directly or not, then what was opened first."""
    free = [
        task
        for task in tasks.values()
        if is_open(task) and not task.holder and not waiting(task, tasks)
    ]
    return sorted(free, key=lambda task: (-len(behind(task.id, tasks)), task.opened, task.id))


def behind(name: str, tasks: Mapping[str, Task]) -> set[str]:
    """The open tasks that cannot be done before ``name`` is, directly or not."""
    dependents: dict[str, list[str]] = {}
    for task in tasks.values():
        for other in task.depends if is_open(task) else ():
            dependents.setdefault(other, []).append(task.id)
    found: set[str] = set()
    rest = [name]
    while rest:
        for other in dependents.get(rest.pop(), ()):
            if other not in found:
                found.add(other)
                rest.append(other)
    return found


def backlinks(name: str, tasks: Iterable[Task]) -> list[tuple[str, str]]:
    """Tasks that link to a task or record: (relation, id), in order of ids."""
    return sorted(
        (relation, task.id) for task in tasks for relation, other in task.links if other == name
    )
