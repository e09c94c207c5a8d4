"""``git tmem lookup``: the help and the errors of a command whose work is in ``answer``."""

from __future__ import annotations

import click

from git_tmem.commands import answer
from git_tmem.query import BUDGET, MOST


@click.command()
@click.argument("text", nargs=-1)
@click.option(
    "--file", multiple=True, metavar="PATH", help="Only what touched this file. Repeatable."
)
@click.option("--error", default="", metavar="FILE|-", help="The output of a failing command.")
@click.option(
    "--at", default="", metavar="REV", help="Check against a revision, not the work tree."
)
@click.option(
    "--limit",
    default=MOST,
    show_default=True,
    type=click.IntRange(0, MOST),
    help="Memories at most.",
)
@click.option(
    "--budget",
    default=BUDGET,
    show_default=True,
    type=click.IntRange(0, 1 << 20),
    help="Bytes at most.",
)
@click.option(
    "--explain", is_flag=True, help="Say what was considered, and why it was kept or not."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON for scripts.")
def command(
    text: tuple[str, ...],
    file: tuple[str, ...],
    error: str,
    at: str,
    limit: int,
    budget: int,
    explain: bool,
    as_json: bool,
) -> int:
    """Find what earlier sessions learned, if the code still says it is true.

    Prints at most three memories, each with the grade that its guards give: L0_FULL (every
    step holds), L0_PARTIAL (those that hold), L1_TOPOLOGY (files and checks), L2_INVARIANT
    (the repair alone). Prints nothing and exits 1 when nothing matches or nothing holds.

    \b
    Examples:
      git tmem lookup "cart total is wrong for empty carts"
      git tmem lookup 购物车 总价
      pytest 2>&1 | git tmem lookup --error -
      git tmem lookup "retry" --file src/client.py
      git tmem lookup "retry" --at origin/main
      git tmem lookup --json --explain KeyError
    """
    if not text and not file and not error:
        raise click.UsageError("say what to look for: words, --file PATH or --error FILE")
    return answer.run(
        answer.Options(" ".join(text), file, error, at, limit, budget, explain, as_json)
    )
