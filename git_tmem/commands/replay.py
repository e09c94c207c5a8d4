"""``git tmem replay``: a session again, with what mattered and what did not."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import click

from git_tmem.commands.show import raw_lines
from git_tmem.commands.terminal import say, say_json
from git_tmem.index import Index
from git_tmem.repo import Repository

CRITICAL = "CRITICAL PATH"
NOISE = "NOISE PRUNED "


@click.command()
@click.argument("record", metavar="ID")
@click.option("--critical", is_flag=True, help="Only the actions that were kept.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON for scripts.")
def command(record: str, critical: bool, as_json: bool) -> None:
    """Walk through the session behind a record, action by action.

    Each action is marked CRITICAL PATH (it is in the record) or NOISE PRUNED (it did not
    reach the final state), with the number of the log's line that holds it.

    \b
    Examples:
      git tmem replay 3f2a1b9c
      git tmem replay 3f2a --critical
    """
    with Repository.open() as repository, Index(repository.layout) as index:
        row = index.resolve(record)
        actions = [json.loads(line) for line in raw_lines(repository, row.id, "trace.jsonl")]
    shown = [action for action in actions if action.get("kept") or not critical]
    if as_json:
        say_json(shown)
        return
    for action in shown:
        mark = CRITICAL if action.get("kept") else NOISE
        say(f"{mark}  {_describe(action)}", None if action.get("kept") else "bright_black")
    kept = sum(bool(action.get("kept")) for action in actions)
    say(f"{kept} of {len(actions)} actions are on the critical path")


def _describe(action: Mapping[str, Any]) -> str:
    """One action in one line: where in the log, what kind, on what, with what result."""
    what = (
        action.get("command") or action.get("path") or action.get("text") or action.get("tool", "")
    )
    what = " ".join(str(what).split())
    what = what if len(what) <= 100 else f"{what[:97]}..."
    status = action.get("exit_code")
    result = "" if status is None else f"  exit {status}"
    return f"line {action['record'] + 1:<5} {action['kind']:<7} {what}{result}"
