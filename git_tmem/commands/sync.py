"""``git tmem sync``: fetch, merge, push, and make everything derived anew."""

from __future__ import annotations

import os

import click

from git_tmem import mirror
from git_tmem.commands.fetch import follow_rewrites, report, say_waiting
from git_tmem.commands.terminal import count, say
from git_tmem.index import Index
from git_tmem.remote import default_remote, fetch, push
from git_tmem.repo import Repository


@click.command()
@click.argument("remote", default="")
@click.option("--local", is_flag=True, help="Only rebuild the index and the mirror.")
def command(remote: str, local: bool) -> None:
    """Fetch, merge and push records, then rebuild the search index and the mirror.

    The index and .tmem/ are derived from refs/tmem/main; rebuilding loses nothing. Mirror
    files that somebody edited are named and left alone: delete one to get it back.

    \b
    Examples:
      git tmem sync
      git tmem sync upstream
      git tmem sync --local
    """
    with Repository.open() as repository:
        if not local:
            remote = remote or default_remote(repository.git)
            report(remote, fetch(repository, remote))
            follow_rewrites(repository)
            pushed = push(repository, remote)
            say(f"{remote} has {count(pushed.records, 'record')}, {pushed.published} new")
        Index.drop(repository.layout)
        with Index(repository.layout) as index:
            done = mirror.refresh(repository.layout, index)
            damaged = index.damaged()
            say(f"index rebuilt: {count(index.count(), 'record')}")
            say_waiting(index)
    if done.written or done.removed:
        say(f"mirror: {count(done.written, 'file')} written, {done.removed} removed")
    for name in done.edited:
        say(f"{os.path.join(mirror.FOLDER, name)} was edited by hand and left as it is", "yellow")
    for path, reason in damaged:
        say(f"not usable: {path}: {reason}", "red")
