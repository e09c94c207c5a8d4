"""``git tmem demo``: the whole path in a scratch repository, as a tutorial."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator, Mapping
from typing import Any

import click

from git_tmem.commands.terminal import say

_DATA = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "demo")
_ERROR = "KeyError: 'spring'"


@click.command()
@click.option("--keep", is_flag=True, help="Leave the scratch repository, and say where it is.")
def command(keep: bool) -> None:
    """Show everything in a scratch repository: no network, no agent, no setup.

    A small recorded session of a Claude Code user is replayed, committed and captured; then
    the code is changed in four ways, and after each you see what a lookup still says. Every
    command is printed as it is run, so this is the tutorial too.

    \b
    Examples:
      git tmem demo
      git tmem demo --keep
    """
    scratch = tempfile.mkdtemp(prefix="git-tmem-demo-")
    try:
        _Demo(scratch).play()
    finally:
        if keep:
            say(f"the scratch repository is in {os.path.join(scratch, 'shop')}")
        else:
            shutil.rmtree(scratch, ignore_errors=True)


class _Demo:
    """A scratch folder with a sealed environment, and the commands that are run in it."""

    def __init__(self, scratch: str) -> None:
        self._folder = os.path.join(scratch, "shop")
        self._log = os.path.join(scratch, "session.jsonl")
        self._env = _sealed(scratch)
        os.makedirs(self._folder)
        for name in ("session.jsonl", "reformat.patch", "change.patch"):
            shutil.copyfile(os.path.join(_DATA, name), os.path.join(scratch, name))

    def play(self) -> None:
        """The tour, from a first commit to a deleted file."""
        self._title("A project, and a session in which an agent worked on it")
        records = list(_records(self._log))
        _write_originals(records, self._folder)
        self._run("git init -q")
        self._run("git add .")
        self._run("git commit -q -m 'Cart with coupons'")
        self._replay(records)
        self._run("git diff --stat")
        self._run("git commit -q -a -m 'Accept coupons in any case'")

        self._title("Capture: what mattered becomes a record, the rest is counted and dropped")
        self._run("git tmem capture --session ../session.jsonl")
        self._run("git log -1 --notes=tmem")
        self._run("git ls-tree -r refs/tmem/main")
        self._run("git tmem replay $(git tmem list --json | grep -o '[0-9a-f]\\{64\\}')")

        self._title("Lookup: by the error's text, and by words")
        self._run(f"git tmem lookup {shlex.quote(_ERROR)}")
        self._run("git tmem lookup coupon lower case checkout")

        self._title("The code is reformatted and commented: every step still holds")
        self._changed("git apply ../reformat.patch")

        self._title("The function is rewritten: its step is held back, the rest stays")
        self._changed("git apply ../change.patch")

        self._title("The file moves: the step follows it")
        self._changed("git mv shop/cart.py shop/basket.py")

        self._title("Everything is deleted: only the repair is left to say")
        self._changed("git rm -q -r shop tests")

        self._title("In your own repository")
        say("  git tmem init              then work with your agent, and commit")
        say('  git tmem lookup "words"    or: pytest 2>&1 | git tmem lookup --error -')

    def _changed(self, change: str) -> None:
        self._run(change)
        self._run("git tmem check")
        self._run(f"git tmem lookup {shlex.quote(_ERROR)}")
        self._run("git reset -q --hard")

    def _replay(self, records: list[dict[str, Any]]) -> None:
        """Show the session step by step, and make its edits."""
        for record in records:
            for line in _spoken(record):
                say(f"  {line}", "bright_black")
            _apply(record, self._folder)

    def _title(self, text: str) -> None:
        say()
        say(f"=== {text}", "cyan")
        say()

    def _run(self, line: str) -> None:
        say(f"$ {line}", "green")
        done = subprocess.run(  # noqa: S602 - the lines are the constants above
            line, shell=True, cwd=self._folder, env=self._env, capture_output=True, check=False
        )
        for text in (done.stdout + done.stderr).decode("utf-8", "replace").splitlines():
            say(text)
        if done.returncode:
            say(f"(exit status {done.returncode})")


def _sealed(scratch: str) -> dict[str, str]:
    """An environment without the user's configuration, in which ``git tmem`` is this program."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    places = [_own_program(scratch), kept.get("PATH", os.defpath)]
    person = {
        f"GIT_{role}_{part}": value
        for role in ("AUTHOR", "COMMITTER")
        for part, value in (("NAME", "Ada"), ("EMAIL", "ada@example.org"))
    }
    return {
        **kept,
        **person,
        "HOME": scratch,
        "XDG_CONFIG_HOME": os.path.join(scratch, ".config"),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_PAGER": "cat",
        "PATH": os.pathsep.join(places),
    }


def _own_program(scratch: str) -> str:
    """The folder of the installed program; one is made when it runs as ``python -m``."""
    scripts = sysconfig.get_path("scripts")
    if os.path.exists(os.path.join(scripts, "git-tmem")):
        return scripts
    folder = os.path.join(scratch, "bin")
    os.makedirs(folder)
    path = os.path.join(folder, "git-tmem")
    package = os.path.dirname(os.path.dirname(_DATA))
    with open(path, "w", encoding="utf-8") as stream:
        stream.write(
            f"#!/bin/sh\nPYTHONPATH={shlex.quote(package)} exec {shlex.quote(sys.executable)}"
            ' -m git_tmem "$@"\n'
        )
    os.chmod(path, 0o700)
    return folder


def _records(log: str) -> Iterator[dict[str, Any]]:
    with open(log, encoding="utf-8") as stream:
        yield from (json.loads(line) for line in stream)


def _local(path: str, record: Mapping[str, Any], folder: str) -> str:
    return os.path.join(folder, os.path.relpath(path, record["cwd"]))


def _write_originals(records: list[dict[str, Any]], folder: str) -> None:
    """The project as the session found it: the files as they were first read."""
    for record in records:
        result = record.get("toolUseResult")
        file = result.get("file") if isinstance(result, dict) else None
        if file:
            path = _local(file["filePath"], record, folder)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with contextlib.suppress(FileExistsError), open(path, "x", encoding="utf-8") as stream:
                stream.write(file["content"])


def _apply(record: Mapping[str, Any], folder: str) -> None:
    """Make the edit that a record tells of."""
    result = record.get("toolUseResult")
    if isinstance(result, dict) and "oldString" in result:
        path = _local(result["filePath"], record, folder)
        with open(path, encoding="utf-8") as stream:
            text = stream.read()
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(text.replace(result["oldString"], result["newString"], 1))


def _spoken(record: Mapping[str, Any]) -> Iterator[str]:
    """What a record shows to somebody who watches the session."""
    content = record["message"]["content"]
    if isinstance(content, str):
        yield f"user: {content}"
        return
    for block in content:
        if block["type"] == "text":
            yield f"agent: {block['text']}"
        elif block["type"] == "tool_use":
            given = block["input"]
            yield f"  {block['name']} {given.get('command') or given.get('file_path')}"
        elif block["type"] == "tool_result" and block.get("is_error"):
            yield f"  -> {block['content'].splitlines()[0]}: {block['content'].splitlines()[-1]}"
