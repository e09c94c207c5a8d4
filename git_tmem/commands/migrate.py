"""``git tmem migrate``: bring the store to the newest format, with a way back."""

from __future__ import annotations

import click

from git_tmem import migrate
from git_tmem.commands.terminal import say
from git_tmem.repo import Repository
from git_tmem.store import MAIN, Store


@click.command()
@click.option("--yes", is_flag=True, help="Do it; without, only what would be done is shown.")
def command(yes: bool) -> None:
    """Bring the store to the format that this version writes.

    The store as it was is kept at refs/tmem-local/backup-format-N. The whole migration is one
    commit: interrupted, it changes nothing, and is run again. A store of a later format than
    this version knows can be read as far as it is understood, and is not written to.

    \b
    Examples:
      git tmem migrate          shows what there is to do
      git tmem migrate --yes
    """
    with Repository.open() as repository:
        store = Store(repository)
        todo, backup = migrate.apply(store) if yes else (migrate.plan(store), "")
    if not todo.words:
        say(f"the store has format {todo.start}, the newest there is")
        return
    for number, words in enumerate(todo.words, todo.start):
        say(f"format {number} to {number + 1}: {words}")
    if backup:
        say(f"done; to go back: git update-ref {MAIN} {backup}")
    else:
        say("nothing was changed; to do it: git tmem migrate --yes")
