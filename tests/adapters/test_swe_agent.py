"""The trajectories of SWE-agent."""

from __future__ import annotations

from typing import Any

from git_tmem.actions import EXEC, MUTATE, OTHER, PROMPT, READ, Session
from git_tmem.changes import Hunk

from .samples import log, only, parse, sample

CART = "/home/ada/app/shop/cart.py"


def step(action: str, observation: str = "", open_file: str = CART) -> dict[str, Any]:
    state = {"open_file": open_file, "working_dir": "/home/ada/app"}
    return {"trajectory": {"action": action, "observation": observation, "state": state}}


def steps(*given: dict[str, Any]) -> Session:
    return parse(log(*given))


def test_the_commands_of_its_shell_are_reads_and_edits() -> None:
    session = sample("swe-agent", "function-calls.traj")
    assert [(action.kind, action.tool, action.path) for action in session.actions] == [
        (PROMPT, "", ""),
        (EXEC, "", ""),
        (READ, "find_file", ""),
        (READ, "open", "shop/cart.py"),
        (MUTATE, "edit", CART),
        (MUTATE, "edit", CART),
        (MUTATE, "create", "CHANGES.md"),
        (MUTATE, "insert", "/home/ada/app/CHANGES.md"),
        (EXEC, "", ""),
        (OTHER, "submit", ""),
    ]
    assert session.version == "1.0.1"
    assert all(action.exit_code is None for action in session.actions)


def test_the_task_is_asked_first_and_a_demonstration_is_none() -> None:
    for name in ("function-calls.traj", "editor.traj"):
        session = sample("swe-agent", name)
        assert [prompt.text for prompt in only(session, PROMPT)] == ["count the total in cents"]
        assert session.actions[0].kind == PROMPT


def test_an_edit_of_a_range_takes_out_the_lines_that_were_shown() -> None:
    refused, done = only(sample("swe-agent", "function-calls.traj"), MUTATE)[:2]
    assert (refused.failed, refused.hunks) == (True, ())
    assert done.hunks == (
        Hunk(("    return sum(prices)",), ("    return round(sum(prices) * 100)",)),
    )


def test_an_edit_of_a_range_never_shown_still_says_what_it_put_in() -> None:
    (edit,) = steps(step("edit 3:4\nx = 1\nend_of_edit\n", "File updated.")).actions
    assert edit.hunks == (Hunk((), ("x = 1",)),)


def test_an_edit_by_text_replaces_it() -> None:
    (edit,) = steps(step("edit 'a b' 'a c'", "Text replaced.")).actions
    assert edit.hunks == (Hunk(("a b",), ("a c",), partial=True),)
    (refused,) = steps(step("edit 'a b' 'a c'", "Text a b not found in displayed lines.")).actions
    assert refused.failed


def test_the_editor_tool_views_replaces_and_creates() -> None:
    session = sample("swe-agent", "editor.traj")
    edits = only(session, MUTATE)
    assert [(edit.path, edit.failed, edit.created) for edit in edits] == [
        (CART, True, False),
        (CART, False, False),
        ("/home/ada/app/CHANGES.md", False, True),
    ]
    assert edits[1].hunks[0].added == ("    return round(sum(prices) * 100)",)
    assert [read.path for read in only(session, READ)] == [CART]


def test_an_edit_whose_quotes_do_not_close_is_known_by_its_path() -> None:
    (edit,) = steps(step("edit 'a", "Text replaced.")).actions
    assert (edit.kind, edit.path, edit.hunks) == (MUTATE, CART, ())


def test_an_edit_with_no_file_open_is_no_edit_of_a_file() -> None:
    (action,) = steps(step("edit 1:1\nx\nend_of_edit", "No file open.", open_file="")).actions
    assert action.kind == OTHER
