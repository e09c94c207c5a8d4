"""``git tmem diff``: the patch that a session left."""

from __future__ import annotations

import click

from git_tmem.commands.show import raw_lines
from git_tmem.commands.terminal import say
from git_tmem.index import Index
from git_tmem.repo import Repository

_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


@click.command()
@click.argument("record", metavar="ID")
def command(record: str) -> None:
    """Show the patch recorded with a record, redacted, as git diff shows it.

    \b
    Examples:
      git tmem diff 3f2a1b9c
      git tmem diff 3f2a | git apply --check
    """
    with Repository.open() as repository, Index(repository.layout) as index:
        for line in raw_lines(repository, index.resolve(record).id, "patch.diff"):
            say(line, _COLOURS.get(line[:1]))
