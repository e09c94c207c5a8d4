"""Codex: a failing command comes as any other, and only its output tells; edits are patches."""

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

#: It takes some 2,500 tokens; a longer text would be put into a file.
CAP = 6_000
TOOLS = Tools(
    reads=frozenset({"Read"}),
    edits=frozenset({"apply_patch", "Edit", "Write"}),
    runs=frozenset({"Bash"}),
)
_MOMENTS = {
    "SessionStart": START,
    "UserPromptSubmit": TURN,
    "PreToolUse": BEFORE,
    "PostToolUse": RESULT,
    "SessionEnd": END,
}
_FILE = re.compile(r"(?m)^\*\*\* (?:Update|Add|Delete) File: (\S.*)$")


def read(name: str, payload: Any) -> Event | None:
    """The neutral event of a payload."""
    if name not in _MOMENTS or string(payload, "agent_id"):
        return None
    event = common(payload)._replace(moment=_MOMENTS[name])
    if event.moment == START:
        return event._replace(forgets=string(payload, "source") in ("clear", "compact"))
    if event.moment == TURN:
        return event._replace(prompt=string(payload, "prompt"))
    if event.moment == END:
        return event._replace(speaks=False)
    given = table(payload, "tool_input")
    found = used(event, TOOLS, string(payload, "tool_name"), given)
    if found is None:
        return None
    if found.edits and not found.paths:
        patch = string(given, "command", "input", "patch")
        found = found._replace(paths=tuple(_FILE.findall(patch))[:20])
    if event.moment == BEFORE:
        return found
    return found._replace(output=spoken(payload.get("tool_response")))


def say(name: str, text: str) -> str:
    """The text as context of the event; any other field would make the hook fail."""
    return in_context(name, text)
