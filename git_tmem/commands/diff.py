"""``git tmem diff``: the patch that a session left."""

from __future__ import annotations

import click

from git_tmem.commands.show import raw_lines
from git_tmem.commands.terminal import say, say_json
from git_tmem.index import Index
from git_tmem.repo import Repository

_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


@click.command()
@click.argument("record", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="Print JSON for scripts.")
def command(record: str, as_json: bool) -> None:
    """Show the patch recorded with a record, redacted, as git diff shows it.

    \b
    Examples:
      git tmem diff 3f2a1b9c
      git tmem diff 3f2a | git apply --check
    """
    with Repository.open() as repository, Index(repository.layout) as index:
        name = index.resolve(record).id
        lines = raw_lines(repository, name, "patch.diff")
    if as_json:
        say_json({"id": name, "patch": "".join(f"{line}\n" for line in lines)})
        return
    for line in lines:
        say(line, _COLOURS.get(line[:1]))
