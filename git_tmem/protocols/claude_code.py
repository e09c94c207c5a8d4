"""Claude Code: a failing command comes as an event of its own; sub-agents say who they are."""

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
    string,
    table,
    used,
)

#: It takes 10,000 characters; a longer text would be put into a file.
CAP = 8_000
TOOLS = Tools(
    reads=frozenset({"Read"}),
    edits=frozenset({"Edit", "Write", "MultiEdit", "NotebookEdit"}),
    runs=frozenset({"Bash", "PowerShell"}),
    path=("file_path", "notebook_path"),
)
_MOMENTS = {
    "SessionStart": START,
    "UserPromptSubmit": TURN,
    "PreToolUse": BEFORE,
    "PostToolUse": RESULT,
    "PostToolUseFailure": RESULT,
    "SessionEnd": END,
}


def read(name: str, payload: Any) -> Event | None:
    """The neutral event of a payload."""
    if name not in _MOMENTS or string(payload, "agent_id", "cursor_version"):
        return None  # a sub-agent's, or another agent's that runs these hooks too
    event = common(payload)._replace(moment=_MOMENTS[name])
    if event.moment == START:
        return event._replace(forgets=string(payload, "source") in ("clear", "compact"))
    if event.moment == TURN:
        return event._replace(prompt=string(payload, "prompt"))
    if event.moment == END:
        return event._replace(speaks=False)
    found = used(event, TOOLS, string(payload, "tool_name"), table(payload, "tool_input"))
    if found is None or event.moment == BEFORE:
        return found
    if name == "PostToolUseFailure":
        said = string(payload, "error")
        code = re.match(r"Exit code (\d+)", said)
        return found._replace(
            output=said, failed=True, exit_code=int(code[1][:9]) if code else None
        )
    answer = table(payload, "tool_response")
    output = f"{string(answer, 'stdout')}\n{string(answer, 'stderr')}"
    return found._replace(output=output, failed=False, exit_code=0 if found.command else None)


def say(name: str, text: str) -> str:
    """The text as context of the event."""
    return in_context(name, text)
