"""``git tmem bundle``: records in one file, for where there is no network."""

from __future__ import annotations

import click

from git_tmem.commands.terminal import count, say
from git_tmem.remote import create_bundle
from git_tmem.repo import Repository


@click.command()
@click.argument("action", type=click.Choice(["create"]), metavar="create")
@click.argument("file", type=click.Path(dir_okay=False))
def command(action: str, file: str) -> None:
    """Write all records and their notes to FILE, a bundle as git bundle makes it.

    Carry the file to another clone and run there: git tmem fetch FILE. Records in it wait for
    review as those of any remote do; taking one in twice changes nothing.

    \b
    Examples:
      git tmem bundle create ../records.bundle
      git bundle list-heads ../records.bundle
    """
    with Repository.open() as repository:
        bundled = create_bundle(repository, file)
    say(f"{file} holds {count(bundled, 'record')}; in another clone: git tmem fetch FILE")
