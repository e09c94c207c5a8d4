"""Session logs of GitHub Copilot CLI: ``$COPILOT_HOME/session-state/<session>/events.jsonl``.

Each line is an event ``{"type", "data", "id", "timestamp", "parentId"}``. This follows logs of
versions 1.0.45 to 1.0.64. A tool's call and its outcome are two events, paired by
``toolCallId``; the requests inside the agent's messages and the inputs of hooks repeat the
calls and are left out. A command that exits non-zero is a success of its tool: the status
stands on the last line of what it printed.
"""

from __future__ import annotations

import json
import os
import re
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
    string,
    whole_number,
)
from git_tmem.adapters.patches import parse_patch, replaced, unified, written
from git_tmem.adapters.places import entries, folder

NAME = "copilot"
VERSIONS: tuple[str, ...] = ("1.0",)

#: Families of events that hold nothing for us, apart from those handled below.
_IGNORED = frozenset(
    names(
        "abort assistant command elicitation external_tool hook pending_messages permission"
        " sampling session skill subagent system tool user_input"
    )
)
_EXIT = re.compile(
    r"<(?:shellId: (\S{1,80}) )?(?:completed|exited) with exit code (-?\d{1,9})>\s*$"
)
_RUNNING = re.compile(r"<command .{0,40}shellId: ([^\s>]{1,80})")
_ANSWER = re.compile(r"User (?:responded|selected): ")
_POLLS = frozenset(("read_bash", "write_bash", "read_powershell", "write_powershell"))
_STOPS = frozenset(("stop_bash", "stop_powershell"))
_REFUSED = frozenset(("failure", "rejected", "denied"))


def detect(head: Sequence[Mapping[str, Any]]) -> bool:
    """Whether there is an event in the links of a chain, of a family with a dot."""
    return any(
        "parentId" in record
        and isinstance(record.get("data"), dict)
        and "." in string(record.get("type"))
        for record in head
    )


def parse(records: Iterator[tuple[int, Mapping[str, Any]]]) -> Session:
    """The session in the records of a log."""
    reading = _Reading()
    for index, record in records:
        reading.take(index, record)
    return reading.trace.session()


def find_logs(roots: Sequence[str], env: Mapping[str, str]) -> Iterator[str]:
    """Every session's log: a log names the folder it worked in, its place does not."""
    home = folder(env, "COPILOT_HOME", ".copilot")
    for place in entries(os.path.join(home, "session-state")) if home else ():
        path = place if place.endswith(".jsonl") else os.path.join(place, "events.jsonl")
        if os.path.isfile(path):
            yield path


class _Reading:
    """One pass over a log."""

    def __init__(self) -> None:
        self.trace = Trace(NAME)
        self._lanes: dict[str, Narration] = {}
        self._shells: dict[str, int] = {}  # shell that still runs -> the action that started it
        self._takers: dict[str, Callable[[int, Mapping[str, Any], Mapping[str, Any]], None]] = {
            "session.start": self._start,
            "session.resume": self._start,
            "session.context_changed": self._start,
            "session.compaction_complete": self._compacted,
            "user.message": self._user,
            "assistant.message": self._assistant,
            "assistant.reasoning": self._reasoning,
            "tool.execution_start": self._call,
            "tool.execution_complete": self._result,
            "system.notification": self._notice,
        }

    def take(self, index: int, record: Mapping[str, Any]) -> None:
        kind = string(record.get("type"))
        taker = self._takers.get(kind)
        if taker:
            taker(index, record, mapping(record.get("data")))
        elif kind.partition(".")[0] not in _IGNORED:
            self.trace.miss(record.get("type"))

    def _start(self, index: int, record: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        trace = self.trace
        scene = mapping(data.get("context")) or data
        trace.id = trace.id or string(data.get("sessionId"))[:200]
        trace.cwd = trace.cwd or path_of(scene.get("cwd")) or path_of(scene.get("gitRoot"))
        trace.branch = string(scene.get("branch"))[:200] or trace.branch
        trace.version = string(data.get("copilotVersion"))[:80] or trace.version

    def _compacted(self, index: int, record: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        self.trace.compactions += data.get("success") is not False

    def _user(self, index: int, record: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        injected = data.get("source") not in (None, "", "user")
        if not injected and not _agent(record, data):
            self.trace.prompt(string(data.get("content")), index, epoch(record.get("timestamp")))

    def _lane(self, record: Mapping[str, Any], data: Mapping[str, Any]) -> Narration:
        return self._lanes.setdefault(_agent(record, data), Narration())

    def _assistant(self, index: int, record: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        lane = self._lane(record, data)
        lane.begin(string(data.get("messageId")))
        lane.think(data.get("reasoningText"))
        lane.say(data.get("content"))

    def _reasoning(self, index: int, record: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        self._lane(record, data).think(data.get("content"))

    def _call(self, index: int, record: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        name = string(data.get("toolName"))
        shape = _TOOLS.get(name)
        if shape is None:
            self.trace.miss(f"tool {name}")
        given = _arguments(data.get("arguments"))
        if name in _STOPS:  # what ends now does not end by itself
            self._shells.pop(string(given.get("shellId")), None)
        for action in (shape or _other)(given):
            action = action._replace(
                record=index,
                tool=name[:80],
                reason=self._lane(record, data).reason,
                time=epoch(record.get("timestamp")),
                subagent=bool(_agent(record, data)),
            )
            self.trace.add(action, string(data.get("toolCallId")))

    def _result(self, index: int, record: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        self._lane(record, data).answer()
        result = mapping(data.get("result"))
        text = string(result.get("content")) or string(result.get("text_result_for_llm"))
        failed = data.get("success") is False or string(result.get("result_type")) in _REFUSED
        call = string(data.get("toolCallId"))
        while (number := self.trace.answered(call)) is not None:
            action = self.trace.actions[number]
            changes: dict[str, Any] = {"failed": failed}
            if action.kind == EXEC and not failed:
                changes = self._ran(number, text, data)
            elif action.kind == MUTATE and not failed:
                changes = _edited(action, string(result.get("detailedContent")))
            self.trace.update(number, result=index, **changes)
            self._polled(index, action, text)

    def _ran(self, number: int, text: str, data: Mapping[str, Any]) -> dict[str, Any]:
        ended = _EXIT.search(text[-200:])
        metrics = mapping(mapping(data.get("toolTelemetry")).get("metrics"))
        code = int(ended.group(2)) if ended else whole_number(metrics.get("exit_code"))
        running = _RUNNING.search(text[-1_000:])
        if code is None and running:
            self._shells[running.group(1)] = number
        return {"exit_code": code, "output": keep_output(_printed(text), code)}

    def _polled(self, index: int, action: Action, text: str) -> None:
        """Reading what a shell printed may tell how its command ended; the user's answer to
        a question stands nowhere else in the log."""
        if action.tool in _POLLS and (ended := _EXIT.search(text[-200:])):
            self._ended(ended.group(1) or "", index, int(ended.group(2)), _printed(text))
        if action.tool == "ask_user" and not action.subagent and _ANSWER.match(text):
            self.trace.prompt(text.partition(": ")[2], index, action.time)

    def _notice(self, index: int, record: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        told = mapping(data.get("kind"))
        code = whole_number(told.get("exitCode"))
        if code is not None:
            self._ended(string(told.get("shellId")), index, code, "")

    def _ended(self, shell: str, index: int, code: int, output: str) -> None:
        number = self._shells.pop(shell, None)
        if number is not None:
            kept = keep_output(output or self.trace.actions[number].output, code)
            self.trace.update(number, result=index, exit_code=code, output=kept)


def _agent(record: Mapping[str, Any], data: Mapping[str, Any]) -> str:
    """The sub-agent that an event belongs to, '' for the root."""
    return string(record.get("agentId")) or string(data.get("parentToolCallId"))


def _arguments(value: object) -> Mapping[str, Any]:
    """Arguments as an object; a model may also have given text, or the object as text."""
    if isinstance(value, str):
        try:
            return mapping(json.loads(value)) or {"input": value}
        except (ValueError, RecursionError):
            return {"input": value}
    return mapping(value)


def _printed(text: str) -> str:
    """What a command printed, without the line that tells how it ended."""
    start, mark, _ = text.rpartition("<")
    return start.rstrip("\n") if mark and _EXIT.search(text[-200:]) else text


def _edited(action: Action, diff: str) -> dict[str, Any]:
    """What an edit did, from its result's diff when that is of one file."""
    hunks = () if action.created or diff.count("\ndiff --git ") > 1 else unified(diff)
    return {"hunks": hunks} if hunks else {}


def _view(given: Mapping[str, Any]) -> list[Action]:
    return [Action(READ, 0, path=path_of(given.get("path")))]


def _searched(given: Mapping[str, Any]) -> list[Action]:
    return [Action(READ, 0, path=file_of(given.get("path")))]


def _edit(given: Mapping[str, Any]) -> list[Action]:
    hunks = replaced(string(given.get("old_str")), string(given.get("new_str")))
    return [Action(MUTATE, 0, path=path_of(given.get("path")), hunks=hunks)]


def _create(given: Mapping[str, Any]) -> list[Action]:
    hunks = written(string(given.get("file_text")))
    return [Action(MUTATE, 0, path=path_of(given.get("path")), hunks=hunks, created=True)]


def _str_replace_editor(given: Mapping[str, Any]) -> list[Action]:
    shapes = {"view": _view, "create": _create}
    return shapes.get(string(given.get("command")), _edit)(given)


def _apply_patch(given: Mapping[str, Any]) -> list[Action]:
    return [
        Action(MUTATE, 0, path=path_of(edit.path), hunks=edit.hunks, created=edit.created)
        for edit in parse_patch(string(given.get("input")) or string(given.get("patch")))
    ] or _other(given)


def _run(given: Mapping[str, Any]) -> list[Action]:
    return [Action(EXEC, 0, command=command_of(given.get("command")))]


def _other(given: Mapping[str, Any]) -> list[Action]:
    return [Action(OTHER, 0)]


_TOOLS: dict[str, Callable[[Mapping[str, Any]], list[Action]]] = {
    "view": _view,
    "grep": _searched,
    "rg": _searched,
    "glob": _searched,
    "edit": _edit,
    "create": _create,
    "str_replace_editor": _str_replace_editor,
    "apply_patch": _apply_patch,
    "bash": _run,
    "powershell": _run,
    **dict.fromkeys((*_POLLS, *_STOPS), _other),
    **dict.fromkeys(
        names(
            "ask_user exit_plan_mode fetch_copilot_cli_documentation list_bash list_powershell"
            " read_agent report_intent show_file skill sql store_memory task update_todo web_fetch"
            " web_search"
        ),
        _other,
    ),
}
