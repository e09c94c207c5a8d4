"""Logs that any agent may write."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from git_tmem.actions import EXEC, MUTATE, OTHER, PROMPT, READ, Action
from git_tmem.adapters import generic
from git_tmem.changes import Hunk
from git_tmem.errors import InputError

from .samples import log, parse, sample


def one(**event: Any) -> Action:
    """The action of a single event."""
    (action,) = parse(log(event)).actions
    return action


def test_a_chat_gives_its_calls_and_their_results() -> None:
    session = sample("generic", "chat.jsonl")
    assert [(a.kind, a.path or a.command or a.text, a.exit_code) for a in session.actions] == [
        (PROMPT, "修复测试 please", None),
        (EXEC, "pytest -q", 1),
        (READ, "app/x.py", None),
        (MUTATE, "app/x.py", None),
        (EXEC, "pytest -q", 0),
        (OTHER, "", None),
    ]
    assert [a.result for a in session.actions] == [None, 3, 6, 5, 8, None]
    assert session.actions[1].reason == "I run the tests."
    assert session.actions[2].reason == ""
    assert session.actions[4].output == "1 passed"
    assert session.unknown == (("tool teleport", 1),)
    assert session.started == 1770109200


def test_events_give_a_step_each() -> None:
    session = sample("generic", "events.jsonl")
    assert (session.id, session.branch, session.version) == ("events-1", "main", "2")
    edits = [(a.path, a.created, a.failed, a.hunks) for a in session.actions if a.kind == MUTATE]
    assert edits == [
        ("app/parse.py", False, False, (Hunk(("a, b",), ("a, b, c",), True),)),
        ("app/new.py", True, False, (Hunk((), ("x = 1",)),)),
        ("app/parse.py", False, False, (Hunk(("a, b, c",), ("a, b, c, d",)),)),
        ("app/parse.py", False, True, ()),
    ]
    runs = [(a.command, a.exit_code, a.output) for a in session.actions if a.kind == EXEC]
    assert runs == [("pytest -q", 1, "1 failed"), ("pytest -q", 0, "1 passed")]
    assert session.actions[1].reason == "The parser drops the last field."
    assert session.actions[6].reason == ""


def test_the_examples_of_the_module_are_what_it_accepts() -> None:
    text = re.sub(r"\[\n\s+", "[", generic.__doc__ or "")
    records = [json.loads(line) for line in re.findall(r"^    (\{.*\})$", text, re.MULTILINE)]
    session = parse(log(*records))
    assert len(records) == 10
    assert session.unknown == ()
    assert [a.kind for a in session.actions] == [PROMPT, EXEC, PROMPT, READ, MUTATE, MUTATE, EXEC]
    assert [a.exit_code for a in session.actions if a.kind == EXEC] == [1, 0]


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"exit_code": 2}, 2),
        ({"returncode": "3"}, 3),
        ({"status": "ok"}, 0),
        ({"status": "Failed"}, 1),
        ({"output": "x\nexit code 4"}, 4),
        ({"output": "Process exited with code 5\nx"}, 5),
        ({"output": "fine"}, None),
        ({"exit_code": True, "output": "x"}, None),
    ],
)
def test_exit_codes_are_found_where_they_may_be(fields: dict[str, Any], code: int | None) -> None:
    assert one(type="run", command="make", **fields).exit_code == code


def test_a_refused_call_never_ran() -> None:
    action = one(type="run", command="make", is_error=True, exit_code=1)
    assert (action.failed, action.exit_code) == (True, None)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("Read", READ),
        ("read_file", READ),
        ("fs.read-file", READ),
        ("str_replace", MUTATE),
        ("delete_file", MUTATE),
        ("write", MUTATE),
    ],
)
def test_names_are_read_in_any_dress(name: str, kind: str) -> None:
    assert one(type=name, path="a.py").kind == kind


def test_an_editor_of_many_commands_is_known_by_its_command() -> None:
    edit = {"type": "str_replace_editor", "path": "a.py", "text": "x"}
    assert one(**edit, command="view").kind == READ
    created = one(**{**edit, "file_text": "y"}, command="create")
    assert (created.created, created.hunks) == (True, (Hunk((), ("y",)),))
    changed = one(**edit, command="str_replace", old_str="a", new_str="b")
    assert changed.hunks == (Hunk(("a",), ("b",), True),)


def test_a_log_without_an_id_gets_one_that_stays() -> None:
    start = [{"type": "prompt", "text": "go"}, {"type": "say", "text": "I read it."}]
    first, longer = parse(log(*start)), parse(log(*start, {"type": "read", "path": "a"}))
    assert first.id == longer.id
    other = parse(log(start[0], {"type": "say", "text": "I run it."}))
    assert other.id != first.id


@pytest.mark.parametrize(
    "data",
    [b"", b"\n\n", b"\x89PNG\r\n\x1a\n\0\0", b'{"hello": "world"}\n', b'{"type": "read"}\n', b"[]"],
)
def test_what_is_no_log_is_refused(data: bytes) -> None:
    with pytest.raises(InputError) as refusal:
        parse(data)
    assert refusal.value.hint


def test_a_named_agent_is_not_second_guessed() -> None:
    with pytest.raises(InputError, match="no action that a session of dsh"):
        parse(log({"type": "prompt", "text": "go"}), "dsh")
    with pytest.raises(InputError, match="unknown agent 'nobody'"):
        parse(log({"type": "prompt", "text": "go"}), "nobody")


def test_nobody_knows_where_such_logs_lie() -> None:
    assert list(generic.find_logs(["/"], {"HOME": "/"})) == []
