"""The agents whose hooks call us: what each one says, and in what form it takes an answer.

A module here has ``CAP``, the bytes that one answer may have; ``read(name, payload)``, the
neutral :class:`~git_tmem.protocols.base.Event` of a payload, None for what does not concern us;
and ``say(name, text)``, the text as that agent's protocol wants it on standard output, with
'' for silence. A payload is hostile: every field is looked at before it is used.
"""

from __future__ import annotations

import importlib
from typing import Any

#: Agent -> module in this folder; only the one that calls is imported.
AGENTS = {
    "claude-code": "claude_code",
    "codex": "codex",
    "gemini": "gemini",
    "cursor": "cursor",
    "copilot": "copilot",
    "agy": "agy",
    "opencode": "opencode",
    "pi": "pi",
    "dsh": "dsh",
}


def agent(name: str) -> Any:
    """The module of an agent. Raises KeyError for one that is not known."""
    return importlib.import_module(f"git_tmem.protocols.{AGENTS[name]}")
