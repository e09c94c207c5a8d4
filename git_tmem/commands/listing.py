"""``git tmem list``: what is remembered, and what of it holds now."""

from __future__ import annotations

import calendar
import itertools
import re
import shlex
import time
from collections.abc import Callable
from typing import NamedTuple

import click

from git_tmem.commands.terminal import count, say, say_grade, say_json
from git_tmem.commands.views import open_view
from git_tmem.errors import InputError
from git_tmem.grade import L0_FULL, L0_PARTIAL, L1_TOPOLOGY, L2_INVARIANT, WITHHELD
from git_tmem.index import Index, Row
from git_tmem.lookup import ABBREV, Memory, decode, examine, origin, review
from git_tmem.playbook import Playbook
from git_tmem.ranking import Hit
from git_tmem.repo import Repository

PAGE = 20
_GRADES = (L0_FULL, L0_PARTIAL, L1_TOPOLOGY, L2_INVARIANT, WITHHELD)


class Wanted(NamedTuple):
    """What a record must be like to be listed; '' for what does not matter. ``author`` may be
    any part of a name or address; ``since`` and ``until`` are days, as 2026-01-31."""

    path: str = ""
    symbol: str = ""
    agent: str = ""
    author: str = ""
    branch: str = ""
    since: str = ""
    until: str = ""


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
    "--snapshot", default="", metavar="REV", help="As it was at that commit of the store."
)
@click.option("--path", default="", metavar="PATH", help="Only what touched this file.")
@click.option("--symbol", default="", metavar="NAME", help="Only what changed this symbol.")
@click.option("--agent", default="", metavar="NAME", help="Only that agent's sessions.")
@click.option("--author", default="", metavar="TEXT", help="Part of the author's name or address.")
@click.option("--branch", default="", metavar="NAME", help="Only sessions on that branch.")
@click.option("--since", default="", metavar="DAY", help="Ended on that day or later.")
@click.option("--until", default="", metavar="DAY", help="Ended on that day or before.")
@click.option("--grade", default="", type=click.Choice(["", *_GRADES]), help="Only that grade.")
@click.option(
    "--at", default="", metavar="REV", help="Grade against a revision, not the work tree."
)
@click.option("--untrusted", is_flag=True, help="Only those that wait for review.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON for scripts.")
def command(
    skip: int,
    limit: int,
    snapshot: str,
    grade: str,
    at: str,
    untrusted: bool,
    as_json: bool,
    **wanted: str,
) -> None:
    """List records, newest session first, each with its grade against the code now.

    \b
    Examples:
      git tmem list
      git tmem list --skip 20 --snapshot 8f3c1a2b9d04
      git tmem list --path src/cart.py --grade L0_FULL
      git tmem list --symbol Cart.total --since 2026-01-31
      git tmem list --at origin/main --json
      git tmem list --untrusted

    A page that is not the last one ends with the command for the next. It names a snapshot,
    so that what is recorded meanwhile moves nothing from page to page.
    """
    asked = Wanted(**wanted)
    fits = _filter(asked)
    with Repository.open() as repository, Index(repository.layout) as index:
        view = open_view(repository, at)
        tip = repository.resolve(snapshot) if snapshot else index.tip
        rows = _rows_at(repository, index, tip, untrusted)
        found = (
            examine(row, Hit(row.number, 0, ()), view)._replace(origin=origin(index, row))
            for row in rows
            if asked == Wanted() or fits(decode(row))
        )
        graded = (memory for memory in found if not grade or memory.grade.name == grade)
        page = list(itertools.islice(graded, skip, skip + limit + 1))
    memories, more = page[:limit], page[limit:]
    if as_json:
        say_json([_document(memory) for memory in memories])
        return
    for memory in memories:
        _say(memory)
    if more:
        following = _next(skip + limit, tip, {**wanted, "grade": grade, "at": at})
        size = f" --limit {limit}" * (limit != PAGE) + " --untrusted" * untrusted
        say(f"{_total(rows, asked, grade)}the next page: {following}{size}")
    elif not memories:
        say(_nothing(bool(rows), skip, asked != Wanted() or bool(grade), untrusted))


def _filter(asked: Wanted) -> Callable[[Playbook], bool]:
    """Whether a playbook fits. Raises InputError for what is no day."""
    since = _day(asked.since)
    until = _day(asked.until) + 86_400 if asked.until else 0

    def fits(book: Playbook) -> bool:
        return (
            (not asked.path or asked.path in _paths(book))
            and (not asked.symbol or asked.symbol in _symbols(book))
            and asked.agent in ("", book.agent)
            and asked.branch in ("", book.branch)
            and asked.author.lower() in book.author.lower()
            and since <= book.ended
            and (not until or book.ended < until)
        )

    return fits


def _paths(book: Playbook) -> set[str]:
    """The files of a record, by their whole path and by their name."""
    paths = {*book.files, *(step.path for step in book.steps)}
    return paths | {path.rpartition("/")[2] for path in paths}


def _symbols(book: Playbook) -> set[str]:
    names = {name for step in book.steps for name in step.symbols}
    return names | {name.rpartition(".")[2] for name in names}


def _day(text: str) -> int:
    """The second a day begins (UTC), 0 for ''."""
    if not text:
        return 0
    try:
        if not re.fullmatch(r"\d{4}-\d\d-\d\d", text):
            raise ValueError
        return calendar.timegm(time.strptime(text, "%Y-%m-%d"))
    except ValueError:
        raise InputError(f"{text!r} is no day", "write it as 2026-01-31") from None


def _rows_at(repository: Repository, index: Index, tip: str, untrusted: bool) -> list[Row]:
    """The records that counted at a commit of the store and are still there, newest first."""
    if tip == index.tip:
        rows = index.rows("live = 1")
    else:
        status, data = repository.git.output("ls-tree", "-r", "-z", "--name-only", tip, "mem/")
        names = data.decode("utf-8", "replace").split("\0") if status == 0 else []
        there = {name.rpartition("/")[2].removesuffix(".json") for name in names}
        known = [row for row in index.rows("1 = 1") if row.id in there]
        old = {other for row in known for other in decode(row).supersedes}
        rows = [row for row in known if row.id not in old]
    return [row for row in rows if not (untrusted and row.trusted)]


def _next(skip: int, tip: str, options: dict[str, str]) -> str:
    """The command for the next page."""
    given = (f" --{name} {shlex.quote(value)}" for name, value in options.items() if value)
    return f"git tmem list --skip {skip} --snapshot {tip[:ABBREV]}{''.join(given)}"


def _total(rows: list[Row], asked: Wanted, grade: str) -> str:
    """How many there are, where that is known without grading them all."""
    return "" if grade or asked != Wanted() else f"{count(len(rows), 'record')} in all; "


def _nothing(some: bool, skip: int, filtered: bool, untrusted: bool) -> str:
    if some:
        return "nothing fits" if filtered and not skip else "no more"
    return _NOTHING[untrusted]


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
