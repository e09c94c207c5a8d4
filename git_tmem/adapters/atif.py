"""Trajectories in ATIF, the interchange format of agent runs: ``trajectory.json``.

One JSON document ``{"schema_version": "ATIF-v1.x", "session_id", "agent", "steps": [step]}``;
this follows files of versions 1.5 to 1.7. What a tool does is told by its name, as in
:mod:`generic`, since each producer keeps its own tools. The format has no exit codes and no
working directory: both are taken where producers are known to put them, the former out of the
first and last lines of the output, the latter out of ``extra`` and the prompts of a terminal.
Steps copied from an earlier file are left out; embedded trajectories are of sub-agents.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from git_tmem.actions import EXEC, MUTATE, OTHER, Action, Session
from git_tmem.adapters.base import (
    Narration,
    Trace,
    arguments_of,
    clip_name,
    command_of,
    epoch,
    keep_output,
    mapping,
    names,
    path_of,
    sequence,
    string,
    text_of,
    whole_number,
)
from git_tmem.adapters.generic import actions_of, verb_of
from git_tmem.adapters.tasks import task_in

NAME = "atif"
VERSIONS: tuple[str, ...] = ("1.5", "1.7")

_KNOWN = frozenset(
    names("notes final_metrics continued_trajectory_ref extra schema_version trajectory_id")
)
#: Tools of known producers, by the name under which the generic adapter knows what they do.
_TOOLS = {
    **dict.fromkeys(names("execute_bash exec_command local_shell_call bash_command"), "bash"),
    **dict.fromkeys(names("file_editor"), "str_replace_editor"),
    "MultiEdit": "edit",
}
#: Tools that touch no file, of known producers.
_SILENT = frozenset(
    names(
        "mark_task_complete finish think done submit TodoWrite update_plan Task WebFetch WebSearch"
        " task_tracker browser fetch write_stdin ExitPlanMode"
    )
)
#: What one agent says to the next is no word of the user.
_HANDOFF = (
    "Here are the answers the other agent provided",
    "You are picking up work from a previous AI agent",
    "You are about to hand off your work",
)
_EXIT = re.compile(
    r"\W*(?:(?:the )?(?:process|command) )?(?:(?:completed|finished) with )?"
    r"exit(?:ed)?(?: with)?(?: ?code| status)\W{0,3}(-?\d{1,9})\W*"
    r"|\s*<returncode>(-?\d{1,9})</returncode>\s*",
    re.IGNORECASE,
)
_PROMPT = re.compile(r"^[\w.-]{1,80}@[\w.-]{1,80}:(/[^\n#$]{0,400})[#$] ", re.MULTILINE)
_CALL = re.compile(r"<function=([\w.-]{1,80})>(.{0,200000}?)</function>", re.DOTALL)
_PARAMETER = re.compile(r"<parameter=([\w.-]{1,80})>(.{0,200000}?)</parameter>", re.DOTALL)
#: Actions of a step that wait for results which name no call.
_Waiting = list[int]


def detect(head: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a record names a version of the format."""
    return any(string(record.get("schema_version")).startswith("ATIF-") for record in head)


def parse(records: Iterator[tuple[int, Mapping[str, Any]]]) -> Session:
    """The session in the records of a trajectory."""
    reading = _Reading()
    for index, record in records:
        reading.take(index, record)
    return reading.trace.session()


def find_logs(roots: Sequence[str], env: Mapping[str, str]) -> Iterator[str]:
    """Nothing: such a file lies in the folder of its run, and is named by the user."""
    return iter(())


class _Reading:
    """One pass over a trajectory."""

    def __init__(self) -> None:
        self.trace = Trace(NAME)
        self._said = Narration()
        self._subagent = False

    def take(self, index: int, record: Mapping[str, Any]) -> None:
        if "steps" in record:
            self._step(index, mapping(record["steps"]))
        elif "agent" in record:
            self._agent(mapping(record["agent"]))
        elif "session_id" in record:
            self.trace.id = string(record["session_id"])[:200] + self.trace.id
        elif "subagent_trajectories" in record:
            self._embedded(index, mapping(record["subagent_trajectories"]))
        elif not _KNOWN.intersection(record):
            self.trace.miss(record.get("type") or next(iter(record), "empty record"))
        if "schema_version" in record:
            self.trace.version = string(record["schema_version"])[:80]
        self._place(mapping(record.get("extra")))

    def _agent(self, agent: Mapping[str, Any]) -> None:
        extra = mapping(agent.get("extra"))
        self._place(extra)
        continuation = whole_number(extra.get("continuation_index"))
        if continuation:  # all files of a run have the same id
            self.trace.id = f"{self.trace.id}-cont-{continuation}"

    def _place(self, extra: Mapping[str, Any]) -> None:
        """Where the agent worked and on which branch, as producers tell it."""
        places = [extra.get("cwd"), extra.get("working_dir"), *sequence(extra.get("cwds"))]
        self.trace.cwd = self.trace.cwd or next(filter(None, map(path_of, places)), "")
        branches = [extra.get("git_branch"), *sequence(extra.get("git_branches"))]
        self.trace.branch = self.trace.branch or next(filter(None, map(string, branches)), "")[:200]

    def _embedded(self, index: int, trajectory: Mapping[str, Any]) -> None:
        self._subagent = True
        for step in sequence(trajectory.get("steps")):
            self._step(index, mapping(step))
        self._subagent = False

    def _step(self, index: int, step: Mapping[str, Any]) -> None:
        if step.get("is_copied_context") is True:
            return
        source, text = step.get("source"), text_of(step.get("message"))
        self._place(mapping(step.get("extra")))
        waiting: _Waiting = []
        if source == "user":
            self._said.answer()
            if not self._subagent and not text.startswith(_HANDOFF):
                self.trace.prompt(task_in(text), index, epoch(step.get("timestamp")))
        elif source == "agent":
            waiting = self._calls(index, step, text)
        elif source == "system":
            self.trace.compactions += "context summarization" in text[:200]
        else:
            self.trace.miss(f"source {clip_name(source)}")
        self._results(index, step, waiting)

    def _calls(self, index: int, step: Mapping[str, Any], text: str) -> _Waiting:
        calls = [mapping(call) for call in sequence(step.get("tool_calls"))]
        self._said.begin()
        self._said.think(step.get("reasoning_content"))
        calls = calls or _written_calls(text)
        if not text.lstrip().startswith(("{", "<function=")):
            self._said.say(text)
        waiting = []
        for call in calls:
            name = string(call.get("function_name"))
            for action in self._actions(name, arguments_of(call.get("arguments"))):
                action = action._replace(
                    record=index,
                    tool=name[:80],
                    reason=self._said.reason,
                    cwd=self.trace.cwd,
                    time=epoch(step.get("timestamp")),
                    subagent=self._subagent,
                )
                waiting.append(self.trace.add(action, string(call.get("tool_call_id"))))
        return waiting

    def _actions(self, name: str, given: Mapping[str, Any]) -> list[Action]:
        if "keystrokes" in given:
            keys = string(given["keystrokes"])
            typed = bool(keys.strip()) and keys.endswith("\n")  # others go to a running program
            return [Action(EXEC, 0, command=command_of(keys.strip()))] if typed else _OPAQUE
        known = _TOOLS.get(name, name)
        if name in _SILENT:
            return _OPAQUE
        if not verb_of(known):
            self.trace.miss(f"tool {clip_name(name)}")
        return actions_of(known, given)

    def _results(self, index: int, step: Mapping[str, Any], waiting: _Waiting) -> None:
        extra = mapping(step.get("extra"))
        for result in map(mapping, sequence(mapping(step.get("observation")).get("results"))):
            self._said.answer()
            call = string(result.get("source_call_id"))
            text = text_of(result.get("content"))
            seen = _PROMPT.search(text[:4_000])
            if seen:
                self.trace.cwd = self.trace.cwd or seen.group(1)
            told = {**extra, **mapping(result.get("extra"))}
            if not call and waiting:  # one screen for all that was typed
                self._settle(waiting[-1], index, text, told)
            while call and (number := self.trace.answered(call)) is not None:
                self._settle(number, index, text, told)

    def _settle(self, number: int, index: int, text: str, told: Mapping[str, Any]) -> None:
        action = self.trace.actions[number]
        code = _exit_code(text, told)
        wrong = told.get("tool_result_is_error") is True or told.get("is_error") is True
        changes: dict[str, Any] = {"result": index}
        if action.kind == EXEC:
            changes.update(exit_code=code, output=keep_output(_printed(text), code))
            changes["failed"] = wrong and code is None
        elif action.kind == MUTATE:
            changes["failed"] = wrong or text.lstrip()[:6].upper() == "ERROR:"
        if changes.get("failed"):
            changes["exit_code"] = None
        self.trace.update(number, **changes)


_OPAQUE = [Action(OTHER, 0)]


def _written_calls(text: str) -> list[Mapping[str, Any]]:
    """Calls that an agent without tools wrote into its message, as JSON or in tags."""
    if text.lstrip().startswith("{") and '"keystrokes"' in text:
        commands = sequence(arguments_of(text).get("commands"))
        return [{"function_name": "bash_command", "arguments": command} for command in commands]
    return [
        {
            "function_name": name,
            "arguments": {key: value.strip("\n") for key, value in _PARAMETER.findall(body)},
        }
        for name, body in _CALL.findall(text)
    ]


def _exit_code(text: str, told: Mapping[str, Any]) -> int | None:
    """The exit code that a producer gives a field for, or its line of the output."""
    meta = mapping(told.get("metadata")) or mapping(told.get("tool_result_metadata"))
    for fields in (told, meta, mapping(meta.get("tool_use_result"))):
        for name in ("exit_code", "exitCode", "returncode"):
            code = whole_number(fields.get(name))
            if code is not None:
                return code
    lines = [text[:200].partition("\n")[0], *reversed(text[-300:].rstrip().split("\n")[-3:])]
    found = next(filter(None, map(_EXIT.fullmatch, lines)), None)
    return int(found.group(1) or found.group(2)) if found else None


def _printed(text: str) -> str:
    return text.removeprefix("New Terminal Output:\n").lstrip("\n")
