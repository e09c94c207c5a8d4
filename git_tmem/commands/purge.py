"""``git tmem purge``: what leaked goes from everything that is ours, and does not come back."""

from __future__ import annotations

import sys

import click

from git_tmem import purge
from git_tmem.commands.terminal import count, say, say_json
from git_tmem.errors import InputError, StoreError
from git_tmem.index import Index
from git_tmem.purge import Plan, Purged
from git_tmem.repo import Repository
from git_tmem.store import MAIN, NOTES, Store


@click.command()
@click.option("--id", "ids", metavar="ID", multiple=True, help="A record to purge as a whole.")
@click.option(
    "--stdin", "piped", is_flag=True, help="Read a string to purge; one is asked for else."
)
@click.option("--yes", is_flag=True, help="Do it; without, only what would be done is shown.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(ids: tuple[str, ...], piped: bool, yes: bool, as_json: bool) -> int:
    """Remove a leaked string, or whole records, from everything that is git-tmem's here.

    Records that hold it go, with their history: refs/tmem/main, notes, raw traces and trust are
    rewritten (other records keep their ids, rewritten commits lose their signatures), reflogs of
    these refs are emptied, the journal, the logs, the index and .tmem/ are cleaned, and the old
    objects leave the loose files and packs. A mark in the store keeps them from coming back by
    a fetch. Then everything is searched again, and what is beyond reach is said.

    The string is typed at a prompt or piped in: an argument would stay in the shell's history.
    Without --yes nothing is changed.

    \b
    Examples:
      git tmem purge                              asks for the string, shows where it is
      git tmem purge --yes                        and removes it
      pass show old-token | git tmem purge --stdin --yes
      git tmem purge --id 3f2a1b9c --yes
    """
    text = _text(piped) if piped or not ids else ""
    if not text and not ids:
        raise click.UsageError("no string was given and no --id")
    with Repository.open() as repository:
        with Index(repository.layout) as index:
            records = [index.resolve(name).id for name in ids]
        todo = purge.plan(repository, text, records)
        done = purge.apply(Store(repository), todo) if yes else None
    if as_json:
        say_json(_document(todo, done))
    else:
        _tell(todo, done)
    if done and done.left:
        raise StoreError(
            f"{count(len(done.left), 'place')} of ours still hold it: {done.left[0]}",
            "run git tmem purge again",
        )
    return 0


def _text(piped: bool) -> str:
    if piped or not sys.stdin.isatty():
        try:
            return sys.stdin.buffer.read().decode("utf-8").strip("\r\n")
        except UnicodeDecodeError as error:
            raise InputError(
                "standard input is not UTF-8 text", "records hold nothing else"
            ) from error
    return str(click.prompt("The string to purge", hide_input=True, err=True))


def _document(todo: Plan, done: Purged | None) -> dict[str, object]:
    return {
        "format": 1,
        "records": list(todo.records),
        "refs": list(todo.refs),
        "objects": sorted(todo.objects),
        "files": list(todo.files),
        "beyond": list(done.others if done else todo.others),
        "done": done is not None,
        "removed": done.removed if done else 0,
        "left": list(done.left) if done else [],
    }


def _tell(todo: Plan, done: Purged | None) -> None:
    if not (todo.objects or todo.files or todo.records):
        say("nothing of git-tmem's holds it")
    for record in todo.records:
        say(f"record {record[:12]}")
    for ref in todo.refs:
        say(f"ref {ref}")
    for path in todo.files:
        say(f"file {path}")
    say(f"{count(len(todo.objects), 'object')} of git-tmem's hold it")
    if done is None:
        say("nothing was changed; to remove it: git tmem purge --yes")
    else:
        say(f"{count(done.removed, 'object')} removed, with the history that held them")
        if not done.left:
            say("searched again: no object, ref, reflog or file of git-tmem's here holds it")
    _tell_beyond(todo, done)


def _tell_beyond(todo: Plan, done: Purged | None) -> None:
    say("beyond reach:")
    others = done.others if done else todo.others
    if others:
        say(f"  {count(len(others), 'object')} that are not git-tmem's hold it too:")
    for oid in others[:10]:
        say(f"    git log --all --find-object={oid}   (if nothing is shown: git gc --prune=now)")
    for name in done.kept if done else ():
        say(f"  {name}: has a .keep file, so it was left alone")
    for oid in todo.unread:
        say(f"  object {oid} is too large to be looked into")
    for remote, tip in done.remotes if done else ():
        lease = f"--force-with-lease={MAIN}:{tip}" if tip else "--force"
        say(f"  {remote}: to replace it there: git push {lease} {remote} {MAIN}")
        say(f"  {' ' * len(remote)}              and git push --force {remote} {NOTES}")
    say("  other clones and their remotes, backups, and what a host keeps: run the same there")
    say("  the agents' own session logs; a secret that was shared is best revoked")
