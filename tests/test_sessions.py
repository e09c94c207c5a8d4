"""Sessions are found where their agents keep them, and captured by their location."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from git_tmem.git import discover
from git_tmem.repo import Repository
from git_tmem.sessions import find_sessions
from git_tmem.worker import after_commit
from tests.adapters.kept import as_database, as_storage
from tests.conftest import run_git
from tests.samples import ERROR, project

CHECK = "python -m pytest tests/test_cart.py"
PASSED = "1 passed in 0.01s"
OLD = "        return self.lines[name]"
NEW = "        return self.lines.get(name, 0)"
PROMPT = "The price of an unknown article should be zero"


@pytest.fixture
def cart(repo: Path) -> Path:
    """A repository in which the work of the sessions below was done; the file they edit."""
    project(repo)
    run_git(repo, "add", ".")
    run_git(repo, "commit", "-qm", "project")
    path = repo / "src" / "cart.py"
    path.write_text(path.read_text(encoding="utf-8").replace(OLD, NEW), encoding="utf-8")
    run_git(repo, "commit", "-qam", "Unknown articles cost nothing")
    return path


def capture(repo: Path, *arguments: str, given: str = "") -> str:
    done = subprocess.run(
        [sys.executable, "-m", "git_tmem", "capture", *arguments],
        cwd=repo,
        input=given,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parent.parent)},
        check=False,
    )
    return done.stdout + done.stderr


def lines(path: Path, *records: dict[str, Any]) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return str(path)


def codex(repo: Path, home: Path) -> str:
    def call(number: int, name: str, text: str, **given: Any) -> list[dict[str, Any]]:
        asked = {"name": name, "arguments": json.dumps(given), "call_id": str(number)}
        answer = {"call_id": str(number), "output": text}
        payloads = {"type": "function_call", **asked}, {"type": "function_call_output", **answer}
        return [{"type": "response_item", "payload": payload} for payload in payloads]

    patch = f"*** Begin Patch\n*** Update File: src/cart.py\n@@\n-{OLD}\n+{NEW}\n*** End Patch"
    head = "Wall time: 1 seconds\nProcess exited with code {}\nOutput:\n{}"
    return lines(
        home / ".codex" / "sessions" / "2026" / "07" / "01" / "rollout-1.jsonl",
        {"type": "session_meta", "payload": {"id": "codex-1", "cwd": str(repo)}},
        {"type": "event_msg", "payload": {"type": "user_message", "message": PROMPT}},
        *call(1, "exec_command", head.format(0, "class Cart:"), cmd="cat src/cart.py"),
        *call(2, "exec_command", head.format(1, ERROR), cmd=CHECK),
        *call(3, "apply_patch", "Success.", input=patch),
        *call(4, "exec_command", head.format(0, PASSED), cmd=CHECK),
    )


def pi(repo: Path, home: Path) -> str:
    def call(number: int, name: str, text: str, error: bool, **given: Any) -> list[dict[str, Any]]:
        block = {"type": "toolCall", "id": str(number), "name": name, "arguments": given}
        result = {"toolCallId": str(number), "content": text, "isError": error}
        messages = {"role": "assistant", "content": [block]}, {"role": "toolResult", **result}
        return [{"type": "message", "message": message} for message in messages]

    slug = str(repo).lstrip("/").replace("/", "-")
    return lines(
        home / ".pi" / "agent" / "sessions" / f"--{slug}--" / "1.jsonl",
        {"type": "session", "id": "pi-1", "timestamp": "2026-07-01", "cwd": str(repo)},
        {"type": "message", "message": {"role": "user", "content": PROMPT}},
        *call(1, "read", "class Cart:", False, path="src/cart.py"),
        *call(2, "bash", f"{ERROR}\nCommand exited with code 1", True, command=CHECK),
        *call(3, "edit", "ok", False, path="src/cart.py", oldText=OLD, newText=NEW),
        *call(4, "bash", PASSED, False, command=CHECK),
    )


def opencode_document(repo: Path) -> dict[str, Any]:
    def part(number: int, tool: str, output: str, exit_code: int, **given: Any) -> dict[str, Any]:
        outcome = {"output": output, "metadata": {"exit": exit_code}}
        state = {"status": "completed", "input": given, **outcome}
        return {"id": f"prt_{number}", "type": "tool", "tool": tool, "state": state}

    def message(name: str, role: str, *parts: dict[str, Any]) -> dict[str, Any]:
        info = {
            "id": name,
            "sessionID": "ses_1",
            "role": role,
            "time": {"created": 1_800_000_000_000},
        }
        return {"info": info, "parts": list(parts)}

    path = str(repo / "src" / "cart.py")
    time = {"created": 1_800_000_000_000, "updated": 1_800_000_000_000}
    return {
        "info": {"id": "ses_1", "directory": str(repo), "version": "1.2.20", "time": time},
        "messages": [
            message("msg_1", "user", {"id": "prt_0", "type": "text", "text": PROMPT}),
            message(
                "msg_2",
                "assistant",
                part(1, "read", "class Cart:", 0, filePath=path),
                part(2, "bash", ERROR, 1, command=CHECK),
                part(3, "edit", "ok", 0, filePath=path, oldString=OLD, newString=NEW),
                part(4, "bash", PASSED, 0, command=CHECK),
            ),
        ],
    }


def opencode_database(repo: Path, home: Path) -> str:
    return as_database(opencode_document(repo), home / ".local" / "share")


def opencode_storage(repo: Path, home: Path) -> str:
    return as_storage(opencode_document(repo), home / ".local" / "share")


SAVERS = [codex, opencode_database, opencode_storage, pi]
every_agent = pytest.mark.parametrize("save", SAVERS, ids=lambda save: save.__name__)


@every_agent
def test_a_session_is_found_by_its_agent_and_captured_by_its_location(
    repo: Path, cart: Path, sealed: Path, save: Callable[[Path, Path], str]
) -> None:
    location = save(repo, sealed)
    agent = save.__name__.partition("_")[0]
    found = capture(repo, "--agent", agent)
    assert f" kept: {PROMPT} (3 steps of 5 actions; 1 repair;" in found
    assert " already kept: " in capture(repo, "--session", location)


@every_agent
def test_the_worker_behind_a_commit_finds_the_session_too(
    repo: Path, cart: Path, sealed: Path, save: Callable[[Path, Path], str]
) -> None:
    save(repo, sealed)
    with Repository(discover(str(repo))) as repository:
        after_commit(repository, run_git(repo, "rev-parse", "HEAD"), {"HOME": str(sealed)})
    log = (repo / ".git" / "tmem" / "hook.log").read_text(encoding="utf-8")
    assert ": stored " in log


def test_sessions_of_all_agents_are_listed_newest_first(
    repo: Path, cart: Path, sealed: Path
) -> None:
    expected = {save(repo, sealed) for save in (codex, opencode_database, pi)}
    found = find_sessions([str(repo)], {"HOME": str(sealed)})
    assert {log.path for log in found} == expected
    assert [log.changed for log in found] == sorted((log.changed for log in found), reverse=True)
    (plain,) = (log for log in found if log.agent == "codex")
    stat = os.stat(plain.path)
    assert (plain.changed, plain.size) == (stat.st_mtime, stat.st_size)
    assert all(log.size > 0 for log in found)
    assert find_sessions([str(repo / "other")], {"HOME": str(sealed)}) == []


def test_a_pipe_is_read_from_its_first_byte(repo: Path, cart: Path, sealed: Path) -> None:
    text = Path(codex(repo, sealed)).read_text(encoding="utf-8")
    assert " kept: " in capture(repo, "--session", "/dev/stdin", given=text)


def test_a_session_that_is_not_in_the_database_is_named(
    repo: Path, cart: Path, sealed: Path
) -> None:
    location = opencode_database(repo, sealed)
    assert "opencode.db holds no session ses_9" in capture(repo, "--session", f"{location[:-1]}9")
    assert "No such file" in capture(repo, "--session", f"{sealed}/no.db#ses_1")


@pytest.fixture
def claude_folder(repo: Path, tmp_path: Path) -> Path:
    """Where Claude Code keeps the logs of the repository: three, the newest called 2."""
    message = {"role": "user", "content": "hello"}
    head = {"type": "user", "cwd": str(repo), "sessionId": "s", "uuid": "u", "message": message}
    slug = "".join(sign if sign.isalnum() else "-" for sign in str(repo))
    folder = tmp_path / "claude" / "projects" / slug
    for number in range(3):
        path = lines(folder / f"{number}.jsonl", head)
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))
    return folder


def newest(repo: Path, folder: Path) -> str:
    """The path of the newest log that is found."""
    home = folder.parent.parent
    env = {"CLAUDE_CONFIG_DIR": str(home), "HOME": str(home)}
    (found,) = find_sessions([str(repo)], env, "claude-code", most=1)
    return os.path.basename(found.path)


_opened: list[str] = []


def _note(event: str, given: tuple[Any, ...]) -> None:
    if event == "open":
        _opened.append(str(given[0]))


sys.addaudithook(_note)


def test_the_newest_is_found_without_opening_the_older_ones(
    repo: Path, claude_folder: Path
) -> None:
    _opened.clear()
    assert newest(repo, claude_folder) == "2.jsonl"
    logs = [os.path.basename(path) for path in _opened if path.startswith(str(claude_folder))]
    assert set(logs) == {"2.jsonl"}


def test_what_is_no_file_is_never_opened(repo: Path, claude_folder: Path) -> None:
    os.mkfifo(claude_folder / "pipe.jsonl")  # whoever opens it waits for ever
    (claude_folder / "folder.jsonl").mkdir()
    assert newest(repo, claude_folder) == "2.jsonl"
