"""Session logs of Codex."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from git_tmem.actions import EXEC, MUTATE, OTHER, PROMPT, Action, Session
from git_tmem.adapters import codex
from git_tmem.changes import Hunk

from .samples import log, only, parse, sample

HEADER = {"type": "session_meta", "payload": {"id": "s", "cwd": "/w", "cli_version": "0.142.0"}}


def item(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": "response_item", "payload": {"type": kind, **fields}}


def event(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": "event_msg", "payload": {"type": kind, **fields}}


def call(name: str, call_id: str = "c", **given: Any) -> dict[str, Any]:
    return item("function_call", name=name, arguments=json.dumps(given), call_id=call_id)


def output(text: Any, call_id: str = "c") -> dict[str, Any]:
    return item("function_call_output", call_id=call_id, output=text)


def session(*records: dict[str, Any]) -> Session:
    return parse(log(HEADER, *records))


def run(*outputs: Any) -> Action:
    """The action of a shell command with this output."""
    (action,) = session(
        call("shell", command=["bash", "-lc", "make"]), *map(output, outputs)
    ).actions
    return action


def test_a_session_tells_who_it_is_and_what_was_done() -> None:
    told = sample("codex", "rollout.jsonl")
    assert (told.id, told.version) == ("019f0000-0000-7000-8000-000000000001", "0.142.4")
    assert (told.cwd, told.branch, told.compactions) == ("/home/ada/app", "fix-parse", 1)
    assert told.unknown == ()
    assert [(action.kind, action.path or action.command) for action in told.actions] == [
        (PROMPT, ""),
        (EXEC, "sed -n '1,80p' app/parse.py"),
        (EXEC, "python -m pytest -q"),
        (OTHER, ""),
        (OTHER, ""),
        *[
            (MUTATE, "/home/ada/app/app/parse.py"),
            (MUTATE, "/home/ada/app/tests/test_empty.py"),
            (MUTATE, "/home/ada/app/notes.txt"),
        ]
        * 2,
        (OTHER, ""),
        (EXEC, "python -m pytest -q"),
        (PROMPT, ""),
        (EXEC, "rm -r cache && make slow"),
    ]


def test_a_patch_of_several_files_is_a_change_of_each_and_a_refused_one_is_none() -> None:
    edits = only(sample("codex", "rollout.jsonl"), MUTATE)
    assert [edit.failed for edit in edits] == [True] * 3 + [False] * 3
    assert not any(edit.hunks for edit in edits[:3])
    old = '    return [f for f in line.split(",") if f]'
    assert edits[3].hunks == (Hunk((old,), ('    return line.split(",")',)),)
    assert (edits[3].created, edits[4].created) == (False, True)
    assert len(edits[4].hunks[0].added) == 4
    assert {edit.reason for edit in edits[:3]} == {"The filter drops empty fields."}


def test_the_exit_code_of_a_background_command_comes_with_a_later_poll() -> None:
    told = sample("codex", "rollout.jsonl")
    _, tests, again, aborted = only(told, EXEC)
    assert tests.exit_code == 1
    assert (
        tests.output == "collecting\nF\nE   AssertionError: assert ['a'] == ['a', '']\n1 failed\n"
    )
    assert tests.result == 20
    assert (again.exit_code, again.output) == (0, "2 passed\n")
    assert (aborted.exit_code, aborted.result, aborted.failed) == (None, None, False)


def test_polls_find_the_command_of_their_session_and_no_other() -> None:
    running = "Wall time: 1 seconds\nProcess running with session ID {}\nOutput:\n"
    ended = "Wall time: 1 seconds\nProcess exited with code {}\nOutput:\n{}"
    told = session(
        call("exec_command", "a", cmd="one"),
        call("exec_command", "b", cmd="two"),
        output(running.format(1), "a"),
        output(running.format(2), "b"),
        call("write_stdin", "p", session_id=2, chars=""),
        call("write_stdin", "q", session_id=1, chars=""),
        call("write_stdin", "r", session_id=7, chars=""),
        output(ended.format(3, "x\n"), "p"),
        output("write_stdin failed: Unknown process id 1", "q"),
        output(ended.format(0, "z\n"), "r"),
    )
    one, two = only(told, EXEC)
    assert (one.exit_code, two.exit_code, two.output) == (None, 3, "x\n")


def test_older_logs_tell_by_events_how_commands_ended() -> None:
    told = sample("codex", "events.jsonl")
    assert told.unknown == ()
    search, tests, own, lint = only(told, EXEC)
    assert (search.command, search.exit_code) == ("rg -n price", 0)
    assert (tests.command, tests.exit_code, tests.output) == ("make test", 0, "ok\n")
    assert (own.command, own.tool, own.exit_code) == ("git status", "user_shell", 0)
    assert (lint.command, lint.exit_code) == ("make lint", None)


def test_a_shell_command_that_is_a_patch_is_its_edits() -> None:
    told = sample("codex", "events.jsonl")
    moved, target, imports = only(told, MUTATE)
    assert (moved.path, moved.cwd) == ("app/price.py", "/home/ada/app")
    assert (target.path, target.created) == ("app/prices.py", True)
    assert (imports.path, imports.cwd) == ("cli.py", "/home/ada/app/app")
    assert imports.hunks == (Hunk(("import price",), ("import prices",)),)


def test_a_patch_within_a_longer_command_is_an_edit_beside_the_command() -> None:
    script = (
        "cd lib && set -e\napply_patch <<'EOF'\n*** Begin Patch\n*** Add File: a.py\n+a = 1\n"
        "*** End Patch\nEOF\npytest -q"
    )
    given = call("exec_command", cmd=script)
    first, second = session(given, output("Exit code: 0\nOutput:\nok")).actions
    assert (first.kind, first.exit_code, first.cwd) == (EXEC, 0, "/w")
    assert (second.path, second.cwd) == ("a.py", "/w/lib")
    assert not second.failed
    first, second = session(given, output("Exit code: 1\nOutput:\nno")).actions
    assert (first.exit_code, first.failed, second.failed) == (1, False, True)


def test_logs_without_envelopes_are_sessions_too() -> None:
    told = sample("codex", "bare.jsonl")
    assert (told.id, told.branch, told.cwd) == ("bare-1", "main", "/home/ada/app")
    prompt, tests, refused = told.actions
    assert (prompt.text, tests.exit_code, tests.output) == ("Make the test pass.", 1, "1 failed")
    assert tests.reason == "Run it."
    assert (refused.failed, refused.exit_code) == (True, None)


@pytest.mark.parametrize(
    ("text", "code", "kept", "failed"),
    [
        (
            "Chunk ID: a1\nWall time: 0.1 seconds\nProcess exited with code 0\nOutput:\nok",
            0,
            "ok",
            0,
        ),
        ("Exit code: 2\nWall time: 1 seconds\nTotal output lines: 9\nOutput:\nno", 2, "no", 0),
        ('{"output":"no","metadata":{"exit_code":127,"duration_seconds":0}}', 127, "no", 0),
        ([{"type": "input_text", "text": "Exit code: 1\nOutput:\nno"}], 1, "no", 0),
        ({"type": "input_text", "text": "Exit code: 1\nOutput:\nno"}, 1, "no", 0),
        ("Process exited with code -1\nOutput:\n", -1, "", 0),
        # What a command prints is not what Codex says of it.
        ("Exit code: 0\nOutput:\nExit code: 3", 0, "Exit code: 3", 0),
        ("plain text", None, "plain text", 0),
        ("aborted by user after 1.2s", None, "aborted by user after 1.2s", 0),
        (
            "exec_command failed for `x`: not found",
            None,
            "exec_command failed for `x`: not found",
            1,
        ),
        ("failed to parse function arguments", None, "failed to parse function arguments", 1),
    ],
)
def test_the_head_of_an_output_tells_the_exit_code(
    text: Any, code: int | None, kept: str, failed: int
) -> None:
    action = run(text)
    assert (action.exit_code, action.output, action.failed) == (code, kept, bool(failed))


def test_a_patch_that_was_not_applied_has_failed() -> None:
    patch = "*** Begin Patch\n*** Add File: a\n+a\n*** End Patch"
    asked = item("custom_tool_call", name="apply_patch", input=patch, call_id="c")
    (unanswered,) = session(asked).actions
    assert (unanswered.failed, unanswered.result, len(unanswered.hunks)) == (False, None, 1)
    (told,) = session(asked, event("patch_apply_end", call_id="c", success=False)).actions
    assert told.failed
    for text in ("Exit code: 1\nOutput:\nno", "patch rejected by user"):
        answer = item("custom_tool_call_output", call_id="c", output=text)
        (refused,) = session(asked, answer).actions
        assert refused.failed
    for name in ("patch", "input"):
        (plain,) = session(call("apply_patch", **{name: patch})).actions
        assert (plain.path, plain.created) == ("a", True)


def test_what_the_user_says_counts_once_and_what_is_put_in_his_mouth_never() -> None:
    said = [action.text for action in only(sample("codex", "rollout.jsonl"), PROMPT)]
    assert said == [
        "Empty fields at the end of a row are lost. Fix it.",
        "Also remove the cache folder.",
    ]


def test_without_events_the_conversation_tells_what_the_user_says() -> None:
    def user(text: str) -> dict[str, Any]:
        return item("message", role="user", content=[{"type": "input_text", "text": text}])

    told = session(
        user("<environment_context>\n<cwd>/w</cwd>\n</environment_context>"),
        user("fix it"),
        item("message", role="developer", content=[{"type": "input_text", "text": "be kind"}]),
        call("exec_command", cmd="make"),
        user("<user_instructions>\nx\n</user_instructions>"),
        user("and test it"),
    )
    assert [(action.text, action.record) for action in only(told, PROMPT)] == [
        ("fix it", 2),
        ("and test it", 6),
    ]


def test_a_request_may_begin_with_markup() -> None:
    for text in ("<div> is not centred", "<br> and <my-tag> are lost"):
        content = [{"type": "input_text", "text": text}]
        for record in (
            event("user_message", message=text),
            item("message", role="user", content=content),
        ):
            assert [action.text for action in session(record).actions] == [text]


def test_many_patches_that_never_end_are_read_in_no_time() -> None:
    script = (
        "apply_patch *** Begin Patch\n*** End Patch\n" + "apply_patch *** Begin Patch\n" * 100_000
    )
    told = session(call("exec_command", cmd=script))
    assert [action.kind for action in told.actions] == [EXEC]


def test_the_actions_of_a_sub_agent_are_marked() -> None:
    header = {**HEADER["payload"], "source": {"subagent": "review"}}  # type: ignore[dict-item]
    told = parse(
        log(
            {"type": "session_meta", "payload": header},
            HEADER,
            event("user_message", message="look"),
            call("exec_command", cmd="ls"),
        )
    )
    assert [action.subagent for action in told.actions] == [True, True]


def test_every_turn_has_its_folder() -> None:
    turn = {"type": "turn_context", "payload": {"cwd": "/w/tree"}}
    told = session(call("exec_command", "a", cmd="ls"), turn, call("exec_command", "b", cmd="ls"))
    assert [action.cwd for action in told.actions] == ["/w", "/w/tree"]
    assert told.cwd == "/w"


def test_what_is_unknown_is_counted_by_kind() -> None:
    told = session(
        call("hologram"), event("galaxy"), item("galaxy"), {"type": "galaxy", "payload": {}}
    )
    assert dict(told.unknown) == {
        "tool hologram": 1,
        "event galaxy": 1,
        "item galaxy": 1,
        "galaxy": 1,
    }


def test_every_command_and_every_patched_file_of_real_logs_is_an_action(corpus: Path) -> None:
    logs = sorted((corpus / "codex").glob("v0.*.jsonl"))
    assert len(logs) == 6
    for path in logs:
        text = path.read_text("utf-8")
        payloads = [json.loads(line)["payload"] for line in text.splitlines() if line]
        calls = [p for p in payloads if p.get("type") in ("function_call", "custom_tool_call")]
        patches = [p["input"] for p in calls if p["name"] == "apply_patch"]
        headers = r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): "
        told = parse(path.read_bytes())
        assert len(only(told, EXEC)) == sum(p["name"] == "exec_command" for p in calls), path
        edits = only(told, MUTATE)
        assert len(edits) == sum(len(re.findall(headers, t, re.M)) for t in patches), path
        # No call is without its code but where the log ends before its output.
        assert sum(run.exit_code is None for run in only(told, EXEC)) <= 1, path
        failures = [run.exit_code for run in only(told, EXEC) if run.exit_code]
        codes = re.findall(r"\\nProcess exited with code (\d+)\\n(?:Original|Output)", text)
        assert sorted(failures) == sorted(int(code) for code in codes if code != "0"), path
        asked = sum(p.get("type") == "user_message" for p in payloads)
        assert len(only(told, PROMPT)) == asked, path


def test_logs_are_found_where_codex_keeps_them(tmp_path: Path) -> None:
    home = tmp_path / "codex"
    day = home / "sessions" / "2026" / "07" / "01"
    old = home / "archived_sessions"
    for folder in (day, old):
        folder.mkdir(parents=True)
    for name in ("rollout-a.jsonl", "rollout-a.jsonl.zst", "rollout-b.jsonl.zst", "notes.jsonl"):
        (day / name).touch()
    (old / "rollout-c.jsonl").touch()
    expected = [day / "rollout-a.jsonl", day / "rollout-b.jsonl.zst", old / "rollout-c.jsonl"]
    found = list(codex.find_logs(["/w"], {"CODEX_HOME": str(home)}))
    assert found == [str(path) for path in expected]
    home.rename(tmp_path / ".codex")
    assert len(list(codex.find_logs(["/w"], {"HOME": str(tmp_path)}))) == 3
    assert list(codex.find_logs(["/w"], {})) == []
    assert list(codex.find_logs(["/w"], {"HOME": str(tmp_path / "nobody")})) == []
