"""The trajectories of mini-swe-agent."""

from __future__ import annotations

import json
from typing import Any

from git_tmem import adapters
from git_tmem.actions import EXEC, OTHER, PROMPT

from .samples import DATA, log, only, parse, sample


def messages() -> list[dict[str, Any]]:
    document = json.loads((DATA / "mini-swe-agent" / "fenced.traj.json").read_text("utf-8"))
    found: list[dict[str, Any]] = document["messages"]
    return found


def test_fenced_blocks_are_commands_and_the_next_message_their_outcome() -> None:
    session = sample("mini-swe-agent", "fenced.traj.json")
    runs = [(run.command.partition(" ")[0], run.exit_code) for run in only(session, EXEC)]
    assert runs == [
        ("python", 1),
        ("cat", 0),
        ("sed", 0),
        ("cat", 0),
        ("python", None),
        ("python", 0),
    ]
    assert [prompt.text for prompt in only(session, PROMPT)] == ["count the total in cents"]
    assert session.version == "1.15.0"
    last = only(session, EXEC)[-1]
    assert (last.output, last.reason) == ("..\n[...]\n2 passed in 0.02s\n", "Now they should pass.")


def test_a_message_with_two_blocks_runs_none_of_them() -> None:
    commands = [action.command for action in sample("mini-swe-agent", "fenced.traj.json").actions]
    assert "ls" not in commands
    assert "pwd" not in commands


def test_handing_the_work_in_is_no_command() -> None:
    for name in ("fenced.traj.json", "tool-calls.traj.json"):
        assert sample("mini-swe-agent", name).actions[-1].kind == OTHER


def test_tool_calls_are_answered_by_id_and_a_submitted_text_is_no_answer() -> None:
    session = sample("mini-swe-agent", "tool-calls.traj.json")
    assert [run.exit_code for run in only(session, EXEC)] == [1, 0]
    assert only(session, EXEC)[1].output == "2 passed in 0.02s\n"
    assert session.actions[1].time == 1_767_000_001
    assert session.unknown == ()


def test_a_tool_nobody_knows_is_opaque_and_counted() -> None:
    call = {"id": "c9", "function": {"name": "browse", "arguments": '{"url": "x"}'}}
    more = {"role": "assistant", "content": "", "tool_calls": [call]}
    session = parse(log(*messages(), more))
    assert session.unknown == (("tool browse", 1),)
    assert session.actions[-1].kind == OTHER


def test_the_bare_list_of_messages_of_the_first_versions_is_known() -> None:
    data = json.dumps(messages()).encode()
    assert adapters.detect(data) == "mini-swe-agent"
    told = [action._replace(record=0, result=0, cwd="") for action in parse(data).actions]
    document = sample("mini-swe-agent", "fenced.traj.json")
    assert told == [action._replace(record=0, result=0, cwd="") for action in document.actions]


def test_the_id_stays_while_the_log_grows_and_differs_by_the_first_answer() -> None:
    whole = parse(log(*messages()))
    assert parse(log(*messages()[:5])).id == whole.id
    other = messages()
    other[2]["content"] = "THOUGHT: something else\n\n```bash\nls\n```"
    assert parse(log(*other)).id != whole.id
