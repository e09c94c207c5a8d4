"""Listing the sessions of a repository, and measuring how they are compiled."""

from __future__ import annotations

import json
import os
from pathlib import Path

from tests.conftest import run_git
from tests.test_commands import Tmem, tmem, worked

__all__ = ["tmem", "worked"]


def test_sessions_says_what_came_of_each(repo: Path, worked: Path, tmem: Tmem) -> None:
    (before,) = json.loads(tmem("sessions", "--json").stdout)
    assert (before["agent"], before["state"]) == ("claude-code", "not captured")
    assert before["log"] == str(worked)
    assert before["size"] == worked.stat().st_size
    tmem("capture")
    (after,) = json.loads(tmem("sessions", "--json").stdout)
    (record,) = json.loads(tmem("list", "--json").stdout)
    assert (after["state"], after["record"], after["repairs"]) == ("captured", record["id"], 2)
    assert after["session"] == before["session"] != ""
    assert record["title"] in tmem("sessions").stdout
    tmem("forget", record["id"], "--reason", "test")
    (gone,) = json.loads(tmem("sessions", "--json").stdout)
    assert gone["state"] == "forgotten"


def test_sessions_of_another_agent_or_time_are_none(repo: Path, worked: Path, tmem: Tmem) -> None:
    done = tmem("sessions", "--agent", "codex")
    assert (done.returncode, done.stdout) == (1, "")
    assert "no codex session" in done.stderr
    assert tmem("sessions", "--agent", "nobody").returncode == 3
    assert tmem("sessions", "--since", "1 hour ago").returncode == 0
    os.utime(worked, (1_700_000_000, 1_700_000_000))
    assert tmem("sessions", "--since", "1 hour ago").returncode == 1


def test_evaluate_measures_and_stores_nothing(repo: Path, worked: Path, tmem: Tmem) -> None:
    refs = run_git(repo, "for-each-ref")
    found = json.loads(tmem("evaluate", "--json").stdout)
    assert run_git(repo, "for-each-ref") == refs
    (one,) = found["sessions"]
    assert one["outcome"] == "compiled"
    assert one["edited"] == one["committed"] == one["both"] >= 1
    assert one["steps"] < one["actions"]
    assert one["card"] > 0
    assert found["own_title_ranks"] == []
    tmem("capture")
    assert json.loads(tmem("evaluate", "--json").stdout)["own_title_ranks"] == [1]
    text = tmem("evaluate").stdout
    assert "with a playbook            1 (100%)" in text
    assert "own title comes first      1 of 1 record" in text


def test_evaluate_counts_refusals_by_reason(repo: Path, worked: Path, tmem: Tmem) -> None:
    lines = worked.read_text(encoding="utf-8").splitlines(keepends=True)
    worked.write_text("".join(lines[: len(lines) // 3]), encoding="utf-8")
    text = tmem("evaluate").stdout
    assert "with a playbook            0 (0%)" in text
    assert "without one                1: " in text
