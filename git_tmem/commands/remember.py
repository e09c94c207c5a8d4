"""``git tmem remember``: a memory that somebody writes down."""

from __future__ import annotations

import os
import sys

import click

from git_tmem import insight, mirror
from git_tmem.commands.answer import to_top
from git_tmem.commands.terminal import say, say_json
from git_tmem.errors import InputError
from git_tmem.git import Layout
from git_tmem.index import Index
from git_tmem.insight import TEXT_LIMIT, About
from git_tmem.repo import Repository
from git_tmem.store import KNOWN, Put


@click.command()
@click.argument("text", nargs=-1, required=True, metavar="TEXT")
@click.option(
    "--about", multiple=True, metavar="FILE[:SYMBOL]", help="What it is about; may be repeated."
)
@click.option("--title", default="", help="One line; else the first of the text.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON for scripts.")
def command(text: tuple[str, ...], about: tuple[str, ...], title: str, as_json: bool) -> None:
    """Remember something in your own words: a decision, a trap, why something is as it is.

    TEXT - reads standard input. What it is about guards it: once those files and symbols are
    all gone, it is shown no more. It is shared like any record; secrets are replaced first.

    \b
    Examples:
      git tmem remember "Totals are in cents; never use floats" --about src/cart.py:Cart.total
      git tmem remember "发布前先跑 make dist" --about Makefile
      git tmem remember - --about docs < note.txt
    """
    with Repository.open() as repository:
        places = places_of(repository.layout, about)
        put = insight.remember(repository, read_text(text), places, title)
        refresh_mirror(repository)
    report(put, "remembered", as_json)


def read_text(words: tuple[str, ...]) -> str:
    """The words of a command line; ``-`` alone stands for standard input, of which no more is
    read than could be kept. Raises InputError for what is no UTF-8 text."""
    if words != ("-",):
        return " ".join(words)
    data = sys.stdin.buffer.read(8 * TEXT_LIMIT)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start > len(data) - 4:  # a character that was cut where reading ended
            return data[: error.start].decode("utf-8")
        raise InputError("standard input is no UTF-8 text", "give it words") from error


def places_of(layout: Layout, names: tuple[str, ...]) -> list[About]:
    """FILE[:SYMBOL] as the user spells it, from the top; a file really called so is a file."""
    found = []
    for name in names:
        path, colon, symbol = name.rpartition(":")
        if not colon or not path or os.path.exists(name):
            path, symbol = name, ""
        found.append(About(to_top(layout, (os.path.normpath(path),))[0], symbol))
    return found


def refresh_mirror(repository: Repository) -> None:
    """Bring ``.tmem/`` up to date, where there is one."""
    with Index(repository.layout) as index:
        mirror.refresh(repository.layout, index)


def report(put: Put, done: str, as_json: bool) -> None:
    """What became of it."""
    if as_json:
        say_json({"id": put.id, "outcome": put.outcome})
    elif put.outcome == KNOWN:
        say(f"{put.id[:12]} was known already")
    else:
        say(f"{put.id[:12]} {done}")
