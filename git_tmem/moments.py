"""What is said to an agent, and when: the moments of a session, whoever the agent is.

::

    start     a small index, one line a record, the same bytes for the whole session
    turn      what is known of the words; that the store has changed
    before    what is known of a file that is about to be read or edited, once
    result    of a failure its repair, at once; that an edit was followed by a passing check

Only records whose guards hold against the work tree are spoken of, at most three at once,
and none twice while it is visible. What an agent takes no text for waits for the next moment.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

from git_tmem.git import Layout
from git_tmem.protocols.base import BEFORE, RESULT, START, TURN, Event
from git_tmem.told import Told

if TYPE_CHECKING:  # a hook that has nothing to look up does not import it
    from git_tmem.index import Index
    from git_tmem.lookup import Memory
    from git_tmem.query import Query

#: Characters of the index at the start, unless configured.
INDEX_SIZE = 700
#: Bytes of one block of memories.
_BUDGET = 4096
#: Records that are looked at for the index, and lines it has at most.
_LOOKED_AT = 16
_LINES = 10
#: Blocks that may wait.
_WAITING = 4
#: Characters of a prompt or of an output's end that are looked up.
_TEXT = 20_000


def respond(layout: Layout, event: Event, told: Told, cap: int, size: int = INDEX_SIZE) -> str:
    """What to say now, '' for nothing; ``told`` is changed to what was said and what waits."""
    blocks = list(_blocks(layout, event, told, cap, size))
    told.waiting = [*told.waiting, *blocks][-_WAITING:]
    return _deliver(told, cap) if event.speaks else ""


def _deliver(told: Told, cap: int) -> str:
    """As many of the waiting blocks as fit, the oldest first, with at most three memories."""
    said: list[str] = []
    memories = 0
    while told.waiting:
        block = told.waiting[0]
        memories += _memories(block)
        if said and (len("\n".join([*said, block]).encode()) > cap or memories > 3):
            break
        said.append(told.waiting.pop(0))
    return "\n".join(said)


def _memories(block: str) -> int:
    return sum(f"\n[{number}] " in block for number in (1, 2, 3))


def _blocks(layout: Layout, event: Event, told: Told, cap: int, size: int) -> Iterable[str]:
    budget = min(_BUDGET, cap)
    if event.moment == START and event.forgets:
        told.forget()
        if told.index:
            yield told.index
    if event.moment in (START, TURN) and not told.started:
        told.started = True
        yield from _index(layout, told, size)
    if event.moment == TURN:
        yield from _turn(layout, event, told, budget)
    elif event.moment == BEFORE:
        yield from _before(layout, event, told, budget)
    elif event.moment == RESULT:
        yield from _result(layout, event, told, budget)


def _index(layout: Layout, told: Told, size: int) -> Iterable[str]:
    """The newest records that hold, one a line."""
    from git_tmem import lookup, probes, render
    from git_tmem.grade import WITHHELD, grade
    from git_tmem.index import Index
    from git_tmem.worktree import WorktreeView

    with Index(layout) as index:
        told.tip = index.tip
        trusted = "live = 1" if index.policy == "all" else "live = 1 and trusted = 1"
        rows = index.rows(trusted, tail=f"limit {_LOOKED_AT}")
        if not rows:
            return
        number = index.size()
    books = [lookup.decode(row) for row in rows]
    view = WorktreeView(layout)
    view.prime(
        path
        for book in books
        for probe in book.probes
        if isinstance(path := probe.args.get("path"), str) and probes.safe_path(path)
    )
    lines = [f"{number} in all. More: git tmem lookup WORDS; one: git tmem show ID"]
    for row, book in zip(rows, books, strict=True):
        if len(lines) > _LINES:
            break
        if grade(book, probes.check_all(book.probes, view)).name != WITHHELD:
            where = f" ({book.files[0]})" if book.files else ""
            lines.append(f"{row.id[: lookup.ABBREV]} {book.title[:80]}{where}")
    if len(lines) > 1:
        told.index = render.notice(lines, index.tip[: lookup.ABBREV], size)
        yield told.index


def _turn(layout: Layout, event: Event, told: Told, budget: int) -> Iterable[str]:
    from git_tmem import lookup, render
    from git_tmem.index import Index
    from git_tmem.query import Query

    with Index(layout) as index:
        tip = index.tip
        if told.tip and tip != told.tip:
            old, new = told.tip[: lookup.ABBREV], tip[: lookup.ABBREV]
            said = (
                f"The store of records has moved from {old} to {new}: {index.size()} records now."
            )
            yield render.notice([said], new, budget)
        told.tip = tip
        if event.prompt.strip():
            # Nobody asked: one memory at most, and only a sure one. A card of the files that the
            # agent then touches follows at the touch.
            query = Query(event.prompt[:_TEXT], limit=1, budget=budget)
            yield from _found(index, layout, told, query, unasked=True)


def _before(layout: Layout, event: Event, told: Told, budget: int) -> Iterable[str]:
    paths = [path for path in below(layout, event) if path not in told.paths]
    if not paths:
        return
    from git_tmem.index import Index
    from git_tmem.query import Query

    told.paths += paths
    with Index(layout) as index:
        yield from _found(index, layout, told, Query(files=tuple(paths[:20]), budget=budget))


def _found(
    index: Index, layout: Layout, told: Told, query: Query, unasked: bool = False
) -> Iterable[str]:
    from git_tmem.lookup import lookup
    from git_tmem.worktree import WorktreeView

    answer = lookup(index, query, WorktreeView(layout), skip=told.shown, unasked=unasked)
    if answer.text:
        shown = [memory for memory in answer.shown if memory.abbrev in answer.text]
        told.shown += [memory.row.id for memory in shown]
        yield answer.text


def _result(layout: Layout, event: Event, told: Told, budget: int) -> Iterable[str]:
    yield from _before(layout, event, told, budget)  # for agents that do not say it before
    if event.edits:
        told.edited = told.edited or not event.failed
        return
    failed = _has_failed(event, told)
    if failed:
        yield from _repair(layout, event, told, budget)
    elif failed is False and told.edited and event.command:
        yield from _milestone(event, told, budget)


def _has_failed(event: Event, told: Told) -> bool | None:
    """What the agent says; where it does not say, what the output tells."""
    if event.failed or not event.command:
        return event.failed
    if event.failed is False and not told.edited:
        return False  # the only thing that could follow is a milestone
    from git_tmem import checks

    if not checks.is_check(event.command):
        return event.failed
    passed = checks.passed(event.command, event.exit_code, event.output[-_TEXT:])
    return None if passed is None else not passed


def _milestone(event: Event, told: Told, budget: int) -> Iterable[str]:
    from git_tmem import checks, render

    if not checks.is_check(event.command):
        return
    told.edited = False
    if told.asked:
        return
    told.asked = True
    said = f"Milestone: an edit was followed by a passing check ({event.command[:100]})."
    ask = "Is it worth keeping? A commit keeps it by itself; git tmem capture keeps it now."
    yield render.notice([said, ask], told.tip[:12], budget)


def _repair(layout: Layout, event: Event, told: Told, budget: int) -> Iterable[str]:
    """The repair of a failure at once; that it is known when it comes again or is in sight."""
    from git_tmem.signature import signature

    found = signature(event.output[-_TEXT:])
    if found is None or told.errors.get(found.key, 0) > 1:
        return
    from git_tmem import render
    from git_tmem.index import Index
    from git_tmem.lookup import lookup
    from git_tmem.query import Query
    from git_tmem.worktree import WorktreeView

    with Index(layout) as index:
        query = Query(error=event.output[-_TEXT:], budget=budget)
        answer = lookup(index, query, WorktreeView(layout), channel="error")
        if not answer.text:
            return
        told.errors[found.key] = told.errors.get(found.key, 0) + 1
        known = [memory for memory in answer.shown if memory.row.id in told.shown]
        if known:
            yield render.notice(_woken(known[0], found.near), index.tip[:12], budget)
            return
        told.shown += [one.row.id for one in answer.shown if one.abbrev in answer.text]
        yield answer.text


def _woken(memory: Memory, near: str) -> list[str]:
    """That the record which was shown before is about this failure, and what its repair was."""
    lines = [f"The same failure is on record: {memory.abbrev} woke up. {memory.playbook.title}"]
    for repair in memory.playbook.repairs:
        if repair.near == near:
            lines += [f"repaired by: {line}" for line in repair.fix[:3]]
            lines += [f"then passed: {repair.check}"] if repair.check else []
            break
    return lines


def below(layout: Layout, event: Event) -> list[str]:
    """The event's paths that lie in the work tree, relative to its top, with ``/``."""
    if not layout.top or not event.paths:
        return []
    top = os.path.realpath(layout.top)
    found = []
    for path in event.paths[:20]:
        if "\0" in path:
            continue
        full = os.path.join(event.folder or top, path)
        place = os.path.join(os.path.realpath(os.path.dirname(full)), os.path.basename(full))
        relative = os.path.relpath(place, top).replace(os.sep, "/")
        if not relative.startswith("../") and relative not in ("..", "."):
            found.append(relative)
    return list(dict.fromkeys(found))
