"""The same session through the hooks of each agent: what it is told, and in which form."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from git_tmem import injected
from git_tmem.protocols import AGENTS
from tests.conftest import run_git
from tests.test_hooks import FAILURE, hook, store

__all__ = ["store"]

Calls = list[tuple[str, dict[str, Any]]]
PROMPT = "Fix the total of the cart in src/cart.py"


def snake(folder: Path, **fields: Any) -> dict[str, Any]:
    return {"session_id": "s1", "cwd": str(folder), **fields}


def claude_code(folder: Path) -> Calls:
    run = {"tool_name": "Bash", "tool_input": {"command": "pytest -q"}}
    edit = {"tool_name": "Edit", "tool_input": {"file_path": f"{folder}/src/cart.py"}}
    return [
        ("SessionStart", snake(folder, source="startup")),
        ("UserPromptSubmit", snake(folder, prompt=PROMPT)),
        ("PreToolUse", snake(folder, **edit)),
        ("PostToolUseFailure", snake(folder, **run, error=f"Exit code 1\n{FAILURE}")),
        ("PostToolUse", snake(folder, **edit, tool_response={})),
        ("PostToolUse", snake(folder, **run, tool_response={"stdout": "8 passed in 1s"})),
        ("Stop", snake(folder)),
    ]


def codex(folder: Path) -> Calls:
    run = {"tool_name": "Bash", "tool_input": {"command": "pytest -q"}}
    patch = "*** Begin Patch\n*** Update File: src/cart.py\n@@\n-a\n+b\n*** End Patch\n"
    edit = {"tool_name": "apply_patch", "tool_input": {"command": patch}}
    failed = f"{FAILURE}\n1 failed, 7 passed in 0.21s\n"
    return [
        ("SessionStart", snake(folder, source="startup", transcript_path=None)),
        ("UserPromptSubmit", snake(folder, prompt=PROMPT)),
        ("PostToolUse", snake(folder, **run, tool_response=failed)),
        ("PostToolUse", snake(folder, **edit, tool_response="Success.")),
        ("PostToolUse", snake(folder, **run, tool_response={"output": "8 passed in 0.19s\n"})),
        ("Stop", snake(folder)),
    ]


def gemini(folder: Path) -> Calls:
    run = {"tool_name": "run_shell_command", "tool_input": {"command": "pytest -q"}}
    edit = {"tool_name": "replace", "tool_input": {"file_path": f"{folder}/src/cart.py"}}
    failed = {"llmContent": f"Output: {FAILURE}\nExit Code: 1", "returnDisplay": ""}
    return [
        ("SessionStart", snake(folder, source="startup")),
        ("BeforeAgent", snake(folder, prompt=PROMPT)),
        ("AfterTool", snake(folder, **run, tool_response=failed)),
        ("AfterTool", snake(folder, **edit, tool_response={"llmContent": "done"})),
        ("AfterTool", snake(folder, **run, tool_response={"llmContent": [{"text": "8 passed"}]})),
        ("AfterAgent", snake(folder)),
    ]


def cursor(folder: Path) -> Calls:
    base = {"conversation_id": "s1", "workspace_roots": [str(folder)], "transcript_path": None}
    run = {**base, "tool_name": "Shell", "tool_input": {"command": "pytest -q"}}
    edit = {**base, "tool_name": "Write", "tool_input": {"file_path": f"{folder}/src/cart.py"}}
    failed = json.dumps({"exitCode": 1, "stdout": FAILURE, "stderr": ""})
    passed = json.dumps({"exitCode": 0, "stdout": "8 passed in 0.1s", "stderr": ""})
    return [
        ("sessionStart", base),
        ("beforeSubmitPrompt", {**base, "prompt": PROMPT}),
        ("postToolUse", {**run, "tool_output": failed}),
        ("postToolUse", {**edit, "tool_output": "{}"}),
        ("postToolUse", {**run, "tool_output": passed}),
        ("stop", base),
    ]


def copilot(folder: Path) -> Calls:
    base = {"sessionId": "s1", "cwd": str(folder)}
    run = {**base, "toolName": "bash", "toolArgs": {"command": "pytest -q"}}
    given = json.dumps({"path": f"{folder}/src/cart.py"})
    done = {"resultType": "success", "textResultForLlm": "8 passed in 0.19s\n"}
    return [
        ("sessionStart", {**base, "source": "startup"}),
        ("userPromptSubmitted", {**base, "prompt": PROMPT}),
        ("postToolUseFailure", {**run, "error": FAILURE}),
        ("postToolUse", {**base, "toolName": "edit", "toolArgs": given, "toolResult": done}),
        ("postToolUse", {**run, "toolResult": done}),
        ("agentStop", base),
    ]


def agy(folder: Path) -> Calls:
    log = folder.parent / "transcript.jsonl"
    said = [
        {"type": "USER_INPUT", "content": f"<USER_REQUEST>\n{PROMPT}\n</USER_REQUEST>"},
        {"type": "TOOL", "content": f"{FAILURE}\nThe command exited with code 1."},
    ]
    log.write_text("".join(f"{json.dumps(line)}\n" for line in said), encoding="utf-8")
    base = {"conversationId": "s1", "workspacePaths": [str(folder)], "transcriptPath": str(log)}
    run = {"name": "run_command", "args": {"CommandLine": "pytest -q"}}
    return [
        ("PreInvocation", {**base, "invocationNum": 0}),
        ("PostToolUse", {**base, "stepIdx": 4, "error": ""}),
        ("PreInvocation", {**base, "invocationNum": 1}),
        ("PostToolUse", {**base, "stepIdx": 6, "error": "", "toolCall": run}),
        ("Stop", {**base, "session": "none"}),
    ]


def opencode(folder: Path) -> Calls:
    run = {"tool": "bash", "sessionID": "s1", "args": {"command": "pytest -q"}}
    edit = {"tool": "edit", "sessionID": "s1", "args": {"filePath": f"{folder}/src/cart.py"}}
    ask = {"parts": [{"type": "text", "text": PROMPT}]}
    failed = {"output": FAILURE, "metadata": {"exit": 1}}
    passed = {"output": "8 passed in 0.19s", "metadata": {"exit": 0}}
    return [
        ("session.created", snake(folder)),
        ("chat.message", snake(folder, input={"sessionID": "s1"}, output=ask)),
        ("tool.execute.after", snake(folder, input=run, output=failed)),
        ("tool.execute.after", snake(folder, input=edit, output={"output": "done"})),
        ("tool.execute.after", snake(folder, input=run, output=passed)),
        ("session.idle", snake(folder)),
    ]


def pi(folder: Path) -> Calls:
    run = {"toolName": "bash", "input": {"command": "pytest -q"}}
    failed = [{"type": "text", "text": f"{FAILURE}\n\nCommand exited with code 1"}]
    edit = {"toolName": "edit", "input": {"path": "src/cart.py"}, "content": []}
    passed = [{"type": "text", "text": "8 passed in 0.19s"}]
    return [
        ("before_agent_start", snake(folder, prompt=PROMPT)),
        ("tool_result", snake(folder, **run, content=failed, isError=True)),
        ("tool_result", snake(folder, **edit, isError=False)),
        ("tool_result", snake(folder, **run, content=passed, isError=False)),
        ("agent_end", snake(folder)),
    ]


def dsh(folder: Path) -> Calls:
    run = {"name": "bash", "callId": "c1", "arguments": {"command": "pytest -q"}}
    edit = {"name": "edit", "callId": "c2", "arguments": {"file_path": f"{folder}/src/cart.py"}}
    ask = [{"role": "user", "content": [{"type": "text", "text": PROMPT}]}]
    text = [{"type": "text", "text": f"{FAILURE}[exit code: 1]"}]
    failed = {"isError": False, "value": {"exitCode": 1}, "content": text}
    passed = {"value": {"exitCode": 0}, "content": [{"type": "text", "text": "8 passed in 1s"}]}
    return [
        ("agent/session-start", snake(folder, source="startup")),
        ("agent/pre-step", snake(folder, messages=ask, turn=1, step=1)),
        ("tools/post-execute", snake(folder, exec=run, result=failed)),
        ("tools/post-execute", snake(folder, exec=edit, result={"content": []})),
        ("tools/post-execute", snake(folder, exec=run, result=passed)),
        ("agent/turn-stopping", snake(folder, turn=1)),
    ]


SCRIPTS: dict[str, Callable[[Path], Calls]] = {
    "claude-code": claude_code,
    "codex": codex,
    "gemini": gemini,
    "cursor": cursor,
    "copilot": copilot,
    "agy": agy,
    "opencode": opencode,
    "pi": pi,
    "dsh": dsh,
}


def context(agent: str, event: str, out: str) -> str:
    """The text in an answer, which must be one that the agent's protocol allows."""
    if agent == "agy":
        answer = json.loads(out)
        assert set(answer) <= ({"injectSteps"} if event == "PreInvocation" else set())
        return "".join(step["ephemeralMessage"] for step in answer.get("injectSteps", ()))
    if not out:
        return ""
    answer = json.loads(out)
    if agent in ("claude-code", "codex", "gemini"):
        inner = answer.pop("hookSpecificOutput")
        assert answer == {}
        assert inner.pop("hookEventName") == event
        answer = inner
    key = "additional_context" if agent == "cursor" else "additionalContext"
    assert list(answer) == [key]
    text: str = answer[key]
    return text


def test_every_agent_has_a_script() -> None:
    assert set(SCRIPTS) == set(AGENTS)


@pytest.mark.parametrize("agent", SCRIPTS)
def test_a_whole_session_is_told_each_thing_once(store: Path, agent: str) -> None:
    run_git(store, "config", "tmem.indexSize", "600")
    said = []
    for event, payload in SCRIPTS[agent](store):
        done = hook(store, agent, event, payload, cwd=store.parent)
        said.append(context(agent, event, done.stdout))
    whole = "\n".join(said)
    assert injected.without(whole).strip() == ""
    assert whole.count("(src/cart.py)") == 1, "the index once"
    assert whole.count("[1] ") == 1, "the record once"
    assert whole.count("woke up") == 1, "the failure points to the record, which is in sight"
    if agent != "agy":  # whose transcript here shows no edit
        assert whole.count("Milestone") == 1
    assert said[-1] == "", "never when the agent is about to stop"
