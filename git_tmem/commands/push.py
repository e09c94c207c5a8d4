"""``git tmem push``: publish records with the user's own git."""

from __future__ import annotations

import click

from git_tmem.commands.terminal import count, say
from git_tmem.remote import default_remote, push
from git_tmem.repo import Repository


@click.command()
@click.argument("remote", default="")
def command(remote: str) -> None:
    """Publish this repository's records to REMOTE (default: your branch's, or origin).

    Only refs/tmem/main and refs/notes/tmem are pushed, never with force. When somebody else
    pushed first, theirs is fetched and merged, and the push is tried again. If records stay
    unpublished, that is said and the exit status is 6.

    \b
    Examples:
      git tmem push
      git tmem push upstream
    """
    with Repository.open() as repository:
        remote = remote or default_remote(repository.git)
        pushed = push(repository, remote)
    tasks = f", {count(pushed.events, 'event')} of tasks" if pushed.events else ""
    if not (pushed.records or pushed.events):
        say("there are no records to push yet")
    elif not (pushed.published or pushed.events):
        say(f"{remote} has all {count(pushed.records, 'record')} already")
    else:
        say(f"{remote} now has {count(pushed.records, 'record')}, {pushed.published} new{tasks}")
