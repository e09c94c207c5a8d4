"""Session logs of pi."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_tmem.actions import EXEC, MUTATE, PROMPT, READ, Action, Session
from git_tmem.adapters import base, pi
from git_tmem.changes import Hunk
from git_tmem.errors import InputError

from .samples import log, only, parse, sample

HEADER = {"type": "session", "version": 3, "id": "s", "timestamp": "2026-05-12", "cwd": "/w"}


def entry(name: str, parent: str | None, role: str, **message: Any) -> dict[str, Any]:
    return {
        "type": "message",
        "id": name,
        "parentId": parent,
        "message": {"role": role, **message},
    }


def texts(session: Session) -> list[str]:
    return [action.text for action in only(session, PROMPT)]


def bash(text: str, error: bool = True) -> Action:
    """The action of a command whose result has this text."""
    asked = {"type": "toolCall", "id": "c", "name": "bash", "arguments": {"command": "make"}}
    result = {"toolCallId": "c", "content": [{"type": "text", "text": text}], "isError": error}
    records = (
        entry("a", None, "assistant", content=[asked]),
        entry("b", "a", "toolResult", **result),
    )
    (action,) = parse(log(HEADER, *records)).actions
    return action


def test_a_log_of_the_first_version_is_read_in_its_order() -> None:
    session = sample("pi", "v1.jsonl")
    assert (session.version, session.compactions, session.unknown) == ("v1", 1, ())
    assert [(action.kind, action.path or action.command) for action in session.actions] == [
        (PROMPT, ""),
        (READ, "app/price.py"),
        (EXEC, "pytest -q"),
        (MUTATE, "app/price.py"),
        (MUTATE, "app/price.py"),
        (MUTATE, "tests/test_price.py"),
        (EXEC, "git status"),
        (EXEC, "pytest -q"),
        (EXEC, "make slow"),
    ]
    assert [action.exit_code for action in only(session, EXEC)] == [1, 0, 0, None]
    refused, edit, written = only(session, MUTATE)
    assert (refused.failed, edit.failed, written.created) == (True, False, True)
    assert edit.hunks == (Hunk(("int(x)",), ("round(x)",), True),)
    assert edit.reason == "int() cuts off; round() does not."
    assert session.actions[1].reason == "Where is it?"


def test_only_the_way_from_the_last_entry_to_the_root_counts() -> None:
    session = sample("pi", "v3.jsonl")
    assert (session.version, session.compactions) == ("v3", 0)
    prompt, edit, tests = session.actions
    assert (prompt.text, tests.exit_code) == ("Rename the helper.", 0)
    assert edit.reason == "By a real rename."
    assert edit.hunks == (Hunk(("def old():",), ("def new():",)),)


@given(st.lists(st.integers(0, 30), min_size=1, max_size=30))
def test_of_any_tree_the_way_to_its_last_entry_counts(hung: list[int]) -> None:
    parents = [number % (place + 1) for place, number in enumerate(hung)]
    entries = [
        entry(str(place + 1), str(parent) if parent else None, "user", content=f"say {place + 1}")
        for place, parent in enumerate(parents)
    ]
    way = [len(parents)]
    while parent := parents[way[-1] - 1]:
        way.append(parent)
    assert texts(parse(log(HEADER, *entries))) == [f"say {name}" for name in reversed(way)]


def test_the_same_words_on_another_branch_are_said_again() -> None:
    records = [
        entry("a", None, "user", content="go"),
        entry("b", "a", "user", content="again"),
        entry("c", "a", "user", content="again"),
    ]
    session = parse(log(HEADER, *records))
    assert [(action.text, action.record) for action in session.actions] == [("go", 1), ("again", 3)]
    assert texts(parse(log(HEADER, *records, entry("d", "b", "user", content="x")))) == [
        "go",
        "again",
        "x",
    ]


def test_a_damaged_line_does_not_cut_the_way_to_the_root() -> None:
    records = [
        entry(name, parent, "user", content=name) for name, parent in zip("bcd", "abc", strict=True)
    ]
    data = log(HEADER, entry("a", None, "user", content="a"), *records)
    lines = data.splitlines(keepends=True)
    assert texts(parse(data)) == ["a", "b", "c", "d"]
    assert texts(parse(b"".join((*lines[:3], b"damage\n", *lines[4:])))) == ["a", "b", "d"]


def test_a_tree_that_is_a_ring_ends() -> None:
    ring = [entry("a", "b", "user", content="a"), entry("b", "a", "user", content="b")]
    assert texts(parse(log(HEADER, *ring))) == ["a", "b"]


def test_a_tree_of_too_many_entries_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "ACTION_LIMIT", 10)
    changes = [{"type": "model_change", "id": str(number)} for number in range(11)]
    with pytest.raises(InputError, match="more than 10 entries"):
        parse(log(HEADER, *changes), "pi")


@pytest.mark.parametrize(
    ("text", "error", "code", "failed"),
    [
        ("1 passed", False, 0, False),
        ("1 failed\n\nCommand exited with code 1", True, 1, False),
        ("Command exited with code 7\n", True, 7, False),
        ("Command exited with code 7", False, 0, False),  # what a passing command printed
        ("...\n\nCommand timed out after 5 seconds", True, 124, False),
        ("part\n\nCommand aborted", True, None, False),
        ("Working directory does not exist", True, None, True),
    ],
)
def test_the_end_of_an_error_tells_the_exit_code(
    text: str, error: bool, code: int | None, failed: bool
) -> None:
    action = bash(text, error)
    assert (action.exit_code, action.failed) == (code, failed)


def test_a_command_of_the_user_that_was_cancelled_has_no_code() -> None:
    ran = entry("a", None, "bashExecution", command="make", output="", exitCode=1, cancelled=True)
    (action,) = parse(log(HEADER, ran)).actions
    assert (action.kind, action.exit_code, action.failed) == (EXEC, None, False)


def test_every_call_of_real_logs_is_an_action_with_its_outcome(corpus: Path) -> None:
    kinds = {"read": READ, "bash": EXEC, "edit": MUTATE, "write": MUTATE}
    for path in sorted((corpus / "pi").glob("v1-*.jsonl")):
        records = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        messages = [record.get("message", {}) for record in records]
        blocks = [b for m in messages if m.get("role") == "assistant" for b in m["content"]]
        expected = Counter(kinds[b["name"]] for b in blocks if b["type"] == "toolCall")
        expected[EXEC] += sum(m.get("role") == "bashExecution" for m in messages)
        told = parse(path.read_bytes())
        assert Counter(action.kind for action in told.actions if action.tool) == expected, path
        ends = [m["content"][-1].get("text", "") for m in messages if m.get("isError") is True]
        found = [re.search(r"Command exited with code (\d+)$", end) for end in ends]
        codes = [int(code.group(1)) for code in found if code]
        codes += [m["exitCode"] for m in messages if m.get("exitCode")]
        failures = [run.exit_code for run in only(told, EXEC) if run.exit_code]
        assert sorted(failures) == sorted(codes), path


def test_logs_are_found_in_the_folders_of_the_work_tree(tmp_path: Path) -> None:
    sessions = tmp_path / ".pi" / "agent" / "sessions"
    for name in ("--home-ada-app--", "--home-ada-app-sub--", "--home-bob--"):
        (sessions / name).mkdir(parents=True)
        (sessions / name / "2026_a.jsonl").touch()
        (sessions / name / "notes.txt").touch()
    found = list(pi.find_logs(["/home/ada/app"], {"HOME": str(tmp_path)}))
    assert [Path(path).parent.name for path in found] == [
        "--home-ada-app--",
        "--home-ada-app-sub--",
    ]
    moved = {"PI_CODING_AGENT_DIR": str(tmp_path / ".pi" / "agent")}
    assert list(pi.find_logs(["/home/ada/app"], moved)) == found
    assert list(pi.find_logs(["/"], {})) == []
