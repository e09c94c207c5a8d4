"""``git tmem status``: what is set up, stored and shared."""

from __future__ import annotations

import os
import shutil

import click

from git_tmem import hooklog, inbox, mirror
from git_tmem.commands.fetch import WAITING
from git_tmem.commands.terminal import count, say, say_json
from git_tmem.errors import RemoteError
from git_tmem.index import Index
from git_tmem.install import hook_state
from git_tmem.remote import check_remote, default_remote, unpublished
from git_tmem.repo import Repository
from git_tmem.trust import POLICIES, configured, policy


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON for scripts.")
def command(as_json: bool) -> None:
    """Say what is installed here, how many records there are, and what is not shared yet.

    \b
    Examples:
      git tmem status
      git tmem status --json
    """
    with Repository.open() as repository, Index(repository.layout) as index:
        layout = repository.layout
        folder = mirror.folder_of(layout)
        state = {
            "repository": layout.top or layout.git_dir,
            "records": index.count(),
            "superseded": index.count("record where live = 0"),
            "forgotten": index.count("gone"),
            "waiting": index.waiting(),
            "inbox": len(inbox.candidates(repository)),
            "trust": policy(repository.git),
            "trust_unknown": configured(repository.git).lower() not in ("", *POLICIES),
            "damaged": len(index.damaged()),
            "tip": index.tip,
            "hook": hook_state(layout),
            "on_path": shutil.which("git-tmem") is not None,
            "mirror": bool(folder),
            "edited_mirror_files": mirror.edited_files(folder) if folder else [],
            "last_capture": hooklog.last(layout),
            **_sharing(repository),
        }
    if as_json:
        say_json(state)
    else:
        _print(state, os.path.relpath(hooklog.path_of(layout)))


def _sharing(repository: Repository) -> dict[str, object]:
    remote = default_remote(repository.git)
    try:
        check_remote(repository.git, remote)
    except RemoteError:
        return {"remote": "", "unpublished": 0}
    return {"remote": remote, "unpublished": len(unpublished(repository, remote))}


def _print(state: dict[str, object], log: str) -> None:
    say(
        f"{count(int(str(state['records'])), 'record')}, {state['superseded']} superseded,"
        f" {state['forgotten']} forgotten"
    )
    if state["waiting"]:
        say(f"{count(int(str(state['waiting'])), 'record')} {WAITING}", "yellow")
    if state["inbox"]:
        say(f"{count(int(str(state['inbox'])), 'candidate')} in the inbox: git tmem inbox")
    if state["trust_unknown"]:
        say(f"tmem.trust is none of {', '.join(POLICIES)}, so it counts as own", "red")
    if state["damaged"]:
        say(f"{state['damaged']} entries of the store are not usable: git tmem check", "red")
    if state["hook"] == "installed":
        say("commits are captured by the post-commit hook")
    else:
        say("commits are not captured: git tmem init", "yellow")
    if not state["on_path"]:
        say("git-tmem is not on PATH here, so the hook would find nothing to run", "yellow")
    if state["remote"]:
        colour = "yellow" if state["unpublished"] else None
        say(f"{state['unpublished']} not published to {state['remote']}", colour)
    for name in (
        state["edited_mirror_files"] if isinstance(state["edited_mirror_files"], list) else []
    ):
        say(f"{mirror.FOLDER}/{name} was edited by hand", "yellow")
    if state["last_capture"]:
        say(f"last capture: {state['last_capture']}")
        say(f"log: {log}")
