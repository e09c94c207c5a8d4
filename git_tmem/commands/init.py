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
@click.option("--pre-push", is_flag=True, help="Let each git push publish records too, unseen.")
def command(track_mirror: bool, pre_push: bool) -> None:
    """Set git-tmem up in this repository.

    Installs two hooks that work in the background: post-commit captures the agent sessions
    behind each commit, post-rewrite lets records follow an amend or a rebase (hooks that are
    already there still run first). Makes .tmem/, a readable mirror that stays out of git
    status. Nothing that git tracks is touched. Running it twice changes nothing; git tmem
    uninstall takes it all out again.

    With --pre-push (or the configuration tmem.push set to auto) a third hook, pre-push, starts
    git tmem push to the same remote in the background: your own push neither waits for it nor
    fails with it, and nobody is asked a password. git config tmem.push off stops it.

    \b
    Examples:
      git tmem init
      git tmem init --track-mirror     and commit .tmem/ with your code
      git tmem init --pre-push         and git push shares records as well
    """
    layout = discover()
    report = install(layout, track_mirror, pre_push)
    with Index(layout) as index:
        mirror.refresh(layout, index)
    for line in report.done or ("already set up",):
        say(line)
    for line in report.advice:
        say(line, "yellow")
    say("next: work with your agent and commit, then: git tmem list")
