"""The transcripts of Cursor's agent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from git_tmem.actions import EXEC, MUTATE, OTHER, PROMPT, READ
from git_tmem.adapters import cursor
from git_tmem.changes import Hunk

from .samples import log, only, parse, sample

CART = "/home/ada/app/shop/cart.py"


def said(role: str, *blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": role, "message": {"content": list(blocks)}}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def call(name: str, given: object, **fields: Any) -> dict[str, Any]:
    return {"type": "tool_use", "name": name, "input": given, **fields}


def result(words: str, **fields: Any) -> dict[str, Any]:
    return {"type": "tool_result", "content": [text(words)], **fields}


def test_a_transcript_tells_what_was_done() -> None:
    session = sample("cursor", "transcript.jsonl")
    assert [(action.kind, action.tool) for action in session.actions] == [
        (PROMPT, ""),
        (EXEC, "Shell"),
        (READ, "Read"),
        (READ, "Grep"),
        (MUTATE, "StrReplace"),
        (MUTATE, "Write"),
        (MUTATE, "Delete"),
        (MUTATE, "ApplyPatch"),
        (MUTATE, "ApplyPatch"),
        (PROMPT, ""),
        (EXEC, "Bash"),
    ]
    assert [action.text for action in only(session, PROMPT)] == [
        "count the total in cents",
        "run them again",
    ]


def test_words_that_were_taken_out_are_no_reason() -> None:
    reasons = [action.reason for action in sample("cursor", "transcript.jsonl").actions[1:5]]
    assert reasons == ["I'll run the tests first.", "", "", "The factor is missing."]


def test_edits_are_told_by_their_calls() -> None:
    edit, write, gone, patched, added = only(sample("cursor", "transcript.jsonl"), MUTATE)
    assert (edit.path, edit.hunks) == (
        CART,
        (Hunk(("sum(prices)",), ("sum(prices) * 100",), True),),
    )
    assert (write.created, write.hunks) == (True, (Hunk((), ("Totals are in cents.",)),))
    assert (gone.path, gone.hunks) == ("/home/ada/app/shop/old.py", ())
    assert (patched.path, patched.hunks) == (
        "/home/ada/app/README.md",
        (Hunk(("total",), ("total in cents",)),),
    )
    assert (added.path, added.created) == ("/home/ada/app/shop/tax.py", True)


def test_how_a_command_ended_is_unknown_without_a_result() -> None:
    first, last = only(sample("cursor", "transcript.jsonl"), EXEC)
    assert (first.exit_code, first.result) == (None, None)
    assert (last.exit_code, last.result) == (0, 9)
    assert last.output.endswith("2 passed in 0.02s")


def test_results_find_their_calls_by_id_or_by_order() -> None:
    calls = [call("Shell", {"command": "a"}), call("Shell", {"command": "b"}, id="x")]
    results = [result("Exit code: 2", tool_use_id="x"), result("Exit code: 1\nno")]
    first, second = parse(log(said("assistant", *calls), said("user", *results))).actions
    assert (first.exit_code, first.output, second.exit_code) == (1, "no", 2)


def test_a_refused_edit_changed_nothing() -> None:
    edit = call("StrReplace", {"path": "/a", "old_string": "x", "new_string": "y"}, id="1")
    answer = result("not found", is_error=True, tool_use_id="1")
    (action,) = parse(log(said("assistant", edit), said("user", answer))).actions
    assert (action.failed, action.hunks) == (True, ())


@pytest.mark.parametrize(
    ("words", "spoken"),
    [
        ("<user_query>\nfix it\n</user_query>", ["fix it"]),
        ("<attached_files>x</attached_files>\n<user_query>fix", ["fix"]),
        ("plain words", ["plain words"]),
        ("<system_reminder>be brief</system_reminder>", []),
    ],
)
def test_only_what_the_user_asked_is_a_prompt(words: str, spoken: list[str]) -> None:
    session = parse(log(said("user", text(words)), said("user", text("end"))))
    assert [action.text for action in session.actions] == [*spoken, "end"]


@pytest.mark.parametrize(
    ("stamp", "seconds"),
    [
        ("Tuesday, Feb 3, 2026, 10:00 AM (UTC)", 1770112800),
        ("Tuesday, Feb 3, 2026, 12:30 PM (UTC+2:30)", 1770112800),
        ("Tuesday, February 3, 2026, 6:00 AM (UTC-4)", 1770112800),
        ("Tuesday, Feb 3, 2026, 12:00 AM (UTC)", 1770112800 - 10 * 3600),
        ("Tuesday, Foo 3, 2026, 10:00 AM (UTC)", 0),
        ("Tuesday, Feb 31, 2026, 10:00 AM (UTC)", 0),
        ("yesterday", 0),
    ],
)
def test_the_time_of_a_message_is_the_user_s_local_one(stamp: str, seconds: int) -> None:
    words = f"<timestamp>{stamp}</timestamp>\n<user_query>\ngo\n</user_query>"
    records = [said("user", text(words)), said("user", text("end"))]
    assert parse(log(*records)).actions[0].time == seconds


def test_a_message_may_be_plain_text() -> None:
    records = [said("assistant"), {"role": "user", "message": {"content": "go"}}]
    assert [action.text for action in parse(log(*records)).actions] == ["go"]


def test_two_sessions_that_begin_alike_are_two() -> None:
    first, second = (
        parse(log(said("user", text("go on")), said("assistant", text(words)))).id
        for words in ("a", "b")
    )
    assert first != second


def test_unknown_tools_are_counted() -> None:
    session = parse(log(said("assistant", call("Teleport", {}))))
    assert session.unknown == (("tool Teleport", 1),)
    assert session.actions[0].kind == OTHER


def test_transcripts_are_found_by_the_name_of_the_folder(tmp_path: Path) -> None:
    top = tmp_path / "my_app"
    (top / "pkg" / "core").mkdir(parents=True)
    slug = "-".join(filter(None, str(top).replace("_", "-").split("/")))
    projects = tmp_path / ".cursor" / "projects"
    names = [
        f"{slug}/agent-transcripts/old.jsonl",
        f"{slug}/agent-transcripts/id/id.jsonl",
        f"{slug}/agent-transcripts/id/subagents/sub.jsonl",
        f"{slug}/agent-transcripts/notes.txt",
        f"{slug}-pkg-core/agent-transcripts/deep.jsonl",
        f"{slug}-two/agent-transcripts/other.jsonl",
        f"{slug}2/agent-transcripts/other.jsonl",
    ]
    for name in names:
        (projects / name).parent.mkdir(parents=True, exist_ok=True)
        (projects / name).write_text("{}\n", encoding="utf-8")
    expected = sorted(str(projects / name) for name in (names[0], names[1], names[4]))
    assert sorted(cursor.find_logs([str(top)], {"HOME": str(tmp_path)})) == expected
    moved = {"HOME": "/nowhere", "CURSOR_CONFIG_DIR": str(tmp_path / ".cursor")}
    assert sorted(cursor.find_logs([str(top)], moved)) == expected
    assert list(cursor.find_logs([str(top)], {})) == []
