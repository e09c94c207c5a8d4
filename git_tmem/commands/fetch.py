"""``git tmem fetch``: take in what others recorded."""

from __future__ import annotations

import os

import click

from git_tmem import mirror
from git_tmem.anchors import relink
from git_tmem.commands.terminal import count, say
from git_tmem.errors import RemoteError, TmemError
from git_tmem.index import Index
from git_tmem.remote import BUNDLE, Merged, check_remote, default_remote, fetch, fetch_bundle
from git_tmem.repo import Repository


@click.command()
@click.argument("source", default="", metavar="[REMOTE|FILE]")
def command(source: str) -> None:
    """Fetch records from REMOTE (default: your branch's, or origin) and merge them.

    In place of a remote, FILE is a bundle made by git tmem bundle create, for where there is no
    network. It is checked just as a remote is.

    Merging is a set union and never conflicts: records of both sides are kept, and what
    was forgotten on either side stays forgotten. Records whose commits were rewritten are
    pointed to from the commits that hold their work (git tmem relink). Your branches are not
    touched.

    What others recorded waits for review: no lookup shows it before git tmem accept, or
    before tmem.trust says that it may (signed, all).

    \b
    Examples:
      git tmem fetch
      git tmem fetch upstream
      git tmem fetch ../records.bundle
    """
    with Repository.open() as repository:
        source = source or default_remote(repository.git)
        if _is_bundle(repository, source):
            report(BUNDLE, fetch_bundle(repository, source))
        else:
            report(source, fetch(repository, source))
        follow_rewrites(repository)
        with Index(repository.layout) as index:
            mirror.refresh(repository.layout, index)
            say_waiting(index)


def _is_bundle(repository: Repository, source: str) -> bool:
    """Whether a file is meant: a remote of that name comes first."""
    if not os.path.isfile(source):
        return False
    try:
        check_remote(repository.git, source)
    except RemoteError:
        return True
    return False


#: Refused entries that are named one by one.
_NAMED = 100
#: What is said of records that no lookup shows yet, after their number.
WAITING = "waiting for review: git tmem list --untrusted"


def say_waiting(index: Index) -> None:
    """Say how many records wait for review, if any."""
    if waiting := index.waiting():
        say(f"{count(waiting, 'record')} {WAITING}", "yellow")


def follow_rewrites(repository: Repository) -> None:
    """Relink quietly: what was fetched is in, whatever comes of this."""
    try:
        relink(repository)
    except TmemError as error:
        say(f"records were not relinked: {error.message}", "yellow", error=True)


def report(remote: str, merged: Merged) -> None:
    """Say what a merge brought."""
    taken = f", {count(merged.removed, 'record')} forgotten by others" if merged.removed else ""
    tasks = f", {count(merged.events, 'event')} of tasks" if merged.events else ""
    say(f"{count(merged.added, 'new record')} from {remote}{taken}{tasks}")
    for path, reason in merged.refused[:_NAMED]:
        say(f"refused {path[:200]}: {reason}", "yellow", error=True)
    if len(merged.refused) > _NAMED:
        say(f"refused {len(merged.refused) - _NAMED} more", "yellow", error=True)
    if merged.tainted:
        say(
            f"{remote} still holds what was purged here; its records were taken, that was not;"
            f" to replace it there: git tmem push {remote} tells how",
            "yellow",
            error=True,
        )
