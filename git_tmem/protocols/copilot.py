"""GitHub Copilot CLI: the case of an event's name says how its fields are spelled.

A failure would take text with exit status 2 alone. Ours is always 0, so it waits for the next
tool that works. What a prompt calls for waits too: the answer to that event is dropped.
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
    string,
    table,
    used,
)

#: It joins all contexts and cuts them at 10 KB.
CAP = 6_000
TOOLS = Tools(
    reads=frozenset({"view"}),
    edits=frozenset({"edit", "create", "apply_patch"}),
    runs=frozenset({"bash", "powershell"}),
    path=("path", "file_path", "filePath"),
)
_MOMENTS = {
    "sessionstart": START,
    "userpromptsubmitted": TURN,
    "userpromptsubmit": TURN,
    "pretooluse": BEFORE,
    "posttooluse": RESULT,
    "posttoolusefailure": RESULT,
    "sessionend": END,
}
_SPEAKS = ("sessionstart", "posttooluse")


def read(name: str, payload: Any) -> Event | None:
    """The neutral event of a payload in either dialect."""
    moment = _MOMENTS.get(name.lower())
    if moment is None:
        return None
    event = Event(
        moment,
        string(payload, "sessionId", "session_id"),
        string(payload, "cwd"),
        string(payload, "prompt"),
        log=string(payload, "transcriptPath", "transcript_path"),
        speaks=name.lower() in _SPEAKS,
    )
    if moment not in (BEFORE, RESULT):
        return event
    tool = string(payload, "toolName", "tool_name")
    found = used(event, TOOLS, tool, table(payload, "toolArgs", "tool_input"))
    if found is None or moment == BEFORE:
        return found
    if name.lower() == "posttoolusefailure":
        said = string(payload, "error") or string(table(payload, "error"), "message")
        return found._replace(output=said, failed=True)
    answer = table(payload, "toolResult", "tool_result")
    kind = string(answer, "resultType", "result_type")
    failed = None if found.command and kind == "success" else kind not in ("success", "")
    output = string(answer, "textResultForLlm", "text_result_for_llm")
    return found._replace(output=output, failed=failed)


def say(name: str, text: str) -> str:
    """The text as additional context, where there is such a thing."""
    return json.dumps({"additionalContext": text}) if text and name.lower() in _SPEAKS else ""
