"""pi: our extension sends each event with the session's file and folder."""

from __future__ import annotations

import re
from typing import Any

from git_tmem.protocols.base import (
    END,
    RESULT,
    TURN,
    Event,
    Tools,
    as_context,
    common,
    spoken,
    string,
    table,
    used,
)

CAP = 8_000
TOOLS = Tools(
    reads=frozenset({"read"}),
    edits=frozenset({"edit", "write"}),
    runs=frozenset({"bash"}),
    path=("path",),
)
_MOMENTS = {"before_agent_start": TURN, "tool_result": RESULT, "session_shutdown": END}


def read(name: str, payload: Any) -> Event | None:
    """The neutral event of a payload."""
    if name not in _MOMENTS:
        return None
    event = common(payload)._replace(moment=_MOMENTS[name])
    if event.moment == TURN:
        return event._replace(prompt=string(payload, "prompt"))
    if event.moment == END:
        return event._replace(speaks=False)
    found = used(event, TOOLS, string(payload, "toolName"), table(payload, "input"))
    if found is None:
        return None
    output = spoken(payload.get("content"))
    code = re.search(r"Command exited with code (\d{1,9})\s*$", output)
    failed = payload.get("isError") is True
    status = int(code[1]) if code else None if failed else 0
    return found._replace(output=output, failed=failed, exit_code=status if found.command else None)


def say(name: str, text: str) -> str:
    """The text for our extension, which hands it on as a message."""
    return as_context(text)
