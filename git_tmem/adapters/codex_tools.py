"""The tools of Codex: what a call does, by its arguments."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from git_tmem.actions import EXEC, MUTATE, OTHER, READ, Action
from git_tmem.adapters.base import command_of, file_of, mapping, names, path_of, string
from git_tmem.adapters.patches import parse_patch

#: The folder that a command begins by entering, and a rest that is nothing but a patch, as
#: Codex itself takes it to be one.
_ENTERED = re.compile(r"\s*cd\s+(['\"]?)([^'\"\n&;|]{1,4096}?)\1\s*&&\s*")
_ONLY_PATCH = re.compile(
    r"\s*apply_?patch\s+(?:<<-?\s*['\"]?\w{1,40}['\"]?\s*\n)?['\"]?"
    r"\*\*\* Begin Patch.*\*\*\* End Patch['\"]?\s*(?:\w{1,40}\s*)?",
    re.DOTALL,
)
_BEGIN, _END = "*** Begin Patch", "*** End Patch"
#: Characters before a patch within which its command stands.
_NEAR = 100


def arguments(value: object) -> Mapping[str, Any]:
    """Arguments as an object: they are one, its JSON text, or the text of a patch."""
    if isinstance(value, str):
        if value.lstrip().startswith(_BEGIN):
            return {"input": value}
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return {}
    return mapping(value)


def _patch(text: str, place: str = "") -> list[Action]:
    made = Action(MUTATE, 0, cwd=place)
    return [
        made._replace(path=path_of(edit.path), hunks=edit.hunks, created=edit.created)
        for edit in parse_patch(text)
    ]


def _patches(script: str) -> Iterator[str]:
    """The patches that a shell script applies."""
    start = script.find(_BEGIN)
    while start >= 0 and (end := script.find(_END, start)) >= 0:
        before = script[max(start - _NEAR, 0) : start]
        if "apply_patch" in before or "applypatch" in before:
            yield script[start:end]
        start = script.find(_BEGIN, end)


def _apply_patch(given: Mapping[str, Any]) -> list[Action]:
    return _patch(string(given.get("input")) or string(given.get("patch"))) or opaque(given)


def _run(given: Mapping[str, Any]) -> list[Action]:
    """A command and the patches in it; a command that is only a patch is no more than that."""
    value = given.get("cmd") or given.get("command")
    words = value if isinstance(value, list) else []
    if len(words) == 2 and words[0] in ("apply_patch", "applypatch"):
        return _patch(string(words[1])) or opaque(given)
    script = string(words[2]) if len(words) == 3 else "" if words else string(value)
    entered = _ENTERED.match(script)
    place = path_of(entered.group(2)) if entered else ""
    edits = [action for text in _patches(script) for action in _patch(text, place)]
    if edits and _ONLY_PATCH.fullmatch(script, entered.end() if entered else 0):
        return edits
    return [Action(EXEC, 0, command=command_of(value)), *edits]


def _read(given: Mapping[str, Any]) -> list[Action]:
    return [Action(READ, 0, path=path_of(given.get("file_path") or given.get("path")))]


def _searched(given: Mapping[str, Any]) -> list[Action]:
    return [Action(READ, 0, path=file_of(given.get("path") or given.get("dir_path")))]


def opaque(given: Mapping[str, Any]) -> list[Action]:
    """The action of a tool that touches neither files nor commands, or of an unknown one."""
    return [Action(OTHER, 0)]


#: What each tool does with its arguments.
TOOLS: dict[str, Callable[[Mapping[str, Any]], list[Action]]] = {
    "apply_patch": _apply_patch,
    "read_file": _read,
    "view_image": _read,
    "grep_files": _searched,
    "list_dir": _searched,
    **dict.fromkeys(
        names("shell shell_command exec_command local_shell container.exec unified_exec"), _run
    ),
    **dict.fromkeys(
        names(
            "ask_question close_agent exec get_goal js_repl list_agents list_mcp_resource_templates"
            " list_mcp_resources read_mcp_resource request_user_input resume_agent send_input"
            " spawn_agent tool_search update_goal update_plan wait wait_agent web_search"
            " write_stdin"
        ),
        opaque,
    ),
}
