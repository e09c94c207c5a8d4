"""Sessions of opencode, however it keeps them."""

from __future__ import annotations

import json
import shutil
import sqlite3
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from git_tmem import adapters
from git_tmem.actions import EXEC, MUTATE, OTHER, PROMPT, READ, Session
from git_tmem.adapters import opencode
from git_tmem.changes import Hunk
from git_tmem.errors import InputError

from .kept import as_database, as_storage, insert, new_database
from .samples import DATA, log, only, parse, sample

SESSION = "ses_5e5510110001"


def document() -> dict[str, Any]:
    data: dict[str, Any] = json.loads((DATA / "opencode" / "export.json").read_text("utf-8"))
    return data


def opened(location: str) -> Session:
    """The session at a location."""
    with adapters.open_log(location) as stream:
        return adapters.parse(stream)


def work(session: Session) -> Session:
    """A session without the numbers of its records, which differ between ways to keep it."""
    actions = (
        action._replace(record=0, result=None if action.result is None else 0)
        for action in session.actions
    )
    return session._replace(actions=tuple(actions), records=0)


def test_an_exported_session_tells_what_was_done() -> None:
    session = sample("opencode", "export.json")
    assert (session.id, session.version, session.compactions) == (SESSION, "1.2.20", 1)
    assert session.unknown == ()
    assert [(action.kind, action.path or action.command) for action in session.actions] == [
        (PROMPT, ""),
        (READ, "/home/ada/app/app/price.py"),
        (READ, ""),
        (EXEC, "pytest -q"),
        (MUTATE, "/home/ada/app/app/price.py"),
        (MUTATE, "/home/ada/app/app/price.py"),
        (MUTATE, "/home/ada/app/app/new.py"),
        (MUTATE, "app/a.py"),
        (MUTATE, "app/b.py"),
        (EXEC, "pytest -q"),
        (EXEC, "make serve"),
        (EXEC, "make slow"),
        (OTHER, ""),
    ]
    assert session.actions[0].text == "The price is rounded down. Fix it."


def test_exit_codes_stand_in_the_metadata_and_an_error_is_none() -> None:
    commands = only(sample("opencode", "export.json"), EXEC)
    assert [(command.exit_code, command.failed) for command in commands] == [
        (1, False),
        (0, False),
        (None, False),  # killed, or it took too long
        (None, False),  # broken off
    ]
    assert commands[0].output == "1 failed\n"
    assert commands[3].output == "Tool execution aborted"


def test_a_command_that_was_not_allowed_did_nothing() -> None:
    doc = document()
    for message in doc["messages"]:
        for part in message["parts"]:
            if part.get("tool") == "bash" and part["state"]["status"] == "error":
                part["state"]["error"] = "The user rejected permission to use this tool call."
    assert only(parse(json.dumps(doc).encode()), EXEC)[-1].failed


def test_an_edit_is_what_its_tool_says_it_came_to() -> None:
    refused, edit, written, changed, added = only(sample("opencode", "export.json"), MUTATE)
    assert (refused.failed, refused.hunks) == (True, ())
    assert edit.hunks == (Hunk(("    return int(x)",), ("    return round(x)",)),)
    assert edit.reason == "int() cuts off."
    assert (written.created, changed.created, added.created) == (True, False, True)
    assert changed.hunks == (Hunk(("a = 1",), ("a = 2",)),)


def test_an_action_that_still_runs_has_no_result() -> None:
    task = sample("opencode", "export.json").actions[-1]
    assert (task.tool, task.result, task.failed) == ("task", None, False)


@pytest.mark.parametrize("keep", [as_storage, as_database])
def test_a_session_says_the_same_however_it_is_kept(tmp_path: Path, keep: Any) -> None:
    location = keep(document(), tmp_path)
    told = opened(location)
    assert work(told) == work(sample("opencode", "export.json"))
    assert adapters.working_directory(location) == "/home/ada/app"
    assert adapters.measure(location).size > 0


@pytest.mark.parametrize("keep", [None, as_storage, as_database])
@pytest.mark.parametrize("undone", ["message", "part"])
def test_what_the_user_took_back_does_not_count(tmp_path: Path, keep: Any, undone: str) -> None:
    doc = document()
    third = doc["messages"][2]
    doc["info"]["revert"] = {"messageID": third["info"]["id"]}
    if undone == "part":
        edit = next(part for part in third["parts"] if part.get("tool") == "write")
        doc["info"]["revert"]["partID"] = edit["id"]
    told = opened(keep(doc, tmp_path)) if keep else parse(json.dumps(doc).encode())
    paths = [action.path.rpartition("/")[2] for action in only(told, MUTATE)]
    assert paths == ([] if undone == "message" else ["price.py", "price.py"])
    assert len(only(told, EXEC)) == 1


def test_the_session_of_a_sub_agent_is_marked() -> None:
    doc = document()
    doc["info"]["parentID"] = "ses_parent"
    assert all(action.subagent for action in parse(json.dumps(doc).encode()).actions)


def test_a_session_that_does_not_name_its_folder_has_that_of_its_messages() -> None:
    doc = document()
    del doc["info"]["directory"]
    data = json.dumps(doc).encode()
    assert (parse(data).agent, parse(data).cwd) == ("opencode", "/home/ada/app")


def test_ids_that_could_move_the_cursor_of_a_terminal_are_not_shown(tmp_path: Path) -> None:
    path, database = new_database(tmp_path)
    for name in ("ses_\x1b[2J", "ses_\n"):
        row = (name, "p", None, "/w", "1", None, 1, 1)
        database.execute("INSERT INTO session VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
    database.commit()
    database.close()
    assert list(opencode.find_logs(["/w"], {"XDG_DATA_HOME": str(tmp_path)})) == []
    with pytest.raises(InputError) as several:
        opened(str(path))
    assert several.value.hint.isprintable()


def test_what_is_unknown_is_counted_by_kind() -> None:
    part = {"type": "tool", "tool": "hologram", "state": {"input": {}, "status": "completed"}}
    info = {"info": {"id": "s", "directory": "/w"}}
    message = {"messages": {"info": {"role": "user"}, "parts": [{"type": "galaxy"}, part]}}
    told = parse(log(info, message, {"far": 1}))
    assert dict(told.unknown) == {"part galaxy": 1, "tool hologram": 1, "far": 1}


def test_a_database_of_several_sessions_wants_one_named(tmp_path: Path) -> None:
    path, database = new_database(tmp_path)
    for name, updated in (("ses_a", 1_000), ("ses_b", 2_000)):
        doc = document()
        doc["info"].update(id=name, time={"created": 1, "updated": 1772900000000 + updated})
        for message in doc["messages"]:
            message["info"]["id"] += name
            for part in message["parts"]:
                part["id"] += name
        insert(database, doc)
    database.close()
    assert opened(f"{path}#ses_a").id == "ses_a"
    assert len(opened(f"{path}#ses_a").actions) == 13
    assert adapters.measure(f"{path}#ses_b").changed == 1772900002
    with pytest.raises(InputError, match="several sessions") as several:
        opened(str(path))
    assert "opencode.db#ses_b" in several.value.hint
    with pytest.raises(InputError, match="holds no session ses_c"):
        opened(f"{path}#ses_c")


def test_a_database_in_use_is_read_with_what_is_not_yet_in_it_and_never_changed(
    tmp_path: Path,
) -> None:
    path, writer = new_database(tmp_path)
    writer.execute("PRAGMA journal_mode = WAL")
    insert(writer, document())
    assert path.with_name("opencode.db-wal").stat().st_size > 0
    before = path.read_bytes()
    with adapters.open_log(f"{path}#{SESSION}") as stream:
        stream.readline()
        # A reader in the middle of its work holds up no writer.
        writer.execute("PRAGMA busy_timeout = 0")
        writer.execute("UPDATE session SET version = '2'")
        writer.commit()
        assert len(stream.readlines()) > 20
    assert path.read_bytes() == before
    writer.close()
    assert opened(f"{path}#{SESSION}").version == "2"
    assert sorted(file.name for file in path.parent.iterdir()) == ["opencode.db"]


def test_what_a_crash_left_pending_is_read_and_left_as_it_is(tmp_path: Path) -> None:
    path, writer = new_database(tmp_path)
    writer.execute("PRAGMA journal_mode = WAL")
    insert(writer, document())
    left = tmp_path / "left"
    left.mkdir()
    for name in ("opencode.db", "opencode.db-wal"):
        shutil.copy(path.with_name(name), left / name)
    writer.close()
    before = {file.name: file.read_bytes() for file in left.iterdir()}
    assert work(opened(f"{left}/opencode.db")) == work(sample("opencode", "export.json"))
    assert {name: (left / name).read_bytes() for name in before} == before


def test_other_databases_and_names_with_a_number_sign_are_files(tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as database:
        database.execute("CREATE TABLE session (id)")
    database.close()
    with pytest.raises(InputError):
        opened(str(other))
    odd = tmp_path / "a#b.jsonl"
    odd.write_bytes(log({"type": "read", "path": "a"}))
    assert opened(str(odd)).agent == "generic"
    with pytest.raises(FileNotFoundError):
        opened(f"{other}#ses_a")


def test_a_damaged_database_is_an_error_of_one_sentence(tmp_path: Path) -> None:
    path, database = new_database(tmp_path)
    for _ in range(40):
        database.execute("INSERT INTO part VALUES (NULL, '', '', ?)", ("x" * 4_000,))
    insert(database, document())
    database.close()
    data = bytearray(path.read_bytes())
    for page in range(5, len(data) // 4096):
        data[page * 4096 : page * 4096 + 64] = b"\xff" * 64
    path.write_bytes(data)
    with pytest.raises(InputError, match="cannot be read") as refused:
        opened(f"{path}#{SESSION}")
    assert "\n" not in refused.value.message


def test_rows_and_files_that_are_no_json_are_counted_and_skipped(tmp_path: Path) -> None:
    location = as_storage(document(), tmp_path)
    parts = tmp_path / "opencode" / "storage" / "part" / "msg_0001"
    (parts / "prt_9998.json").write_text("{")
    (parts / "prt_9999.json").write_text('{"type": "text",\n "text": "And test it."}')
    told = opened(location)
    assert told.damaged == 1
    assert only(told, PROMPT)[1].text == "And test it."
    path, database = new_database(tmp_path)
    insert(database, document())
    for number, data in enumerate(
        (None, b"\xff{", 7, "[]", "{}", '{"type": "galaxy",\n"a": "\u2028"}')
    ):
        row = (f"prt_999{number}", "msg_0001", SESSION, data)
        database.execute("INSERT INTO part VALUES (?, ?, ?, ?)", row)
    database.commit()
    database.close()
    told = opened(f"{path}#{SESSION}")
    assert told.damaged == 4
    assert dict(told.unknown) == {"part galaxy": 1, "part ": 1}


def test_ids_lead_to_no_other_folder(tmp_path: Path) -> None:
    doc = document()
    location = as_storage(doc, tmp_path)
    Path(location).write_text(json.dumps({**doc["info"], "id": f"../message/{SESSION}"}))
    with pytest.raises(InputError, match="no action"):
        opened(location)


def test_memory_stays_bounded_whatever_the_number_of_parts(tmp_path: Path) -> None:
    path, database = new_database(tmp_path)
    insert(database, document())
    heavy = json.dumps({"type": "text", "text": "x" * 400_000})
    for number in range(100):
        row = (f"prt_9{number:03}", "msg_0003", SESSION, heavy)
        database.execute("INSERT INTO part VALUES (?, ?, ?, ?)", row)
    giant = ("prt_9999", "msg_0003", SESSION)
    database.execute("INSERT INTO part VALUES (?, ?, ?, hex(zeroblob(20000000)))", giant)
    database.commit()
    database.close()
    tracemalloc.start()
    try:
        session = opened(f"{path}#{SESSION}")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert session.records > 120
    assert session.damaged == 1  # a row too long to be looked at
    assert peak < 15_000_000


def _homes(home: Path) -> Iterator[dict[str, str]]:
    yield {"XDG_DATA_HOME": str(home / ".local" / "share")}
    yield {"HOME": str(home)}


def test_sessions_of_the_work_tree_are_found_in_the_database_and_the_storage(
    tmp_path: Path,
) -> None:
    data = tmp_path / ".local" / "share"
    location = as_database(document(), data)
    doc = document()
    as_storage(doc, data)  # the same one, as before it was moved into the database
    doc["info"]["id"] = "ses_old"
    old = as_storage(doc, data)
    for env in _homes(tmp_path):
        assert list(opencode.find_logs(["/home/ada"], env)) == [location, old]
        assert list(opencode.find_logs(["/home/bob"], env)) == [old]
    assert list(opencode.find_logs(["/"], {})) == []
    assert list(opencode.find_logs(["/"], {"HOME": str(tmp_path / "nobody")})) == []


def test_every_call_of_real_exports_is_an_action_with_its_outcome(corpus: Path) -> None:
    exports = sorted((corpus / "opencode").glob("*.export.json"))
    assert len(exports) == 3
    for path in exports:
        doc = json.loads(path.read_text("utf-8"))
        parts = [part for message in doc["messages"] for part in message["parts"]]
        tools = [part for part in parts if part["type"] == "tool"]
        runs = [part["state"]["metadata"]["exit"] for part in tools if part["tool"] == "bash"]
        patches = [part["state"]["input"] for part in tools if part["tool"] == "apply_patch"]
        told = parse(path.read_bytes())
        assert [run.exit_code for run in only(told, EXEC)] == runs, path
        files = sum(given["patchText"].count(" File: ") for given in patches)
        assert len(only(told, MUTATE)) == files, path
        assert len(only(told, READ)) == sum(p["tool"] in ("read", "glob", "grep") for p in tools)


def test_real_sessions_in_folders_and_databases_are_parsed(corpus: Path) -> None:
    folder = corpus / "opencode"
    places = sorted((folder / "fixture-storage_v2" / "session").rglob("*.json"))
    assert len(places) == 2
    for place in (*places, folder / "fixture-sqlite" / "opencode.db"):
        session = opened(str(place))
        assert session.agent == "opencode"
        assert session.actions
        assert session.cwd
        assert (session.damaged, session.unknown) == (0, ())
