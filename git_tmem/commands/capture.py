"""``git tmem capture``: a session becomes a record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from git_tmem import mirror
from git_tmem.capture import NOTHING, Captured, Target, capture, describe_missing
from git_tmem.commands.logs import named_logs, read_log
from git_tmem.commands.terminal import count, say, say_json
from git_tmem.index import Index
from git_tmem.repo import Repository
from git_tmem.store import FORGOTTEN, STORED


@click.command()
@click.option("--agent", default="", metavar="NAME", help="Only sessions of this agent.")
@click.option(
    "--session",
    default="",
    metavar="FILE|-",
    help="This log (FILE#ID in a database), or input.",
)
@click.option(
    "--since", default="", metavar="DATE", help="Every session since then, not the newest one."
)
@click.option("--commit", default="", metavar="REV", help="Judge the edits by this commit.")
@click.option("--range", "span", default="", metavar="A..B", help="Judge them by these commits.")
@click.option("--no-raw", is_flag=True, help="Keep no raw trace beside the record.")
@click.option(
    "--verbose", "-v", is_flag=True, help="Say what the log held that was not understood."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON for scripts.")
def command(
    agent: str,
    session: str,
    since: str,
    commit: str,
    span: str,
    no_raw: bool,
    verbose: bool,
    as_json: bool,
) -> None:
    """Compile an agent's session into a record.

    Without options it takes the newest session that worked in this repository, any of its
    worktrees or subfolders, and judges its edits by the files as they are now. Kept are the
    edits whose lines are still there, the reads behind them, and the checks that passed;
    a session with no such edit or no passing check gives nothing, and you are told which.
    Capturing again stores nothing new; a session that went on replaces its earlier record.

    \b
    A log of any other agent (--agent generic) has one JSON object a line, such as:
      {"type": "user", "text": "Fix the rounding"}
      {"type": "read", "path": "src/price.py"}
      {"type": "edit", "path": "src/price.py", "old": "x", "new": "y"}
      {"type": "run", "command": "pytest", "exit_code": 0, "output": "1 passed"}

    Other common spellings are understood too (file or file_path, cmd, new_string, write with
    content, patch, prompt, say), as are messages with tool_calls in the OpenAI chat shape.

    \b
    Examples:
      git tmem capture
      git tmem capture --agent claude-code
      git tmem capture --since "2 days ago"
      git tmem capture --session path/to/session.jsonl
      git tmem capture --session ~/.local/share/opencode/opencode.db#ses_123
      git tmem capture --session - --agent generic < log.jsonl
      git tmem capture --range main..HEAD
    """
    with Repository.open() as repository:
        target = _target(repository, commit, span)
        results = []
        for log in named_logs(repository, agent, session, since):
            done = capture(repository, read_log(log), target, raw=not no_raw)
            results.append(_document(done))
            if not as_json:
                _report(done, verbose)
        if as_json:
            say_json(results)
        with Index(repository.layout) as index:
            for name in mirror.refresh(repository.layout, index).edited:
                say(f"{mirror.FOLDER}/{name} was edited by hand and left as it is", "yellow", True)


def _target(repository: Repository, commit: str, span: str) -> Target:
    if commit and span:
        raise click.UsageError("give --commit or --range, not both")
    if span:
        start, dots, end = span.partition("..")
        if not dots or not start:
            raise click.UsageError("a range is written A..B")
        return Target(repository.resolve(end or "HEAD"), repository.resolve(start))
    if not commit and repository.layout.top:
        return Target()
    return Target(repository.resolve(commit or "HEAD"))


def _report(done: Captured, verbose: bool) -> None:
    session = done.session
    name = f"{session.agent} session {session.id[:12] or '(unnamed)'}"
    total = len(session.actions)
    dropped = ", ".join(_dropped(done.slice.dropped)) or "nothing"
    if done.outcome == NOTHING:
        reason = describe_missing(done.missing)
        say(f"nothing to keep in {name} ({count(total, 'action')}): {reason}")
    elif done.outcome == FORGOTTEN:
        say(f"{name} was forgotten ({done.id[:12]}) and stays so")
    elif done.playbook is not None:
        kept = len(done.playbook.steps)
        verb = "kept" if done.outcome == STORED else "already kept"
        say(
            f"{done.id[:12]} {verb}: {done.playbook.title}"
            f" ({count(kept, 'step')} of {count(total, 'action')};"
            f" {count(len(done.playbook.repairs), 'repair')}; dropped {dropped})"
        )
        for old in done.replaced:
            say(f"{old[:12]} replaced: the same session, earlier")
    if verbose:
        for label, number in (*session.unknown, ("damaged lines", session.damaged)):
            if number:
                say(f"  not understood: {label} ({number})")


def _dropped(dropped: Mapping[str, int]) -> list[str]:
    ordered = sorted(dropped.items(), key=lambda item: (-item[1], item[0]))
    return [f"{number} {name}" for name, number in ordered if number]


def _document(done: Captured) -> dict[str, Any]:
    """One session's outcome as the JSON that scripts read; documented in the manual."""
    session = done.session
    return {
        "outcome": done.outcome,
        "id": done.id,
        "title": done.playbook.title if done.playbook else "",
        "agent": session.agent,
        "session": session.id,
        "missing": done.missing,
        "actions": len(session.actions),
        "steps": len(done.playbook.steps) if done.playbook else 0,
        "dropped": dict(done.slice.dropped),
        "replaced": list(done.replaced),
        "unknown": dict(session.unknown),
        "damaged": session.damaged,
    }
