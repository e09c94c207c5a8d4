"""The session logs of GitHub Copilot CLI."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from git_tmem.actions import EXEC, MUTATE, OTHER, PROMPT, READ, Action
from git_tmem.adapters import copilot
from git_tmem.changes import Hunk

from .samples import log, only, parse, sample


def event(name: str, /, **data: Any) -> dict[str, Any]:
    return {"type": name, "data": data, "id": "e", "timestamp": "2026-02-03T10:00:01Z"} | {
        "parentId": None
    }


START = event("session.start", sessionId="s", context={"cwd": "/w"})


def start(tool: str, given: object, call: str = "c", **data: Any) -> dict[str, Any]:
    return event("tool.execution_start", toolCallId=call, toolName=tool, arguments=given, **data)


def done(text: str, call: str = "c", **data: Any) -> dict[str, Any]:
    result = {"content": text, "detailedContent": data.pop("diff", text)}
    return event(
        "tool.execution_complete", toolCallId=call, **{"success": True, "result": result, **data}
    )


def run(*results: dict[str, Any]) -> Action:
    """The command's action after these events."""
    records = [START, start("bash", {"command": "make"}), *results]
    return only(parse(log(*records)), EXEC)[0]


def edits(tool: str, given: object, *results: dict[str, Any]) -> list[Action]:
    return only(parse(log(START, start(tool, given), *results)), MUTATE)


def test_the_session_is_named_by_its_start() -> None:
    session = sample("copilot", "events.jsonl")
    assert session.id == "c0000001-aaaa-4bbb-8ccc-000000000001"
    assert (session.branch, session.version) == ("cents", "1.0.64")
    assert (session.started, session.ended) == (1770112802, 1770112853)


def test_actions_stand_in_the_order_of_their_calls_and_count_once() -> None:
    session = sample("copilot", "events.jsonl")
    assert [(action.kind, action.tool) for action in session.actions] == [
        (PROMPT, ""),
        (EXEC, "bash"),
        (READ, "view"),
        (MUTATE, "edit"),
        (MUTATE, "edit"),
        (MUTATE, "create"),
        (OTHER, "ask_user"),
        (PROMPT, ""),
        (EXEC, "bash"),
        (OTHER, "read_bash"),
    ]
    assert [action.text for action in only(session, PROMPT)] == [
        "count the total in cents",
        "no, to the nearest",
    ]
    assert [action.reason for action in only(session, EXEC)] == [
        "The tests tell what is expected.",
        "Running all tests.",
    ]


def test_an_edit_has_the_lines_of_its_diff() -> None:
    edit, refused, made = only(sample("copilot", "events.jsonl"), MUTATE)
    assert edit.hunks == (Hunk(("    return sum(prices)",), ("    return sum(prices) * 100",)),)
    assert (refused.failed, refused.hunks) == (True, ())
    assert (made.created, made.hunks) == (True, (Hunk((), ("Totals are in cents.",)),))


@pytest.mark.parametrize(
    ("text", "code", "output"),
    [
        ("ok\n<shellId: 3 completed with exit code 0>", 0, "ok"),
        ("\n<shellId: 3 completed with exit code 128>", 128, ""),
        ("<b>\n<exited with exit code 2>", 2, "<b>"),
        ("<exited with exit code 2>\nmore", None, "<exited with exit code 2>\nmore"),
    ],
)
def test_how_a_command_ended_stands_on_its_last_line(
    text: str, code: int | None, output: str
) -> None:
    action = run(done(text))
    assert (action.exit_code, action.output, action.failed) == (code, output, False)


def test_the_measured_exit_code_counts_where_no_line_tells_it() -> None:
    assert run(done("cut", toolTelemetry={"metrics": {"exit_code": 4}})).exit_code == 4


RUNNING = "<command with shellId: 9 is still running after 30 seconds. Use read_bash.>"


def test_a_command_that_goes_on_ends_where_it_is_read_or_told() -> None:
    read = [start("read_bash", {"shellId": "9"}, "r")]
    ended = run(done(RUNNING), *read, done("ok\n<shellId: 9 completed with exit code 0>", "r"))
    assert (ended.exit_code, ended.output, ended.result) == (0, "ok", 4)
    kind = {"type": "shell_completed", "shellId": "9", "exitCode": 3}
    told = run(done(RUNNING), event("system.notification", kind=kind))
    assert (told.exit_code, told.output, told.result) == (3, RUNNING, 3)
    assert run(done(RUNNING)).exit_code is None


def test_a_command_that_was_stopped_never_passed() -> None:
    kind = {"type": "shell_completed", "shellId": "9", "exitCode": 0}
    stop = start("stop_bash", {"shellId": "9"}, "x")
    assert run(done(RUNNING), stop, event("system.notification", kind=kind)).exit_code is None


@pytest.mark.parametrize(
    "data",
    [
        {"success": False, "result": {}, "error": {"code": "denied", "message": "no"}},
        {"success": None, "result": {"result_type": "rejected", "text_result_for_llm": "no"}},
    ],
)
def test_a_refused_call_did_nothing(data: dict[str, Any]) -> None:
    action = run(event("tool.execution_complete", toolCallId="c", **data))
    assert (action.failed, action.exit_code) == (True, None)


PATCH = "*** Begin Patch\n*** Update File: a.py\n-x\n+y\n*** Add File: b.py\n+z\n*** End Patch"


@pytest.mark.parametrize("given", [PATCH, {"input": PATCH}, json.dumps({"patch": PATCH})])
def test_a_patch_of_several_files_is_an_edit_of_each(given: object) -> None:
    several = "\ndiff --git a/a.py b/a.py\n@@ -1 +1 @@\n-x\n+y\ndiff --git a/b.py b/b.py\n+z"
    first, second = edits("apply_patch", given, done("Done", diff=several))
    assert (first.path, first.hunks, first.created) == ("a.py", (Hunk(("x",), ("y",)),), False)
    assert (second.path, second.hunks, second.created) == ("b.py", (Hunk((), ("z",)),), True)
    assert first.result == second.result == 2


def test_the_older_editor_tool_reads_makes_and_edits() -> None:
    view = {"command": "view", "path": "/w/a"}
    (read,) = parse(log(START, start("str_replace_editor", view))).actions
    assert (read.kind, read.path) == (READ, "/w/a")
    (made,) = edits("str_replace_editor", {"command": "create", "path": "/w/a", "file_text": "x"})
    assert made.created
    change = {"command": "str_replace", "path": "/w/a", "old_str": "x", "new_str": "y"}
    (edit,) = edits("str_replace_editor", change)
    assert edit.hunks == (Hunk(("x",), ("y",), True),)


@pytest.mark.parametrize("place", ["data", "record"])
def test_steps_of_a_sub_agent_are_marked_and_have_reasons_of_their_own(place: str) -> None:
    inner = [event("assistant.message", content="inner"), start("bash", {"command": "ls"})]
    for record in (*inner, said := event("user.message", content="do it")):
        (record["data"] if place == "data" else record).update(
            {"parentToolCallId" if place == "data" else "agentId": "t0"}
        )
    outer = [event("assistant.message", content="outer"), *inner, said]
    outer.append(start("bash", {"command": "make"}, "d"))
    child, parent = parse(log(START, *outer)).actions
    assert (child.reason, child.subagent) == ("inner", True)
    assert (parent.reason, parent.subagent) == ("outer", False)


def test_what_a_skill_puts_in_is_no_prompt() -> None:
    injected = event("user.message", content="how to", source="skill-pdf")
    typed = event("user.message", content="real")
    assert [action.text for action in parse(log(START, injected, typed)).actions] == ["real"]


def test_compactions_are_counted() -> None:
    records = [START, event("session.compaction_start"), event("user.message", content="go")]
    records += [event("session.compaction_complete", success=ok) for ok in (True, False)]
    session = parse(log(*records))
    assert (session.compactions, session.unknown) == (1, ())


def test_unknown_events_and_tools_are_counted() -> None:
    session = parse(log(START, start("teleport", {}), event("quasar.seen")))
    assert session.unknown == (("quasar.seen", 1), ("tool teleport", 1))
    assert session.actions[0].kind == OTHER


def test_real_logs_hold_as_many_calls_and_failures_as_a_plain_count(corpus: Path) -> None:
    for path in sorted((corpus / "copilot-cli").iterdir()):
        events = [json.loads(line) for line in path.read_bytes().splitlines()]
        tools = [e["data"]["toolName"] for e in events if e["type"] == "tool.execution_start"]
        measured = [e["data"].get("toolTelemetry", {}).get("metrics") or {} for e in events]
        session = parse(path.read_bytes())
        assert [action.tool for action in session.actions if action.kind != PROMPT] == tools
        failing = [action.exit_code for action in only(session, EXEC) if action.exit_code]
        assert failing == [m["exit_code"] for m in measured if m.get("exit_code")]


def test_logs_of_both_layouts_are_found(tmp_path: Path) -> None:
    state = tmp_path / ".copilot" / "session-state"
    for name in ("a/events.jsonl", "b/workspace.yaml", "c.jsonl"):
        (state / name).parent.mkdir(parents=True, exist_ok=True)
        (state / name).write_text("{}\n", encoding="utf-8")
    expected = [str(state / "a" / "events.jsonl"), str(state / "c.jsonl")]
    assert list(copilot.find_logs(["/w"], {"HOME": str(tmp_path)})) == expected
    moved = {"HOME": "/nowhere", "COPILOT_HOME": str(tmp_path / ".copilot")}
    assert list(copilot.find_logs(["/w"], moved)) == expected
    assert list(copilot.find_logs(["/w"], {})) == []
