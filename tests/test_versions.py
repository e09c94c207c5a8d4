"""Formats drift: versions of agents whose logs nobody has read yet are named."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from git_tmem import adapters
from git_tmem.doctor import OK, examine
from git_tmem.repo import Repository
from tests.adapters.samples import DATA
from tests.test_places import keep


@pytest.mark.parametrize(
    ("agent", "version", "seen"),
    [
        ("claude-code", "2.1.38", True),
        ("claude-code", "2.2.0", False),
        ("codex", "0.142.4", True),
        ("codex", "0.99.0-alpha.24", True),
        ("codex", "0.14.0", False),
        ("dsh", "v4", True),
        ("dsh", "v5", False),
        ("atif", "ATIF-v1.7", True),
        ("atif", "ATIF-v2.0", False),
        ("cursor", "9.9", True),  # its logs tell no version
        ("opencode", "", True),
    ],
)
def test_a_version_was_seen_when_its_first_two_numbers_were(
    agent: str, version: str, seen: bool
) -> None:
    assert adapters.was_seen(agent, version) is seen


def findings(top: Path) -> list[str]:
    with Repository.open(str(top)) as repository:
        checks = list(examine(repository))
    assert all(check.state == OK for check in checks if check.name == "sessions")
    return [check.text for check in checks if check.name == "sessions"]


def test_doctor_names_versions_never_seen_and_is_content_all_the_same(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "agents"
    monkeypatch.setenv("HOME", str(home))
    assert findings(repo) == []
    path = keep("pi", home, repo)
    assert findings(repo) == ["newest sessions looked at: 1, all of known versions"]
    text = path.read_text("utf-8")
    path.write_text(text.replace('"version":3', '"version":77', 1), encoding="utf-8")
    (text,) = findings(repo)
    assert text.startswith("pi v77 is a version never seen before; git tmem capture --verbose")


def test_capture_says_on_request_what_it_did_not_understand(repo: Path, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    text = (DATA / "openhands" / "v1.jsonl").read_text("utf-8").replace("/home/ada/app", str(repo))
    event = '{"id": "z", "source": "agent", "kind": "NovaEvent"}\n'
    log.write_text(f"{text}{event}{event}torn\n", encoding="utf-8")
    told = [
        subprocess.run(
            [sys.executable, "-m", "git_tmem", "capture", "--session", str(log), *more],
            cwd=repo,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parent.parent)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for more in ([], ["--verbose"])
    ]
    assert "not understood" not in told[0]
    assert "not understood: NovaEvent (2)" in told[1]
    assert "not understood: damaged lines (1)" in told[1]
