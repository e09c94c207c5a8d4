"""``git tmem accept``: what others recorded may be shown from now on."""

from __future__ import annotations

import click

from git_tmem import mirror, trust
from git_tmem.commands.terminal import count, say
from git_tmem.errors import InputError, StoreError
from git_tmem.index import Index, Row
from git_tmem.lookup import decode
from git_tmem.repo import Repository
from git_tmem.store import Store


@click.command()
@click.argument("records", metavar="[ID]...", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="All that waits for review.")
@click.option("--from", "remote", default="", metavar="REMOTE", help="All that came from there.")
@click.option("--undo", is_flag=True, help="Take acceptance back: ID waits for review again.")
def command(records: tuple[str, ...], everything: bool, remote: str, undo: bool) -> None:
    """Accept records that others made, so that lookups may show them.

    What you fetch is input, not instruction: it waits for review until you accept it here,
    whoever its author claims to be. Look first: git tmem show ID. What this clone made
    itself needs no acceptance. Acceptance stays in this clone and is never pushed.

    \b
    With git config tmem.trust:
      own      what was made or accepted here is shown (the default)
      signed   and what an allowed signer signed is accepted at each fetch
      all      everything is shown

    \b
    Examples:
      git tmem list --untrusted
      git tmem accept 3f2a1b9c
      git tmem accept --from origin
      git tmem accept --all
      git tmem accept --undo 3f2a1b9c
    """
    if bool(records) + everything + bool(remote) != 1 or (undo and not records):
        raise click.UsageError(
            "--undo wants ids" if undo else "give ids, or --all, or --from REMOTE"
        )
    with Repository.open() as repository:
        store = Store(repository)
        with Index(repository.layout) as index:
            rows = _chosen(index, records, remote)
            (_take_back if undo else _accept)(store, index, rows)
        with Index(repository.layout) as index:
            mirror.refresh(repository.layout, index)


def _chosen(index: Index, records: tuple[str, ...], remote: str) -> list[Row]:
    if records:
        return list(dict.fromkeys(index.resolve(name) for name in records))
    rows = index.rows("trusted = 0")
    return [row for row in rows if not remote or index.marks(row.id).get(trust.SEEN) == remote]


def _accept(store: Store, index: Index, rows: list[Row]) -> None:
    _refuse_in_a_mirror(store)
    marks = {row.id: index.marks(row.id) for row in rows}
    new = [row for row in rows if not marks[row.id].keys() & {trust.OWN, trust.ACCEPTED}]
    trust.accept(store, {row.id: "" for row in new})
    for row in rows:
        author = decode(row).author or "nobody"
        verb = "accepted" if row in new else "is trusted already"
        say(f"{row.id[:12]} {verb}: {row.title}")
        say(f"             {trust.describe(marks[row.id])}; says it is by {author}")
    say(f"{count(len(new), 'record')} accepted")


def _take_back(store: Store, index: Index, rows: list[Row]) -> None:
    marks = {row.id: index.marks(row.id) for row in rows}
    for row in rows:
        if trust.OWN in marks[row.id]:
            raise InputError(
                f"{row.id[:12]} was made here, so there is no acceptance to take back",
                f'to be rid of it: git tmem forget {row.id[:12]} --reason "..."',
            )
    trust.take_back(store, [row.id for row in rows])
    for row in rows:
        seen = {trust.SEEN: marks[row.id].get(trust.SEEN, "")}
        say(f"{row.id[:12]} waits for review again: {row.title} ({trust.describe(seen)})")


def _refuse_in_a_mirror(store: Store) -> None:
    if trust.overwritten(store.repository.git):
        raise StoreError(
            "this clone mirrors a remote, whose fetches write over what is accepted here",
            "to show all that the remote has: git config tmem.trust all",
        )
