"""opencode: our plugin sends each of its hooks' two arguments, with the session and folder."""

from __future__ import annotations

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
    edits=frozenset({"edit", "write", "apply_patch", "patch"}),
    runs=frozenset({"bash"}),
    path=("filePath", "file_path"),
)
_MOMENTS = {
    "session.created": START,
    "chat.message": TURN,
    "tool.execute.after": RESULT,
    "session.idle": END,
}


def read(name: str, payload: Any) -> Event | None:
    """The neutral event of a payload; a session has no other end than being idle."""
    if name not in _MOMENTS:
        return None
    given, answer = table(payload, "input"), table(payload, "output")
    event = common(payload)._replace(moment=_MOMENTS[name])
    event = event._replace(session=event.session or string(given, "sessionID"))
    if event.moment == TURN:
        return event._replace(prompt=spoken(answer.get("parts")))
    if event.moment != RESULT:
        return event._replace(speaks=event.moment == START)
    found = used(event, TOOLS, string(given, "tool"), table(given, "args"))
    if found is None:
        return None
    code = number(answer.get("metadata"), "exit")
    failed = bool(code) if code is not None or not found.command else None
    return found._replace(output=string(answer, "output"), exit_code=code, failed=failed)


def say(name: str, text: str) -> str:
    """The text for our plugin, which appends it where the agent reads it."""
    return as_context(text)
