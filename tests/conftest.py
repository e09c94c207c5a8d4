"""Seals the environment and gives tests real repositories."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

# How long one example takes says nothing here: many run at once, on machines that are shared.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

ROOT = Path(__file__).resolve().parent.parent
CORPUS = ROOT.parent / "shared" / "corpus"

Git = Callable[..., str]


@pytest.fixture(autouse=True)
def sealed(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home, a fixed identity and fixed dates: no user's configuration reaches a test."""
    home = tmp_path_factory.mktemp("home")
    agents = ("CLAUDE_", "CODEX_", "DSH_", "PI_")
    for name in [name for name in os.environ if name.startswith(("GIT_", "XDG_", *agents))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / ".config"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("GIT_TERMINAL_PROMPT", "0")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    (home / ".gitconfig").write_text(
        "[user]\n\tname = Ada\n\temail = ada@example.org\n"
        "[init]\n\tdefaultBranch = main\n[commit]\n\tgpgSign = false\n[gc]\n\tauto = 0\n"
        '[protocol "file"]\n\tallow = always\n',
        encoding="utf-8",
    )
    return home


def run_git(folder: Path, *arguments: str, check: bool = True) -> str:
    """Standard output of a real git in a folder, with the user's dates pinned."""
    dates = {"GIT_AUTHOR_DATE": "1700000000 +0000", "GIT_COMMITTER_DATE": "1700000000 +0000"}
    done = subprocess.run(
        ["git", "-C", str(folder), *arguments],
        check=check,
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**dates, **os.environ},
    )
    return done.stdout.strip()


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """An empty repository with one commit."""
    folder = tmp_path / "repo"
    folder.mkdir()
    run_git(folder, "init", "-q")
    (folder / "README.md").write_text("# sample\n", encoding="utf-8")
    run_git(folder, "add", ".")
    run_git(folder, "commit", "-qm", "first")
    return folder


@pytest.fixture
def corpus() -> Path:
    """Real session logs, where they lie beside the checkout; tests that want them skip without."""
    if not CORPUS.is_dir():
        pytest.skip("the corpus of real session logs is not beside this checkout")
    return CORPUS


@pytest.fixture
def on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """``git-tmem`` on PATH, as an install puts it there."""
    program = tmp_path / "bin" / "git-tmem"
    program.parent.mkdir()
    package = Path(__file__).resolve().parent.parent
    program.write_text(
        f'#!/bin/sh\nPYTHONPATH="{package}" exec "{sys.executable}" -m git_tmem "$@"\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    return program
