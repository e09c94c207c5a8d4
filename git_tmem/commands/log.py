"""``git tmem log``: the store's own history."""

from __future__ import annotations

import os
import time

import click

from git_tmem.commands.answer import to_top
from git_tmem.commands.terminal import say, say_json
from git_tmem.repo import Repository
from git_tmem.storelog import events


@click.command()
@click.argument("file", metavar="[FILE[:SYMBOL]]", default="")
@click.option(
    "-n", "most", default=20, show_default=True, type=click.IntRange(1), help="Events to show."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON for scripts.")
def command(file: str, most: int, as_json: bool) -> None:
    """Show what happened to the records: captured, superseded, forgotten, merged.

    Newest first, with who did it and when, and for a forgotten record the reason. With FILE,
    only records that touched it; with FILE:SYMBOL, only those that edited that function,
    class or method. Plain git shows the whole: git log refs/tmem/main.

    \b
    Examples:
      git tmem log
      git tmem log -n 5 --json
      git tmem log -- src/cart.py
      git tmem log -- src/cart.py:Cart.total
    """
    with Repository.open() as repository:
        path, symbol = _split(file)
        path = to_top(repository.layout, (os.path.normpath(path),))[0] if path else ""
        told = events(repository, most, path, symbol)
    if as_json:
        say_json([event._asdict() for event in told])
        return
    for event in told:
        when = time.strftime("%Y-%m-%d %H:%M", time.gmtime(event.time))
        about = " ".join(filter(None, (event.record[:12], event.title)))
        reason = f" ({event.reason})" if event.reason else ""
        say(f"{when}  {event.what:<10} {about}{reason}  {event.by}")


def _split(file: str) -> tuple[str, str]:
    """FILE:SYMBOL in two; a file that is really called so is taken whole."""
    path, colon, symbol = file.rpartition(":")
    return (path, symbol) if colon and path and not os.path.exists(file) else (file, "")
