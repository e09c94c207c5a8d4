"""Where the agents keep their logs, in which repository these are found, and what they give."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from git_tmem import adapters
from git_tmem.capture import capture
from git_tmem.errors import InputError
from git_tmem.repo import Repository
from git_tmem.sessions import find_sessions
from git_tmem.store import STORED
from tests.adapters.samples import DATA, parse
from tests.replay import rebuild_edits

#: Where an agent keeps a sample: below the home, with the working folder's names filled in.
PLACES = {
    "agy": (
        "transcript.jsonl",
        ".gemini/antigravity-cli/brain/1/.system_generated/logs/transcript.jsonl",
    ),
    "claude-code": ("repair.jsonl", ".claude/projects/{dashes}/1.jsonl"),
    "codex": ("rollout.jsonl", ".codex/sessions/2026/02/03/rollout-2026-02-03T10-00-00-1.jsonl"),
    "copilot": ("events.jsonl", ".copilot/session-state/1/events.jsonl"),
    "cursor": ("transcript.jsonl", ".cursor/projects/{slug}/agent-transcripts/1/1.jsonl"),
    "dsh": ("session.v4.jsonl", ".dsh/sessions/--x--/1/session.v4.jsonl"),
    "gemini": ("session.json", ".gemini/tmp/{hash}/chats/session-1.json"),
    "mini-swe-agent": ("fenced.traj.json", ".config/mini-swe-agent/last_mini_run.traj.json"),
    "pi": ("v3.jsonl", ".pi/agent/sessions/--{slashes}--/1.jsonl"),
}


def keep(agent: str, home: Path, top: Path) -> Path:
    """Put a sample where the agent keeps the log of a session in ``top``."""
    name, place = PLACES[agent]
    dashes = "".join(c if c.isalnum() else "-" for c in str(top))
    digest = hashlib.sha256(str(top).encode()).hexdigest()
    slashes = str(top).strip("/").replace("/", "-")
    names = {"dashes": dashes, "slug": dashes.strip("-"), "slashes": slashes, "hash": digest}
    path = home / place.format(**names)
    path.parent.mkdir(parents=True)
    text = (DATA / agent / name).read_text(encoding="utf-8")
    path.write_text(text.replace("/home/ada/app", str(top)), encoding="utf-8")
    return path


@pytest.mark.parametrize("agent", PLACES)
def test_a_session_is_found_where_its_agent_keeps_it(agent: str, tmp_path: Path) -> None:
    home, top, other = tmp_path / "home", tmp_path / "app", tmp_path / "app2"
    top.mkdir()
    other.mkdir()
    path = keep(agent, home, top)
    env = {"HOME": str(home)}
    (found,) = find_sessions([str(top)], env)
    assert (found.agent, found.path, found.size) == (agent, str(path), path.stat().st_size)
    assert find_sessions([str(other), str(top)], env, agent) == [found]
    assert find_sessions([str(other)], env) == []
    assert find_sessions([str(top)], env, since=found.changed + 1) == []


def test_the_newest_session_comes_first_whoever_wrote_it(tmp_path: Path) -> None:
    paths = [keep(agent, tmp_path / "home", tmp_path) for agent in PLACES]
    for age, path in enumerate(paths):
        os.utime(path, (1_000_000 - age, 1_000_000 - age))
    found = find_sessions([str(tmp_path)], {"HOME": str(tmp_path / "home")})
    assert [log.path for log in found] == [str(path) for path in paths]


def test_an_unknown_agent_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InputError, match="unknown agent 'nobody'") as refusal:
        find_sessions((), {}, "nobody")
    assert all(name in refusal.value.hint for name in adapters.ADAPTERS)


@pytest.mark.parametrize("agent", ["agy", "copilot", "cursor", "gemini", "openhands", "swe-agent"])
def test_a_session_that_edits_and_checks_gives_a_playbook(agent: str, tmp_path: Path) -> None:
    for path in sorted((DATA / agent).iterdir()):
        session = parse(path.read_bytes())
        folder = tmp_path / path.name
        rebuild_edits(session, folder)
        with Repository.open(str(folder)) as repository:
            done = capture(repository, session)
        assert (done.outcome, done.missing) == (STORED, "")
        assert done.playbook is not None
        assert "python -m pytest -q" in done.playbook.checks[-1]
        edited = {step.path for step in done.playbook.steps if step.kind == "MUTATE"}
        assert "shop/cart.py" in edited
        assert not any(path.startswith("/") for path in done.playbook.files)


def test_a_session_of_an_unknown_folder_belongs_where_its_edits_are(tmp_path: Path) -> None:
    folder, other = tmp_path / "app", tmp_path / "other"
    text = (DATA / "gemini" / "session.jsonl").read_text(encoding="utf-8")
    for name in ("CHANGES.md", "shop/cart.py"):
        text = text.replace(f'"file_path": "{name}"', f'"file_path": "{folder}/{name}"')
    text = text.replace("/home/ada/app", str(folder))
    session = parse(text.encode())
    assert session.cwd == ""
    for place in (folder, other):
        rebuild_edits(session if place == folder else session._replace(actions=()), place)
    with Repository.open(str(folder)) as repository:
        done = capture(repository, session)
        assert done.playbook is not None
        assert sorted(done.playbook.files) == ["CHANGES.md", "shop/cart.py"]
    with Repository.open(str(other)) as repository, pytest.raises(InputError, match="unknown"):
        capture(repository, session)
