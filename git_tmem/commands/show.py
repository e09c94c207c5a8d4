"""``git tmem show``: records of any time, as deep as asked."""

from __future__ import annotations

import click

from git_tmem import past
from git_tmem.commands.terminal import say, say_json
from git_tmem.errors import NothingFound
from git_tmem.index import Index
from git_tmem.lookup import origin, review
from git_tmem.past import Past
from git_tmem.render import describe, one_line
from git_tmem.repo import Repository
from git_tmem.store import Store

LEVELS = ("index", "playbook", "raw", "diff")


@click.command()
@click.argument("record", metavar="ID|COMMIT")
@click.option(
    "--level", type=click.Choice(LEVELS), default="playbook", show_default=True, help="How deep."
)
@click.option("--json", "as_json", is_flag=True, help="Print the record's own JSON.")
def command(record: str, level: str, as_json: bool) -> None:
    """Show a record, also one that was superseded or forgotten, and what became of it.

    ID is any unique start of its id. COMMIT is a commit that records were made for, or one of
    refs/tmem/main that wrote them (git tmem inspect is the same command).

    \b
    Levels:
      index      one line
      playbook   steps, files, checks, repairs, guards, each with its evidence
      raw        the session's actions, redacted, if this clone keeps them
      diff       the patch that the session left, if this clone keeps it

    \b
    Examples:
      git tmem show 3f2a1b9c
      git tmem show HEAD
      git tmem show 3f2a --level diff
      git tmem inspect 3f2a --json
    """
    with Repository.open() as repository, Index(repository.layout) as index:
        found = past.find(repository, index, record)
        if as_json:
            documents = [_document(index, item) for item in found]
            say_json(documents[0] if len(documents) == 1 else documents)
            return
        for number, item in enumerate(found):
            if number and level != "index":
                say()
            _show(repository, index, item, level)


def _document(index: Index, item: Past) -> dict[str, object]:
    known = {"id": item.id, "fate": item.fate, "by": item.by}
    whence = origin(index, item.row) if item.row else ""
    trusted = item.row is not None and item.row.trusted
    return {**item.document, **known, "trusted": trusted, "origin": whence}


def _show(repository: Repository, index: Index, item: Past, level: str) -> None:
    if item.row and not item.row.trusted:
        say(review(item.row), "yellow", error=True)
    if level == "index":
        say(one_line(item.id[:12], item.playbook, _became(item) and item.fate))
    elif level == "playbook":
        for line in describe(item.id, item.playbook):
            say(line)
        if item.row:
            say(f"origin: {origin(index, item.row)}")
        if told := _became(item):
            say(told, "yellow")
    else:
        name = "trace.jsonl" if level == "raw" else "patch.diff"
        for line in raw_lines(repository, item.id, name):
            say(line)


def _became(item: Past) -> str:
    """What became of a record, '' for one that is in force."""
    if item.fate == past.FORGOTTEN:
        return f"forgotten: {item.by}"
    if item.fate == past.SUPERSEDED:
        return f"superseded by: {item.by}"
    return ""


def raw_lines(repository: Repository, record: str, name: str) -> list[str]:
    """The lines of a record's raw file. Raises NothingFound when this clone does not keep it."""
    text = Store(repository).raw(record, name)
    if not text:
        raise NothingFound(
            f"this clone keeps no {name} for {record[:12]}",
            "raw traces stay in the clone that captured them, unless --no-raw left them out",
        )
    return text.splitlines()
