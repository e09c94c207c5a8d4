"""``git tmem init``: capture sessions at each commit from now on."""

from __future__ import annotations

import os

import click

from git_tmem import mirror
from git_tmem.agents import add_agents, chosen
from git_tmem.commands.terminal import say
from git_tmem.git import discover
from git_tmem.index import Index
from git_tmem.install import Report, install


@click.command()
@click.option(
    "--track-mirror", is_flag=True, help="Let git track .tmem/, to review memory as code."
)
@click.option("--pre-push", is_flag=True, help="Let each git push publish records too, unseen.")
@click.option(
    "--agents",
    default="",
    metavar="NAMES",
    help="Install for these (with commas), all or none; default: those in use here.",
)
@click.option("--agents-md", is_flag=True, help="Add a section for all agents to AGENTS.md.")
def command(track_mirror: bool, pre_push: bool, agents: str, agents_md: bool) -> None:
    """Set git-tmem up in this repository.

    Installs two hooks that work in the background: post-commit captures the agent sessions
    behind each commit, post-rewrite lets records follow an amend or a rebase (hooks that are
    already there still run first). Makes .tmem/, a readable mirror that stays out of git
    status. Running it twice changes nothing; git tmem uninstall takes it all out again.

    Installs for the agents that the project uses, by their files in it or their recent
    sessions: hooks are added to their settings, of which every other byte stays; commands,
    skills and plugins are files of their own. New files stay out of git status; git add -f
    shares one. Settings that git tracks show the added entries as a change of yours. Agents
    without hooks follow the section that --agents-md adds to AGENTS.md.

    With --pre-push (or the configuration tmem.push set to auto) a third hook, pre-push, starts
    git tmem push to the same remote in the background: your own push neither waits for it nor
    fails with it, and nobody is asked a password. git config tmem.push off stops it.

    \b
    Examples:
      git tmem init
      git tmem init --track-mirror     and commit .tmem/ with your code
      git tmem init --agents claude-code,codex
      git tmem init --agents none --agents-md
      git tmem init --pre-push         and git push shares records as well
    """
    layout = discover()
    names = chosen(layout, agents, os.environ)
    report = install(layout, track_mirror, pre_push)
    if layout.top:
        added = add_agents(layout, names, agents_md)
        report = Report(report.done + added.done, report.advice + added.advice)
    with Index(layout) as index:
        mirror.refresh(layout, index)
    for line in report.done or ("already set up",):
        say(line)
    for line in report.advice:
        say(line, "yellow")
    say("next: work with your agent and commit, then: git tmem list")
