"""``git tmem list``: filters, and pages that stay what they are while others write."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from git_tmem import trust
from git_tmem.repo import Repository
from git_tmem.store import Store
from tests.samples import document

Tmem = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def tmem(repo: Path) -> Tmem:
    """Run the program in the repository."""

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "git_tmem", *arguments]
        return subprocess.run(command, cwd=repo, capture_output=True, text=True, env=os.environ)

    return run


def put(folder: Path, name: str, **changes: object) -> str:
    with Repository.open(str(folder)) as repository:
        store = Store(repository)
        record = store.put(document(name, **changes)).id
        trust.mark_own(store, [record])
    return record


def listed(tmem: Tmem, *arguments: str) -> list[str]:
    return [one["id"] for one in json.loads(tmem("list", "--json", *arguments).stdout)]


def test_each_filter_takes_what_fits(repo: Path, tmem: Tmem) -> None:
    cart = put(repo, "cart", branch="main", ended=1_700_000_100)
    order = put(repo, "order", agent="pi", author="Bob <bob@example.org>", ended=1_700_090_000)
    for arguments in (
        ("--path", "src/order.py"),
        ("--path", "order.py"),
        ("--agent", "pi"),
        ("--author", "BOB"),
        ("--since", "2023-11-15"),
    ):
        assert listed(tmem, *arguments) == [order], arguments
    assert listed(tmem, "--branch", "main") == [cart]
    assert listed(tmem, "--until", "2023-11-14") == [cart]
    assert listed(tmem, "--symbol", "total") == [order, cart]
    assert listed(tmem, "--symbol", "total", "--agent", "none") == []
    grades = {one["grade"] for one in json.loads(tmem("list", "--json").stdout)}
    (grade,) = grades
    assert listed(tmem, "--grade", grade) == [order, cart]
    assert tmem("list", "--agent", "none").stdout == "nothing fits\n"


def test_pages_of_a_snapshot_are_stable_while_others_write(repo: Path, tmem: Tmem) -> None:
    ids = [put(repo, f"part{number}", ended=1_700_000_000 + number) for number in range(5)][::-1]
    first = tmem("list", "--limit", "2").stdout
    following = re.search(
        r"git tmem (list --skip 2 --snapshot [0-9a-f]{12} --limit 2)$", first, re.M
    )
    assert following
    assert "5 records in all" in first
    put(repo, "newer", ended=1_800_000_000, supersedes=(ids[3],))
    assert listed(tmem, *following[1].split()[1:]) == ids[2:4]
    assert len(listed(tmem)) == 5


@pytest.mark.parametrize("day", ["yesterday", "2026-13-01", "20260101"])
def test_what_is_no_day_is_said(repo: Path, tmem: Tmem, day: str) -> None:
    done = tmem("list", "--since", day)
    assert done.returncode == 3
    assert "is no day" in done.stderr
