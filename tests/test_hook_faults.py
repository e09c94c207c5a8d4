"""Whatever goes wrong: status 0, a valid answer for the protocol, one line in the log."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from git_tmem.protocols import AGENTS, agent, base
from tests.test_agent_protocols import PROMPT, SCRIPTS, context
from tests.test_hooks import FAILURE, SESSION, bash, claude, failure, hook, store

__all__ = ["store"]

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)


def fields(value: Any) -> set[str]:
    """All names in a payload."""
    if isinstance(value, dict):
        return set(value).union(*map(fields, value.values()))
    return set().union(*map(fields, value)) if isinstance(value, list) else set()


@pytest.mark.parametrize("name", AGENTS)
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_no_payload_breaks_the_reader(tmp_path: Path, name: str, data: st.DataObject) -> None:
    calls = SCRIPTS[name](tmp_path / "none")
    names = sorted(fields([payload for _, payload in calls]))
    event, payload = data.draw(st.sampled_from(calls))
    changes = data.draw(st.dictionaries(st.sampled_from(names), VALUES, max_size=4))
    dropped = data.draw(st.sets(st.sampled_from(names), max_size=4))
    mixed = _mixed(payload, changes, dropped)
    found = agent(name).read(event, mixed)
    assert found is None or isinstance(found, base.Event)
    if found is not None:
        for value in (found.session, found.folder, found.prompt, found.command, found.output):
            assert isinstance(value, str)
        assert all(isinstance(path, str) for path in found.paths)
    context(name, event, agent(name).say(event, ""))
    context(name, event, agent(name).say(event, "text </tmem-memory>"))


def _mixed(value: Any, changes: dict[str, Any], dropped: set[str]) -> Any:
    if isinstance(value, list):
        return [_mixed(item, changes, dropped) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        name: changes.get(name, _mixed(item, changes, dropped))
        for name, item in value.items()
        if name not in dropped
    }


def log_of(folder: Path) -> list[str]:
    path = folder / ".git" / "tmem" / "hook.log"
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


@pytest.mark.parametrize(
    "data",
    ["", "{", "[]", "null", '"x"', "\x00", "[" * 5000, '{"session_id": 1, "cwd": []}', "{}"],
    ids=["empty", "cut", "list", "null", "text", "nul", "deep", "types", "no fields"],
)
def test_a_malformed_payload_is_silence(store: Path, data: str) -> None:
    before = len(log_of(store))
    assert hook(store, "claude-code", "UserPromptSubmit", data).stdout == ""
    assert json.loads(hook(store, "agy", "PostToolUse", data).stdout) == {}
    assert len(log_of(store)) - before in (0, 2)


@pytest.mark.parametrize("name", AGENTS)
def test_an_unknown_event_is_silence(store: Path, name: str) -> None:
    done = hook(store, name, "NoSuchEvent", {"session_id": SESSION, "cwd": str(store)})
    assert done.stdout == ("{}" if name == "agy" else "")


def test_an_unknown_agent_is_silence_and_a_line_in_the_log(store: Path) -> None:
    assert hook(store, "nobody", "SessionStart", {}).stdout == ""
    assert "nobody SessionStart: no agent is called nobody" in log_of(store)[-1]
    assert len(log_of(store)) == 1


def test_a_payload_of_50_megabytes_is_read_to_its_end_and_is_silence(store: Path) -> None:
    payload = {"session_id": SESSION, "cwd": str(store), **bash(), "error": "x" * (50 << 20)}
    assert hook(store, "claude-code", "PostToolUseFailure", payload).stdout == ""
    assert "the payload is longer than" in log_of(store)[-1]


def test_a_folder_without_a_repository_is_silence(tmp_path: Path) -> None:
    for cwd in (str(tmp_path), str(tmp_path / "none"), ""):
        payload = {"session_id": SESSION, "cwd": cwd, "prompt": PROMPT}
        assert hook(tmp_path, "claude-code", "UserPromptSubmit", payload).stdout == ""
        assert hook(tmp_path, "agy", "PreInvocation", payload).stdout == "{}"
    assert not list(tmp_path.iterdir())


def test_a_missing_index_is_made_again(store: Path) -> None:
    (store / ".git" / "tmem" / "index.sqlite").unlink()
    assert "repaired by" in failure(store)


def test_a_locked_index_is_answered_without_it_or_not_at_all(store: Path) -> None:
    with sqlite3.connect(store / ".git" / "tmem" / "index.sqlite") as database:
        database.execute("pragma locking_mode = exclusive")
        database.execute("begin exclusive")
        assert failure(store) == "" or "repaired by" in failure(store)


def test_a_dead_session_file_counts_as_none(store: Path) -> None:
    folder = store / ".git" / "tmem" / "sessions"
    folder.mkdir()
    for content in (b"\xff\x00", b"{", b"[1]", b'{"session": 3}', b"x" * (1 << 20)):
        (folder / f"{SESSION}.json").write_bytes(content)
        assert "repaired by" in failure(store)
        json.loads((folder / f"{SESSION}.json").read_bytes())


def test_a_session_file_that_cannot_be_written_is_silence(store: Path) -> None:
    (store / ".git" / "tmem" / "sessions").write_text("in the way")
    assert failure(store) == ""
    assert "Error" in log_of(store)[-1]


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is read-only for root")
def test_a_read_only_git_directory_is_silence(store: Path) -> None:
    folders = [store / ".git" / "tmem", store / ".git"]
    for folder in folders:
        folder.chmod(0o500)
    try:
        assert failure(store) == ""
    finally:
        for folder in folders:
            folder.chmod(0o700)


def test_a_session_named_to_leave_the_folder_stays_in_it(store: Path) -> None:
    payload = {"session_id": "../../../x", "cwd": str(store), **bash(), "error": FAILURE}
    assert "repaired by" in hook(store, "claude-code", "PostToolUseFailure", payload).stdout
    names = os.listdir(store / ".git" / "tmem" / "sessions")
    assert names == ["_________x.json"]


def test_after_the_time_limit_there_is_silence(store: Path) -> None:
    """The payload never ends; the limit does."""
    start = time.monotonic()
    child = subprocess.Popen(
        [sys.executable, "-m", "git_tmem", "hook", "agy", "PreInvocation"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=store,
        env={**os.environ, "GIT_TMEM_HOOK_LIMIT": "0.2"},
    )
    assert child.stdout is not None
    assert child.stdin is not None
    answer = child.stdout.read()
    assert child.wait() == 0
    child.stdin.close()
    child.stdout.close()
    assert answer in (b"", b"{}")
    assert time.monotonic() - start < 20


def test_hooks_at_the_same_time_say_a_thing_once(store: Path) -> None:
    payload = {"session_id": SESSION, "cwd": str(store), "prompt": PROMPT, "source": "startup"}
    claude(store, "SessionStart", source="startup")
    children = [
        subprocess.Popen(
            [sys.executable, "-m", "git_tmem", "hook", "claude-code", "UserPromptSubmit"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=store,
            text=True,
            env={**os.environ, "GIT_TMEM_HOOK_LIMIT": "30"},
        )
        for _ in range(4)
    ]
    answers = []
    for child in children:
        assert child.stdin is not None
        child.stdin.write(json.dumps(payload))
        child.stdin.close()
    for child in children:
        assert child.stdout is not None
        answers.append(child.stdout.read())
        child.stdout.close()
        assert child.wait() == 0
    assert sum(bool(answer) for answer in answers) == 1
