"""What came of a call in Claude Code's log, by the text of its result and the details beside it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from git_tmem.actions import Action
from git_tmem.adapters.base import keep_output, mapping, sequence, string, whole_number
from git_tmem.adapters.patches import clip_hunks, marked, written

#: How the result of a call begins that was refused before it did anything.
_REFUSED = (
    "The user doesn't want to",
    "User rejected",
    "<tool_use_error>",
    "[Request interrupted",
    "Permission to use",
    "Permission for this",
    "Claude requested permissions",
    "This command requires approval",
    "This Bash command contains multiple operations",
    "Sibling tool call errored",
    "Cancelled: parallel tool call",
    "InputValidationError",
    "Error: No such tool available",
    "Command contains",
)
_HOOK = re.compile(r"(?:PreToolUse|blocked by hook|hook error|denied this tool)", re.IGNORECASE)


def objection(text: str) -> str:
    """What the user said on rejecting a call; it stands nowhere else in the log."""
    if not text.startswith("The user doesn't want to"):
        return ""
    words = text.partition("the user said:\n")[2]
    return words.partition("\n\nNote: The user's next message")[0]


def answers(details: Mapping[str, Any]) -> str:
    """What the user answered to questions of the agent, one answer a line."""
    given = mapping(details.get("answers")) if "questions" in details else {}
    return "\n".join(filter(None, map(string, given.values())))


def broken(text: str) -> dict[str, Any]:
    """The outcome of a command whose result is an error."""
    first, _, rest = text.partition("\n")
    if first.startswith("Exit code "):
        code = whole_number(first[10:])
        return {"exit_code": code, "output": keep_output(rest, code)}
    if text.startswith(_REFUSED) or _HOOK.search(text[:300]):
        return {"failed": True, "output": keep_output(text, None)}
    # Up to 2.0.5 the output of a failing command stood there without its exit code.
    return {"exit_code": 1, "output": keep_output(text, 1)}


def edited(action: Action, details: Mapping[str, Any]) -> dict[str, Any]:
    """What an edit did, from its result where that tells more than the call."""
    patch = details.get("structuredPatch")
    lines = [marked(sequence(mapping(part).get("lines"))) for part in sequence(patch)]
    hunks = clip_hunks(hunk for run in lines for hunk in run)
    if hunks:
        return {"hunks": hunks, "created": False}
    if action.created and isinstance(details.get("content"), str):
        return {"hunks": written(details["content"])}  # the user may have changed it
    return {}
