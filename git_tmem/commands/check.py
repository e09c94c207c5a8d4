"""``git tmem check``: every record against the code, with the reason for what is hidden."""

from __future__ import annotations

from collections import Counter

import click

from git_tmem.commands.terminal import count, progress, say, say_grade, say_json
from git_tmem.commands.views import open_view
from git_tmem.index import Index
from git_tmem.lookup import Memory, examine, origin, review
from git_tmem.ranking import Hit
from git_tmem.repo import Repository


@click.command()
@click.argument("records", metavar="[ID]...", nargs=-1)
@click.option(
    "--at", default="", metavar="REV", help="Check against a revision, not the work tree."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON for scripts.")
def command(records: tuple[str, ...], at: str, as_json: bool) -> None:
    """Check the guards of records (default: all) and print each grade with its reasons.

    \b
    Examples:
      git tmem check
      git tmem check 3f2a1b9c
      git tmem check --at v2.0
    """
    with Repository.open() as repository, Index(repository.layout) as index:
        view = open_view(repository, at)
        rows = [index.resolve(name) for name in records] if records else index.rows()
        memories = [
            examine(row, Hit(row.number, 0, ()), view)._replace(origin=origin(index, row))
            for row in progress(rows, "checking")
        ]
        damaged = index.damaged()
    if as_json:
        say_json([_document(memory) for memory in memories])
        return
    for memory in memories:
        say_grade(memory.grade.name, f"{memory.abbrev}  {memory.playbook.title}")
        for reason in memory.grade.reasons:
            say(f"             {reason}")
        if not memory.row.trusted:
            say(f"             {memory.origin}; {review(memory.row)}", "yellow")
    for path, reason in damaged:
        say(f"not usable: {path}: {reason}", "red")
    grades = Counter(memory.grade.name for memory in memories)
    summary = ", ".join(f"{number} {grade}" for grade, number in sorted(grades.items()))
    say(f"{count(len(memories), 'record')}" + (f": {summary}" if summary else ""))


def _document(memory: Memory) -> dict[str, object]:
    return {
        "id": memory.row.id,
        "title": memory.playbook.title,
        "grade": memory.grade.name,
        "reasons": list(memory.grade.reasons),
        "trusted": memory.row.trusted,
        "origin": memory.origin,
        "steps": [
            {"kind": step.kind, "path": step.path, "state": outcome.state, "reason": outcome.reason}
            for step, outcome in zip(memory.playbook.steps, memory.grade.outcomes, strict=True)
        ],
    }
