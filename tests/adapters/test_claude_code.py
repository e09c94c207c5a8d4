"""The session logs of Claude Code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from git_tmem import adapters
from git_tmem.actions import EXEC, MUTATE, OTHER, PROMPT, READ, Action, Session
from git_tmem.adapters import claude_code
from git_tmem.changes import Hunk

from .samples import DATA, log, only, parse, sample

ROWS = "/home/ada/app/app/rows.py"


def said(**fields: Any) -> dict[str, Any]:
    """A record of the user with the fields that every record has."""
    return {"type": "user", "sessionId": "s", "cwd": "/w", **fields}


def call(name: str, number: int = 1, **given: Any) -> dict[str, Any]:
    """A record that calls a tool."""
    block = {"type": "tool_use", "id": f"t{number}", "name": name, "input": given}
    return {**said(uuid=f"c{number}", message={"content": [block]}), "type": "assistant"}


def answer(text: object, error: bool = False, details: object = None, number: int = 1) -> Any:
    """A record with a tool's result."""
    block = {"type": "tool_result", "tool_use_id": f"t{number}", "content": text}
    block["is_error"] = error
    return said(uuid=f"r{number}", message={"content": [block]}, toolUseResult=details)


def outcome(text: object, error: bool = False, details: object = None) -> Action:
    """The action of a command with this result."""
    (action,) = parse(log(call("Bash", command="make"), answer(text, error, details))).actions
    return action


def prompts(session: Session) -> list[str]:
    return [action.text for action in only(session, PROMPT)]


def test_the_session_is_named_by_its_records() -> None:
    session = sample("claude-code", "repair.jsonl")
    assert session.id == "5e551011-aaaa-4bbb-8ccc-000000000001"
    assert (session.cwd, session.branch, session.version) == (
        "/home/ada/app",
        "fix-parse",
        "2.1.34",
    )
    assert (session.started, session.ended) == (1770112801, 1770112823)


def test_actions_stand_in_the_order_of_their_calls() -> None:
    session = sample("claude-code", "repair.jsonl")
    assert [(action.kind, action.tool) for action in session.actions] == [
        (PROMPT, ""),
        (EXEC, "Bash"),
        (READ, "Read"),
        (READ, "Grep"),
        (MUTATE, "Edit"),
        (PROMPT, ""),
        (MUTATE, "Edit"),
        (MUTATE, "Write"),
        (EXEC, "Bash"),
        (EXEC, "Bash"),
    ]


def test_a_failing_command_has_its_code_and_its_output() -> None:
    failing = only(sample("claude-code", "repair.jsonl"), EXEC)[0]
    assert (failing.command, failing.exit_code) == ("python -m pytest tests -q", 1)
    assert failing.output.startswith("F  ")
    assert "AssertionError" in failing.output
    assert (failing.record, failing.result) == (5, 7)
    assert failing.reason == "I'll run the tests to see the failure."


def test_a_search_that_finds_nothing_is_no_failure() -> None:
    passing, benign = only(sample("claude-code", "repair.jsonl"), EXEC)[1:]
    assert passing.exit_code == benign.exit_code == 0
    assert passing.reason == benign.reason == "Now the tests."


def test_an_edit_has_the_lines_of_its_patch() -> None:
    refused, edit, write = only(sample("claude-code", "repair.jsonl"), MUTATE)
    assert (refused.failed, refused.hunks) == (True, ())
    assert edit.path == ROWS
    assert edit.hunks == (
        Hunk(
            ('    fields = line.split(",")', "    return [field for field in fields if field]"),
            ('    return line.split(",")',),
        ),
    )
    assert not edit.created
    assert write.created
    assert write.hunks[0].added[0] == "from app.rows import read_row"


def test_a_search_in_a_folder_reads_no_file() -> None:
    assert [action.path for action in only(sample("claude-code", "repair.jsonl"), READ)] == [
        ROWS,
        "",
    ]


def test_only_what_the_user_said_is_a_prompt() -> None:
    assert prompts(sample("claude-code", "delegation.jsonl")) == [
        "look at the retry loop",
        "use exponential backoff",
    ]


def test_steps_of_a_sub_agent_come_out_of_progress_records() -> None:
    session = sample("claude-code", "delegation.jsonl")
    (search,) = [action for action in session.actions if action.subagent]
    assert (search.command, search.exit_code) == ("grep -rn retry app", 0)
    assert (search.reason, search.cwd) == ("Searching.", "/home/ada/app")


def test_a_background_command_ends_when_its_output_or_a_notice_says_so() -> None:
    server, build = only(sample("claude-code", "delegation.jsonl"), EXEC)[1:3]
    assert (build.exit_code, build.output, build.result) == (2, "error TS2322: no", 17)
    assert (server.exit_code, server.result) == (137, 27)


def test_a_background_command_that_never_reports_has_no_code() -> None:
    text = "Command running in background with ID: b1. Output is being written to: /tmp/b1"
    assert outcome(text).exit_code is None
    assert outcome("", details={"backgroundTaskId": "b1"}).exit_code is None


def test_compactions_are_counted_and_their_summary_is_no_prompt() -> None:
    assert sample("claude-code", "delegation.jsonl").compactions == 1


def test_several_edits_in_one_call_are_one_action() -> None:
    (edit,) = only(sample("claude-code", "delegation.jsonl"), MUTATE)
    assert (edit.tool, edit.reason) == ("MultiEdit", "Backoff it is.")
    assert edit.hunks[0].added == ("for (n = 0; n < 5; n++)", "  sleep(2 ** n)")


def test_unknown_tools_are_counted() -> None:
    session = sample("claude-code", "delegation.jsonl")
    assert session.unknown == (("tool mcp__tracker__close", 1),)
    assert only(session, OTHER)[-1].tool == "mcp__tracker__close"


@pytest.mark.parametrize(
    "text",
    [
        "The user doesn't want to proceed with this tool use. The tool use was rejected",
        "<tool_use_error>Sibling tool call errored</tool_use_error>",
        "Permission to use Bash with command rm has been denied.",
        "Claude requested permissions to use Bash, but you haven't granted it yet.",
        "PreToolUse:Bash hook error: [guard.sh]: not on main",
        "Bash operation blocked by hook:\n- no",
        "[Request interrupted by user for tool use]",
    ],
)
def test_a_refused_command_never_ran(text: str) -> None:
    action = outcome(text, error=True)
    assert action.failed
    assert action.exit_code is None


def test_what_the_user_says_on_rejecting_a_call_is_a_prompt() -> None:
    text = (
        "The user doesn't want to proceed with this tool use. The tool use was rejected."
        " To tell you how to proceed, the user said:\ntoo slow, run one test\n\n"
        "Note: The user's next message may contain a correction or preference."
    )
    refused, words = parse(log(call("Bash", command="make"), answer(text, error=True))).actions
    assert (refused.failed, refused.record, refused.result) == (True, 0, 1)
    assert (words.kind, words.text, words.record) == (PROMPT, "too slow, run one test", 1)


def test_a_denial_is_told_by_its_kind_too() -> None:
    result = {**answer("no", error=True), "toolDenialKind": "user-rejected"}
    (action,) = parse(log(call("Bash", command="make"), result)).actions
    assert (action.failed, action.exit_code) == (True, None)


@pytest.mark.parametrize(
    ("text", "code", "output"),
    [
        ("Exit code 2\nmake: no rule", 2, "make: no rule"),
        ("Exit code 1", 1, ""),
        ("Exit code 143\nCommand timed out after 2m", 143, "Command timed out after 2m"),
        ("Exit code many\nx", None, "x"),
        ("src/a.ts(1,2): error TS1", 1, "src/a.ts(1,2): error TS1"),
    ],
)
def test_exit_codes_are_read_from_the_first_line(text: str, code: int | None, output: str) -> None:
    action = outcome(text, error=True)
    assert (action.exit_code, action.output, action.failed) == (code, output, False)


def test_an_interrupted_command_has_no_code() -> None:
    assert outcome("half", details={"interrupted": True}).exit_code is None


def test_a_call_without_a_result_stays_open() -> None:
    (action,) = parse(log(call("Edit", file_path="/w/a", old_string="x", new_string="y"))).actions
    assert (action.result, action.failed, action.hunks) == (
        None,
        False,
        (Hunk(("x",), ("y",), True),),
    )


@pytest.mark.parametrize(
    ("details", "created", "hunks"),
    [
        ({"type": "create", "content": "b\nc\n", "structuredPatch": []}, True, ((), ("b", "c"))),
        ({"type": "update", "structuredPatch": [{"lines": [" a", "+c"]}]}, False, ((), ("c",))),
        ({"type": "update", "content": "b\n"}, True, ((), ("b",))),
        (None, True, ((), ("b",))),
    ],
)
def test_a_write_replaces_the_whole_file_unless_there_is_a_patch(
    details: object, created: bool, hunks: tuple[tuple[str, ...], tuple[str, ...]]
) -> None:
    calls = log(call("Write", file_path="/w/a", content="b\n"), answer("ok", False, details))
    (action,) = parse(calls).actions
    assert (action.created, action.hunks) == (created, (Hunk(*hunks),))


def attached(**given: Any) -> dict[str, Any]:
    return {**said(uuid="a", attachment=given), "type": "attachment"}


def test_a_file_that_the_user_named_was_read() -> None:
    file = {"type": "text", "file": {"filePath": "/w/a.py", "content": "x = 1"}}
    given = attached(type="file", filename="a.py", content=file)
    read = parse(log(said(message={"content": "see @a.py"}), given, given)).actions[-1]
    assert (read.kind, read.path, read.record, read.result) == (READ, "/w/a.py", 1, 1)
    assert len(parse(log(given, given)).actions) == 1
    changed = attached(type="edited_text_file", filename="/w/a.py", snippet="x = 2")
    assert parse(log(said(message={"content": "go"}), changed)).actions[1:] == ()


def test_an_answer_to_a_question_is_a_prompt() -> None:
    details = {"questions": [{"question": "Which?"}], "answers": {"Which?": "the second"}}
    asked = call("AskUserQuestion", questions=[])
    assert prompts(parse(log(asked, answer("answered", details=details)))) == ["the second"]
    assert prompts(parse(log(asked, answer("answered", details={"answers": {"a": "b"}})))) == []


def test_an_error_of_the_model_s_server_is_no_reason() -> None:
    block = {"type": "text", "text": "API Error: 529 overloaded"}
    failed = {**said(message={"id": "m", "content": [block]}), "type": "assistant"}
    failed["isApiErrorMessage"] = True
    (action,) = parse(log(failed, call("Bash", command="make"))).actions
    assert action.reason == ""


def test_a_notebook_cell_is_an_edit() -> None:
    (action,) = parse(log(call("NotebookEdit", notebook_path="/w/n.ipynb", new_source="x"))).actions
    assert (action.kind, action.path, action.hunks) == (MUTATE, "/w/n.ipynb", (Hunk((), ("x",)),))


def test_calls_without_ids_are_paired_by_the_record_of_the_call() -> None:
    first = call("bash", command="ls")
    del first["message"]["content"][0]["id"]
    result = answer("file")
    del result["message"]["content"][0]["tool_use_id"]
    for link in ("sourceToolAssistantUUID", "parentUuid"):
        (action,) = parse(log(first, {**result, link: "c1"})).actions
        assert (action.exit_code, action.output) == (0, "file")


def test_copied_records_count_once() -> None:
    data = (DATA / "claude-code" / "repair.jsonl").read_bytes()
    once, twice = parse(data), parse(data + data)
    assert twice.actions == once.actions
    assert twice.records == 2 * once.records


def test_side_chains_are_steps_of_a_sub_agent_and_no_prompts() -> None:
    records = [said(message={"content": "find it"}), call("Read", file_path="/w/a")]
    (action,) = parse(log(*({**record, "isSidechain": True} for record in records))).actions
    assert (action.kind, action.subagent) == (READ, True)


@pytest.mark.parametrize(
    "text",
    [
        "<command-name>/clear</command-name>\n<command-args></command-args>",
        "<command-name>/model</command-name>\n<command-args>opus</command-args>",
        "<local-command-stdout>bye</local-command-stdout>",
        "<system-reminder>remember</system-reminder>",
        "<bash-input>ls</bash-input>",
        "[Request interrupted by user]",
        "   ",
    ],
)
def test_what_nobody_typed_as_a_request_is_no_prompt(text: str) -> None:
    records = [said(message={"content": text}), said(message={"content": "real"}, uuid="2")]
    assert prompts(parse(log(*records))) == ["real"]


def test_logs_are_found_in_the_folders_of_the_roots(tmp_path: Path) -> None:
    projects = tmp_path / ".claude" / "projects"
    wanted = ["-home-ada-app/1.jsonl", "-home-ada-app-src-core/2.jsonl", "-home-ada-app2/3.jsonl"]
    for name in (
        *wanted,
        "-home-ada/4.jsonl",
        "-home-ada-app/agent-5.jsonl",
        "-home-ada-app/6.txt",
    ):
        (projects / name).parent.mkdir(parents=True, exist_ok=True)
        (projects / name).write_text("{}\n", encoding="utf-8")
    found = list(claude_code.find_logs(["/home/ada/app"], {"HOME": str(tmp_path)}))
    assert sorted(found) == sorted(str(projects / name) for name in wanted)
    moved = {"HOME": "/nowhere", "CLAUDE_CONFIG_DIR": str(tmp_path / ".claude")}
    assert list(claude_code.find_logs(["/home/ada/app"], moved)) == found


def test_every_letter_outside_ascii_is_a_dash_in_a_folder_name(tmp_path: Path) -> None:
    # One for each slash, Chinese character and dot, two for what is a pair in UTF-16.
    path = tmp_path / "projects" / ("-home" + "-" * 7 + "x") / "1.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("{}\n", encoding="utf-8")
    env = {"CLAUDE_CONFIG_DIR": str(tmp_path)}
    assert list(claude_code.find_logs(["/home/项目.🙂/x"], env)) == [str(path)]
    assert list(claude_code.find_logs(["/home/项目a🙂/x"], env)) == []


def test_no_home_means_no_logs(tmp_path: Path) -> None:
    assert list(claude_code.find_logs(["/"], {})) == []
    assert list(claude_code.find_logs(["/"], {"HOME": str(tmp_path)})) == []


def test_a_folder_named_late_in_the_head_is_still_found(tmp_path: Path) -> None:
    path = tmp_path / "late.jsonl"
    titles = [{"type": "summary", "summary": "t", "leafUuid": str(n)} for n in range(30)]
    path.write_bytes(log(*titles, said(message={"content": "hi"})))
    assert adapters.working_directory(str(path)) == "/w"
    path.write_bytes(b"\0\1\2")
    assert adapters.working_directory(str(path)) == ""
