"""Session logs of Codex: ``$CODEX_HOME/sessions/YYYY/MM/DD/rollout-*.jsonl[.zst]``.

This follows rollouts of versions 0.50 to 0.146. A record is ``{"timestamp", "type",
"payload"}``; before that the payloads of ``response_item`` stood alone. What the user and the
agent say is told twice, as an event and as an item of the conversation. Versions up to 0.126
also tell by an event how each command ended; later ones only in the text of its output. A
command that goes on in the background has a session's number, and the output of a later
``write_stdin`` has its exit code. A patch may change several files: each is an action.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from git_tmem.actions import EXEC, MUTATE, Action, Session
from git_tmem.adapters.base import (
    Narration,
    Trace,
    command_of,
    epoch,
    keep_output,
    mapping,
    names,
    path_of,
    string,
    text_of,
    whole_number,
)
from git_tmem.adapters.codex_tools import TOOLS, arguments, opaque
from git_tmem.adapters.places import entries, folder

NAME = "codex"
VERSIONS: tuple[str, ...] = ("0.99", "0.121", "0.126", "0.140", "0.142", "0.146")

#: Types of record, of item and of event that hold nothing for us.
_IGNORED = frozenset(
    names("inter_agent_communication inter_agent_communication_metadata state world_state")
)
_IGNORED_ITEMS = frozenset(
    names(
        "agent_message compaction context_compaction ghost_snapshot image_generation_call other"
        " tool_search_call tool_search_output web_search_call"
    )
)
_IGNORED_EVENTS = frozenset(
    names(
        "background_event context_compacted dynamic_tool_call_request dynamic_tool_call_response"
        " entered_review_mode error exited_review_mode guardian_assessment image_generation_end"
        " item_completed mcp_tool_call_end session_configured stream_error sub_agent_activity"
        " task_complete task_started thread_goal_updated thread_name_updated thread_rolled_back"
        " thread_settings_applied token_count turn_aborted turn_complete turn_diff turn_started"
        " turn.completed turn.started undo_completed view_image_tool_call warning web_search_end"
        " codex/event/raw_item"
    )
)
_ENVELOPES = frozenset(("session_meta", "turn_context", "response_item", "event_msg", "compacted"))
_ITEMS = frozenset(
    names(
        "custom_tool_call custom_tool_call_output function_call function_call_output"
        " local_shell_call reasoning"
    )
)

#: How texts begin that stand in the place of a user's words and that no user wrote.
_INJECTED = re.compile(
    r"\s*(?:# AGENTS\.md instructions"
    r"|<(?:[A-Za-z]{1,40}(?:_[A-Za-z]{1,40}){1,6}|app-context|INSTRUCTIONS|permissions instructions"
    r"|skill)>)"
)
#: What an editor's plug-in puts before the user's words.
_REQUEST = re.compile(r"\n## My request for Codex:\s*")
_FOLDER = re.compile(r"<environment_context>\s{0,9}<cwd>([^<\n]{1,4096})</cwd>")

_EXITED = re.compile(r"^(?:Process exited with code|Exit code:) (-?\d{1,9})$", re.MULTILINE)
_RUNNING = re.compile(r"^Process running with session ID (\S{1,40})$", re.MULTILINE)
#: Lines before the output of a command, each at most once.
_HEAD = re.compile(
    r"(?:(?:Chunk ID|Wall time|Exit code|Original token count|Total output lines): .{0,80}\n"
    r"|Process (?:exited|running) with .{0,80}\n){1,8}(?:Output:\n?)?"
)
#: How the output of a call begins that did nothing.
_REFUSED = re.compile(
    r"apply_patch verification failed|failed to parse|unsupported call|exec_command failed"
    r"|rejected|patch rejected|exec command rejected|execution error|write_stdin failed",
    re.IGNORECASE,
)


def detect(head: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a record has the envelope, or is what stood in it before there was one."""
    return any(
        (record.get("type") in _ENVELOPES and isinstance(record.get("payload"), dict))
        or ("instructions" in record and "timestamp" in record and "id" in record)
        or (record.get("type") in ("function_call", "local_shell_call") and "call_id" in record)
        for record in head
        if isinstance(record.get("type", ""), str)
    )


def parse(records: Iterator[tuple[int, Mapping[str, Any]]]) -> Session:
    """The session in the records of a log."""
    reading = _Reading()
    for index, record in records:
        reading.take(index, record)
    reading.settle_prompt()
    return reading.trace.session()


def find_logs(roots: Sequence[str], env: Mapping[str, str]) -> Iterator[str]:
    """Every rollout, archived ones too. Folder names do not tell where a session worked; the
    first record does, so ``roots`` narrows nothing here."""
    home = folder(env, "CODEX_HOME", ".codex")
    if not home:
        return
    days = [
        day
        for year in entries(os.path.join(home, "sessions"))
        for month in entries(year)
        for day in entries(month)
    ]
    for place in (*days, os.path.join(home, "archived_sessions")):
        found = set(entries(place))
        for path in sorted(found):
            name = os.path.basename(path)
            packed = name.endswith(".jsonl.zst") and path[: -len(".zst")] not in found
            if name.startswith("rollout-") and (packed or name.endswith(".jsonl")):
                yield path


class _Told(NamedTuple):
    """What the output of a call tells; ``session`` is that of a command which still runs."""

    text: str
    code: int | None = None
    session: str = ""
    refused: bool = False


class _Reading:
    """One pass over a log."""

    def __init__(self) -> None:
        self.trace = Trace(NAME)
        self._said = Narration()
        self._subagent = False
        self._cwd = ""  # of the turn
        self._stamp: object = None  # the time of the record, or of the last that had one
        self._told = False  # whether events tell what the user says
        self._asked: tuple[str, int, int] | None = None  # a prompt that an event may repeat
        self._calls: dict[str, list[int]] = {}  # call -> its actions
        self._running: dict[str, int] = {}  # session of a command -> its action
        self._polls: dict[str, str] = {}  # call that asks for a session's output -> session

    def take(self, index: int, record: Mapping[str, Any]) -> None:
        kind = string(record.get("type"))
        payload = mapping(record.get("payload"))
        self._stamp = record.get("timestamp", self._stamp)
        if kind == "response_item":
            self._item(index, payload)
        elif kind == "event_msg":
            self._event(index, payload)
        elif kind in ("session_meta", "turn_context"):
            self._cwd = path_of(payload.get("cwd")) or self._cwd
            self._set_scene(payload)
        elif kind == "compacted":
            self.trace.compactions += 1
        elif kind == "message" or kind in _ITEMS | _IGNORED_ITEMS:
            self._item(index, record)
        elif "instructions" in record and "id" in record:
            self._set_scene(record)
        elif not (kind in _IGNORED or record.get("record_type") == "state"):
            self.trace.miss(record.get("type"))

    def _set_scene(self, given: Mapping[str, Any]) -> None:
        """The first header tells who the session is; ones that follow are of its forerunners."""
        trace = self.trace
        trace.cwd = trace.cwd or path_of(given.get("cwd"))
        trace.branch = trace.branch or string(mapping(given.get("git")).get("branch"))[:200]
        if "id" in given and not trace.id:
            trace.id = string(given.get("id"))[:200]
            trace.version = string(given.get("cli_version"))[:80]
            self._subagent = isinstance(given.get("source"), dict)

    def _item(self, index: int, item: Mapping[str, Any]) -> None:
        kind = string(item.get("type"))
        if kind == "message":
            self._message(index, item)
        elif kind == "reasoning":
            self._think(text_of(item.get("summary")))
        elif kind in ("function_call", "custom_tool_call"):
            given = item.get("arguments") if kind == "function_call" else item.get("input")
            self._call(index, string(item.get("name")), given, string(item.get("call_id")))
        elif kind == "local_shell_call":
            call = string(item.get("call_id")) or string(item.get("id"))
            self._call(index, "local_shell", item.get("action"), call)
        elif kind in ("function_call_output", "custom_tool_call_output"):
            self._output(index, string(item.get("call_id")), item.get("output"))
        elif kind not in _IGNORED_ITEMS:
            self.trace.miss(f"item {kind}")

    def _message(self, index: int, item: Mapping[str, Any]) -> None:
        role = item.get("role")
        if role == "assistant":
            self._speak(item.get("content"))
        elif role == "user" and not self._told:
            self.settle_prompt()
            content = item.get("content")
            parts = content if isinstance(content, list) else [content]
            self._set_scene({"cwd": _named_folder(text_of(content))})
            spoken = [said for part in parts if (said := _spoken(text_of([part])))]
            self._asked = ("\n".join(spoken), index, epoch(self._stamp)) if spoken else None

    def _event(self, index: int, event: Mapping[str, Any]) -> None:
        kind = string(event.get("type"))
        if kind == "user_message":
            self._told, self._asked = True, None
            text = _REQUEST.split(string(event.get("message")), maxsplit=1)[-1]
            self._prompt(text, index, epoch(self._stamp))
        elif kind == "agent_message":
            self._speak(event.get("message"))
        elif kind in ("agent_reasoning", "agent_reasoning_raw_content"):
            self._think(event.get("text"))
        elif kind == "exec_command_end":
            self._ended(index, event)
        elif kind == "patch_apply_end":
            if event.get("success") is False:
                self._refuse(index, string(event.get("call_id")))
        elif not (kind in _IGNORED_EVENTS or kind.startswith("collab_")):
            self.trace.miss(f"event {kind}")

    def _speak(self, text: object) -> None:
        self.settle_prompt()
        self._said.begin()
        self._said.say(text_of(text))

    def _think(self, text: object) -> None:
        self.settle_prompt()
        self._said.begin()
        self._said.think(string(text).replace("**", ""))

    def settle_prompt(self) -> None:
        """What the user said as an item counts once it is clear that no event repeats it."""
        if self._asked is not None:
            text, index, time = self._asked
            self._asked = None
            self._prompt(text, index, time)

    def _prompt(self, text: str, index: int, time: int) -> None:
        self._said.answer()
        self.trace.prompt(text, index, time, self._subagent)

    def _call(self, index: int, name: str, value: object, call: str) -> None:
        self.settle_prompt()
        self._said.begin()
        shape = TOOLS.get(name)
        if shape is None:
            self.trace.miss(f"tool {name}")
        given = arguments(value)
        numbers = []
        for action in (shape or opaque)(given):
            action = action._replace(
                record=index,
                tool=name[:80],
                reason=self._said.reason,
                cwd=_folder(self._folder(given), action.cwd),
                time=epoch(self._stamp),
                subagent=self._subagent,
            )
            numbers.append(self.trace.add(action, call))
        self._calls[call] = numbers
        if name == "write_stdin":
            self._polls[call] = str(given.get("session_id"))[:40]

    def _folder(self, given: Mapping[str, Any]) -> str:
        place = path_of(given.get("workdir")) or path_of(given.get("working_directory"))
        return _folder(self._cwd or self.trace.cwd, place)

    def _output(self, index: int, call: str, output: object) -> None:
        self._said.answer()
        told = _told(output)
        poll = self._polls.pop(call, "")
        if poll and not told.refused:
            self._polled(index, poll, told)
        while (number := self.trace.answered(call)) is not None:
            action = self.trace.actions[number]
            failed = action.failed or told.refused
            changes: dict[str, Any] = {"failed": failed}
            if action.kind == EXEC:
                code = action.exit_code if told.code is None else told.code
                changes = {"failed": failed and code is None, "exit_code": code}
                changes["output"] = keep_output(told.text, code)
                if told.session and code is None:
                    self._running[told.session] = number
            elif action.kind == MUTATE:
                changes["failed"] = failed or told.code not in (0, None)
            self.trace.update(number, result=index, **changes)
        if not told.session:
            self._calls.pop(call, None)

    def _polled(self, index: int, session: str, told: _Told) -> None:
        """More output of a command that runs in the background, and perhaps its end."""
        number = self._running.get(session)
        if number is None:
            return
        action = self.trace.actions[number]
        code = action.exit_code if told.code is None else told.code
        text = keep_output(f"{action.output}{told.text}", code)
        self.trace.update(number, result=index, exit_code=code, output=text)
        if code is not None:
            del self._running[session]

    def _ended(self, index: int, event: Mapping[str, Any]) -> None:
        """How a command ended, told before its output or, in the background, long after."""
        code = whole_number(event.get("exit_code"))
        output = string(event.get("aggregated_output")) or string(event.get("stdout"))
        numbers = self._calls.get(string(event.get("call_id")), [])
        if not numbers and event.get("source") == "user_shell":
            command = command_of(event.get("command"))
            cwd = path_of(event.get("cwd")) or self.trace.cwd
            action = Action(
                EXEC, index, "user_shell", command=command, cwd=cwd, time=epoch(self._stamp)
            )
            numbers = [self.trace.add(action._replace(subagent=self._subagent))]
        for number in numbers:
            if self.trace.actions[number].kind == EXEC:
                kept = keep_output(output or self.trace.actions[number].output, code)
                self.trace.update(number, result=index, failed=False, exit_code=code, output=kept)

    def _refuse(self, index: int, call: str) -> None:
        for number in self._calls.get(call, []):
            if self.trace.actions[number].kind == MUTATE:
                self.trace.update(number, result=index, failed=True)


def _spoken(text: str) -> str:
    """What the user said in a text of the conversation: all, what follows a plug-in's
    preface, or nothing."""
    return "" if _INJECTED.match(text) else _REQUEST.split(text, maxsplit=1)[-1]


def _named_folder(text: str) -> str:
    """The folder that an injected text names: old logs tell it nowhere else."""
    found = _FOLDER.search(text[:4_000])
    return found.group(1) if found else ""


def _folder(cwd: str, place: str) -> str:
    return os.path.join(cwd, place) if place else cwd


def _told(output: object) -> _Told:
    """What a call's output tells: it is a text with a head, or JSON, or a list of blocks."""
    text = text_of([output]) if isinstance(output, dict) else text_of(output)
    if text.startswith("{") and '"exit_code"' in text[-400:]:
        told = arguments(text)
        metadata = mapping(told.get("metadata"))
        return _Told(string(told.get("output")), whole_number(metadata.get("exit_code")))
    head = _HEAD.match(text[:800])
    if not head:
        return _Told(text, refused=bool(_REFUSED.match(text)))
    code, session = _EXITED.search(head.group()), _RUNNING.search(head.group())
    return _Told(
        text[head.end() :],
        int(code.group(1)) if code else None,
        session.group(1) if session else "",
    )
