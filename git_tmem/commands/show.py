"""``git tmem show``: one record, as deep as asked."""

from __future__ import annotations

import json

import click

from git_tmem.commands.terminal import say, say_json
from git_tmem.errors import NothingFound
from git_tmem.index import Index
from git_tmem.lookup import decode, origin, review
from git_tmem.render import describe, one_line
from git_tmem.repo import Repository
from git_tmem.store import Store

LEVELS = ("index", "playbook", "raw", "diff")


@click.command()
@click.argument("record", metavar="ID")
@click.option(
    "--level", type=click.Choice(LEVELS), default="playbook", show_default=True, help="How deep."
)
@click.option("--json", "as_json", is_flag=True, help="Print the record's own JSON.")
def command(record: str, level: str, as_json: bool) -> None:
    """Show a record. ID is any unique start of its id (git tmem inspect is the same command).

    \b
    Levels:
      index      one line
      playbook   steps, files, checks, repairs, guards, each with its evidence
      raw        the session's actions, redacted, if this clone keeps them
      diff       the patch that the session left, if this clone keeps it

    \b
    Examples:
      git tmem show 3f2a1b9c
      git tmem show 3f2a --level diff
      git tmem inspect 3f2a --json
    """
    with Repository.open() as repository, Index(repository.layout) as index:
        row = index.resolve(record)
        playbook = decode(row)
        if as_json:
            known = {"id": row.id, "trusted": row.trusted, "origin": origin(index, row)}
            say_json({**json.loads(row.document), **known})
            return
        if not row.trusted:
            say(review(row), "yellow", error=True)
        if level == "index":
            say(one_line(row.id[:12], playbook, ""))
        elif level == "playbook":
            for line in describe(row.id, playbook):
                say(line)
            say(f"origin: {origin(index, row)}")
        else:
            name = "trace.jsonl" if level == "raw" else "patch.diff"
            for line in raw_lines(repository, row.id, name):
                say(line)


def raw_lines(repository: Repository, record: str, name: str) -> list[str]:
    """The lines of a record's raw file. Raises NothingFound when this clone does not keep it."""
    text = Store(repository).raw(record, name)
    if not text:
        raise NothingFound(
            f"this clone keeps no {name} for {record[:12]}",
            "raw traces stay in the clone that captured them, unless --no-raw left them out",
        )
    return text.splitlines()
