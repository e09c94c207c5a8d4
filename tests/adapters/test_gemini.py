"""The session logs of Gemini CLI."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from git_tmem.actions import EXEC, MUTATE, OTHER, PROMPT, READ, Action
from git_tmem.adapters import gemini
from git_tmem.changes import Hunk

from .samples import log, only, parse, sample

HEADER = {"sessionId": "s", "projectHash": "0" * 64, "kind": "main"}


def call(name: str, answer: str = "", number: int = 1, **fields: Any) -> dict[str, Any]:
    """A tool's call as a message holds it, with its result."""
    response = {"functionResponse": {"response": {"output": answer}}}
    made = {"id": f"c{number}", "name": name, "args": {}, "result": [response]}
    return {"status": "success", **made, **fields}


def message(*calls: dict[str, Any], name: str = "m1", text: str = "") -> dict[str, Any]:
    return {"id": name, "type": "gemini", "content": text, "toolCalls": list(calls)}


def user(text: object, name: str = "u1") -> dict[str, Any]:
    return {"id": name, "type": "user", "content": text}


def outcome(answer: str, status: str = "success") -> Action:
    """The action of a command with this result."""
    made = call("run_shell_command", answer, args={"command": "make"}, status=status)
    (action,) = parse(log(HEADER, message(made))).actions
    return action


def prompts(*records: dict[str, Any]) -> list[str]:
    return [action.text for action in only(parse(log(HEADER, *records)), PROMPT)]


def test_one_document_tells_what_was_done() -> None:
    session = sample("gemini", "session.json")
    assert session.id == "9e000001-aaaa-4bbb-8ccc-000000000001"
    assert (session.started, session.ended) == (1770112801, 1770112815)
    assert [(action.kind, action.path or action.command) for action in session.actions] == [
        (PROMPT, ""),
        (EXEC, "python -m pytest -q"),
        (READ, "shop/cart.py"),
        (MUTATE, "shop/cart.py"),
        (MUTATE, "notes.md"),
        (MUTATE, "tests/test_cart.py"),
        (EXEC, "cd shop && python -m pytest -q"),
    ]
    assert session.actions[3].reason == "Cents: Prices are decimal, so each is rounded."
    assert [action.exit_code for action in only(session, EXEC)] == [1, 0]


def test_edits_have_the_lines_of_their_diff_and_refused_ones_none() -> None:
    edit, refused, write = only(sample("gemini", "session.json"), MUTATE)
    after = "    return sum(round(price * 100) for price in prices)"
    assert (edit.hunks, edit.created) == ((Hunk(("    return sum(prices)",), (after,)),), False)
    assert (refused.failed, refused.hunks) == (True, ())
    assert write.created
    assert write.hunks[0].added[0] == "from shop.cart import total"


def test_a_message_that_comes_again_adds_only_what_is_new() -> None:
    session = sample("gemini", "session.jsonl")
    edit, write = only(session, MUTATE)
    assert (edit.record, edit.result, edit.failed) == (6, 7, False)
    assert edit.hunks == (Hunk(("    return sum(prices)",), ("    return sum(prices) * 100",)),)
    assert edit.reason == "The factor is missing."
    assert (write.created, write.hunks) == (True, (Hunk((), ("Totals are in cents.",)),))
    repeated = parse(log(HEADER, message(call("glob")), {"$set": {"messages": [message()]}}))
    assert len(repeated.actions) == 1


def test_the_folder_is_what_a_relative_path_lacks_of_the_absolute_one() -> None:
    said = "Successfully overwrote file: /home/ada/app/a b.md."
    write = call("write_file", said, args={"file_path": "a b.md", "content": "x"})
    assert parse(log(HEADER, message(write))).cwd == "/home/ada/app"
    absolute = call("write_file", said, args={"file_path": "/home/ada/app/a b.md"})
    assert parse(log(HEADER, message(absolute))).cwd == ""


@pytest.mark.parametrize(
    ("text", "code", "output"),
    [
        ("Output: ok\nProcess Group PGID: 5", 0, "ok"),
        ("Output: no\nmore\nExit Code: 2\nProcess Group PGID: 5", 2, "no\nmore"),
        ("Command: make\nDirectory: (root)\nOutput: (empty)\nExit Code: 3", 3, "(empty)"),
        ("Command: make\nDirectory: (root)\nOutput: cut", None, "cut"),
        ("Output: Exit Code: 7\nExit Code: 1\nSignal: 0", 1, "Exit Code: 7"),
        ("Output: x\nError: (none)\nSignal: 9\nProcess Group PGID: 5", 137, "x"),
        ("Output: x\nSignal: SIGTERM\nProcess Group PGID: 5", 128, "x"),
        ("Command moved to background (PID: 77).", None, "Command moved to background (PID: 77)."),
    ],
)
def test_how_a_command_ended_stands_below_its_output(
    text: str, code: int | None, output: str
) -> None:
    action = outcome(text)
    assert (action.exit_code, action.output, action.failed) == (code, output, False)


def test_a_command_that_was_cancelled_never_ended() -> None:
    assert outcome("Command was cancelled by user before it could complete.").failed
    assert outcome("", "cancelled").failed
    assert not outcome("", "executing").failed
    assert outcome("", "executing").result is None
    late = "Command was automatically cancelled because it exceeded the timeout of 5 minutes"
    assert (outcome(late).exit_code, outcome(late).failed) == (124, False)


def test_a_failing_command_ran_whatever_its_status_says() -> None:
    failing = outcome("Output: no\nExit Code: 2", "error")
    assert (failing.exit_code, failing.failed) == (2, False)


def test_a_new_file_holds_what_the_user_made_of_it() -> None:
    shown = {"fileDiff": "@@ -0,0 +1 @@\n+a\n", "originalContent": "", "newContent": "b\n"}
    given = {"file_path": "/w/x", "content": "a\n"}
    write = call("write_file", "ok", args=given, resultDisplay=shown)
    (action,) = parse(log(HEADER, message(write))).actions
    assert (action.created, action.hunks) == (True, (Hunk((), ("b",)),))
    changed = {**shown, "fileDiff": "@@ -1 +1 @@\n-c\n+b\n", "originalContent": "c\n"}
    write = call("write_file", "ok", args=given, resultDisplay=changed)
    (action,) = parse(log(HEADER, message(write))).actions
    assert (action.created, action.hunks) == (False, (Hunk(("c",), ("b",)),))


def test_what_the_user_took_back_is_no_prompt() -> None:
    taken = [user("one"), message(name="m1"), user("two", "u2"), {"$rewindTo": "u2"}]
    assert prompts(*taken) == ["one"]
    assert prompts(*taken, user("three", "u3")) == ["one", "three"]
    assert prompts(*taken, {"$rewindTo": "nowhere"}) == []
    assert sample("gemini", "session.jsonl").actions[-1].kind == OTHER


@pytest.mark.parametrize(
    "content",
    [
        "<session_context>\nToday is Tuesday.",
        [{"text": "<hook_context>x</hook_context>"}, {"text": "--- Content from referenced"}],
        [{"inlineData": {}}],
        "  ",
    ],
)
def test_what_nobody_typed_is_no_prompt(content: object) -> None:
    assert prompts(user(content), user("real", "u2")) == ["real"]


def test_what_the_user_typed_comes_before_what_it_became() -> None:
    assert prompts({**user("the whole file"), "displayContent": "@file"}) == ["@file"]


def test_several_files_read_at_once_are_several_reads() -> None:
    many = call("read_many_files", args={"include": ["a.py", "src/**/*.py", "b.py"]})
    assert [action.path for action in parse(log(HEADER, message(many))).actions] == ["a.py", "b.py"]


def test_steps_of_a_sub_agent_are_marked_and_its_task_is_no_prompt() -> None:
    records = [{**HEADER, "kind": "subagent"}, user("look"), message(call("glob"))]
    (action,) = parse(log(*records)).actions
    assert (action.kind, action.subagent) == (READ, True)


def test_unknown_tools_and_messages_are_counted() -> None:
    strange = [{"id": "x", "type": "aside"}, message(call("mcp_far"))]
    session = parse(log(HEADER, *strange))
    assert session.unknown == (("aside", 1), ("tool mcp_far", 1))
    assert session.actions[0].kind == OTHER


def test_real_logs_hold_as_many_calls_as_a_plain_count(corpus: Path) -> None:
    for path in sorted((corpus / "gemini-cli").glob("*.json")):
        document = json.loads(path.read_bytes())
        messages = document["messages"]
        calls = [call for message in messages for call in message.get("toolCalls", ())]
        session = parse(path.read_bytes())
        done = [action for action in session.actions if action.kind != PROMPT]
        assert [action.tool for action in done] == [call["name"] for call in calls]
        typed = [message["content"] for message in messages if message["type"] == "user"]
        assert [action.text for action in only(session, PROMPT)] == typed
        assert session.id == document["sessionId"]


def test_a_project_is_found_by_the_hash_of_its_path_or_by_the_file_that_names_it(
    tmp_path: Path,
) -> None:
    tmp = tmp_path / ".gemini" / "tmp"
    project = hashlib.sha256(b"/home/ada/app").hexdigest()
    owners = {project: "", "app": "/home/ada/app\n", "core": "/home/ada/app/core"}
    owners |= {"app2": "/home/ada/app2", "f" * 64: ""}
    for name, owner in owners.items():
        chats = tmp / name / "chats"
        (chats / "parent").mkdir(parents=True)
        for log_name in ("session-1.json", "session-2.jsonl", "notes.txt", "parent/sub.jsonl"):
            (chats / log_name).write_text("{}", encoding="utf-8")
        if owner:
            (tmp / name / ".project_root").write_text(owner, encoding="utf-8")
    expected = [
        str(tmp / name / "chats" / log_name)
        for name in sorted((project, "app", "core"))
        for log_name in ("session-1.json", "session-2.jsonl")
    ]
    assert list(gemini.find_logs(["/home/ada/app"], {"HOME": str(tmp_path)})) == expected
    moved = {"HOME": "/nowhere", "GEMINI_CLI_HOME": str(tmp_path)}
    assert list(gemini.find_logs(["/home/ada/app"], moved)) == expected
    assert list(gemini.find_logs(["/home/ada/app"], {})) == []
