"""Aider's chat history, and the sessions in it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from git_tmem import adapters
from git_tmem.actions import EXEC, MUTATE, PROMPT, READ, Session
from git_tmem.adapters import aider, aider_store
from git_tmem.capture import capture
from git_tmem.changes import Hunk
from git_tmem.errors import InputError
from git_tmem.repo import Repository
from git_tmem.sessions import find_sessions
from git_tmem.store import STORED
from tests.replay import rebuild_edits

from .samples import DATA, only, parse, sample

HISTORY = DATA / "aider" / "history.md"
CENTS = Hunk(("    return sum(prices)",), ("    return round(sum(prices) * 100)",), partial=True)


def chat(*lines: str) -> Session:
    """The session of a chat that has these lines."""
    start = "# aider chat started at 2026-02-03 10:00:00"
    return parse("\n".join((start, "", *lines, "")).encode())


def opened(location: str) -> Session:
    with adapters.open_log(location) as stream:
        return adapters.parse(stream)


def test_a_history_tells_what_was_done() -> None:
    session = sample("aider", "history.md")
    assert [(a.kind, a.path or a.command or a.text) for a in session.actions] == [
        (READ, "shop/cart.py"),
        (PROMPT, "count the total in cents\nand note it"),
        (MUTATE, "shop/cart.py"),
        (MUTATE, "CHANGES.md"),
        (EXEC, "python -m pytest -q"),
        (MUTATE, "tests/test_cart.py"),
        (EXEC, "python -m pytest -q"),
        (READ, "README.md"),
        (PROMPT, "what does total count?"),
    ]
    assert (session.id, session.version) == ("20260203100000", "0.49.0")
    assert session.started == 1_770_112_800


def test_an_edit_is_what_was_applied_and_not_what_failed_to_match() -> None:
    cart, changes, test = only(sample("aider", "history.md"), MUTATE)
    assert (cart.hunks, cart.created) == ((CENTS,), False)
    assert (changes.hunks[0].added, changes.created) == (("Totals are in cents.",), True)
    assert test.hunks[0].added[0] == "from shop.cart import total"
    assert test.created
    assert cart.reason == "The lines that stand there, this time:"


def test_output_of_many_lines_comes_once_and_whole() -> None:
    failed, passed = only(sample("aider", "history.md"), EXEC)
    assert failed.output.count("1 failed in 0.02s") == 1
    assert ">       assert total([1.0, 2.0]) == 300" in failed.output.splitlines()
    assert "The test still rounds" not in failed.output
    assert passed.output.startswith("2 passed in 0.02s")
    assert failed.exit_code is passed.exit_code is None


def test_commands_that_aider_ran_itself_are_runs() -> None:
    session = chat("#### go  ", "", "> Running make test  ", "> ok  ", "", "Done.")
    (run,) = only(session, EXEC)
    assert (run.command, run.output) == ("make test", "ok")


def test_a_heading_in_an_open_block_is_typed_only_with_its_blanks() -> None:
    session = chat("#### go  ", "", "a.md", "```", "#### no", "#### and now stop  ", "")
    assert [prompt.text for prompt in only(session, PROMPT)] == ["go", "and now stop"]


def test_a_unified_diff_is_an_edit() -> None:
    lines = ("a.py", "```diff", "--- a.py", "+++ a.py", "@@ @@", "-x = 1", "+x = 2", "```")
    (edit,) = only(chat("#### go  ", "", *lines, "> Applied edit to a.py  "), MUTATE)
    assert edit.hunks == (Hunk(("x = 1",), ("x = 2",)),)


def test_slash_commands_of_aider_itself_are_no_prompts() -> None:
    session = chat("#### /add a.py  ", "#### /undo  ", "", "> Removed: b272bcc x  ", "#### go  ")
    assert [prompt.text for prompt in only(session, PROMPT)] == ["go"]


def test_each_session_of_a_history_is_found_in_the_folder_it_lies_in(tmp_path: Path) -> None:
    path = tmp_path / ".aider.chat.history.md"
    path.write_bytes(HISTORY.read_bytes())
    found = find_sessions([str(tmp_path)], {}, "aider")
    assert [log.path.partition("#")[2] for log in found] == [
        "2026-02-03T11:30:00",
        "2026-02-03T10:00:00",
    ]
    assert found[0].changed == os.stat(path).st_mtime
    assert found[1].changed < found[0].changed
    last, first = (opened(log.path) for log in found)
    assert [len(first.actions), len(last.actions)] == [8, 1]
    assert first.cwd == last.cwd == str(tmp_path)
    assert (first.id, last.id) == ("20260203100000", "20260203113000")
    assert find_sessions([str(tmp_path / "other")], {}, "aider") == []


def test_a_history_elsewhere_is_found_by_its_variable(tmp_path: Path) -> None:
    path = tmp_path / "history.md"
    path.write_bytes(HISTORY.read_bytes())
    env = {"AIDER_CHAT_HISTORY_FILE": "history.md"}
    assert len(list(aider.find_logs([str(tmp_path)], env))) == 2


def test_a_session_that_is_not_there_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "history.md"
    path.write_bytes(HISTORY.read_bytes())
    with pytest.raises(InputError, match="no session that began at 2020"):
        adapters.open_log(f"{path}#2020-01-01T00:00:00")
    other = tmp_path / "other.md"
    other.write_text("# notes\n", encoding="utf-8")
    assert aider_store.lines(f"{other}#2020-01-01T00:00:00") is None


def test_a_session_gives_a_playbook(tmp_path: Path) -> None:
    path = tmp_path / "app" / ".aider.chat.history.md"
    path.parent.mkdir()
    path.write_bytes(HISTORY.read_bytes())
    session = opened(f"{path}#2026-02-03T10:00:00")
    rebuild_edits(session, tmp_path / "app")
    with Repository.open(str(tmp_path / "app")) as repository:
        done = capture(repository, session)
    assert (done.outcome, done.missing) == (STORED, "")
    assert done.playbook is not None
    assert {"shop/cart.py", "CHANGES.md"} <= set(done.playbook.files)
