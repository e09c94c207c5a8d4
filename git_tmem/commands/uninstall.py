"""``git tmem uninstall``: as if it had never been there, records excepted."""

from __future__ import annotations

import click

from git_tmem.agents import remove_agents
from git_tmem.commands.terminal import say
from git_tmem.git import discover
from git_tmem.install import Report, uninstall


@click.command()
def command() -> None:
    """Take git-tmem out of this repository.

    Removes the hooks (and puts back those that were there before), the line in
    info/exclude, the .tmem/ mirror and the search index. The settings of agents become byte
    for byte what they were; from those changed since, our entries alone go. The records stay
    in git under refs/tmem/main until you delete the refs yourself.

    \b
    Examples:
      git tmem uninstall
      git tmem uninstall && git update-ref -d refs/tmem/main     records too
    """
    layout = discover()
    taken = remove_agents(layout)
    rest = uninstall(layout)
    report = Report(taken.done + rest.done, taken.advice + rest.advice)
    for line in report.done or ("nothing of git-tmem was installed here",):
        say(line)
    for line in report.advice:
        say(line, "yellow")
    say("records stay in git: refs/tmem/main, refs/notes/tmem, refs/tmem-local/*")
