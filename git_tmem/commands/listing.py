"""``git tmem list``: what is remembered, and what of it holds now."""

from __future__ import annotations

import time

import click

from git_tmem.commands.terminal import count, say, say_grade, say_json
from git_tmem.commands.views import open_view
from git_tmem.index import Index
from git_tmem.lookup import examine
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
@click.option("--json", "as_json", is_flag=True, help="Print JSON for scripts.")
def command(skip: int, limit: int, at: str, as_json: bool) -> None:
    """List records, newest session first, each with its grade against the code now.

    \b
    Examples:
      git tmem list
      git tmem list --skip 20
      git tmem list --at origin/main --json
    """
    with Repository.open() as repository, Index(repository.layout) as index:
        view = open_view(repository, at)
        rows = index.rows(tail=f"limit {int(limit)} offset {int(skip)}")
        memories = [examine(row, Hit(row.number, 0, ()), view) for row in rows]
        total = index.count()
    if as_json:
        say_json(
            [
                {
                    "id": memory.row.id,
                    "title": memory.playbook.title,
                    "grade": memory.grade.name,
                    "reasons": list(memory.grade.reasons),
                    "agent": memory.playbook.agent,
                    "session": memory.playbook.session,
                    "ended": memory.playbook.ended,
                    "commit": memory.playbook.anchor.commit,
                    "files": list(memory.playbook.files),
                }
                for memory in memories
            ]
        )
        return
    for memory in memories:
        ended = memory.playbook.ended
        day = time.strftime("%Y-%m-%d", time.gmtime(ended)) if ended else "-" * 10
        rest = f"{memory.abbrev}  {day}  {memory.playbook.agent:<12} {memory.playbook.title}"
        say_grade(memory.grade.name, rest)
    if not rows:
        say("nothing is remembered here yet; see: git tmem capture -h" if not total else "no more")
    elif total > skip + len(rows):
        more = f"git tmem list --skip {skip + len(rows)}"
        say(f"{count(total, 'record')} in all; the next page: {more}")
