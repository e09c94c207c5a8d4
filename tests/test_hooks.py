"""A session driven through an agent's hooks: real processes, real payloads, a real store."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from git_tmem import injected
from git_tmem.git import discover
from git_tmem.told import MOST
from tests.conftest import run_git
from tests.samples import Log
from tests.test_index import listed, put

FAILURE = """Exit code 1
Traceback (most recent call last):
  File "/elsewhere/src/cart.py", line 3, in total
    return prices['cart']
KeyError: 'cart'
"""
SESSION = "5f0c6f0e-0000-4000-8000-000000000001"


@pytest.fixture
def store(repo: Path) -> Path:
    """A repository that was initialised, with a source file and a record about it."""
    for name in ("cart", "shop"):
        (repo / "src").mkdir(exist_ok=True)
        (repo / "src" / f"{name}.py").write_text("def total(lines):\n    return sum(lines)\n")
    run_git(repo, "add", ".")
    run_git(repo, "commit", "-qm", "sources")
    remember(repo, "cart")
    return repo


def remember(folder: Path, *names: str, **changes: Any) -> None:
    """Records, in an index that is up to date, as after a capture."""
    put(folder, *names, **changes)
    listed(folder)


def hook(
    folder: Path, agent: str, event: str, payload: Any, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """What the agent would run; a hook's status is always 0 and it never complains aloud."""
    data = payload if isinstance(payload, str) else json.dumps(payload)
    done = subprocess.run(
        [sys.executable, "-m", "git_tmem", "hook", agent, event],
        input=data,
        capture_output=True,
        text=True,
        encoding="utf-8",
        cwd=cwd or folder,
        env={"GIT_TMEM_HOOK_LIMIT": "30", **os.environ},
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done


def claude(folder: Path, event: str, **fields: Any) -> str:
    """The context that Claude Code would be given."""
    payload = {"session_id": SESSION, "cwd": str(folder), "hook_event_name": event, **fields}
    out = hook(folder, "claude-code", event, payload).stdout
    if not out:
        return ""
    document = json.loads(out)
    assert set(document) == {"hookSpecificOutput"}
    assert document["hookSpecificOutput"]["hookEventName"] == event
    context: str = document["hookSpecificOutput"]["additionalContext"]
    assert injected.without(context).strip() == "", "all that we say can be taken out again"
    return context


def bash(command: str = "pytest -q") -> dict[str, Any]:
    return {"tool_name": "Bash", "tool_input": {"command": command}}


def edit(folder: Path, name: str = "src/cart.py") -> dict[str, Any]:
    return {"tool_name": "Edit", "tool_input": {"file_path": str(folder / name)}}


def failure(folder: Path) -> str:
    return claude(folder, "PostToolUseFailure", **bash(), error=FAILURE)


def success(folder: Path, command: str = "pytest -q") -> str:
    answer = {"stdout": "8 passed in 0.19s\n", "stderr": ""}
    return claude(folder, "PostToolUse", **bash(command), tool_response=answer)


def test_the_start_is_a_small_index_that_stays_the_same_for_the_session(store: Path) -> None:
    first = claude(store, "SessionStart", source="startup")
    assert "Fix the total of the cart (src/cart.py)" in first
    assert len(first) <= 700
    assert claude(store, "SessionStart", source="resume") == ""
    remember(store, "shop")
    assert claude(store, "SessionStart", source="compact") == first


def test_the_index_has_as_many_characters_as_configured(store: Path) -> None:
    remember(store, *(f"shop{number}" for number in range(9)), probes=())
    whole = claude(store, "SessionStart", source="startup")
    assert 300 < len(whole) <= 700
    run_git(store, "config", "tmem.indexSize", "300")
    payload = {"session_id": "other", "cwd": str(store), "source": "startup"}
    out = hook(store, "claude-code", "SessionStart", payload).stdout
    assert len(json.loads(out)["hookSpecificOutput"]["additionalContext"]) <= 300


def test_records_whose_guards_fail_are_not_in_the_index(store: Path) -> None:
    remember(store, "gone", repairs=())
    assert "the gone" not in claude(store, "SessionStart", source="startup")


def test_a_turn_gets_what_matches_once_and_else_nothing(store: Path) -> None:
    claude(store, "SessionStart", source="startup")
    assert claude(store, "UserPromptSubmit", prompt="write a poem about the sea") == ""
    said = claude(store, "UserPromptSubmit", prompt="Fix the total of the cart in src/cart.py")
    assert "[1] " in said
    again = claude(store, "UserPromptSubmit", prompt="Fix the total of the cart in src/cart.py")
    assert again == ""
    claude(store, "SessionStart", source="compact")
    again = claude(store, "UserPromptSubmit", prompt="Fix the total of the cart in src/cart.py")
    assert again == said


def test_a_store_that_changed_is_announced_at_the_next_turn_once(store: Path) -> None:
    claude(store, "SessionStart", source="startup")
    remember(store, "shop")
    said = claude(store, "UserPromptSubmit", prompt="hello there")
    assert "has moved" in said
    assert "2 records" in said
    assert claude(store, "UserPromptSubmit", prompt="hello there") == ""


def test_before_a_file_is_read_or_edited_its_card_is_given_once(store: Path) -> None:
    given = {"tool_name": "Read", "tool_input": {"file_path": str(store / "src" / "cart.py")}}
    assert "Fix the total of the cart" in claude(store, "PreToolUse", **given)
    assert claude(store, "PreToolUse", **given) == ""
    assert claude(store, "PreToolUse", **edit(store)) == ""
    assert claude(store, "PreToolUse", **edit(store, "README.md")) == ""
    assert claude(store, "PreToolUse", **edit(store, "../outside.py")) == ""


def test_a_failure_gets_its_repair_at_once_and_then_wakes_the_record(store: Path) -> None:
    first = failure(store)
    assert "repaired by: edit src/cart.py total()" in first
    second = failure(store)
    assert "woke up" in second
    assert "repaired by: edit src/cart.py total()" in second
    assert len(second) < len(first)
    assert failure(store) == ""


def test_an_unknown_failure_gets_nothing(store: Path) -> None:
    said = claude(store, "PostToolUseFailure", **bash(), error="Exit code 1\nValueError: cart\n")
    assert said == ""


def test_an_edit_followed_by_a_passing_check_is_a_milestone_once(store: Path) -> None:
    assert success(store) == ""
    claude(store, "PostToolUse", **edit(store), tool_response={"success": True})
    assert success(store, "ls") == ""
    assert failure(store) != ""
    said = success(store)
    assert "Milestone" in said
    assert "pytest -q" in said
    claude(store, "PostToolUse", **edit(store), tool_response={"success": True})
    assert success(store) == ""


def test_sub_agents_and_other_agents_with_the_same_hooks_are_told_nothing(store: Path) -> None:
    prompt = "Fix the total of the cart in src/cart.py"
    for stranger in ({"agent_id": "agent-1"}, {"cursor_version": "2.6.0"}):
        assert claude(store, "UserPromptSubmit", prompt=prompt, **stranger) == ""


def test_at_most_three_memories_within_the_cap(store: Path) -> None:
    remember(store, *(f"shop{number}" for number in range(9)), files=("src/shop.py",), probes=())
    said = claude(store, "PreToolUse", **edit(store, "src/shop.py"))
    assert said.count("Fix the total of the shop") == 3
    assert len(said.encode()) <= 4096


def test_pause_and_the_configuration_silence_everything(store: Path) -> None:
    run = [sys.executable, "-m", "git_tmem"]
    subprocess.run([*run, "pause"], cwd=store, check=True, capture_output=True)
    assert claude(store, "SessionStart", source="startup") == ""
    assert failure(store) == ""
    subprocess.run([*run, "resume"], cwd=store, check=True, capture_output=True)
    run_git(store, "config", "tmem.hooks", "false")
    assert claude(store, "SessionStart", source="startup") == ""
    run_git(store, "config", "--unset", "tmem.hooks")
    assert failure(store) != ""


def test_a_hook_works_from_a_subfolder_a_worktree_and_elsewhere(
    store: Path, tmp_path: Path
) -> None:
    run_git(store, "worktree", "add", "-q", str(tmp_path / "tree"))
    for number, folder in enumerate((store / "src", tmp_path / "tree")):
        payload = {"session_id": f"s{number}", "cwd": str(folder), **bash(), "error": FAILURE}
        done = hook(folder, "claude-code", "PostToolUseFailure", payload, cwd=tmp_path)
        assert "repaired by" in done.stdout


def test_a_repository_that_was_not_initialised_is_left_alone(repo: Path) -> None:
    assert claude(repo, "SessionStart", source="startup") == ""
    assert failure(repo) == ""
    assert not (repo / ".git" / "tmem").exists()


def test_session_files_are_pruned(store: Path) -> None:
    folder = store / ".git" / "tmem" / "sessions"
    folder.mkdir()
    for number in range(MOST + 20):
        (folder / f"old{number}.json").write_text("{}")
        os.utime(folder / f"old{number}.json", (number, number))
    claude(store, "SessionStart", source="startup")
    assert len(list(folder.iterdir())) == MOST
    assert (folder / f"{SESSION}.json").exists()


def test_the_end_of_a_session_settles_it_in_the_background(store: Path) -> None:
    log = Log(store, SESSION).prompt("Let the total of the shop start at zero")
    log.read("src/shop.py")
    log.edit("src/shop.py", "sum(lines)", "sum(lines, 0)")
    log.run("pytest -q", "1 passed")
    path = store.parent / "log.jsonl"
    log.save(path)
    claude(store, "SessionEnd", reason="other", transcript_path=str(path))
    line = hook_log(store, f"session {SESSION[:12]}")
    assert "candidate" in line


def hook_log(folder: Path, wanted: str) -> str:
    """The line of the log that what runs in the background comes to write."""
    for _ in range(2000):
        path = folder / ".git" / "tmem" / "hook.log"
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        found = [line for line in lines if wanted in line]
        if found:
            return found[-1]
        subprocess.run(["git", "--version"], capture_output=True, check=True)
    raise AssertionError(f"the log never said: {wanted}")


def test_what_hooks_injected_is_no_memory(store: Path) -> None:
    said = failure(store)
    assert injected.without(f"before\n{said}\nafter") == "before\n\nafter"
    escaped = said.replace("<", "&lt;").replace(">", "&gt;")
    assert injected.without(f"a{escaped}b") == "ab"
    assert injected.without(f"a{said[: len(said) // 2]}") == "a"


def test_the_hook_imports_the_standard_library_alone(store: Path) -> None:
    payload = {"session_id": SESSION, "cwd": str(store), **bash(), "error": FAILURE}
    code = (
        "import sys\n"
        "from git_tmem import cli\n"
        "cli.run(['hook', 'claude-code', 'PostToolUseFailure'])\n"
        "heavy = {'subprocess', 'dataclasses', 'inspect', 'ssl', 'email', 'importlib.metadata',"
        " 'logging', 'asyncio', 'threading', 'hashlib', 'tempfile'}\n"
        "known = set(sys.stdlib_module_names) | {'git_tmem', '__main__'}\n"
        "found = {name for name in sys.modules if name.split('.')[0] not in known}\n"
        "found = {name for name in found if name.startswith('git_tmem') or getattr("
        "sys.modules[name], '__file__', None) and not name.startswith(('_', 'sitecustomize'))}\n"
        "sys.exit(' '.join(sorted(heavy & set(sys.modules) | found)) or 0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=store,
        input=json.dumps(payload),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "repaired by" in done.stdout


def test_the_layout_of_the_store_is_the_one_of_git(store: Path) -> None:
    assert discover(str(store)).own_dir == str(store / ".git" / "tmem")
