"""The session logs of the DeepSeek Harness."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from git_tmem.actions import EXEC, MUTATE, OTHER, PROMPT, READ, Action
from git_tmem.adapters import dsh
from git_tmem.changes import Hunk

from .samples import log, only, parse, sample

HEADER = {"type": "session", "version": 4, "id": "s", "createdAt": 1, "cwd": "/w"}


def event(kind: str, seq: int = 0, **data: Any) -> dict[str, Any]:
    return {"type": kind, "seq": seq, "time": 1786259115000, "data": data}


def run(text: str, error: bool = False, **given: Any) -> Action:
    """The action of a shell command whose result has this text."""
    message = {"role": "tool", "toolCallId": "c", "isError": error, "content": [{"text": text}]}
    arguments = json.dumps({"command": "make", **given})
    made = event("tool/call", callId="c", name="bash", arguments=arguments)
    (action,) = parse(log(HEADER, made, event("tool/result", message=message))).actions
    return action


@pytest.mark.parametrize("name", ["session.jsonl", "session.v3.jsonl", "session.v4.jsonl"])
def test_every_generation_tells_the_same_work(name: str) -> None:
    session = sample("dsh", name)
    work = session.actions[:7]
    assert [(action.kind, action.path or action.command) for action in work] == [
        (PROMPT, ""),
        (MUTATE, "config.txt"),
        (READ, "config.txt"),
        (MUTATE, "config.txt"),
        (MUTATE, "check.sh"),
        (EXEC, "check.sh"),
        (EXEC, "sh check.sh"),
    ]
    assert [action.failed for action in work] == [False, True, *[False] * 5]
    assert [action.exit_code for action in work] == [None] * 5 + [127, 0]
    assert work[3].hunks == (Hunk(("mode=DEBUG",), ("mode=RELEASE",), True),)
    assert (work[3].created, work[4].created) == (False, True)
    assert work[4].hunks == (Hunk((), ("#!/bin/sh", "grep -q RELEASE config.txt")),)
    assert [action.reason for action in work[1:3]] == ["I edit the file.", "Read it first."]
    assert not any(action.subagent for action in work)


def test_compressed_logs_say_the_same() -> None:
    assert sample("dsh", "session.v4.jsonl.zstd") == sample("dsh", "session.v4.jsonl")


def test_only_the_user_is_a_user() -> None:
    session = sample("dsh", "session.v4.jsonl")
    assert [action.text for action in only(session, PROMPT)] == [
        "Rename the DEBUG mode to RELEASE and check it.",
        "Go on in the background.",
    ]
    assert session.compactions == 1


def test_calls_made_by_a_program_are_steps_and_the_program_is_no_command() -> None:
    session = sample("dsh", "session.v4.jsonl")
    program, make = session.actions[8:10]
    assert (program.kind, program.tool) == (OTHER, "run_code")
    assert (make.kind, make.command, make.exit_code) == (EXEC, "make", 2)


def test_a_dispatch_without_its_start_is_a_step_all_the_same() -> None:
    given: dict[str, Any] = {"subCallId": "p:1", "name": "bash", "arguments": {"command": "make"}}
    done = event("tool/code-dispatch", 0, **given, isError=False, content=[{"text": "ok"}])
    (action,) = parse(log({**HEADER, "version": 0}, done)).actions
    assert (action.command, action.exit_code, action.result) == ("make", 0, 1)


def test_a_background_job_ends_when_its_output_says_so() -> None:
    job = next(a for a in sample("dsh", "session.v4.jsonl").actions if a.command == "make test")
    assert (job.exit_code, job.result) == (0, 30)
    assert run("started background job bash-1").exit_code is None


def test_a_patch_is_an_edit_of_each_of_its_files() -> None:
    edits = [a for a in sample("dsh", "session.v4.jsonl").actions if a.tool == "apply_patch"]
    assert [(edit.path, edit.created, edit.hunks) for edit in edits] == [
        ("src/main.c", False, (Hunk((), ("    return 0;",)),)),
        ("NOTES", True, (Hunk((), ("one",)),)),
    ]
    assert edits[0].record == edits[1].record
    assert edits[0].result == edits[1].result is not None


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("ok", 0),
        ("(no output)", 0),
        ("bad\n[exit code: 3]", 3),
        ("[exit code: 3]\nsaid the log", 0),
        ("[killed by signal: SIGKILL]", 137),
        ("x\n[timed out after 100ms]\n[killed by signal: SIGTERM]", 143),
        ("[killed by signal: SIGFOO]", 128),
        ("x\n[timed out after 100ms]", 124),
        ("", 0),
    ],
)
def test_markers_below_the_output_tell_the_exit_status(text: str, code: int) -> None:
    assert run(text).exit_code == code


def test_an_error_means_that_the_tool_did_not_run() -> None:
    refused = run("Error: bash is disabled by policy", error=True)
    assert (refused.failed, refused.exit_code) == (True, None)
    late = run("x\n[timed out after 100ms]", error=True)
    assert (late.failed, late.exit_code) == (False, 124)


def test_a_command_may_run_in_another_folder() -> None:
    assert run("ok").cwd == "/w"
    assert run("ok", workdir="/w/src").cwd == "/w/src"


def test_the_replay_in_a_seeded_child_is_left_out() -> None:
    session = sample("dsh", "child.v4.jsonl")
    assert [(a.kind, a.text or a.command) for a in session.actions] == [
        (PROMPT, "Count the tests."),
        (EXEC, "ls tests | wc -l"),
    ]
    assert all(action.subagent for action in session.actions)


def test_the_replay_in_an_old_child_has_a_length() -> None:
    header = {**HEADER, "version": 0, "seedLength": 2, "origin": "subagent"}
    calls = [
        event("tool/call", seq, callId=str(seq), name="bash", arguments='{"command": "make"}')
        for seq in range(3)
    ]
    (action,) = parse(log(header, *calls)).actions
    assert (action.record, action.subagent) == (3, True)


def test_arguments_that_are_no_json_make_no_edit() -> None:
    made = event("tool/call", callId="c", name="edit", arguments='{"file_path": "a')
    (action,) = parse(log(HEADER, made)).actions
    assert (action.kind, action.tool) == (OTHER, "edit")


def test_ignorable_events_and_plugins_are_not_unknown() -> None:
    events = [
        {**event("nova/burst"), "ignorable": True},
        event("plugin:memory/saved"),
        event("nova/burst"),
        event("user/message", source={"kind": "user"}, content=[{"text": "go"}]),
    ]
    assert parse(log(HEADER, *events)).unknown == (("nova/burst", 1),)


def test_only_the_highest_generation_of_a_session_is_found(tmp_path: Path) -> None:
    sessions = tmp_path / ".dsh" / "sessions"
    for name in (
        "--a--/1/session.jsonl",
        "--a--/1/session.v10.jsonl",
        "--a--/1/session.v4.jsonl.zstd",
        "--a--/1/session.lock",
        "_no-cwd/2/session.jsonl.zstd",
        "--a--/3/notes.jsonl",
    ):
        (sessions / name).parent.mkdir(parents=True, exist_ok=True)
        (sessions / name).write_bytes(b"")
    found = list(dsh.find_logs(["/w"], {"HOME": str(tmp_path)}))
    assert found == [
        str(sessions / "--a--/1/session.v10.jsonl"),
        str(sessions / "_no-cwd/2/session.jsonl.zstd"),
    ]
    assert list(dsh.find_logs(["/w"], {"DSH_HOME": str(tmp_path / ".dsh")})) == found
    assert list(dsh.find_logs(["/w"], {})) == []
