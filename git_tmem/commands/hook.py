"""``git tmem hook``: what git's hooks (and, by the same door, agents' hooks) call."""

from __future__ import annotations

import os
import sys

import click

from git_tmem import hooklog
from git_tmem.errors import TmemError
from git_tmem.git import discover
from git_tmem.repo import Repository
from git_tmem.worker import after_commit, after_rewrite, after_session, before_push

#: Bytes of input that are read.
_LIMIT = 16 << 20


@click.command()
@click.argument("caller")
@click.argument("event")
@click.argument("arguments", nargs=-1)
def command(caller: str, event: str, arguments: tuple[str, ...]) -> None:
    """Called by hooks, not by people. CALLER is git or an agent; EVENT is the hook's name.

    An agent gives its payload on standard input and gets its answer, if there is one, as its
    protocol wants it; see AGENTS' HOOKS in man git-tmem.

    Exits 0 whatever happens: a hook never breaks what it hangs on. What
    came of it is one line in the log that git tmem status names.

    \b
    Examples:
      git tmem hook git post-commit
      git tmem hook git post-rewrite rebase < pairs
      git tmem hook claude-code UserPromptSubmit < payload.json
      git tmem hook git pre-push origin
    """
    try:
        layout = discover(arguments[3] if event == "session-end" and len(arguments) == 4 else "")
    except TmemError:
        return
    try:
        with Repository(layout) as repository:
            if (caller, event) == ("git", "post-commit"):
                commit = repository.resolve(arguments[0] if arguments else "HEAD")
                after_commit(repository, commit, os.environ)
            elif (caller, event) == ("git", "post-rewrite"):
                after_rewrite(repository, _given(), os.environ)
            elif (caller, event) == ("git", "pre-push"):
                before_push(repository, arguments[0] if arguments else "")
            elif (caller, event) == ("git", "session-end") and len(arguments) == 4:
                after_session(repository, *arguments[:3], os.environ)
            else:
                raise TmemError(f"no hook is called {caller} {event}")
    except Exception as error:  # a hook never breaks its host, not even by a bug
        message = error.message if isinstance(error, TmemError) else type(error).__name__
        hooklog.write(layout, f"{caller} {event}: {message}")


def _given() -> list[str]:
    """The lines that git gives on standard input; never more than a rebase can have."""
    return sys.stdin.buffer.read(_LIMIT).decode("ascii", "replace").splitlines()
