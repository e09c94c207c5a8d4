"""Cursor: text is taken at the start and after a tool; what a prompt calls for waits till then.

Whether a command that fails comes as a failure is not documented, so both events are read.
"""

from __future__ import annotations

import json
from typing import Any

from git_tmem.protocols.base import (
    BEFORE,
    END,
    RESULT,
    START,
    TURN,
    Event,
    Tools,
    number,
    string,
    table,
    used,
)

CAP = 8_000
TOOLS = Tools(
    reads=frozenset({"Read"}),
    edits=frozenset({"Write", "Edit", "StrReplace", "Delete"}),
    runs=frozenset({"Shell"}),
    path=("file_path", "path", "target_file"),
)
_MOMENTS = {
    "sessionStart": START,
    "beforeSubmitPrompt": TURN,
    "preToolUse": BEFORE,
    "postToolUse": RESULT,
    "postToolUseFailure": RESULT,
    "sessionEnd": END,
}
_SPEAKS = ("sessionStart", "postToolUse")


def read(name: str, payload: Any) -> Event | None:
    """The neutral event of a payload."""
    if name not in _MOMENTS:
        return None
    roots = payload.get("workspace_roots")
    root = next((one for one in roots if isinstance(one, str)), "") if _listed(roots) else ""
    event = Event(
        _MOMENTS[name],
        string(payload, "conversation_id", "session_id"),
        string(payload, "cwd") or root,
        string(payload, "prompt"),
        log=string(payload, "transcript_path"),
        speaks=name in _SPEAKS,
    )
    if event.moment not in (BEFORE, RESULT):
        return event
    found = used(event, TOOLS, string(payload, "tool_name"), table(payload, "tool_input"))
    if found is None or event.moment == BEFORE:
        return found
    if name == "postToolUseFailure":
        return found._replace(output=string(payload, "error_message"), failed=True)
    answer = table(payload, "tool_output")
    output = "\n".join((string(answer, "stdout", "output"), string(answer, "stderr")))
    code = number(answer, "exitCode", "exit_code")
    failed = bool(code) if code is not None or found.edits else None
    return found._replace(output=output, exit_code=code, failed=failed)


def _listed(value: Any) -> bool:
    return isinstance(value, list)


def say(name: str, text: str) -> str:
    """The text as additional context, where there is such a thing."""
    return json.dumps({"additional_context": text}) if text and name in _SPEAKS else ""
