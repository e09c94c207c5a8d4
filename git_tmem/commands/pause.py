"""``git tmem pause`` and ``git tmem resume``: silence in the agents' sessions, for a while."""

from __future__ import annotations

import contextlib
import os

import click

from git_tmem.commands.terminal import say
from git_tmem.errors import StoreError
from git_tmem.git import discover


@click.command()
def command() -> None:
    """Let agents' hooks say nothing here until git tmem resume.

    Sessions are not captured at their end either; commits still are. For good:
    git config tmem.hooks false.

    \b
    Examples:
      git tmem pause
    """
    layout = discover()
    try:
        os.makedirs(layout.own_dir, exist_ok=True)
        with open(os.path.join(layout.own_dir, "paused"), "w", encoding="ascii"):
            pass
    except OSError as error:
        raise StoreError(f"{error.filename} cannot be written: {error.strerror}") from error
    say("paused: agents are told nothing here; go on with: git tmem resume")


@click.command()
def resume() -> None:
    """Let agents' hooks speak again after git tmem pause.

    \b
    Examples:
      git tmem resume
    """
    layout = discover()
    try:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(layout.own_dir, "paused"))
    except OSError as error:
        raise StoreError(f"{error.filename} cannot be removed: {error.strerror}") from error
    say("agents are told again what is known here")
