"""The log of a Claude Code session together with those of its sub-agents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from git_tmem import adapters
from git_tmem.actions import EXEC, MUTATE, OTHER, READ, Session
from git_tmem.adapters import claude_agents
from git_tmem.capture import capture
from git_tmem.repo import Repository
from tests.replay import rebuild_edits

from .samples import log, parse


def record(second: int, **fields: Any) -> dict[str, Any]:
    """A record of the session, written at this second."""
    time = f"2026-02-03T10:00:{second:02}.000Z"
    return {"uuid": f"u{second}", "timestamp": time, "sessionId": "1", "cwd": "/w", **fields}


def call(second: int, name: str, number: int, **given: Any) -> dict[str, Any]:
    block = {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": given}
    return record(second, type="assistant", message={"content": [block]})


def answer(second: int, number: int, **fields: Any) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": "ok"}
    return record(second, type="user", message={"content": [block]}, **fields)


MAIN = [
    call(1, "Task", 1, prompt="fix it"),
    call(8, "Bash", 2, command="make"),
    answer(20, 1, toolUseResult={"agentId": "a1"}),
    answer(21, 2),
]
SIDE = [
    {**record(2, type="user", message={"content": "fix it"}), "agentId": "a1"},
    call(3, "Read", 11, file_path="/w/a"),
    call(9, "Edit", 12, file_path="/w/a", old_string="x", new_string="y"),
    answer(10, 12),
]
SIDE = [{**item, "sessionId": "agent-a1", "isSidechain": True} for item in SIDE]


def keep(folder: Path, name: str, *records: dict[str, Any], end: bytes = b"") -> str:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(log(*records) + end)
    return str(path)


def woven(location: str) -> Session:
    with adapters.open_log(location) as stream:
        return adapters.parse(stream)


@pytest.mark.parametrize(
    ("place", "reads_at"),
    # Beside the session's log it is found where that names it, in the result at record 2.
    [("1/subagents/agent-a1.jsonl", 0), ("agent-a1.jsonl", 1)],
)
def test_steps_of_a_sub_agent_stand_where_their_times_put_them(
    tmp_path: Path, place: str, reads_at: int
) -> None:
    location = keep(tmp_path, "1.jsonl", *MAIN)
    keep(tmp_path, place, *SIDE)
    session = woven(location)
    steps = [(OTHER, 0, False), (READ, reads_at, True), (EXEC, 1, False), (MUTATE, 1, True)]
    found = [(action.kind, action.record, action.subagent) for action in session.actions]
    assert sorted(found) == sorted(steps)
    assert [action.record for action in session.actions] == sorted(step[1] for step in steps)
    assert (session.id, session.cwd) == ("1", "/w")
    assert session.actions[0].result == 2


def test_records_are_counted_as_the_session_s_own_log_has_them(tmp_path: Path) -> None:
    location = keep(tmp_path, "1.jsonl", *MAIN)
    keep(tmp_path, "1/subagents/agent-a1.jsonl", *SIDE, end=b"no record\n\n{}\n")
    own = parse(log(*MAIN)).actions
    mine = [action for action in woven(location).actions if not action.subagent]
    assert mine == list(own)


def test_steps_that_the_session_s_log_repeats_count_once(tmp_path: Path) -> None:
    nested = [
        record(
            int(item["uuid"][1:]) + 1,
            type="progress",
            data={"type": "agent_progress", "agentId": "a1", "message": item},
        )
        for item in SIDE
    ]
    location = keep(tmp_path, "1.jsonl", MAIN[0], *nested, *MAIN[2:])
    keep(tmp_path, "1/subagents/agent-a1.jsonl", *SIDE)
    kinds = [action.kind for action in woven(location).actions]
    assert kinds == [OTHER, READ, MUTATE]


def test_sub_agents_that_work_at_once_take_turns(tmp_path: Path) -> None:
    location = keep(tmp_path, "1.jsonl", MAIN[0], MAIN[2])
    for agent, seconds in (("a", (2, 4, 6)), ("b", (3, 5, 6))):
        calls = [call(s, "Read", 100 * ord(agent) + s, file_path=f"/{agent}{s}") for s in seconds]
        keep(tmp_path, f"1/subagents/agent-{agent}.jsonl", *calls)
    paths = [action.path for action in woven(location).actions[1:]]
    assert paths == ["/a2", "/b3", "/a4", "/b5", "/a6", "/b6"]


def test_what_a_sub_agent_did_last_is_there_without_a_result(tmp_path: Path) -> None:
    location = keep(tmp_path, "1.jsonl", MAIN[0])
    keep(tmp_path, "1/subagents/agent-a1.jsonl", *SIDE)
    assert [action.kind for action in woven(location).actions] == [OTHER, READ, MUTATE]


def test_a_compaction_of_a_sub_agent_is_none_of_the_session(tmp_path: Path) -> None:
    compacted = record(5, type="system", subtype="compact_boundary")
    location = keep(tmp_path, "1.jsonl", *MAIN, compacted)
    keep(tmp_path, "1/subagents/agent-a1.jsonl", *SIDE, compacted)
    assert woven(location).compactions == 1


def test_an_edit_of_a_sub_agent_gives_a_playbook_of_the_session(tmp_path: Path) -> None:
    check = [call(30, "Bash", 3, command="python -m pytest -q"), answer(31, 3)]
    location = keep(tmp_path, "1.jsonl", *MAIN, *check)
    keep(tmp_path, "1/subagents/agent-a1.jsonl", *SIDE)
    session = woven(location)
    rebuild_edits(session, tmp_path / "repo")
    with Repository.open(str(tmp_path / "repo")) as repository:
        done = capture(repository, session)
        alone = capture(repository, parse(log(*MAIN, *check)))
    assert done.playbook is not None
    assert [(step.kind, step.path) for step in done.playbook.steps if step.path] == [
        ("READ", "a"),
        ("MUTATE", "a"),
    ]
    assert alone.missing == "edit"


def test_logs_of_other_sessions_sub_agents_are_left_alone(tmp_path: Path) -> None:
    location = keep(tmp_path, "1.jsonl", *MAIN)
    keep(tmp_path, "agent-b2.jsonl", *SIDE)
    assert woven(location) == parse(log(*MAIN))


def test_a_log_that_cannot_be_read_is_left_out(tmp_path: Path) -> None:
    location = keep(tmp_path, "1.jsonl", *MAIN)
    (tmp_path / "1" / "subagents" / "agent-x.jsonl").mkdir(parents=True)
    keep(tmp_path, "1/subagents/agent-empty.jsonl")
    assert woven(location) == parse(log(*MAIN))


@pytest.mark.parametrize("name", ["1.jsonl", "1.json", "agent-a1.jsonl", "missing.jsonl"])
def test_a_log_without_sub_agents_is_read_as_it_is(tmp_path: Path, name: str) -> None:
    location = str(tmp_path / name)
    assert claude_agents.lines(location) is None
    assert claude_agents.measure(location) is None


def test_a_session_is_as_new_and_as_long_as_all_its_logs(tmp_path: Path) -> None:
    location = keep(tmp_path, "1.jsonl", *MAIN)
    side = Path(keep(tmp_path, "1/subagents/agent-a1.jsonl", *SIDE))
    measured = claude_agents.measure(location)
    size = Path(location).stat().st_size + side.stat().st_size
    assert measured == (max(Path(location).stat().st_mtime, side.stat().st_mtime), size)


def test_every_line_of_the_session_s_log_comes_out_as_it_was(tmp_path: Path) -> None:
    location = keep(tmp_path, "1.jsonl", *MAIN, end=b'\nnot json\n{"cut')
    keep(tmp_path, "1/subagents/agent-a1.jsonl", *SIDE)
    lines = claude_agents.lines(location)
    assert lines is not None
    own = [line for line in lines if b'"woven":true' not in line]
    assert b"".join(own) == Path(location).read_bytes() + b"\n"
    marked = [json.loads(line) for line in claude_agents.lines(location) or () if line not in own]
    assert marked == [{"woven": True, **item} for item in SIDE]
