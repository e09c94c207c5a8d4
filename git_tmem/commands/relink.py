"""``git tmem relink``: records find their commits again after history was rewritten."""

from __future__ import annotations

import click

from git_tmem.anchors import relink
from git_tmem.commands.terminal import say, say_json
from git_tmem.repo import Repository


@click.command()
@click.argument("revisions", metavar="[REVISION-RANGE]", default="")
@click.option("--json", "as_json", is_flag=True, help="Print JSON for scripts.")
def command(revisions: str, as_json: bool) -> None:
    """Point rewritten commits at the records whose work they hold.

    For each record whose commits no branch, tag or HEAD reaches any more, looks among the
    newest 500 commits of REVISION-RANGE (default: all branches, tags and remotes) for the
    one that holds its work, and adds the record to that commit's note. What counts is
    content alone: the same patch id, else the same tree, else all its files as recorded,
    else the patch id of the whole vanished branch, squashed. The proof is printed.

    It also runs by itself: after a commit, an amend or a rebase by the hooks of git tmem init,
    and after git tmem fetch and sync. When there is nothing to do, nothing is printed.

    \b
    Examples:
      git tmem relink
      git tmem relink main~20..main
    """
    with Repository.open() as repository:
        done = relink(repository, [repository.span(revisions)] if revisions else ())
    if as_json:
        lost = [{"id": record, "title": title} for record, title in done.lost]
        say_json({"links": [link._asdict() for link in done.links], "lost": lost})
        return
    for link in done.links:
        say(f"{link.record[:12]} {link.title}")
        old = link.old[:12] or "not committed"
        say(f"    {old} -> {link.new[:12]} by {link.rule}: {link.proof}")
    for record, title in done.lost:
        say(f"{record[:12]} {title}")
        say("    its commit is gone, and no commit that was looked at holds its work", "yellow")
