"""One neutral event for what any agent says, and careful ways to read a payload."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

#: Moments: a session starts, the user speaks, a file is about to be read or edited, a tool has
#: answered, a session ends. NEXT is a moment that only serves to deliver what waits.
START, TURN, BEFORE, RESULT, END, NEXT = "start", "turn", "before", "result", "end", "next"


class Event(NamedTuple):
    """``paths`` as the agent spells them; ``failed`` is None where the agent does not say.
    ``forgets``: what was injected earlier is out of the agent's sight. ``speaks``: the
    protocol takes text at this moment. ``log`` is the session's log, where that is told."""

    moment: str
    session: str = ""
    folder: str = ""
    prompt: str = ""
    paths: tuple[str, ...] = ()
    edits: bool = False
    command: str = ""
    output: str = ""
    exit_code: int | None = None
    failed: bool | None = None
    log: str = ""
    forgets: bool = False
    speaks: bool = True


class Tools(NamedTuple):
    """How an agent names its tools, and the fields of their input."""

    reads: frozenset[str]
    edits: frozenset[str]
    runs: frozenset[str]
    path: tuple[str, ...] = ("file_path",)
    command: tuple[str, ...] = ("command",)


def string(payload: Any, *names: str) -> str:
    """The first of the fields that is a text, '' for none."""
    if isinstance(payload, Mapping):
        for name in names:
            value = payload.get(name)
            if isinstance(value, str) and value:
                return value
    return ""


def table(payload: Any, *names: str) -> Mapping[str, Any]:
    """The first of the fields that is an object, also one written as JSON in a text."""
    if isinstance(payload, Mapping):
        for name in names:
            value = payload.get(name)
            if isinstance(value, str) and value[:1] == "{":
                try:
                    value = json.loads(value)
                except (ValueError, RecursionError):
                    continue
            if isinstance(value, Mapping):
                return value
    return {}


def number(payload: Any, *names: str) -> int | None:
    """The first of the fields that is a whole number."""
    for name in names:
        value = payload.get(name) if isinstance(payload, Mapping) else None
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    return None


def spoken(value: Any) -> str:
    """The text of a content: a text, an object with one, or a list of such."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(filter(None, map(spoken, value[:1000])))
    return string(value, "text", "llmContent", "output")


def common(payload: Any) -> Event:
    """The session, folder and log of a payload in snake case; no moment yet."""
    return Event(
        "",
        string(payload, "session_id"),
        string(payload, "cwd"),
        log=string(payload, "transcript_path"),
    )


def used(event: Event, tools: Tools, name: str, given: Mapping[str, Any]) -> Event | None:
    """The event with what the tool is given; None for a tool that is of no concern."""
    if name in tools.runs:
        return event._replace(command=string(given, *tools.command))
    if name not in tools.reads | tools.edits:
        return None
    path = string(given, *tools.path)
    return event._replace(paths=(path,) if path else (), edits=name in tools.edits)


def in_context(name: str, text: str) -> str:
    """The answer that several agents share: context beside the hook's name, one JSON object."""
    if not text:
        return ""
    answer = {"hookSpecificOutput": {"hookEventName": name, "additionalContext": text}}
    return json.dumps(answer, ensure_ascii=True)


def as_context(text: str) -> str:
    """The answer to one of our own plugins."""
    return json.dumps({"additionalContext": text}, ensure_ascii=True) if text else ""
