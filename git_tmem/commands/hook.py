"""``git tmem hook``: what git's hooks (and, by the same door, agents' hooks) call."""

from __future__ import annotations

import os

import click

from git_tmem import hooklog
from git_tmem.errors import TmemError
from git_tmem.git import discover
from git_tmem.postcommit import after_commit
from git_tmem.repo import Repository


@click.command()
@click.argument("caller")
@click.argument("event")
@click.argument("arguments", nargs=-1)
def command(caller: str, event: str, arguments: tuple[str, ...]) -> None:
    """Called by hooks, not by people. CALLER is git; EVENT is the hook's name.

    Prints nothing and exits 0 whatever happens: a hook never breaks what it hangs on. What
    came of it is one line in the log that git tmem status names.

    \b
    Examples:
      git tmem hook git post-commit
    """
    try:
        layout = discover()
    except TmemError:
        return
    try:
        if (caller, event) != ("git", "post-commit"):
            raise TmemError(f"no hook is called {caller} {event}")
        with Repository(layout) as repository:
            commit = repository.resolve(arguments[0] if arguments else "HEAD")
            after_commit(repository, commit, os.environ)
    except Exception as error:  # a hook never breaks its host, not even by a bug
        message = error.message if isinstance(error, TmemError) else type(error).__name__
        hooklog.write(layout, f"{caller} {event}: {message}")
