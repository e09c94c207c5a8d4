"""``git tmem task``: what is to be done, shared like the records are."""

from __future__ import annotations

import contextlib
import shlex
import subprocess
import time
from collections.abc import Iterator, Sequence
from typing import Any

import click

from git_tmem import tasks, worklist
from git_tmem.commands.answer import to_top
from git_tmem.commands.terminal import count, from_here, say, say_json
from git_tmem.commands.views import open_view
from git_tmem.errors import InputError
from git_tmem.index import Index
from git_tmem.repo import Repository
from git_tmem.tasks import Evidence, Task
from git_tmem.worklist import Worklist

_COLOURS = {"draft": "yellow", "active": "cyan", "stable": "green", "dropped": "red"}


@click.group(name="task")
def command() -> None:
    """Keep tasks where the memory is: what is to be done, after what, and what shows it is done.

    Tasks are shared by git tmem push and fetch, and merge without conflicts. A task starts as
    a draft, is active once somebody starts it, and stable when evidence shows that it is done.
    To an agent only the tasks of this clone are shown, and those of others that were taken on
    here with claim or start.

    \b
    Examples:
      git tmem task add "Totals round half a cent wrongly"
      git tmem task depend 3f2a1b9c --on 77aa01d2
      git tmem task list --ready
      git tmem task start 3f2a1b9c
      git tmem task done 3f2a1b9c --artifact src/cart.py --check "pytest -q tests/test_cart.py"
    """


_FORCE = click.option("--force", is_flag=True, help="Also when somebody else holds it.")
_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON for scripts.")


@contextlib.contextmanager
def _found(*names: str) -> Iterator[tuple[Repository, Worklist, list[Task]]]:
    with Repository.open() as repository:
        known = worklist.read(repository)
        yield repository, known, [worklist.resolve(known, name) for name in names]


@command.command()
@click.argument("title", nargs=-1, required=True)
@click.option("--after", multiple=True, metavar="ID", help="A task it waits for; may be repeated.")
@_JSON
def add(title: tuple[str, ...], after: tuple[str, ...], as_json: bool) -> None:
    """Open a task as a draft."""
    with _found(*after) as (repository, _, others):
        name = worklist.open_task(repository, " ".join(title))
        for other in others:
            known = worklist.read(repository)
            worklist.depend(repository, known, known.tasks[name], other)
    if as_json:
        say_json({"id": name})
    else:
        say(f"{name[:12]} opened")


@command.command(name="list")
@click.option("--ready", "only_ready", is_flag=True, help="What can be taken on now, best first.")
@click.option("--all", "everything", is_flag=True, help="Also what is stable or dropped.")
@_JSON
def listing(only_ready: bool, everything: bool, as_json: bool) -> None:
    """List tasks, the oldest first.

    Ready is what waits for nothing and is nobody's; first comes what most others wait for.
    """
    with _found() as (_, known, _others):
        shown = tasks.ready(known.tasks) if only_ready else _by_age(known, everything)
    if as_json:
        say_json([_document(task, known) for task in shown])
        return
    for task in shown:
        say(_line(task, known), _COLOURS[task.state])
    if not shown:
        say("nothing is ready" if only_ready else "there are no tasks; git tmem task add TITLE")


def _by_age(known: Worklist, everything: bool) -> list[Task]:
    wanted = (task for task in known.tasks.values() if everything or tasks.is_open(task))
    return sorted(wanted, key=lambda task: (task.opened, task.id))


#: What each kind of event is called in a history.
_VERBS = {
    tasks.OPEN: "opened",
    tasks.CLAIM: "claimed",
    tasks.RELEASE: "released",
    tasks.DEPEND: "made to wait for another",
    tasks.FREE: "freed of another",
    tasks.LINK: "linked",
    tasks.NOTE: "noted",
    tasks.EVIDENCE: "given evidence",
}


def _line(task: Task, known: Worklist) -> str:
    notes = [f"held by {task.holder}"] if task.holder and tasks.is_open(task) else []
    if tasks.is_open(task) and (before := tasks.waiting(task, known.tasks)):
        notes.append(f"waits for {', '.join(name[:12] for name in before)}")
    if task.id not in known.trusted:
        notes.append("from others")
    rest = f"  ({'; '.join(notes)})" if notes else ""
    return f"{task.id[:12]}  {task.state:<8}{task.title}{rest}"


@command.command()
@click.argument("name", metavar="ID")
@_JSON
def show(name: str, as_json: bool) -> None:
    """Show a task: what it waits for, its links, and whether its evidence still holds."""
    with _found(name) as (repository, known, (task,)), Index(repository.layout) as index:
        records = [row.id for row in index.rows("1 = 1")]
        titles = {row.id: row.title for row in index.rows("1 = 1")}
        view = open_view(repository, "")
        gaps = [worklist.evidence_gap(piece, view, records) for piece in task.evidence]
        titles |= {other.id: other.title for other in known.tasks.values()}
        spell = [_spell(repository, piece) for piece in task.evidence]
    if as_json:
        pairs = zip(task.evidence, gaps, strict=True)
        evidence = [{**_given(piece), "gap": gap} for piece, gap in pairs]
        say_json({**_document(task, known), "evidence": evidence, "history": _history(task)})
        return
    say(f"task {task.id}")
    say(f"{task.title}  ({task.state})", _COLOURS[task.state])
    for line in _relations(task, known, titles):
        say(f"  {line}")
    for text, gap in zip(spell, gaps, strict=True):
        say(f"  evidence: {text}{f' {gap}' if gap else ''}", "red" if gap else None)
    for event in _history(task):
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(event["at"]))
        text = f": {event['text']}" if event["text"] else ""
        verb = _VERBS.get(event["what"], event["what"])
        say(f"  {when}  {verb} by {event['by']}{text}")


def _relations(task: Task, known: Worklist, titles: dict[str, str]) -> Iterator[str]:
    def named(name: str) -> str:
        return f"{name[:12]} {titles.get(name, '(not here)')}"

    if task.holder:
        yield f"held by {task.holder}"
    before = set(tasks.waiting(task, known.tasks))
    for other in task.depends:
        yield f"{'waits for' if other in before else 'after'} {named(other)}"
    for other in sorted(key for key, found in known.tasks.items() if task.id in found.depends):
        yield f"awaited by {named(other)}"
    for relation, other in task.links:
        yield f"{relation} {named(other)}"
    for relation, other in tasks.backlinks(task.id, known.tasks.values()):
        yield f"{named(other)} {relation} this"


def _spell(repository: Repository, piece: Evidence) -> str:
    if piece.path:
        return from_here(repository.layout, piece.path)
    return f"`{piece.command}` passed" if piece.command else f"record {piece.record[:12]}"


@command.command()
@click.argument("name", metavar="ID")
@_FORCE
def claim(name: str, force: bool) -> None:
    """Take a task on, so that nobody else starts it as well."""
    with _found(name) as (repository, _, (task,)):
        worklist.take(repository, task, force)
    say(f"{task.id[:12]} is yours: {task.title}")


@command.command()
@click.argument("name", metavar="ID")
@_FORCE
def release(name: str, force: bool) -> None:
    """Give a task back."""
    with _found(name) as (repository, _, (task,)):
        mine = task.holder == repository.identity().line
        if task.holder and not mine and not force:
            raise InputError(f"{task.id[:12]} is held by {task.holder}", "ask them, or use --force")
        if task.holder:
            worklist.say_of(repository, task, worklist.event(tasks.RELEASE, forced=not mine))
    say(f"{task.id[:12]} is free: {task.title}")


@command.command()
@click.argument("name", metavar="ID")
@_FORCE
def start(name: str, force: bool) -> None:
    """Claim a task and make it active; refused while it waits for another."""
    with _found(name) as (repository, known, (task,)):
        before = tasks.waiting(task, known.tasks)
        if before and not force:
            raise InputError(
                f"{task.id[:12]} waits for {', '.join(other[:12] for other in before)}",
                "do that first, or start it all the same with --force",
            )
        worklist.take(repository, task, force)
        task = worklist.read(repository).tasks[task.id]
        if task.state != tasks.ACTIVE:
            worklist.say_of(repository, task, worklist.event(tasks.STATE, state=tasks.ACTIVE))
    say(f"{task.id[:12]} is active: {task.title}")


@command.command()
@click.argument("name", metavar="ID")
@click.option("--artifact", multiple=True, metavar="FILE", help="A file that was made or changed.")
@click.option("--check", multiple=True, metavar="COMMAND", help="Run it here; it must pass.")
@click.option("--memory", multiple=True, metavar="RECORD", help="A record that shows it.")
@click.option("--force", default="", metavar="REASON", help="Without evidence; say why.")
def done(
    name: str,
    artifact: tuple[str, ...],
    check: tuple[str, ...],
    memory: tuple[str, ...],
    force: str,
) -> None:
    """Call a task stable, on evidence that is looked at now.

    A file must be there, a command must pass (it is run without a shell), a record must be
    known here. git tmem task show tells later whether the files are still as they were.

    \b
    Examples:
      git tmem task done 3f2a1b9c --artifact docs/rounding.md
      git tmem task done 3f2a1b9c --check "pytest -q tests/test_cart.py"
      git tmem task done 3f2a1b9c --force "it was about a page that is gone"
    """
    with _found(name) as (repository, _, (task,)):
        shown = [*_artifacts(repository, artifact), *_memories(repository, memory), *_run(check)]
        worklist.finish(repository, task, shown, force)
    say(f"{task.id[:12]} is stable: {task.title}")
    if shown:
        say(f"             on {count(len(shown), 'piece')} of evidence")


def _artifacts(repository: Repository, names: Sequence[str]) -> Iterator[Evidence]:
    view = open_view(repository, "")
    for name, path in zip(names, to_top(repository.layout, tuple(names)), strict=True):
        blob = view.blob(path)
        if not blob:
            raise InputError(f"{name} is not there", "name a file of the work tree")
        yield Evidence(tasks.ARTIFACT, path=path, blob=blob)


def _memories(repository: Repository, names: Sequence[str]) -> Iterator[Evidence]:
    with Index(repository.layout) as index:
        for name in names:
            yield Evidence(tasks.MEMORY, record=index.resolve(name).id)


def _run(commands: Sequence[str]) -> Iterator[Evidence]:
    """The user's own commands, each split into words as a shell would and run without one."""
    for text in commands:
        try:
            words = shlex.split(text)
            status = subprocess.run(words, check=False).returncode if words else -1
        except (OSError, ValueError) as error:
            hint = "give a command and its words"
            raise InputError(f"{text}: cannot be run: {error}", hint) from error
        if status != 0:
            raise InputError(f"{text}: failed with status {status}", "the task stays as it was")
        yield Evidence(tasks.EVALUATION, command=text)


@command.command()
@click.argument("name", metavar="ID")
@click.option("--reason", required=True, metavar="TEXT", help="Why it is not to be done.")
def drop(name: str, reason: str) -> None:
    """Give a task up; what waited for it waits no more."""
    with _found(name) as (repository, _, (task,)):
        event = worklist.event(tasks.STATE, state=tasks.DROPPED, text=reason)
        worklist.say_of(repository, task, event)
    say(f"{task.id[:12]} dropped: {task.title}")


@command.command()
@click.argument("name", metavar="ID")
@click.option("--on", required=True, metavar="ID", help="The task that comes first.")
@click.option("--not", "undo", is_flag=True, help="It need not come first any more.")
def depend(name: str, on: str, undo: bool) -> None:
    """Let a task wait for another."""
    with _found(name, on) as (repository, known, (task, other)):
        if not undo:
            worklist.depend(repository, known, task, other)
        elif other.id in task.depends:
            worklist.say_of(repository, task, worklist.event(tasks.FREE, other=other.id))
    say(f"{task.id[:12]} {'no longer waits' if undo else 'waits'} for {other.id[:12]}")


@command.command()
@click.argument("name", metavar="ID")
@click.argument("relation", type=click.Choice(tasks.RELATIONS))
@click.argument("other", metavar="ID")
def link(name: str, relation: str, other: str) -> None:
    """Say how a task is related to another, or to a record."""
    with _found(name) as (repository, known, (task,)):
        target = _target(repository, known, other)
        worklist.say_of(repository, task, worklist.event("link", relation=relation, other=target))
    say(f"{task.id[:12]} {relation} {target[:12]}")


def _target(repository: Repository, known: Worklist, name: str) -> str:
    """The id of a task, else of a record."""
    with contextlib.suppress(InputError):
        return worklist.resolve(known, name).id
    with Index(repository.layout) as index:
        return index.resolve(name).id


@command.command()
@click.argument("name", metavar="ID")
@click.argument("text", nargs=-1, required=True)
def note(name: str, text: tuple[str, ...]) -> None:
    """Add some words to a task's history."""
    with _found(name) as (repository, _, (task,)):
        worklist.say_of(repository, task, worklist.event(tasks.NOTE, text=" ".join(text)))
    say(f"{task.id[:12]} noted")


def _document(task: Task, known: Worklist) -> dict[str, Any]:
    return {
        "id": task.id,
        "title": task.title,
        "state": task.state,
        "holder": task.holder,
        "opened": task.opened,
        "by": task.by,
        "depends": list(task.depends),
        "waits_for": list(tasks.waiting(task, known.tasks)) if tasks.is_open(task) else [],
        "links": [{"relation": relation, "id": other} for relation, other in task.links],
        "trusted": task.id in known.trusted,
    }


def _given(piece: Evidence) -> dict[str, str]:
    return {name: value for name, value in piece._asdict().items() if value}


def _history(task: Task) -> list[dict[str, Any]]:
    return [
        {"what": event.state or event.what, "at": event.at, "by": event.by, "text": event.text}
        for event in task.events
    ]
