"""``git tmem list``: what is remembered, and what of it holds now."""

from __future__ import annotations

import time

import click

from git_tmem.commands.terminal import count, say, say_grade, say_json
from git_tmem.commands.views import open_view
from git_tmem.index import Index
from git_tmem.lookup import Memory, examine, origin, review
from git_tmem.ranking import Hit
from git_tmem.repo import Repository

PAGE = 20


@click.command()
@click.option("--skip", default=0, type=click.IntRange(0), help="Leave out the newest N.")
@click.option(
    "--limit",
    default=PAGE,
    show_default=True,
    type=click.IntRange(1, 1000),
    help="Records on a page.",
)
@click.option(
    "--at", default="", metavar="REV", help="Grade against a revision, not the work tree."
)
@click.option("--untrusted", is_flag=True, help="Only those that wait for review.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON for scripts.")
def command(skip: int, limit: int, at: str, untrusted: bool, as_json: bool) -> None:
    """List records, newest session first, each with its grade against the code now.

    \b
    Examples:
      git tmem list
      git tmem list --skip 20
      git tmem list --at origin/main --json
      git tmem list --untrusted
    """
    with Repository.open() as repository, Index(repository.layout) as index:
        view = open_view(repository, at)
        where = "live = 1 and trusted = 0" if untrusted else "live = 1"
        rows = index.rows(where, tail=f"limit {int(limit)} offset {int(skip)}")
        memories = [
            examine(row, Hit(row.number, 0, ()), view)._replace(origin=origin(index, row))
            for row in rows
        ]
        total = index.count(f"record where {where}")
    if as_json:
        say_json([_document(memory) for memory in memories])
        return
    for memory in memories:
        _say(memory)
    if not rows:
        say("no more" if total else _NOTHING[untrusted])
    elif total > skip + len(rows):
        more = f"git tmem list --skip {skip + len(rows)}" + " --untrusted" * untrusted
        say(f"{count(total, 'record')} in all; the next page: {more}")


_NOTHING = {
    True: "nothing waits for review",
    False: "nothing is remembered here yet; see: git tmem capture -h",
}


def _say(memory: Memory) -> None:
    """A record for people: grade, id, day, agent and title, and whether it waits for review."""
    ended = memory.playbook.ended
    day = time.strftime("%Y-%m-%d", time.gmtime(ended)) if ended else "-" * 10
    rest = f"{memory.abbrev}  {day}  {memory.playbook.agent:<12} {memory.playbook.title}"
    say_grade(memory.grade.name, rest)
    if not memory.row.trusted:
        say(f"             {memory.origin}; {review(memory.row)}", "yellow")


def _document(memory: Memory) -> dict[str, object]:
    """A record as the JSON that scripts read; documented in the manual."""
    return {
        "id": memory.row.id,
        "title": memory.playbook.title,
        "grade": memory.grade.name,
        "reasons": list(memory.grade.reasons),
        "trusted": memory.row.trusted,
        "origin": memory.origin,
        "agent": memory.playbook.agent,
        "session": memory.playbook.session,
        "ended": memory.playbook.ended,
        "commit": memory.playbook.anchor.commit,
        "files": list(memory.playbook.files),
    }
