"""Session logs of Gemini CLI: ``~/.gemini/tmp/<project>/chats/session-*.{json,jsonl}``.

Until about version 0.3x one JSON document ``{"sessionId", "projectHash", ..., "messages"}``;
then JSON lines: a header, messages, and changes of what stands before: a later message of the
same ``id`` replaces the earlier, ``{"$set": {"messages": [...]}}`` all of them. Since a call
holds its own result, a message that comes again adds only calls and results not seen yet.
``{"$rewindTo": id}`` takes back that message and all after it, or all if there is none; what
the user said there no longer holds. Whether edits were taken back too is for git to say, so
they are kept.

No record names the working folder; ``projectHash`` is the SHA-256 of its path. Where a call
gives a relative path and its result the absolute one, the folder is their difference.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from git_tmem.actions import EXEC, MUTATE, OTHER, PROMPT, READ, Action, Session
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
)
from git_tmem.adapters.patches import replaced, unified, written
from git_tmem.adapters.places import entries, folder, spellings

NAME = "gemini"
VERSIONS: tuple[str, ...] = ()  # the log does not tell

_HEADER = frozenset(
    names("directories kind lastUpdated memoryScratchpad projectHash sessionId startTime summary")
)
_IGNORED = frozenset(("user", "info", "error", "warning"))

#: Texts in the place of a user's words that no user wrote.
_INJECTED = re.compile(r"<\w{1,40}_(?:context|snapshot|reminder)>|--- Content from ")
_ENDED = re.compile(r"^Exit Code: (-?\d{1,9})\s*$", re.MULTILINE)
_SIGNAL = re.compile(r"^Signal: (\d{1,3}|SIG\w{1,10})\s*$", re.MULTILINE)
_OUTPUT = re.compile(r"^(?:Output|Stdout): ", re.MULTILINE)
_BELOW = re.compile(
    r"(?:\n(?:Error: \(none\)|Exit Code: .*|Signal: .*|Background PIDs: .*"
    r"|Process Group PGID: .*))+\s*\Z"
)
_CANCELLED = "Command was cancelled"
_TOO_LONG = "Command was automatically cancelled because it exceeded the timeout"

#: Exit statuses as timeout(1) gives them to a command that took too long, and as a POSIX
#: shell gives them to one that a signal ended.
_TIMED_OUT = 124
_KILLED = 128


def detect(head: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the hash of the project's path is there, or a message of this agent."""
    return any(
        "projectHash" in record
        or (record.get("type") == "gemini" and "content" in record)
        or mapping(record.get("messages")).get("type") == "gemini"
        for record in head
    )


def parse(records: Iterator[tuple[int, Mapping[str, Any]]]) -> Session:
    """The session in the records of a log."""
    reading = _Reading()
    for index, record in records:
        reading.take(index, record)
    return reading.trace.session()


def find_logs(roots: Sequence[str], env: Mapping[str, str]) -> Iterator[str]:
    """Logs in the folders of the roots' projects and of those below them. Such a folder is
    named by the hash of the project's path, or by any name and has the path in a file.

    Chats of sub-agents lie in folders of their own and are not looked at.
    """
    home = folder(env, "GEMINI_CLI_HOME", "")
    tops = spellings(roots)
    hashes = {hashlib.sha256(os.fsencode(top)).hexdigest() for top in tops}
    for project in entries(os.path.join(home, ".gemini", "tmp")) if home else ():
        if os.path.basename(project) in hashes or _belongs(project, tops):
            for path in entries(os.path.join(project, "chats")):
                if path.endswith((".json", ".jsonl")):
                    yield path


def _belongs(project: str, tops: Sequence[str]) -> bool:
    try:
        with open(os.path.join(project, ".project_root"), encoding="utf-8") as stream:
            path = stream.read(4_096).strip()
    except (OSError, ValueError):
        return False
    return any(path == top or path.startswith(top.rstrip("/\\") + os.sep) for top in tops)


class _Reading:
    """One pass over a log."""

    def __init__(self) -> None:
        self.trace = Trace(NAME)
        self._said = Narration()
        self._starts: dict[str, int] = {}  # message -> number of actions before it
        self._calls: dict[str, list[int]] = {}  # call -> the actions it made
        self._subagent = False

    def take(self, index: int, record: Mapping[str, Any]) -> None:
        message = record.get("messages", record) if len(record) == 1 else record
        if "$set" in record:
            given = mapping(record["$set"])
            self._header(given)
            for inner in map(mapping, sequence(given.get("messages"))):
                self._message(index, inner)
        elif "type" in mapping(message):
            self._message(index, mapping(message))
        elif not _HEADER.isdisjoint(record):
            self._header(record)
        elif "$rewindTo" in record:
            self._take_back(self._starts.get(string(record["$rewindTo"])[:200], 0))
        else:
            self.trace.miss(next(iter(record), "record"))

    def _take_back(self, start: int) -> None:
        for number in range(start, len(self.trace.actions)):
            if self.trace.actions[number].kind == PROMPT:
                self.trace.update(number, kind=OTHER, text="")

    def _header(self, record: Mapping[str, Any]) -> None:
        self.trace.id = string(record.get("sessionId"))[:200] or self.trace.id
        self._subagent = self._subagent or record.get("kind") == "subagent"

    def _message(self, index: int, message: Mapping[str, Any]) -> None:
        kind = message.get("type")
        name = string(message.get("id"))[:200]
        seen = name in self._starts
        if name and not seen:
            self._starts[name] = len(self.trace.actions)
        if kind == "user" and not seen:
            self._user(index, message)
        elif kind == "gemini":
            self._agent(index, message)
        elif not (isinstance(kind, str) and kind in _IGNORED):
            self.trace.miss(kind)

    def _user(self, index: int, message: Mapping[str, Any]) -> None:
        content = message.get("displayContent") or message.get("content")
        parts = [text_of([part]) for part in (content if isinstance(content, list) else [content])]
        spoken = [part for part in parts if not _INJECTED.match(part.lstrip())]
        if not self._subagent:
            self.trace.prompt("\n".join(spoken), index, epoch(message.get("timestamp")))

    def _agent(self, index: int, message: Mapping[str, Any]) -> None:
        self._said.begin(string(message.get("id")))
        for thought in map(mapping, sequence(message.get("thoughts"))):
            parts = (string(thought.get("subject")), string(thought.get("description")))
            self._said.think(": ".join(filter(None, parts)))
        self._said.say(text_of(message.get("content")))
        for call in map(mapping, sequence(message.get("toolCalls"))):
            self._call(index, call, epoch(call.get("timestamp") or message.get("timestamp")))
            self._said.answer()

    def _call(self, index: int, call: Mapping[str, Any], time: int) -> None:
        key = string(call.get("id"))[:200]
        name = string(call.get("name"))
        given = mapping(call.get("args"))
        numbers = self._calls.get(key, []) if key else []
        if not numbers:
            shape = _TOOLS.get(name)
            if shape is None:
                self.trace.miss(f"tool {name}")
            for action in (shape or _other)(given):
                action = action._replace(
                    record=index,
                    tool=name[:80],
                    reason=self._said.reason,
                    time=time,
                    subagent=self._subagent,
                )
                numbers.append(self.trace.add(action))
            if key:
                self._calls[key] = numbers
        for number in numbers:
            self._finish(number, index, call)

    def _finish(self, number: int, index: int, call: Mapping[str, Any]) -> None:
        status = call.get("status")
        text = _response(call)
        if status not in ("success", "error", "cancelled") and not text:
            return  # cut off while it waited or ran
        action = self.trace.actions[number]
        failed = status in ("error", "cancelled")
        changes: dict[str, Any] = {"failed": failed}
        if action.kind == EXEC:
            changes = _ran(text, failed)
        elif action.kind == MUTATE and not failed:
            changes = _edited(action, mapping(call.get("resultDisplay")))
            self._learn_folder(action.path, text)
        self.trace.update(number, result=index, **changes)

    def _learn_folder(self, path: str, text: str) -> None:
        place = text[:5_000].partition("file: ")[2].partition(f"/{path}")
        if not self.trace.cwd and path and place[1] and os.path.isabs(place[0]):
            self.trace.cwd = place[0]


def _response(call: Mapping[str, Any]) -> str:
    """What a call answered the model, as text."""
    texts = []
    for part in map(mapping, sequence(call.get("result"))):
        response = mapping(mapping(part.get("functionResponse")).get("response"))
        texts += [text_of(response.get(key)) for key in ("output", "error")]
    return "\n".join(filter(None, texts))


def _ran(text: str, failed: bool) -> dict[str, Any]:
    """The outcome of a command, from the labelled lines around what it printed."""
    failed = failed or text.startswith(_CANCELLED)
    ran = not failed or _ENDED.search(text[-600:])
    code = _exit_code(text) if ran else None
    return {"failed": not ran, "exit_code": code, "output": keep_output(_printed(text), code)}


def _exit_code(text: str) -> int | None:
    if _TOO_LONG in text[:500]:
        return _TIMED_OUT
    below = text[-600:]
    if found := _ENDED.findall(below):
        return int(found[-1])
    signals = [name for name in _SIGNAL.findall(below) if name != "0"]
    if signals:
        return _KILLED + int(signals[-1]) if signals[-1].isdecimal() else _KILLED
    # Newer versions leave the status out when it is 0, older ones never did.
    return None if text.startswith("Command: ") or not _OUTPUT.search(text[:200]) else 0


def _printed(text: str) -> str:
    label = _OUTPUT.search(text[:20_000])
    shown = text[label.end() :] if label else text
    body, below = shown[:-600], shown[-600:]
    return (body + _BELOW.sub("", below)).rstrip("\n")


def _edited(action: Action, display: Mapping[str, Any]) -> dict[str, Any]:
    """What an edit did, from what was shown to the user, who may have changed it."""
    new = display.get("isNewFile") is True
    if new or (action.created and not display.get("originalContent")):
        content = string(display.get("newContent"))
        return {"hunks": written(content)} if content else {}
    hunks = unified(string(display.get("fileDiff")))
    return {"hunks": hunks, "created": False} if hunks else {}


def _read(given: Mapping[str, Any]) -> list[Action]:
    return [Action(READ, 0, path=path_of(given.get("file_path") or given.get("absolute_path")))]


def _read_many(given: Mapping[str, Any]) -> list[Action]:
    listed = sequence(given.get("include") or given.get("paths"))
    paths = [path for path in map(file_of, listed) if path and "*" not in path]
    return [Action(READ, 0, path=path) for path in paths] or [Action(READ, 0)]


def _searched(given: Mapping[str, Any]) -> list[Action]:
    return [Action(READ, 0, path=file_of(given.get("dir_path") or given.get("path")))]


def _replace(given: Mapping[str, Any]) -> list[Action]:
    before, after = string(given.get("old_string")), string(given.get("new_string"))
    path = path_of(given.get("file_path"))
    return [Action(MUTATE, 0, path=path, hunks=replaced(before, after), created=not before)]


def _write(given: Mapping[str, Any]) -> list[Action]:
    path, hunks = path_of(given.get("file_path")), written(string(given.get("content")))
    return [Action(MUTATE, 0, path=path, hunks=hunks, created=True)]


def _run(given: Mapping[str, Any]) -> list[Action]:
    command = command_of(given.get("command"))
    place = path_of(given.get("dir_path") or given.get("directory"))
    if place and not os.path.isabs(place):  # below a root that the log does not name
        return [Action(EXEC, 0, command=f"cd {place} && {command}")]
    return [Action(EXEC, 0, command=command, cwd=place)]


def _other(given: Mapping[str, Any]) -> list[Action]:
    return [Action(OTHER, 0)]


_TOOLS: dict[str, Callable[[Mapping[str, Any]], list[Action]]] = {
    "read_file": _read,
    "read_many_files": _read_many,
    "search_file_content": _searched,
    "grep_search": _searched,
    "glob": _searched,
    "list_directory": _searched,
    "replace": _replace,
    "write_file": _write,
    "run_shell_command": _run,
    **dict.fromkeys(
        names(
            "activate_skill ask_user codebase_investigator complete_task enter_plan_mode"
            " exit_plan_mode get_internal_docs google_web_search save_memory web_fetch write_todos"
        ),
        _other,
    ),
}
