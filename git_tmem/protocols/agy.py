"""Antigravity: text is taken before a model call alone, and standard output is always JSON.

Neither the prompt nor, as documented, a tool's name and output are in a payload, so they are
read from the end of the transcript. All of this is to be taken with care: the program is
closed and what is known of its protocol is contradictory.
"""

from __future__ import annotations

import json
import os
import re
from typing import Any

from git_tmem.protocols.base import END, RESULT, TURN, Event, Tools, spoken, string, table, used

CAP = 8_000
TOOLS = Tools(
    reads=frozenset({"view_file"}),
    edits=frozenset({"write_to_file", "replace_file_content", "multi_replace_file_content"}),
    runs=frozenset({"run_command"}),
    path=("TargetFile", "AbsolutePath"),
    command=("CommandLine",),
)
_MOMENTS = {"PreInvocation": TURN, "PostToolUse": RESULT, "Stop": END}
#: Bytes of the transcript's end that are read.
_TAIL = 128 << 10


def read(name: str, payload: Any) -> Event | None:
    """The neutral event of a payload."""
    if name not in _MOMENTS:
        return None
    places = payload.get("workspacePaths")
    places = places if isinstance(places, list) else []
    event = Event(
        _MOMENTS[name],
        string(payload, "conversationId"),
        next((place for place in places if isinstance(place, str)), ""),
        log=string(payload, "transcriptPath"),
        speaks=name == "PreInvocation",
    )
    if event.moment == END:
        return event
    last = _transcript(event.log)
    if event.moment == TURN:
        said = [line for line in last if line.get("type") == "USER_INPUT"]
        prompt = re.sub(r"</?USER_REQUEST>", "", spoken(said[-1].get("content"))) if said else ""
        return event._replace(prompt=prompt if payload.get("invocationNum") == 0 else "")
    call = table(payload, "toolCall")
    given = table(call, "args")
    found = used(event, TOOLS, string(call, "name"), given) or event
    output = spoken(last[-1].get("content")) if last else ""
    code = re.search(r"The command exited with code (\d{1,9})", output)
    if code:
        status = int(code[1])
        command = found.command or "a command"
        return found._replace(command=command, output=output, exit_code=status, failed=bool(status))
    return found._replace(failed=bool(string(payload, "error")))


def _transcript(path: str) -> list[dict[str, Any]]:
    """The objects on the last lines of the transcript."""
    try:
        with open(path, "rb") as stream:
            stream.seek(max(0, os.fstat(stream.fileno()).st_size - _TAIL))
            lines = stream.read(_TAIL).splitlines()
    except (OSError, ValueError):
        return []
    found = []
    for line in lines[-40:]:
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            found.append(value)
    return found


def say(name: str, text: str) -> str:
    """The text as a step before the model call; an empty object is silence."""
    if name == "PreInvocation" and text:
        return json.dumps({"injectSteps": [{"ephemeralMessage": text}]})
    return '{"decision": "allow"}' if name == "PreToolUse" else "{}"
