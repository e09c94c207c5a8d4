"""From the paths a log spells to paths of this repository."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from git_tmem.actions import EXEC, MUTATE, PROMPT, READ, Action, Session
from git_tmem.errors import InputError
from git_tmem.workspace import clean, find_root, is_below, localise, relative


def session(cwd: str, *actions: Action) -> Session:
    return Session("claude-code", "s", cwd, actions)


def nothing(_: Iterable[str]) -> set[str]:
    return set()


@pytest.mark.parametrize(
    ("path", "cwd", "wanted"),
    [
        ("/a/b/../c.py", "", "/a/c.py"),
        ("src/x.py", "/w", "/w/src/x.py"),
        ("./x.py", "/w/", "/w/x.py"),
        ("..\\x.py", "C:\\w\\sub", "C:/w/x.py"),
        ("C:\\w\\目录\\x.py", "", "C:/w/目录/x.py"),
        ("/a//b", "/w", "/a/b"),
    ],
)
def test_paths_are_cleaned(path: str, cwd: str, wanted: str) -> None:
    assert clean(path, cwd) == wanted


def test_a_sibling_with_the_same_start_is_not_below() -> None:
    assert is_below("/w/app/x", "/w/app")
    assert is_below("/w/app", "/w/app")
    assert not is_below("/w/app2/x", "/w/app")
    assert not is_below("/w", "/w/app")
    assert not is_below("", "/w")


def test_the_deepest_root_decides() -> None:
    assert relative("/w/app/x.py", ["/w", "/w/app"]) == "x.py"
    assert relative("/other/x.py", ["/w"]) == "/other/x.py"


def test_a_session_in_a_subfolder_or_worktree_belongs_here() -> None:
    assert find_root(session("/w/app/sub"), ["/w/tree", "/w/app"], nothing) == "/w/app"


def test_a_session_elsewhere_is_matched_by_what_it_edited() -> None:
    edits = [Action(MUTATE, 0, path=f"/home/bob/shop/{name}") for name in ("src/a.py", "src/b.py")]
    known = {"src/a.py", "src/b.py"}
    found = find_root(session("/home/bob/shop/src", *edits), ["/w"], known.intersection)
    assert found == "/home/bob/shop"


def test_a_session_of_another_repository_is_refused() -> None:
    edit = Action(MUTATE, 0, path="/home/bob/other/x.py")
    with pytest.raises(InputError, match="worked in /home/bob/other, and none of the 1 file"):
        find_root(session("/home/bob/other", edit), ["/w"], nothing)


def test_what_is_inside_becomes_relative_and_the_rest_stays_absolute() -> None:
    actions = (
        Action(PROMPT, 0, text="look at /w/app/src/a.py"),
        Action(READ, 1, path="/w/app/src/a.py"),
        Action(MUTATE, 2, path="/tmp/scratch.py"),
        Action(EXEC, 3, command="cd /w/app && pytest /w/app/tests", output="/w/app/src/a.py:3: no"),
        Action(EXEC, 4, command="pytest", cwd="/w/app/packages/one"),
    )
    done = localise(session("/w/app", *actions), "/w/app", ["/w/app"]).actions
    assert [action.path for action in done] == ["", "src/a.py", "/tmp/scratch.py", "", ""]
    assert done[3].command == "pytest $WORKSPACE/tests"
    assert done[4].command == "cd packages/one && pytest"
    assert "/w/app" not in "".join((*(a.text for a in done), *(a.output for a in done)))
