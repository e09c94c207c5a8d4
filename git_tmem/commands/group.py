"""The command group: each command's module is imported when it is called."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

import click

from git_tmem import __version__
from git_tmem.errors import UsageMistake

#: Command -> module in this folder; each module has the click command as ``command``.
COMMANDS = {
    "init": "init",
    "uninstall": "uninstall",
    "capture": "capture",
    "sessions": "sessions",
    "evaluate": "evaluate",
    "lookup": "lookup",
    "show": "show",
    "inspect": "show",
    "list": "listing",
    "status": "status",
    "check": "check",
    "replay": "replay",
    "diff": "diff",
    "remember": "remember",
    "replace": "replace",
    "forget": "forget",
    "purge": "purge",
    "scan": "scan",
    "migrate": "migrate",
    "task": "task",
    "accept": "accept",
    "inbox": "inbox",
    "log": "log",
    "audit": "audit",
    "relink": "relink",
    "sync": "sync",
    "push": "push",
    "fetch": "fetch",
    "bundle": "bundle",
    "hook": "hook",
    "mcp": "mcp",
    "pause": "pause",
    "resume": "resume",
    "doctor": "doctor",
    "demo": "demo",
}
_SETTINGS: dict[str, Any] = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class Lazy(click.Group):
    """A group that imports a command when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, in the order people meet them."""
        return [name for name in COMMANDS if name != "inspect"]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, None when there is none."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"git_tmem.commands.{COMMANDS[cmd_name]}")
        found: click.Command = module.command
        found.context_settings = {**_SETTINGS, **found.context_settings}
        return found


@click.group(cls=Lazy, context_settings=_SETTINGS, no_args_is_help=True)
@click.version_option(__version__, prog_name="git-tmem")
def group() -> None:
    """Memory for coding agents, kept in git and checked against the code before use.

    \b
    Start in your own repository:
      git tmem init                      capture sessions from now on, at each commit
      git tmem capture                   capture the newest session now
      git tmem lookup "cart total fails" what is known about it, if it still holds
      git tmem list                      what is remembered
      git tmem push                      share it (and: git tmem fetch)

    \b
    See it all happen in a scratch repository first:
      git tmem demo
    """


def run(arguments: Sequence[str]) -> int:
    """Run a command line; its exit status. Raises UsageMistake for a wrong one."""
    try:
        status = group.main(list(arguments), prog_name="git tmem", standalone_mode=False)
    except click.exceptions.Abort:
        return 130
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        return error.exit_code
    except click.ClickException as error:
        context = getattr(error, "ctx", None)
        path = context.command_path if context else "git tmem"
        raise UsageMistake(error.format_message(), f"see: {path} -h") from error
    return status if isinstance(status, int) else 0
