"""``git tmem init``: capture sessions at each commit from now on."""

from __future__ import annotations

import click

from git_tmem import mirror
from git_tmem.commands.terminal import say
from git_tmem.git import discover
from git_tmem.index import Index
from git_tmem.install import install


@click.command()
@click.option(
    "--track-mirror", is_flag=True, help="Let git track .tmem/, to review memory as code."
)
def command(track_mirror: bool) -> None:
    """Set git-tmem up in this repository.

    Installs two hooks that work in the background: post-commit captures the agent sessions
    behind each commit, post-rewrite lets records follow an amend or a rebase (hooks that are
    already there still run first). Makes .tmem/, a readable mirror that stays out of git
    status. Nothing that git tracks is touched. Running it twice changes nothing; git tmem
    uninstall takes it all out again.

    \b
    Examples:
      git tmem init
      git tmem init --track-mirror     and commit .tmem/ with your code
    """
    layout = discover()
    report = install(layout, track_mirror)
    with Index(layout) as index:
        mirror.refresh(layout, index)
    for line in report.done or ("already set up",):
        say(line)
    for line in report.advice:
        say(line, "yellow")
    say("next: work with your agent and commit, then: git tmem list")
