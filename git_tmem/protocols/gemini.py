"""Gemini CLI: standard output is JSON alone; a command's status is a line of its answer."""

from __future__ import annotations

import re
from typing import Any

from git_tmem.protocols.base import (
    BEFORE,
    END,
    RESULT,
    START,
    TURN,
    Event,
    Tools,
    common,
    in_context,
    spoken,
    string,
    table,
    used,
)

CAP = 8_000
TOOLS = Tools(
    reads=frozenset({"read_file"}),
    edits=frozenset({"write_file", "replace"}),
    runs=frozenset({"run_shell_command"}),
    path=("file_path", "absolute_path"),
)
_MOMENTS = {
    "SessionStart": START,
    "BeforeAgent": TURN,
    "BeforeTool": BEFORE,
    "AfterTool": RESULT,
    "SessionEnd": END,
}


def read(name: str, payload: Any) -> Event | None:
    """The neutral event of a payload. No text is taken before a tool."""
    if name not in _MOMENTS:
        return None
    event = common(payload)._replace(moment=_MOMENTS[name])
    if event.moment == START:
        return event._replace(forgets=string(payload, "source") == "clear")
    if event.moment == TURN:
        return event._replace(prompt=string(payload, "prompt"))
    if event.moment == END:
        return event._replace(speaks=False)
    found = used(event, TOOLS, string(payload, "tool_name"), table(payload, "tool_input"))
    if found is None or event.moment == BEFORE:
        return found._replace(speaks=False) if found else None
    answer = payload.get("tool_response")
    output = spoken(answer.get("llmContent") if isinstance(answer, dict) else answer)
    code = re.search(r"(?m)^Exit Code: (\d{1,9})$", output[-2000:])
    failed = bool(code and int(code[1])) or bool(table(answer, "error"))
    status = (int(code[1]) if code else 0) if found.command else None
    return found._replace(output=output, failed=failed, exit_code=status)


def say(name: str, text: str) -> str:
    """The text as context of the event."""
    return in_context(name, text)
