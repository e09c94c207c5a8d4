"""The conversations of OpenHands, as events of either version."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from git_tmem import adapters
from git_tmem.actions import EXEC, MUTATE, OTHER, PROMPT, READ
from git_tmem.adapters import openhands
from git_tmem.errors import InputError
from git_tmem.sessions import find_sessions

from .samples import DATA, log, only, parse, sample

APP = "/home/ada/app"
CART = f"{APP}/shop/cart.py"


def old_events() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(
        (DATA / "openhands" / "v0.trajectory.json").read_text("utf-8")
    )
    return found


def new_events() -> list[dict[str, Any]]:
    lines = (DATA / "openhands" / "v1.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def test_the_events_of_v0_tell_what_was_done() -> None:
    session = sample("openhands", "v0.trajectory.json")
    assert [(action.kind, action.path, action.failed) for action in session.actions] == [
        (PROMPT, "", False),
        (EXEC, "", False),
        (READ, CART, False),
        (MUTATE, CART, True),
        (MUTATE, CART, False),
        (MUTATE, "CHANGES.md", False),
        (EXEC, "", False),
        (EXEC, "", False),
        (OTHER, "", False),
        (OTHER, "", False),
    ]
    assert [run.exit_code for run in only(session, EXEC)] == [1, 0, None]
    assert (session.version, session.compactions, session.unknown) == ("0.46.0", 1, ())
    assert session.actions[1].reason == "I'll run the tests first."
    assert session.started == 1_752_190_202


def test_the_events_of_v1_tell_what_was_done() -> None:
    session = sample("openhands", "v1.jsonl")
    assert [(action.kind, action.path, action.failed) for action in session.actions] == [
        (PROMPT, "", False),
        (EXEC, "", False),
        (READ, CART, False),
        (MUTATE, CART, True),
        (MUTATE, CART, False),
        (MUTATE, f"{APP}/CHANGES.md", False),
        (EXEC, "", True),
        (EXEC, "", False),
    ]
    assert [run.exit_code for run in only(session, EXEC)] == [1, None, 0]
    assert session.actions[1].reason == "I'll run the tests first."
    assert session.compactions == 1


@pytest.mark.parametrize("name", ["v0.trajectory.json", "v1.jsonl"])
def test_an_edit_has_its_lines_and_a_new_file_all_of_them(name: str) -> None:
    edits = [edit for edit in only(sample("openhands", name), MUTATE) if not edit.failed]
    assert [edit.created for edit in edits] == [False, True]
    assert edits[0].hunks[0].removed == ("    return sum(prices)",)
    assert edits[0].hunks[0].added == ("    return round(sum(prices) * 100)",)
    assert edits[1].hunks[0].added == ("Totals are in cents.",)


def test_in_a_sandbox_paths_of_edits_are_relative_to_its_workspace() -> None:
    events = json.loads(json.dumps(old_events()).replace(APP, "/workspace/app"))
    edits = only(parse(json.dumps(events).encode()), MUTATE)
    assert [edit.cwd for edit in edits if edit.path == "CHANGES.md"] == ["/workspace"]


def test_the_history_of_one_result_is_a_session_and_of_several_is_refused() -> None:
    result: dict[str, Any] = {
        "instance_id": "a",
        "metadata": {},
        "history": old_events(),
        "error": None,
    }
    session = parse(log(result))
    whole = sample("openhands", "v0.trajectory.json")
    assert [a.command for a in session.actions] == [a.command for a in whole.actions]
    with pytest.raises(InputError, match="results of several tasks"):
        parse(log(result, {**result, "instance_id": "b"}))


def test_a_history_of_pairs_is_read_as_its_events() -> None:
    events = [event for event in old_events() if event.get("action") != "condensation"]
    pairs = [{"history": events[at : at + 2]} for at in range(0, len(events), 2)]
    assert len(parse(log(*pairs)).actions) == 10


def test_events_and_tools_nobody_knows_are_counted() -> None:
    event = {"id": "x", "source": "agent", "kind": "NovaEvent"}
    action = {"kind": "LevitateAction"}
    call = {"id": "y", "source": "agent", "kind": "ActionEvent", "action": action}
    browse = {**call, "action": {"kind": "BrowserNavigateAction", "url": "x"}}
    old = {"id": 99, "source": "agent", "action": "levitate", "args": {}}
    session = parse(log(*new_events(), event, call, browse, old))
    assert session.unknown == (("NovaEvent", 1), ("tool LevitateAction", 1), ("tool levitate", 1))
    assert [action.kind for action in session.actions[-3:]] == [OTHER] * 3


def test_a_source_that_is_no_word_makes_no_event() -> None:
    assert not openhands.detect([{"source": [], "action": "run", "args": {}}])
    assert not openhands.detect([{"source": {}, "kind": "MessageEvent"}])


def keep(folder: Path, events: list[dict[str, Any]], form: str) -> Path:
    """Keep events as OpenHands does, a file for each."""
    (folder / "events").mkdir(parents=True)
    for number, event in enumerate(events):
        text = json.dumps(event, indent=2)
        (folder / "events" / form.format(number)).write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("place", "form"), [("sessions", "{0}.json"), ("conversations", "event-{0:05}-4ab3.json")]
)
def test_a_folder_of_events_is_a_session_and_is_found(
    tmp_path: Path, place: str, form: str
) -> None:
    top = tmp_path / "app"
    top.mkdir()
    events = old_events() if place == "sessions" else new_events()
    events = json.loads(json.dumps(events).replace(APP, str(top)))
    folder = keep(tmp_path / ".openhands" / place / "c1", events, form)
    (folder / "events" / "notes.txt").write_text("not an event", encoding="utf-8")
    (found,) = find_sessions([str(top)], {"HOME": str(tmp_path)})
    assert (found.agent, found.path) == ("openhands", str(folder))
    files = (folder / "events").glob("*.json")
    assert found.size == sum(os.path.getsize(path) for path in files)
    with adapters.open_log(found.path) as stream:
        session = adapters.parse(stream)
    assert (session.id, session.cwd, session.damaged) == ("c1", str(top), 0)
    assert len(session.actions) == (10 if place == "sessions" else 8)
    assert find_sessions([str(tmp_path / "elsewhere")], {"HOME": str(tmp_path)}) == []


def test_the_state_of_a_conversation_gives_its_folder_and_nothing_else(tmp_path: Path) -> None:
    folder = keep(tmp_path / "c2", new_events()[2:], "event-{0:05}-4ab3.json")
    state = {"workspace": {"working_dir": "/srv/app"}, "agent": {"llm": {"api_key": "s3cret"}}}
    (folder / "base_state.json").write_text(json.dumps(state), encoding="utf-8")
    (folder / "events" / "event-00099-4ab3.json").write_text('{"torn', encoding="utf-8")
    with adapters.open_log(str(folder)) as stream:
        data = stream.read()
    assert b"s3cret" not in data
    session = parse(data)
    assert (session.cwd, session.damaged) == ("/srv/app", 1)


def test_moved_places_are_looked_at(tmp_path: Path) -> None:
    first = keep(tmp_path / "moved" / "c3", new_events(), "event-{0:05}-a.json")
    second = keep(
        tmp_path / "home" / "users" / "u" / "conversations" / "c4", old_events(), "{}.json"
    )
    env = {
        "OPENHANDS_CONVERSATIONS_DIR": str(tmp_path / "moved"),
        "OPENHANDS_PERSISTENCE_DIR": str(tmp_path / "home"),
    }
    assert list(openhands.find_logs((), env)) == [str(first), str(second)]
