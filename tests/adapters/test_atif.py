"""Trajectories in the interchange format ATIF."""

from __future__ import annotations

import json
from typing import Any

import pytest

from git_tmem.actions import EXEC, MUTATE, OTHER, PROMPT, READ, Session

from .samples import log, only, parse, sample

CART = "/home/ada/app/shop/cart.py"


def run(content: str, **extra: Any) -> Session:
    """The session of one command and what a producer tells of it."""
    call = {"tool_call_id": "c", "function_name": "bash", "arguments": {"command": "make"}}
    results = [{"source_call_id": "c", "content": content}]
    step = {"source": "agent", "message": "", "tool_calls": [call], "extra": extra}
    return parse(
        log(
            {"schema_version": "ATIF-v1.6"},
            {"steps": {**step, "observation": {"results": results}}},
        )
    )


def test_tools_are_told_by_their_names() -> None:
    session = sample("atif", "tools.trajectory.json")
    assert [(action.kind, action.tool, action.path) for action in session.actions] == [
        (PROMPT, "", ""),
        (EXEC, "Bash", ""),
        (READ, "Read", CART),
        (MUTATE, "Edit", CART),
        (MUTATE, "Edit", CART),
        (MUTATE, "Write", "/home/ada/app/CHANGES.md"),
        (EXEC, "Bash", ""),
        (READ, "Read", "/home/ada/app/setup.cfg"),
    ]
    assert [run.exit_code for run in only(session, EXEC)] == [1, 0]
    assert [edit.failed for edit in only(session, MUTATE)] == [True, False, False]
    assert (session.id, session.branch, session.version) == ("s1", "main", "ATIF-v1.7")


def test_an_embedded_trajectory_is_of_a_sub_agent() -> None:
    session = sample("atif", "tools.trajectory.json")
    assert [action.subagent for action in session.actions] == [False] * 7 + [True]


def test_a_terminal_is_typed_into_and_shows_one_screen_for_a_step() -> None:
    session = sample("atif", "terminal.trajectory.json")
    assert [prompt.text for prompt in only(session, PROMPT)] == ["count the total in cents"]
    runs = only(session, EXEC)
    assert [run.command.split(" ")[0] for run in runs] == ["python", "sed", "python", "git"]
    assert [("2 passed" in run.output) for run in runs] == [False, False, True, False]
    assert [action.kind for action in session.actions].count(OTHER) == 2
    assert (session.id, session.compactions) == ("t1-cont-1", 1)


def test_calls_may_be_written_in_tags() -> None:
    words = "<function=execute_bash>\n<parameter=command>make\n</parameter>\n</function>"
    results = [{"content": "ok\n[Command finished with exit code 0]"}]
    step = {"source": "agent", "message": words, "observation": {"results": results}}
    session = parse(log({"schema_version": "ATIF-v1.5"}, {"steps": step}))
    (action,) = session.actions
    assert (action.command, action.exit_code) == ("make", 0)


@pytest.mark.parametrize(
    ("content", "extra", "code"),
    [
        ("Exit code 2\nboom", {}, 2),
        ("out\n[The command completed with exit code 0.]\n[Current directory: /app]", {}, 0),
        ("Process exited with code 3\nOutput:\nx", {}, 3),
        ("<returncode>1</returncode>\n<output>\nx</output>", {}, 1),
        ("[stdout]\nx\n[exitCode] 4", {}, 4),
        ("x", {"exit_code": 5}, 5),
        ("x", {"tool_result_metadata": {"tool_use_result": {"exitCode": 6}}}, 6),
        ("it says exit code 7 somewhere\nin the middle\nof\nits\noutput", {}, None),
        ("x", {}, None),
    ],
)
def test_exit_codes_are_where_producers_put_them(
    content: str, extra: dict[str, Any], code: int | None
) -> None:
    (action,) = run(content, **extra).actions
    assert action.exit_code == code
    assert not action.failed


def test_a_call_that_was_refused_did_not_run() -> None:
    (action,) = run("permission denied by the user", is_error=True).actions
    assert (action.failed, action.exit_code) == (True, None)


def test_a_tool_nobody_knows_is_opaque_and_counted() -> None:
    call = {"tool_call_id": "c", "function_name": "levitate", "arguments": {}}
    step = {"source": "agent", "message": "up", "tool_calls": [call]}
    session = parse(log({"schema_version": "ATIF-v1.6"}, {"steps": step}))
    assert session.unknown == (("tool levitate", 1),)
    assert session.actions[0].kind == OTHER
    json.dumps(session)
