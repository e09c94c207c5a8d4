"""DeepSeek Harness: our plugin sends each event; a command's status is a mark in its output."""

from __future__ import annotations

import re
from typing import Any

from git_tmem.protocols.base import (
    END,
    RESULT,
    START,
    TURN,
    Event,
    Tools,
    as_context,
    common,
    number,
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
    path=("file_path", "path", "filePath"),
)
_MOMENTS = {
    "agent/session-start": START,
    "agent/pre-step": TURN,
    "tools/post-execute": RESULT,
    "agent/turn-stopping": END,
}
_STATUS = re.compile(r"\[exit code: (\d{1,9})\]\s*$")


def read(name: str, payload: Any) -> Event | None:
    """The neutral event of a payload."""
    if name not in _MOMENTS:
        return None
    event = common(payload)._replace(moment=_MOMENTS[name])
    if event.moment == START:
        return event._replace(forgets=string(payload, "source") in ("clear", "compact"))
    if event.moment == END:
        return event._replace(speaks=False)
    if event.moment == TURN:
        return event._replace(prompt=_asked(payload.get("messages")))
    call, answer = table(payload, "exec"), table(payload, "result")
    found = used(event, TOOLS, string(call, "name"), table(call, "arguments"))
    if found is None:
        return None
    output = spoken(answer.get("content"))
    code = _STATUS.search(output)
    status = int(code[1]) if code else number(answer.get("value"), "exitCode")
    failed = answer.get("isError") is True or bool(status)
    return found._replace(output=output, failed=failed, exit_code=status)


def _asked(messages: Any) -> str:
    """The text of the last message, if the user wrote it."""
    last = messages[-1] if isinstance(messages, list) and messages else {}
    return spoken(last.get("content")) if string(last, "role") == "user" else ""


def say(name: str, text: str) -> str:
    """The text for our plugin, which injects it as a message."""
    return as_context(text)
