"""The server for the Model Context Protocol, spoken to over its pipes as a client does."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.samples import document
from tests.test_trust import put

needs_sdk = pytest.mark.skipif(find_spec("mcp") is None, reason="the extra mcp is not installed")


def talk(folder: Path, *calls: tuple[str, dict[str, Any]], options: str = "") -> list[Any]:
    """The answers of a server to these requests, one process for all."""
    start = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }
    asked = [("initialize", start), *calls]
    child = subprocess.Popen(
        [sys.executable, "-m", "git_tmem", "mcp", *options.split()],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    assert child.stdin is not None
    assert child.stdout is not None
    answers = []
    for number, (method, params) in enumerate(asked):
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        child.stdin.write(json.dumps(message) + "\n")
        child.stdin.flush()
        answers.append(json.loads(child.stdout.readline()))
        if not number:
            child.stdin.write('{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
    child.stdin.close()
    assert child.stdout.read() == ""
    child.stdout.close()
    assert child.wait(20) == 0
    assert [answer["id"] for answer in answers] == list(range(len(asked)))
    return [answer.get("result", answer.get("error")) for answer in answers]


def call(name: str, **arguments: object) -> tuple[str, dict[str, Any]]:
    return "tools/call", {"name": name, "arguments": arguments}


@needs_sdk
def test_the_tools_say_what_they_do_and_read_only_offers_no_writing_one(repo: Path) -> None:
    started, listed, templates = talk(repo, ("tools/list", {}), ("resources/templates/list", {}))
    assert started["serverInfo"]["name"] == "git-tmem"
    tools = {tool["name"]: tool for tool in listed["tools"]}
    assert set(tools) == {"search", "read", "why", "tasks", "save", "replace", "delete"}
    assert all(tool["description"] and tool["outputSchema"] for tool in tools.values())
    writing = {name for name, tool in tools.items() if not tool["annotations"]["readOnlyHint"]}
    assert writing == {"save", "replace", "delete"}
    assert templates["resourceTemplates"][0]["uriTemplate"] == "tmem://record/{id}"
    _, listed = talk(repo, ("tools/list", {}), options="--read-only")
    assert {tool["name"] for tool in listed["tools"]} == {"search", "read", "why", "tasks"}


@needs_sdk
def test_a_record_is_found_read_and_forgotten(repo: Path) -> None:
    (record,) = put(repo, "cart")
    title = document("cart")["title"]
    _, read, again, history, resource, gone, missing = talk(
        repo,
        call("read", id=record[:8]),
        call("search", words="nothing of the kind whatsoever"),
        call("why", file="cart.py"),
        ("resources/read", {"uri": f"tmem://record/{record}"}),
        call("delete", id=record, reason="no longer true"),
        call("read", id=record),
    )
    assert read["structuredContent"]["id"] == record
    assert read["structuredContent"]["title"] == title
    assert again["structuredContent"] == {"text": "", "memories": []}
    assert "events" in history["structuredContent"]
    assert resource["contents"][0]["text"] == read["structuredContent"]["text"]
    assert gone["structuredContent"]["id"] == record
    assert missing["isError"]


@needs_sdk
def test_what_a_client_saves_is_found_and_can_be_replaced(repo: Path) -> None:
    words = "Totals are kept in cents, never in floats"
    _, saved, found, refused = talk(
        repo,
        call("save", text=words, about=["README.md"]),
        call("search", words="are totals floats or cents"),
        call("save", text=words, about=["none.md"]),
    )
    record = saved["structuredContent"]["id"]
    assert [memory["id"] for memory in found["structuredContent"]["memories"]] == [record]
    assert words in found["structuredContent"]["text"]
    assert refused["isError"]
    assert "none.md is not in this repository" in refused["content"][0]["text"]
    _, new, found = talk(
        repo,
        call("replace", id=record, text="Totals are Decimal now, neither cents nor floats"),
        call("search", words="are totals floats or cents"),
    )
    memories = [memory["id"] for memory in found["structuredContent"]["memories"]]
    assert memories == [new["structuredContent"]["id"]]


@needs_sdk
def test_what_waits_for_review_is_not_shown(repo: Path) -> None:
    (record,) = put(repo, "cart", own=False)
    _, read, resource = talk(
        repo, call("read", id=record), ("resources/read", {"uri": f"tmem://record/{record}"})
    )
    assert read["isError"]
    assert "git tmem accept" in read["content"][0]["text"]
    assert document("cart")["title"] not in json.dumps([read, resource])


@needs_sdk
def test_the_handshake_is_answered_where_there_is_no_repository(tmp_path: Path) -> None:
    started, searched = talk(tmp_path, call("search", words="x"))
    assert started["instructions"]
    assert searched["isError"]
    assert "not a git repository" in searched["content"][0]["text"]


def test_without_the_extra_one_line_says_what_to_install(repo: Path) -> None:
    code = (
        "import sys\n"
        "sys.modules['mcp'] = None\n"
        "from git_tmem import cli\n"
        "sys.exit(cli.guarded(lambda: cli.run(['mcp'])))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=repo, capture_output=True, text=True)
    assert done.returncode == 3
    assert done.stderr.splitlines()[0].endswith("needs the MCP SDK, which is not installed")
    assert "git-tmem[mcp]" in done.stderr
