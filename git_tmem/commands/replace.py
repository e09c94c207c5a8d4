"""``git tmem replace``: what is remembered better takes the place of a record."""

from __future__ import annotations

import click

from git_tmem import insight
from git_tmem.commands.remember import places_of, read_text, refresh_mirror, report
from git_tmem.index import Index
from git_tmem.repo import Repository


@click.command()
@click.argument("record", metavar="ID")
@click.argument("text", nargs=-1, required=True, metavar="TEXT")
@click.option(
    "--about",
    multiple=True,
    metavar="FILE[:SYMBOL]",
    help="What it is about; else the files of the old one that are still there.",
)
@click.option("--title", default="", help="One line; else the first of the text.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON for scripts.")
def command(
    record: str, text: tuple[str, ...], about: tuple[str, ...], title: str, as_json: bool
) -> None:
    """Replace a record by one in your own words.

    The old one is shown to no agent any more, here or in any clone that merges, and stays
    readable: git tmem show ID. TEXT - reads standard input.

    \b
    Examples:
      git tmem replace 3f2a1b9c "Totals are in cents since 2.0; round only when shown"
    """
    with Repository.open() as repository:
        with Index(repository.layout) as index:
            row = index.resolve(record)
        places = places_of(repository.layout, about)
        put = insight.replace(repository, row, read_text(text), places, title)
        refresh_mirror(repository)
    report(put, f"replaces {row.id[:12]}", as_json)
