"""Sessions of opencode: exported documents, storage folders, and its SQLite database.

This follows versions 0.x to 1.3. However a session is kept, its records are ``{"info":
session}`` and then ``{"messages": {"info": message, "parts": [...]}}``; one that is read out
of a folder or a database has a record without parts for each message and one without ``info``
for each part, so that no message is ever held as a whole. A tool's call and its outcome are
one part. A failing command has completed; its status stands in the metadata.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from git_tmem.actions import EXEC, MUTATE, OTHER, READ, Action, Session
from git_tmem.adapters.base import (
    Narration,
    Trace,
    command_of,
    epoch,
    file_of,
    keep_output,
    mapping,
    names,
    path_of,
    sequence,
    string,
    text_of,
    whole_number,
)
from git_tmem.adapters.opencode_store import find_logs as find_logs
from git_tmem.adapters.patches import clip_hunks, parse_patch, replaced, unified, written

NAME = "opencode"
VERSIONS: tuple[str, ...] = ("1.0", "1.2", "1.3")

#: Types of part that hold nothing for us.
_IGNORED = frozenset(names("agent file patch retry snapshot step-finish subtask"))

#: The error of a command that was broken off after it had begun.
_ABORTED = "Tool execution aborted"


def detect(head: Sequence[Mapping[str, Any]]) -> bool:
    """Whether there is a session's header, or a message with its parts."""
    return any(
        {"id", "directory"} <= mapping(record.get("info")).keys()
        or "sessionID" in mapping(mapping(record.get("messages")).get("info"))
        for record in head
    )


def parse(records: Iterator[tuple[int, Mapping[str, Any]]]) -> Session:
    """The session in the records of a log."""
    reading = _Reading()
    for index, record in records:
        reading.take(index, record)
    return reading.trace.session()


class _Reading:
    """One pass over a log."""

    def __init__(self) -> None:
        self.trace = Trace(NAME)
        self._said = Narration()
        self._subagent = False
        self._undone = ("", "")  # message and part from which on the user took all back
        self._over = False  # that place was reached
        self._summaries = 0
        self._cuts = 0
        # Of the message being read:
        self._user = False
        self._summary = False
        self._cwd = ""
        self._time = 0

    def take(self, index: int, record: Mapping[str, Any]) -> None:
        if "messages" in record:
            self._message(index, mapping(record["messages"]))
        elif "info" in record:
            self._session(mapping(record["info"]))
        else:
            self.trace.miss(record.get("type") or next(iter(record), "empty record"))

    def _session(self, info: Mapping[str, Any]) -> None:
        self.trace.id = string(info.get("id"))[:200]
        self.trace.cwd = path_of(info.get("directory"))
        self.trace.version = string(info.get("version"))[:80]
        self._subagent = bool(string(info.get("parentID")))
        revert = mapping(info.get("revert"))
        self._undone = (string(revert.get("messageID")), string(revert.get("partID")))

    def _message(self, index: int, message: Mapping[str, Any]) -> None:
        if "info" in message:
            self._begin(mapping(message["info"]))
        for part in map(mapping, sequence(message.get("parts"))):
            self._over = self._over or bool(part.get("id") and part["id"] == self._undone[1])
            if not self._over:
                self._part(index, part)

    def _begin(self, info: Mapping[str, Any]) -> None:
        message, part = self._undone
        self._over = self._over or bool(message and message == info.get("id") and not part)
        self._user = info.get("role") == "user"
        self._summary = not self._user and info.get("summary") is True
        self._summaries += self._summary and not self._over
        self.trace.compactions = max(self._summaries, self._cuts)
        self._cwd = path_of(mapping(info.get("path")).get("cwd")) or self.trace.cwd
        self.trace.cwd = self.trace.cwd or self._cwd  # in old versions only messages tell it
        self._time = epoch(mapping(info.get("time")).get("created"))
        self._said.begin()

    def _part(self, index: int, part: Mapping[str, Any]) -> None:
        kind = string(part.get("type"))
        if kind == "tool":
            self._tool(index, part)
        elif kind == "text":
            self._text(index, part)
        elif kind == "reasoning":
            self._said.think(_plain(string(part.get("text"))))
        elif kind == "step-start":
            self._said.begin()
        elif kind == "compaction":
            self._cuts += 1
            self.trace.compactions = max(self._summaries, self._cuts)
        elif kind not in _IGNORED:
            self.trace.miss(f"part {kind}")

    def _text(self, index: int, part: Mapping[str, Any]) -> None:
        if part.get("synthetic") is True or part.get("ignored") is True or self._summary:
            return
        if self._user:
            self._said.answer()
            self.trace.prompt(string(part.get("text")), index, self._time, self._subagent)
        else:
            self._said.say(part.get("text"))

    def _tool(self, index: int, part: Mapping[str, Any]) -> None:
        name = string(part.get("tool"))
        state = mapping(part.get("state"))
        given = mapping(state.get("input"))
        shape = _TOOLS.get(name)
        if shape is None:
            self.trace.miss(f"tool {name}")
        for action in (shape or _other)(given, mapping(state.get("metadata"))):
            action = action._replace(
                record=index,
                tool=name[:80],
                reason=self._said.reason,
                cwd=path_of(given.get("workdir")) or self._cwd,
                time=epoch(mapping(state.get("time")).get("start")) or self._time,
                subagent=self._subagent,
            )
            number = self.trace.add(action)
            if state.get("status") in ("completed", "error"):
                self.trace.update(number, result=index, **_outcome(action, state))
        self._said.answer()


def _plain(text: str) -> str:
    """A model's thought without the marks around its heading."""
    return text.replace("**", "")


def _outcome(action: Action, state: Mapping[str, Any]) -> dict[str, Any]:
    failed = state.get("status") == "error"
    if action.kind != EXEC:
        return {"failed": failed}
    metadata = mapping(state.get("metadata"))
    # None for a command that was killed or took too long, which the end of its output tells.
    code = None if failed else whole_number(metadata.get("exit"))
    text = text_of(state.get("error") if failed else state.get("output") or metadata.get("output"))
    refused = failed and text != _ABORTED
    return {"failed": refused, "exit_code": code, "output": keep_output(text, code)}


def _read(given: Mapping[str, Any], metadata: Mapping[str, Any]) -> list[Action]:
    return [Action(READ, 0, path=path_of(given.get("filePath")))]


def _searched(given: Mapping[str, Any], metadata: Mapping[str, Any]) -> list[Action]:
    return [Action(READ, 0, path=file_of(given.get("path")))]


def _edit(given: Mapping[str, Any], metadata: Mapping[str, Any]) -> list[Action]:
    """An edit by its texts, or by what the tool says it came to."""
    parts = [given, *map(mapping, sequence(given.get("edits")))]
    pairs = [(string(part.get("oldString")), string(part.get("newString"))) for part in parts]
    told = unified(string(metadata.get("diff")))
    hunks = told or clip_hunks(hunk for before, after in pairs for hunk in replaced(before, after))
    return [Action(MUTATE, 0, path=path_of(given.get("filePath")), hunks=hunks)]


def _write(given: Mapping[str, Any], metadata: Mapping[str, Any]) -> list[Action]:
    hunks = written(string(given.get("content")))
    return [Action(MUTATE, 0, path=path_of(given.get("filePath")), hunks=hunks, created=True)]


def _apply_patch(given: Mapping[str, Any], metadata: Mapping[str, Any]) -> list[Action]:
    text = string(given.get("patchText")) or string(given.get("patch"))
    return [
        Action(MUTATE, 0, path=path_of(edit.path), hunks=edit.hunks, created=edit.created)
        for edit in parse_patch(text)
    ] or _other(given, metadata)


def _run(given: Mapping[str, Any], metadata: Mapping[str, Any]) -> list[Action]:
    return [Action(EXEC, 0, command=command_of(given.get("command")))]


def _other(given: Mapping[str, Any], metadata: Mapping[str, Any]) -> list[Action]:
    return [Action(OTHER, 0)]


_TOOLS: dict[str, Callable[[Mapping[str, Any], Mapping[str, Any]], list[Action]]] = {
    "read": _read,
    "glob": _searched,
    "grep": _searched,
    "list": _searched,
    "edit": _edit,
    "multiedit": _edit,
    "write": _write,
    "apply_patch": _apply_patch,
    "patch": _apply_patch,
    "bash": _run,
    **dict.fromkeys(
        names(
            "batch codesearch invalid lsp plan_enter plan_exit question skill task todoread"
            " todowrite webfetch websearch"
        ),
        _other,
    ),
}
