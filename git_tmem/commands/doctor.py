"""``git tmem doctor``: look everything over, mend what can be mended, say the rest."""

from __future__ import annotations

import click

from git_tmem.commands.terminal import say, say_json
from git_tmem.doctor import FIXED, NEEDS_YOU, OK, examine
from git_tmem.repo import Repository

_COLOURS = {OK: "green", FIXED: "yellow", NEEDS_YOU: "red"}


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON for scripts.")
def command(as_json: bool) -> int:
    """Check the store and everything around it, and repair what can be repaired.

    Each line is ok, fixed, or needs you with what to do. A store that cannot be read is put
    back from its reflog, the journal, the index and the mirror; what was forgotten stays
    forgotten. Locks of our own refs go when they are older than 10 minutes, others never.
    Versions of agents whose logs were never seen are named; that is no fault by itself.
    The exit status is 1 when something needs you.

    \b
    Examples:
      git tmem doctor
      git tmem doctor --json
    """
    with Repository.open() as repository:
        checks = list(examine(repository))
    if as_json:
        say_json([check._asdict() for check in checks])
    else:
        for check in checks:
            say(f"{check.state:<9}  {check.name}: {check.text}", _COLOURS[check.state])
    return int(any(check.state == NEEDS_YOU for check in checks))
