"""``git tmem mcp``: memory for whatever speaks the Model Context Protocol."""

from __future__ import annotations

import click

from git_tmem.errors import InputError


@click.command()
@click.option("--read-only", is_flag=True, help="Offer no tool that changes anything.")
def command(read_only: bool) -> None:
    """Serve this repository's memory over the Model Context Protocol, on stdin and stdout.

    The tools are search, read, why, save, replace and delete; records are resources too, as
    tmem://record/ID. What waits for review is not shown. The repository is that of the folder
    the server is started in, and is opened when a tool is called. Needs the extra:
    pip install 'git-tmem[mcp]'.

    \b
    Examples:
      git tmem mcp
      git tmem mcp --read-only
      git -C ~/project tmem mcp          for a client that starts servers elsewhere
    """
    try:
        from git_tmem.commands.server import make_server
    except ModuleNotFoundError as error:
        if error.name and error.name.partition(".")[0] not in ("mcp", "mcp_types"):
            raise
        raise InputError(
            "git tmem mcp needs the MCP SDK, which is not installed",
            "pip install 'git-tmem[mcp]', or: pipx inject git-tmem 'mcp>=2,<3'",
        ) from error
    make_server(read_only).run("stdio")
