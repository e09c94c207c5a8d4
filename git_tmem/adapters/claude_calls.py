"""What a call of one of Claude Code's tools does, by its arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from git_tmem.actions import EXEC, MUTATE, OTHER, READ, Action
from git_tmem.adapters.base import command_of, file_of, mapping, names, path_of, sequence, string
from git_tmem.adapters.patches import clip_hunks, replaced, written
from git_tmem.changes import Hunk


def action_of(name: str, given: Mapping[str, Any]) -> Action | None:
    """The action of a call, None for an unknown tool; the log's record is not set."""
    shape = _TOOLS.get(name.lower())
    return shape(given) if shape else None


def _read(given: Mapping[str, Any]) -> Action:
    return Action(READ, 0, path=path_of(given.get("file_path") or given.get("notebook_path")))


def _searched(given: Mapping[str, Any]) -> Action:
    return Action(READ, 0, path=file_of(given.get("path")))


def _edit(given: Mapping[str, Any]) -> Action:
    hunks = replaced(string(given.get("old_string")), string(given.get("new_string")))
    return Action(MUTATE, 0, path=path_of(given.get("file_path")), hunks=hunks)


def _edits(given: Mapping[str, Any]) -> Action:
    hunks: list[Hunk] = []
    for edit in map(mapping, sequence(given.get("edits"))):
        hunks += replaced(string(edit.get("old_string")), string(edit.get("new_string")))
    return Action(MUTATE, 0, path=path_of(given.get("file_path")), hunks=clip_hunks(hunks))


def _write(given: Mapping[str, Any]) -> Action:
    hunks = written(string(given.get("content")))
    return Action(MUTATE, 0, path=path_of(given.get("file_path")), hunks=hunks, created=True)


def _notebook(given: Mapping[str, Any]) -> Action:
    hunks = written(string(given.get("new_source")))
    return Action(MUTATE, 0, path=path_of(given.get("notebook_path")), hunks=hunks)


def _run(given: Mapping[str, Any]) -> Action:
    return Action(EXEC, 0, command=command_of(given.get("command")))


def _other(given: Mapping[str, Any]) -> Action:
    return Action(OTHER, 0)


_TOOLS: dict[str, Callable[[Mapping[str, Any]], Action]] = {
    "read": _read,
    "notebookread": _read,
    "grep": _searched,
    "glob": _searched,
    "ls": _searched,
    "edit": _edit,
    "multiedit": _edits,
    "write": _write,
    "notebookedit": _notebook,
    "bash": _run,
    "powershell": _run,
    **dict.fromkeys(
        names(
            "agent askuserquestion bashoutput croncreate crondelete cronlist enterplanmode"
            " enterworktree exitplanmode exitworktree killbash killshell listmcpresourcestool lsp"
            " monitor pushnotification readmcpresourcetool remotetrigger schedulewakeup sendmessage"
            " skill slashcommand structuredoutput task taskcreate taskget tasklist taskoutput"
            " taskstop taskupdate teamcreate teamdelete todoread todowrite toolsearch webfetch"
            " websearch"
        ),
        _other,
    ),
}
