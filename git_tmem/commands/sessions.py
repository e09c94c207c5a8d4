"""``git tmem sessions``: the sessions of this repository, and what came of each."""

from __future__ import annotations

import contextlib
import os
import time
from typing import Any

import click

from git_tmem import inbox
from git_tmem.adapters import glance
from git_tmem.commands.logs import found_logs
from git_tmem.commands.terminal import progress, say, say_json
from git_tmem.errors import InputError
from git_tmem.index import Index
from git_tmem.lookup import decode
from git_tmem.repo import Repository
from git_tmem.sessions import Log

CAPTURED = "captured"
FORGOTTEN = "forgotten"
IN_THE_INBOX = "in the inbox"
NOT_CAPTURED = "not captured"


@click.command()
@click.option("--agent", default="", metavar="NAME", help="Only sessions of this agent.")
@click.option("--since", default="", metavar="DATE", help="Only sessions that went on since then.")
@click.option(
    "-n", "most", default=20, show_default=True, type=click.IntRange(1), help="Sessions to list."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON for scripts.")
def command(agent: str, since: str, most: int, as_json: bool) -> None:
    """List the sessions of agents that worked in this repository, newest first.

    Says of each which agent it was, when it last went on, how large its log is, whether it was
    captured, and as which record. The logs are looked for where each agent keeps them; the
    folder that a log itself names decides whether it belongs here.

    \b
    Examples:
      git tmem sessions
      git tmem sessions --agent codex --since "1 week ago"
      git tmem sessions -n 100 --json
    """
    with Repository.open() as repository:
        found = found_logs(repository, agent, since, most)
        waiting = {one.session for one in inbox.candidates(repository)}
        with Index(repository.layout) as index:
            told = [_told(index, log, waiting) for log in progress(found, "looking at sessions")]
    if as_json:
        say_json(told)
        return
    for session in told:
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(session["changed"]))
        size = f"{session['size'] / 1e6:.1f} MB"
        given = " ".join(filter(None, (session["record"][:12], session["title"])))
        outcome = given if session["state"] == CAPTURED else session["state"]
        say(f"{when}  {session['agent']:<14} {size:>9}  {session['session'][:12]:<12}  {outcome}")


def _told(index: Index, log: Log, waiting: set[str]) -> dict[str, Any]:
    """One session as the JSON that scripts read; documented in the manual."""
    session = None
    with contextlib.suppress(OSError, InputError):
        session = glance(log.path)
    name = session.id if session else ""
    key = f"{log.agent} {name}"
    rows = index.by_session(key)
    gone = any(session_ == key for session_, _ in index.gone().values())
    book = decode(rows[0]) if rows else None
    left = IN_THE_INBOX if key in waiting else NOT_CAPTURED
    state = CAPTURED if rows else FORGOTTEN if gone else left
    return {
        "agent": log.agent,
        "session": name,
        "log": os.path.abspath(log.path),
        "changed": int(log.changed),
        "size": log.size,
        "state": state,
        "record": rows[0].id if rows else "",
        "title": book.title if book else "",
        "steps": len(book.steps) if book else 0,
        "repairs": len(book.repairs) if book else 0,
    }
