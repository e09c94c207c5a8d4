"""The manual, the help and the README say what the commands do, and all of it."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import click
import pytest

from git_tmem.commands.answer import parse
from git_tmem.commands.group import COMMANDS, group
from git_tmem.errors import TmemError

ROOT = Path(__file__).resolve().parent.parent
NAMES = [name for name in COMMANDS if name != "inspect"]


def command_of(name: str) -> click.Command:
    found = group.get_command(click.Context(group), name)
    assert found is not None
    return found


def builder() -> ModuleType:
    spec = importlib.util.spec_from_file_location("man_pages", ROOT / "scripts" / "man.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", NAMES)
def test_every_command_teaches_by_example(name: str) -> None:
    command = command_of(name)
    context = click.Context(command, info_name=name, **command.context_settings)
    text = command.get_help(context)
    assert "Examples:" in text
    assert f"git tmem {name}" in text
    for parameter in command_of(name).params:
        if isinstance(parameter, click.Option):
            assert parameter.help, parameter.name


def test_the_manual_pages_are_those_of_the_commands_as_they_are() -> None:
    pages = builder().pages()
    there = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "man").glob("*.1")}
    assert sorted(there) == sorted(pages)
    for name, text in pages.items():
        assert there[name] == text, f"{name} is out of date: python3 scripts/man.py"


@pytest.mark.parametrize("name", NAMES)
def test_every_option_is_in_the_manual(name: str) -> None:
    page = (ROOT / "man" / f"git-tmem-{name}.1").read_text(encoding="utf-8").replace("\\-", "-")
    for parameter in command_of(name).params:
        if isinstance(parameter, click.Option):
            assert parameter.opts[0] in page


def test_every_exit_status_is_in_the_manual() -> None:
    page = (ROOT / "man" / "git-tmem.1").read_text(encoding="utf-8")
    statuses = {0, 2, 70, 130} | {kind.exit_status for kind in kinds(TmemError)}
    for status in statuses:
        assert f"\\fB{status}\\fR" in page, status


def kinds(root: type[TmemError]) -> list[type[TmemError]]:
    return [root, *(kind for child in root.__subclasses__() for kind in kinds(child))]


def test_the_pages_are_sound_roff() -> None:
    for path in (ROOT / "man").glob("*.1"):
        done = subprocess.run(
            ["man", "--warnings", "-l", str(path)],
            capture_output=True,
            text=True,
            env={**os.environ, "MANPAGER": "cat", "LC_ALL": "C.UTF-8", "MANWIDTH": "90"},
            check=False,
        ) if _has_man() else None  # fmt: skip
        if done is None:
            pytest.skip("man is not installed")
        assert done.stderr == "", path.name


def _has_man() -> bool:
    from shutil import which

    return which("man") is not None


def test_the_readme_names_every_command() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for name in NAMES:
        assert f"`{name}`" in text


def test_every_command_in_the_readme_is_one() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    used = set(re.findall(r"git tmem ([a-z]+)", text))
    assert used <= set(COMMANDS)


@pytest.mark.parametrize("arguments", [["-h"], ["--help"], []])
def test_the_first_help_shows_where_to_start(arguments: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "git_tmem", *arguments],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert "git tmem init" in done.stdout + done.stderr
    assert "git tmem demo" in done.stdout + done.stderr


LINES = [
    ["words"],
    ["two", "words"],
    ["--file", "a.py"],
    ["--file=a.py", "--file", "b.py", "x"],
    ["--error", "-"],
    ["--at", "HEAD~2", "x", "--limit", "2", "--budget=100"],
    ["--json", "--explain", "x"],
    ["x", "--", "--json"],
]


@pytest.mark.parametrize("line", LINES, ids=" ".join)
def test_the_short_road_reads_a_lookup_as_click_does(line: list[str]) -> None:
    context = command_of("lookup").make_context("lookup", list(line))
    options = parse(list(line))
    assert options is not None
    assert options.text == " ".join(context.params["text"])
    for name in ("file", "error", "at", "limit", "budget", "explain", "as_json"):
        assert getattr(options, name) == context.params[name], name


@pytest.mark.parametrize(
    "line", [["-h"], ["--nope"], ["--limit", "many"], ["--file"], [], ["--json"]]
)
def test_what_the_short_road_does_not_know_goes_the_long_one(line: list[str]) -> None:
    assert parse(line) is None


@pytest.mark.parametrize("name", NAMES)
def test_wrong_usage_is_status_two_in_few_lines(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "git_tmem", name, "--no-such-option"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert done.returncode == 2
    assert "no-such-option" in done.stderr
    assert "Traceback" not in done.stderr
