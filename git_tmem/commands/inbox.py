"""``git tmem inbox``: candidates that ended sessions left, to be accepted or dropped."""

from __future__ import annotations

import time
from typing import Any

import click

from git_tmem import inbox, mirror
from git_tmem.capture import describe_missing
from git_tmem.commands.terminal import count, say, say_json
from git_tmem.inbox import Candidate
from git_tmem.index import Index
from git_tmem.render import describe
from git_tmem.repo import Repository
from git_tmem.store import FORGOTTEN, KNOWN, Store

_ACTIONS = ("list", "show", "accept", "drop")


@click.command()
@click.argument("action", type=click.Choice(_ACTIONS), default="list", metavar="[ACTION]")
@click.argument("ids", metavar="[ID]...", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="All candidates, to accept or drop.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON for scripts.")
def command(action: str, ids: tuple[str, ...], everything: bool, as_json: bool) -> None:
    """List what ended sessions left that is no record yet; accept it or drop it.

    A session whose work is not committed when it ends, or that only cured a failure, leaves a
    candidate. No agent sees it, and it is never pushed. It becomes a record when you accept it,
    when a commit brings its work, or when two later sessions met a failure that it has the
    repair for. The newest 50 stay; git tmem inbox drop is for what nobody needs.

    ACTION is list (which is what happens without one), show, accept or drop.

    \b
    Examples:
      git tmem inbox
      git tmem inbox show 3f2a1b9c
      git tmem inbox accept 3f2a1b9c 77d0e1f2
      git tmem inbox accept --all
      git tmem inbox drop 3f2a1b9c
    """
    if action == "list" and (ids or everything):
        raise click.UsageError("a list takes no ids; see: git tmem inbox show ID")
    if action != "list" and bool(ids) == (everything and action != "show"):
        raise click.UsageError("give ids" if action == "show" else "give ids, or --all")
    with Repository.open() as repository:
        waiting = inbox.candidates(repository)
        chosen = [inbox.resolve(waiting, name) for name in dict.fromkeys(ids)] if ids else waiting
        if action in ("list", "show"):
            _tell(chosen, action, as_json)
            return
        store = Store(repository)
        outcomes = [_done(store, one, action) for one in chosen]
        with Index(repository.layout) as index:
            mirror.refresh(repository.layout, index)
    if as_json:
        say_json(outcomes)
        return
    for told in outcomes:
        say(f"{told['id'][:12]} {told['outcome']}: {told['title']}")
    if not outcomes:
        say("the inbox is empty")


def _done(store: Store, candidate: Candidate, action: str) -> dict[str, str]:
    outcome, record = "dropped", candidate.id
    if action == "accept":
        put = inbox.accept(store, candidate)
        words = {KNOWN: "is a record already", FORGOTTEN: "was forgotten, and stays so"}
        outcome, record = words.get(put.outcome, "accepted"), put.id
    else:
        inbox.drop(store, [candidate])
    return {"id": record, "outcome": outcome, "title": candidate.playbook.title}


def _tell(chosen: list[Candidate], action: str, as_json: bool) -> None:
    if as_json:
        say_json([_document(one) for one in chosen])
    elif action == "show":
        for number, one in enumerate(chosen):
            if number:
                say()
            for line in describe(one.id, one.playbook):
                say(line)
            say(f"in the inbox: {_why(one)}", "yellow")
    elif not chosen:
        say("the inbox is empty")
    else:
        for one in chosen:
            when = time.strftime("%Y-%m-%d", time.localtime(one.playbook.ended))
            say(f"{one.id[:12]}  {when}  {one.playbook.title}")
            say(f"              {_why(one)}")
        say("keep one: git tmem inbox accept ID; look at it first: git tmem inbox show ID")


def _why(candidate: Candidate) -> str:
    """Why it is here, and what it would be worth."""
    book = candidate.playbook
    reason = "its work is not committed" if book.files else describe_missing("edit")
    parts = [book.agent, reason]
    parts += [count(len(book.files), "file")] if book.files else []
    parts += [count(len(book.repairs), "repair")] if book.repairs else []
    if candidate.uses:
        parts.append(f"of use in {count(len(candidate.uses), 'later session')}")
    return "; ".join(parts)


def _document(candidate: Candidate) -> dict[str, Any]:
    """A candidate as the JSON that scripts read; documented in the manual."""
    book = candidate.playbook
    return {
        "id": candidate.id,
        "title": book.title,
        "agent": book.agent,
        "session": book.session,
        "ended": book.ended,
        "files": list(book.files),
        "checks": list(book.checks),
        "repairs": len(book.repairs),
        "uses": len(candidate.uses),
    }
