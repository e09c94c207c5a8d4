"""Conversations of OpenHands: folders of events, or events exported as one list.

This follows logs of versions 0.35 to 0.58 and of the agent SDK 1.x. The former, V0, has events
``{"id", "source", "action" | "observation", "args" | "extras", "content", "cause"}`` in which an
observation names the id of its action as its cause; they are also the ``history`` of an
evaluation's result. The latter, V1, tells events apart by their ``kind`` and pairs them by the id
of the tool call. The folders of events are read through :mod:`openhands_store`, which puts a
record before them that names the conversation and its working directory.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from git_tmem.actions import EXEC, MUTATE, OTHER, READ, Action, Session
from git_tmem.adapters.base import (
    Narration,
    Trace,
    clip_name,
    command_of,
    epoch,
    file_of,
    keep_output,
    mapping,
    names,
    path_of,
    string,
    text_of,
    whole_number,
)
from git_tmem.adapters.patches import clip_hunks, parse_patch, replaced, unified, written
from git_tmem.adapters.places import entries, folder
from git_tmem.changes import hunk_of
from git_tmem.errors import InputError

NAME = "openhands"
VERSIONS: tuple[str, ...] = ("0.46", "0.58")

_SOURCES = frozenset(names("user agent environment hook"))
#: Events of V0 that hold nothing for us, apart from those handled below.
_IGNORED = frozenset(
    names(
        "agent_state_changed change_agent_state recall condensation_request null pause resume"
        " start stop loop_recovery delegate_observation user_rejected success"
    )
)
#: Events of V1 that hold nothing for us.
_IGNORED_KINDS = frozenset(
    names(
        "SystemPromptEvent PauseEvent InterruptEvent CondensationRequest CondensationSummaryEvent"
        " ConversationErrorEvent ServerErrorEvent TokenEvent LLMCompletionLogEvent"
        " StreamingDeltaEvent HookExecutionEvent ACPToolCallEvent"
    )
)
#: What an evaluation's result has beside the history.
_RESULT = frozenset(names("instance_id test_result metrics metadata instruction error instance"))


def detect(head: Sequence[Mapping[str, Any]]) -> bool:
    """Whether there is an event of either version."""
    return any(
        _is_old(event) or _is_new(event) or set(event) == {"conversation"}
        for record in head
        for event in _events(record)
    )


def _events(record: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The events in a record: itself, or one or two in the history of a result."""
    held = record.get("history")
    return (
        [mapping(event) for event in held] if isinstance(held, list) else [mapping(held) or record]
    )


def _is_old(event: Mapping[str, Any]) -> bool:
    named = isinstance(event.get("action"), str) or isinstance(event.get("observation"), str)
    held = isinstance(event.get("args"), dict) or isinstance(event.get("extras"), dict)
    return named and held and string(event.get("source")) in _SOURCES


def _is_new(event: Mapping[str, Any]) -> bool:
    kind = string(event.get("kind"))
    return string(event.get("source")) in _SOURCES and (
        kind.endswith("Event") or kind in ("Condensation", "UserRejectObservation")
    )


def parse(records: Iterator[tuple[int, Mapping[str, Any]]]) -> Session:
    """The session in the records of a conversation. Raises InputError for an evaluation's
    results of several tasks, which are as many sessions."""
    reading = _Reading()
    results = 0
    for index, record in records:
        results += isinstance(record.get("history"), list) and "instance_id" in record
        if results > 1:
            raise InputError(
                "this file holds the results of several tasks, each a session of its own",
                "give them one by one: sed -n 1p output.jsonl | git tmem capture --session -",
            )
        for event in _events(record):
            reading.take(index, event)
    return reading.trace.session()


def find_logs(roots: Sequence[str], env: Mapping[str, str]) -> Iterator[str]:
    """The folder of every conversation: the events tell where it worked."""
    home = folder(env, "OPENHANDS_PERSISTENCE_DIR", ".openhands")
    moved = env.get("OPENHANDS_CONVERSATIONS_DIR")
    places = [moved] if moved else []
    if home:
        places += [os.path.join(home, "conversations"), os.path.join(home, "sessions")]
        places += [os.path.join(user, "conversations") for user in entries(f"{home}/users")]
    for place in places:
        yield from (path for path in entries(place) if os.path.isdir(os.path.join(path, "events")))


class _Reading:
    """One pass over a conversation."""

    def __init__(self) -> None:
        self.trace = Trace(NAME)
        self._said = Narration()
        self._cwd = ""  # of the shell, as the last command left it

    def take(self, index: int, event: Mapping[str, Any]) -> None:
        if isinstance(event.get("kind"), str):
            self._new_event(index, event)
        elif isinstance(event.get("action"), str):
            self._old_action(index, event)
        elif isinstance(event.get("observation"), str):
            self._old_observation(index, event)
        elif "conversation" in event:
            told = mapping(event["conversation"])
            self.trace.id = string(told.get("id"))[:200]
            self._worked_in(told.get("working_dir"))
        elif not _RESULT.intersection(event):
            self.trace.miss(event.get("type") or next(iter(event), "empty record"))

    def _worked_in(self, place: object) -> None:
        self._cwd = path_of(place) or self._cwd
        self.trace.cwd = self.trace.cwd or self._cwd

    def _root(self) -> str:
        """The folder that paths of edits are relative to: that of the sandbox, if it is one."""
        return "/workspace" if f"{self._cwd}/".startswith("/workspace/") else self.trace.cwd

    def _prompt(self, index: int, event: Mapping[str, Any], text: str) -> None:
        self._said.answer()
        self.trace.prompt(text, index, epoch(event.get("timestamp")))

    def _say(self, text: object) -> None:
        self._said.begin()
        self._said.say(text)

    def _add(self, index: int, event: Mapping[str, Any], tool: str, actions: list[Action]) -> None:
        call = string(event.get("tool_call_id")) or str(event.get("id"))
        for action in actions:
            self.trace.add(
                action._replace(
                    record=index,
                    tool=tool[:80],
                    reason=self._said.reason,
                    cwd=self._cwd if action.kind == EXEC else self._root(),
                    time=epoch(event.get("timestamp")),
                ),
                call,
            )

    def _settle(self, index: int, call: str, failed: bool, outcome: Mapping[str, Any]) -> None:
        """What came of a call: ``outcome`` has text, exit_code and what is told of an edit."""
        self._said.answer()
        while (number := self.trace.answered(call)) is not None:
            action = self.trace.actions[number]
            changes: dict[str, Any] = {"result": index, "failed": failed}
            if action.kind == EXEC:
                code = None if failed else whole_number(outcome.get("exit_code"))
                code = None if code == -1 else code  # it still runs, or was cut off
                changes.update(exit_code=code, output=keep_output(outcome["text"], code))
            elif action.kind == MUTATE and not failed:
                changes.update(_edited(action, outcome))
            self.trace.update(number, **changes)

    def _old_action(self, index: int, event: Mapping[str, Any]) -> None:
        name, given = event["action"], mapping(event.get("args"))
        if name == "message":
            told = string(given.get("content"))
            user = event.get("source") == "user"
            self._prompt(index, event, told) if user else self._say(told)
        elif name == "system":
            self.trace.version = string(given.get("openhands_version"))[:80]
        elif name == "condensation":
            self.trace.compactions += 1
        elif name in ("finish", "reject"):
            self._say(given.get("final_thought") or given.get("thought"))
        elif name not in _IGNORED and not given.get("hidden"):
            shape = _OLD_TOOLS.get(name)
            if shape is None:
                self.trace.miss(f"tool {clip_name(name)}")
            self._said.begin()
            self._said.say(given.get("thought"))
            self._add(index, event, name, (shape or _other)(given))

    def _old_observation(self, index: int, event: Mapping[str, Any]) -> None:
        name, extras = event["observation"], mapping(event.get("extras"))
        text = string(event.get("content"))
        ran = mapping(extras.get("metadata")) or mapping(extras)
        self._worked_in(ran.get("working_dir"))
        if event.get("cause") is None or (name in _IGNORED and name != "user_rejected"):
            return
        failed = name in ("error", "user_rejected") or (name == "edit" and text[:6] == "ERROR:")
        outcome = {**extras, "text": text, "exit_code": ran.get("exit_code")}
        outcome["diff"] = extras.get("diff") or text
        self._settle(index, str(event["cause"]), failed, outcome)

    def _new_event(self, index: int, event: Mapping[str, Any]) -> None:
        kind = event["kind"]
        if kind == "MessageEvent":
            text = text_of(mapping(event.get("llm_message")).get("content"))
            user = event.get("source") == "user"
            self._prompt(index, event, text) if user else self._say(text)
        elif kind == "ActionEvent":
            self._new_action(index, event)
        elif kind in ("ObservationEvent", "UserRejectObservation", "AgentErrorEvent"):
            self._new_observation(index, event)
        elif kind == "Condensation":
            self.trace.compactions += 1
        elif kind == "ConversationStateUpdateEvent":
            value = mapping(event.get("value"))
            self._worked_in(mapping(value.get("workspace")).get("working_dir"))
        elif kind not in _IGNORED_KINDS:
            self.trace.miss(kind)

    def _new_action(self, index: int, event: Mapping[str, Any]) -> None:
        given = mapping(event.get("action"))
        kind = string(given.get("kind")) or string(event.get("tool_name"))
        self._said.begin(string(event.get("llm_response_id")))
        self._said.think(event.get("reasoning_content") or event.get("summary"))
        self._said.say(_unwrapped(text_of(event.get("thought"))))
        if kind in ("FinishAction", "finish"):
            self._say(given.get("message"))
            return
        shape = _NEW_TOOLS.get(kind)
        if shape is None and not kind.startswith("Browser"):
            self.trace.miss(f"tool {clip_name(kind)}")
        tool = string(event.get("tool_name")) or kind
        self._add(index, event, tool, (shape or _other)(given))

    def _new_observation(self, index: int, event: Mapping[str, Any]) -> None:
        told = mapping(event.get("observation"))
        shown = told.get("content") if "content" in told else told.get("output")
        ran = mapping(told.get("metadata"))
        self._worked_in(ran.get("working_dir"))
        code = whole_number(told.get("exit_code"))
        refused = event["kind"] != "ObservationEvent"
        failed = (
            refused or (told.get("is_error") is True and code is None) or bool(told.get("error"))
        )
        outcome = {**told, "text": text_of(shown), "exit_code": code}
        call = string(event.get("tool_call_id")) or str(event.get("action_id"))
        self._settle(index, call, failed, outcome)


def _unwrapped(text: str) -> str:
    """What an agent said, without the thinking that some models put before it in tags."""
    return text.rpartition("</think>")[2].strip() if "<think>" in text[:20] else text


def _edited(action: Action, outcome: Mapping[str, Any]) -> dict[str, Any]:
    """What an edit did, told by its diff or by the file before and after."""
    old, new = outcome.get("old_content"), outcome.get("new_content")
    if action.created:
        # Only whether there was a file before is told better than by the call.
        return {"hunks": written(new)} if isinstance(new, str) and not action.hunks else {}
    if outcome.get("prev_exist") is False and not action.hunks and isinstance(new, str):
        return {"hunks": written(new), "created": True}
    hunks = () if action.hunks else unified(string(outcome.get("diff")))
    if not action.hunks and not hunks and isinstance(old, str) and isinstance(new, str):
        hunks = clip_hunks([hunk_of(old, new)])
    return {"hunks": hunks} if hunks else {}


def _other(given: Mapping[str, Any]) -> list[Action]:
    return [Action(OTHER, 0)]


def _run(given: Mapping[str, Any]) -> list[Action]:
    if given.get("is_input") is True:  # keys for a program that runs
        return [Action(OTHER, 0)]
    return [Action(EXEC, 0, command=command_of(given.get("command")))]


def _read(given: Mapping[str, Any]) -> list[Action]:
    return [Action(READ, 0, path=path_of(given.get("path") or given.get("file_path")))]


def _searched(given: Mapping[str, Any]) -> list[Action]:
    return [Action(READ, 0, path=file_of(given.get("path") or given.get("dir_path")))]


def _write(given: Mapping[str, Any]) -> list[Action]:
    path = path_of(given.get("path") or given.get("file_path"))
    hunks = written(string(given.get("content")))
    return [Action(MUTATE, 0, path=path, hunks=hunks, created=True)]


def _replace(given: Mapping[str, Any]) -> list[Action]:
    path = path_of(given.get("path") or given.get("file_path"))
    hunks = replaced(string(given.get("old_string")), string(given.get("new_string")))
    return [Action(MUTATE, 0, path=path, hunks=hunks)]


def _edit(given: Mapping[str, Any]) -> list[Action]:
    """The editor of files, by its command; without one a model wrote lines of the file anew."""
    command, path = given.get("command"), path_of(given.get("path"))
    if command == "view":
        return [Action(READ, 0, path=path)]
    if command == "create":
        hunks = written(string(given.get("file_text")))
        return [Action(MUTATE, 0, path=path, hunks=hunks, created=True)]
    hunks = replaced(string(given.get("old_str")), string(given.get("new_str")))
    return [Action(MUTATE, 0, path=path, hunks=hunks)]


def _patch(given: Mapping[str, Any]) -> list[Action]:
    return [
        Action(MUTATE, 0, path=path_of(edit.path), hunks=edit.hunks, created=edit.created)
        for edit in parse_patch(string(given.get("patch")))
    ] or _other(given)


_Shape = Callable[[Mapping[str, Any]], list[Action]]

_OLD_TOOLS: dict[str, _Shape] = {
    "run": _run,
    "read": _read,
    "write": _write,
    "edit": _edit,
    **dict.fromkeys(
        names("browse browse_interactive call_tool_mcp delegate run_ipython task_tracking think"),
        _other,
    ),
}
_NEW_TOOLS: dict[str, _Shape] = {
    **dict.fromkeys(names("TerminalAction ExecuteBashAction BashAction terminal"), _run),
    **dict.fromkeys(
        names("FileEditorAction StrReplaceEditorAction PlanningFileEditorAction file_editor"), _edit
    ),
    "ApplyPatchAction": _patch,
    "ReadFileAction": _read,
    "WriteFileAction": _write,
    "EditAction": _replace,
    **dict.fromkeys(names("GlobAction GrepAction ListDirectoryAction"), _searched),
    **dict.fromkeys(
        names("DelegateAction InvokeSkillAction MCPToolAction TaskAction TaskTrackerAction"), _other
    ),
    "ThinkAction": _other,
}
