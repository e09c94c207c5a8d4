"""Session logs of pi: ``$PI_CODING_AGENT_DIR/sessions/--<folder>--/*.jsonl``, versions 1 to 3.

Version 1 is a line of entries. From version 2 on each has an ``id`` and a ``parentId``, so that
the log is a tree: the last entry is where the session stands, and only the way from it back to
the root counts. What the user ran with ``!`` is an action too. A command that fails is an error
whose text ends with its status.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from git_tmem.actions import EXEC, MUTATE, OTHER, PROMPT, READ, TEXT_LIMIT, Action, Session
from git_tmem.adapters import base
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
from git_tmem.adapters.patches import clip_hunks, replaced, unified, written
from git_tmem.adapters.places import entries, folder, spellings
from git_tmem.errors import InputError

NAME = "pi"
VERSIONS: tuple[str, ...] = ("1", "3")

#: Types of entry and roles that hold nothing for us.
_IGNORED = frozenset(
    names(
        "branch_summary custom custom_message label model_change session_info thinking_level_change"
    )
)
_SILENT_ROLES = frozenset(names("branchSummary compactionSummary custom hookMessage system"))
_ROLES = _SILENT_ROLES | {"user", "assistant", "toolResult", "bashExecution"}

_EXIT = re.compile(r"Command exited with code (-?\d{1,9})\s*$")
_TIMEOUT = re.compile(r"Command timed out after .{1,40}seconds?\s*$")
#: Exit status that timeout(1) gives to a command that took too long.
_TIMED_OUT = 124


def detect(head: Sequence[Mapping[str, Any]]) -> bool:
    """Whether an entry holds a message of one of the roles."""
    return any(
        record.get("type") == "message" and mapping(record.get("message")).get("role") in _ROLES
        for record in head
        if isinstance(mapping(record.get("message")).get("role"), str)
    )


def parse(records: Iterator[tuple[int, Mapping[str, Any]]]) -> Session:
    """The session in the records of a log."""
    reading = _Reading()
    for index, record in records:
        reading.take(index, record)
    reading.leave_branches()
    return reading.trace.session()


def find_logs(roots: Sequence[str], env: Mapping[str, str]) -> Iterator[str]:
    """Logs in the folders of the roots and of what lies below them. A folder is named after
    the path it stands for, with a dash for every separator, which other paths may share."""
    home = folder(env, "PI_CODING_AGENT_DIR", ".pi", "agent")
    if not home:
        return
    slugs = tuple(f"--{re.sub(r'[/:]', '-', root.lstrip('/'))}" for root in spellings(roots))
    for project in entries(os.path.join(home, "sessions")):
        if os.path.basename(project).startswith(slugs):
            yield from (path for path in entries(project) if path.endswith(".jsonl"))


class _Entry(NamedTuple):
    """Where an entry of the tree hangs: its parent's id, the number of its record, and the id
    of the entry before it in the file."""

    parent: str
    record: int
    before: str


class _Reading:
    """One pass over a log."""

    def __init__(self) -> None:
        self.trace = Trace(NAME)
        self._said = Narration()
        self._tree: dict[str, _Entry] = {}
        self._last = ""
        self._compactions: list[int] = []

    def take(self, index: int, record: Mapping[str, Any]) -> None:
        kind = string(record.get("type"))
        if kind == "session":
            self._header(record)
            return
        self._hang(index, record)
        if kind == "message":
            self._message(index, record, mapping(record.get("message")))
        elif kind == "compaction":
            self._compactions.append(index)
        elif kind not in _IGNORED:
            self.trace.miss(record.get("type"))

    def _header(self, record: Mapping[str, Any]) -> None:
        self.trace.id = string(record.get("id"))[:200]
        self.trace.cwd = path_of(record.get("cwd"))
        self.trace.version = f"v{whole_number(record.get('version')) or 1}"

    def _hang(self, index: int, record: Mapping[str, Any]) -> None:
        name, parent = string(record.get("id"))[:200], string(record.get("parentId"))[:200]
        if not name:
            return
        if parent != self._last:
            self._said = Narration()  # a new branch: nothing was said on it yet
        if len(self._tree) >= base.ACTION_LIMIT:
            raise InputError(
                f"the log holds more than {base.ACTION_LIMIT:,} entries",
                "no session of an agent is that long; capture the sessions one by one",
            )
        self._tree[name] = _Entry(parent, index, self._last)
        self._last = name

    def leave_branches(self) -> None:
        """Forget what is not on the way from the last entry to the root. Where a parent is
        missing, its line was damaged: the entry before it in the file stands for it."""
        way: set[int] = set()
        name = self._last
        while (entry := self._tree.get(name)) and entry.record not in way:
            way.add(entry.record)
            name = entry.parent if entry.parent in self._tree or not entry.parent else entry.before
        left = {entry.record for entry in self._tree.values()} - way
        self.trace.actions[:] = [a for a in self.trace.actions if a.record not in left]
        self.trace.compactions = sum(record not in left for record in self._compactions)

    def _message(self, index: int, record: Mapping[str, Any], message: Mapping[str, Any]) -> None:
        role = string(message.get("role"))
        time = epoch(record.get("timestamp")) or epoch(message.get("timestamp"))
        if role == "user":
            self._said.answer()
            text = text_of(message.get("content"))[: 2 * TEXT_LIMIT].strip()[:TEXT_LIMIT]
            if text:
                # Not Trace.prompt: on another branch the same words were said again.
                self.trace.add(Action(PROMPT, index, text=text, time=time))
        elif role == "assistant":
            self._assistant(index, message, time)
        elif role == "toolResult":
            self._result(index, message)
        elif role == "bashExecution":
            self._ran_by_user(index, message, time)
        elif role not in _SILENT_ROLES:
            self.trace.miss(f"role {role}")

    def _assistant(self, index: int, message: Mapping[str, Any], time: int) -> None:
        self._said.begin()
        for block in map(mapping, sequence(message.get("content"))):
            if block.get("type") == "text":
                self._said.say(block.get("text"))
            elif block.get("type") == "thinking":
                self._said.think(block.get("thinking"))
            elif block.get("type") == "toolCall":
                self._call(index, block, time)

    def _call(self, index: int, block: Mapping[str, Any], time: int) -> None:
        name = string(block.get("name"))
        shape = _TOOLS.get(name)
        if shape is None:
            self.trace.miss(f"tool {name}")
        action = (shape or _other)(mapping(block.get("arguments")))._replace(
            record=index,
            tool=name[:80],
            reason=self._said.reason,
            cwd=self.trace.cwd,
            time=time,
        )
        self.trace.add(action, string(block.get("id")))

    def _ran_by_user(self, index: int, message: Mapping[str, Any], time: int) -> None:
        code = whole_number(message.get("exitCode"))
        action = Action(
            EXEC,
            index,
            "bashExecution",
            command=command_of(message.get("command")),
            exit_code=None if message.get("cancelled") is True else code,
            output=keep_output(string(message.get("output")), code),
            cwd=self.trace.cwd,
            time=time,
            result=index,
        )
        self.trace.add(action)

    def _result(self, index: int, message: Mapping[str, Any]) -> None:
        self._said.answer()
        number = self.trace.answered(string(message.get("toolCallId")))
        if number is None:
            return
        action = self.trace.actions[number]
        text, failed = text_of(message.get("content")), message.get("isError") is True
        changes: dict[str, Any] = {"failed": failed}
        if action.kind == EXEC:
            changes = _ended(text, failed)
        elif action.kind == MUTATE and not failed and not action.created:
            told = unified(string(mapping(message.get("details")).get("patch")))
            changes["hunks"] = told or action.hunks
        self.trace.update(number, result=index, **changes)


def _ended(text: str, failed: bool) -> dict[str, Any]:
    """The outcome of a command: an error without a status is that of a call that did nothing."""
    found, late = _EXIT.search(text[-200:]), _TIMEOUT.search(text[-200:])
    code = (int(found.group(1)) if found else _TIMED_OUT if late else None) if failed else 0
    refused = code is None and not text.rstrip().endswith("Command aborted")
    return {"failed": refused, "exit_code": code, "output": keep_output(text, code)}


def _read(given: Mapping[str, Any]) -> Action:
    return Action(READ, 0, path=path_of(given.get("path")))


def _searched(given: Mapping[str, Any]) -> Action:
    return Action(READ, 0, path=file_of(given.get("path")))


def _edit(given: Mapping[str, Any]) -> Action:
    parts = [given, *map(mapping, sequence(given.get("edits")))]
    pairs = [(string(part.get("oldText")), string(part.get("newText"))) for part in parts]
    hunks = clip_hunks(hunk for before, after in pairs for hunk in replaced(before, after))
    return Action(MUTATE, 0, path=path_of(given.get("path")), hunks=hunks)


def _write(given: Mapping[str, Any]) -> Action:
    hunks = written(string(given.get("content")))
    return Action(MUTATE, 0, path=path_of(given.get("path")), hunks=hunks, created=True)


def _run(given: Mapping[str, Any]) -> Action:
    return Action(EXEC, 0, command=command_of(given.get("command")))


def _other(given: Mapping[str, Any]) -> Action:
    return Action(OTHER, 0)


_TOOLS: dict[str, Callable[[Mapping[str, Any]], Action]] = {
    "read": _read,
    "find": _searched,
    "grep": _searched,
    "ls": _searched,
    "edit": _edit,
    "write": _write,
    "bash": _run,
}
