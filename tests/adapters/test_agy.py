"""The transcripts of Antigravity."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from git_tmem.actions import EXEC, MUTATE, OTHER, PROMPT, READ, Action
from git_tmem.adapters import agy
from git_tmem.changes import Hunk

from .samples import log, only, parse, sample

APP = "/home/ada/app"


def step(kind: str, content: str = "", *calls: dict[str, Any], **fields: Any) -> dict[str, Any]:
    made = {"step_index": 0, "source": "MODEL", "type": kind, "content": content}
    return {"status": "DONE", **made, "tool_calls": list(calls), **fields}


def call(name: str, key: str = "args", **given: Any) -> dict[str, Any]:
    """A call, its arguments written as JSON inside strings or, under another key, plainly."""
    coded = {name: json.dumps(value) for name, value in given.items()}
    return {"name": name, key: coded if key == "args" else given}


def plan(*calls: dict[str, Any]) -> dict[str, Any]:
    return step("PLANNER_RESPONSE", "", *calls)


def outcome(text: str, *later: dict[str, Any], **fields: Any) -> Action:
    """The action of a command with this result."""
    made = plan(call("run_command", CommandLine="make", Cwd=APP))
    (action,) = parse(log(made, step("RUN_COMMAND", text, **fields), *later)).actions
    return action


def test_a_transcript_tells_what_was_done() -> None:
    session = sample("agy", "transcript.jsonl")
    assert [(action.kind, action.tool) for action in session.actions] == [
        (PROMPT, ""),
        (EXEC, "run_command"),
        (READ, "view_file"),
        (MUTATE, "replace_file_content"),
        (MUTATE, "write_to_file"),
        (MUTATE, "multi_replace_file_content"),
        (EXEC, "run_command"),
    ]
    assert session.actions[0].text == "count the total in cents"
    assert (session.compactions, session.started) == (1, 1770112801)
    assert session.actions[1].reason == "I'll run the tests and read the code."
    assert session.actions[3].reason == "The factor is missing."


def test_edits_have_the_lines_of_their_diff_or_of_their_call() -> None:
    edit, made, failed = only(sample("agy", "transcript.jsonl"), MUTATE)
    assert edit.path == f"{APP}/shop/cart.py"
    assert edit.hunks == (Hunk(("    return sum(prices)",), ("    return sum(prices) * 100",)),)
    assert (made.created, made.hunks) == (True, (Hunk((), ('{"total": "cents"}',)),))
    assert (failed.failed, failed.hunks) == (True, ())


def test_commands_end_as_a_sentence_says_now_or_later() -> None:
    first, last = only(sample("agy", "transcript.jsonl"), EXEC)
    assert (first.command, first.cwd, first.exit_code) == ("python -m pytest -q", APP, 1)
    assert first.output.startswith("F.  ")
    assert (last.exit_code, last.result) == (0, 15)
    assert last.output.endswith("2 passed in 0.02s\n")


@pytest.mark.parametrize(
    ("text", "code", "output"),
    [
        ("The command completed successfully.\nOutput:\nok", 0, "ok"),
        ("\n\t\t\t\tThe command exited with code 3.\n\t\t\t\tStdout:\n\t\t\t\tx", 3, "x"),
        ("The command failed with exit code: 7\nOutput:\nno", 7, "no"),
        ("Output:\nThe command completed successfully", None, "The command completed successfully"),
        ("words", None, "words"),
    ],
)
def test_only_the_sentence_above_the_output_counts(
    text: str, code: int | None, output: str
) -> None:
    action = outcome(text)
    assert (action.exit_code, action.output, action.failed) == (code, output, False)


def test_a_refused_command_never_ran() -> None:
    action = outcome("The user rejected it", status="CANCELED")
    assert (action.failed, action.exit_code) == (True, None)


def test_a_background_task_that_never_reports_has_no_code() -> None:
    running = "Tool is running as a background task with task id: a/task-1"
    other = step(
        "SYSTEM_MESSAGE", 'Task id "b" finished with result: The command exited with code 0'
    )
    assert outcome(running, other, status="RUNNING").exit_code is None


def test_a_step_that_comes_again_tells_how_it_went_on() -> None:
    done = step("RUN_COMMAND", "The command exited with code 3", step_index=5)
    action = outcome("", done, status="RUNNING", step_index=5)
    assert (action.exit_code, action.result) == (3, 2)


def test_a_session_worked_where_most_of_its_commands_ran() -> None:
    runs = [call("run_command", CommandLine="ls", Cwd=place) for place in ("/", APP, APP, "/tmp")]
    assert parse(log(*map(plan, runs))).cwd == APP
    listed = plan(call("list_dir", DirectoryPath="/w"))
    assert parse(log(listed, step("LIST_DIRECTORY"))).cwd == "/w"


def test_a_file_may_be_named_by_its_address() -> None:
    view = plan(call("view_file", AbsolutePath="file:///w/a.py"))
    assert parse(log(view, step("VIEW_FILE", "1: x"))).actions[0].path == "/w/a.py"


@pytest.mark.parametrize("key", ["args", "arguments"])
@pytest.mark.parametrize("content", ['{"x": 1}', '["x"]', '"', "true", "x = 1"])
def test_arguments_may_be_coded_or_plain_and_content_stays_text(key: str, content: str) -> None:
    given = {"TargetFile": "/a.json", "CodeContent": content}
    records = [plan(call("write_to_file", key, **given)), step("CODE_ACTION")]
    (action,) = parse(log(*records)).actions
    assert (action.path, action.hunks) == ("/a.json", (Hunk((), (content,)),))


def test_several_replacements_in_a_call_are_one_edit() -> None:
    chunks = [{"TargetContent": x, "ReplacementContent": x * 2} for x in ("a", "b")]
    edit = call("multi_replace_file_content", TargetFile="/x", ReplacementChunks=chunks)
    (action,) = parse(log(plan(edit), step("CODE_ACTION", "done"))).actions
    assert action.hunks == (Hunk(("a",), ("aa",), True), Hunk(("b",), ("bb",), True))


def test_results_find_their_calls_by_type() -> None:
    calls = [call("view_file", AbsolutePath="/a"), call("run_command", CommandLine="ls", Cwd="/")]
    results = [step("RUN_COMMAND", "The command exited with code 2"), step("VIEW_FILE", "1: x")]
    read, ran = parse(log(plan(*calls), *results)).actions
    assert (read.result, ran.result, ran.exit_code) == (2, 1, 2)


def test_a_call_without_a_result_does_not_take_that_of_the_next() -> None:
    ls, make = (plan(call("run_command", CommandLine=name, Cwd="/")) for name in ("ls", "make"))
    cut, whole = parse(log(ls, make, step("RUN_COMMAND", "The command exited with code 2"))).actions
    assert (cut.result, whole.exit_code) == (None, 2)


def test_results_whose_calls_were_left_out_tell_their_file() -> None:
    session = parse(
        log(
            step("VIEW_FILE", "File Path: `file:///w/a.txt`\n1: x"),
            step("CODE_ACTION", "Created file file:///w/b.md with requested content."),
            step("CODE_ACTION", "changes were made by the x tool to: /w/c.md. If relevant, y"),
            step("RUN_COMMAND", "The command exited with code 0"),
        )
    )
    assert [(action.kind, action.path) for action in session.actions] == [
        (READ, "/w/a.txt"),
        (MUTATE, "/w/b.md"),
        (MUTATE, "/w/c.md"),
    ]


def test_unknown_tools_and_steps_are_counted() -> None:
    records = [plan(call("teleport")), step("TELEPORT", "gone"), step("QUASAR", source="SYSTEM")]
    session = parse(log(*records))
    assert session.unknown == (("QUASAR", 1), ("tool teleport", 1))
    assert [(action.kind, action.result) for action in session.actions] == [(OTHER, 1)]


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        ("<USER_REQUEST>\nfix it\n</USER_REQUEST>\n<USER_SETTINGS_CHANGE>x", ["fix it"]),
        ("plain words", ["plain words"]),
        ("<ADDITIONAL_METADATA>x</ADDITIONAL_METADATA>", []),
    ],
)
def test_only_the_request_is_a_prompt(text: str, spoken: list[str]) -> None:
    session = parse(log(step("USER_INPUT", text), step("USER_INPUT", "end")))
    assert [action.text for action in session.actions] == [*spoken, "end"]


def test_the_full_transcript_of_every_conversation_is_found(tmp_path: Path) -> None:
    home, root = tmp_path / "home", tmp_path / "app"
    inner = Path(".system_generated") / "logs"
    one = home / ".gemini" / "antigravity" / "brain" / "1" / inner
    two = home / ".gemini" / "antigravity-cli" / "brain" / "2" / inner
    own = root / ".antigravity" / "antigravity-cli" / "brain" / "3" / inner
    for place in (one, two, own):
        place.mkdir(parents=True)
        (place / "transcript.jsonl").write_text("{}\n", encoding="utf-8")
    (one / "transcript_full.jsonl").write_text("{}\n", encoding="utf-8")
    expected = [two / "transcript.jsonl", one / "transcript_full.jsonl", own / "transcript.jsonl"]
    found = list(agy.find_logs([str(root)], {"HOME": str(home)}))
    assert found == [str(path) for path in expected]
    assert list(agy.find_logs([str(root)], {})) == [str(expected[2])]
