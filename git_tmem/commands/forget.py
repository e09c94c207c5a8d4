"""``git tmem forget``: a record goes, and stays gone."""

from __future__ import annotations

import click

from git_tmem import mirror
from git_tmem.commands.terminal import say
from git_tmem.index import Index
from git_tmem.lookup import decode
from git_tmem.repo import Repository
from git_tmem.store import Store


@click.command()
@click.argument("records", metavar="ID...", nargs=-1, required=True)
@click.option("--reason", required=True, metavar="TEXT", help="Why; it is kept with the tombstone.")
def command(records: tuple[str, ...], reason: str) -> None:
    """Forget records: nothing will show them again, here or in any clone that merges.

    A tombstone with the reason takes the record's place, and its raw trace is removed.
    The bytes stay in the history of refs/tmem/main.

    \b
    Examples:
      git tmem forget 3f2a1b9c --reason "the workaround is no longer needed"
    """
    if not reason.strip():
        raise click.UsageError("--reason wants some words")
    with Repository.open() as repository:
        with Index(repository.layout) as index:
            rows = [index.resolve(name) for name in records]
        store = Store(repository)
        for row in rows:
            playbook = decode(row)
            store.forget(row.id, reason.strip(), playbook.title, row.session)
            store.annotate(dict.fromkeys(playbook.anchor.commits, ()), gone=[row.id])
            say(f"{row.id[:12]} forgotten: {playbook.title}")
        with Index(repository.layout) as index:
            mirror.refresh(repository.layout, index)
