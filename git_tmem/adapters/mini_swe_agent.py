"""Trajectories of mini-swe-agent: ``<instance>.traj.json``, one JSON document.

``{"info", "messages": [message], "trajectory_format", "instance_id"}``, formats
``mini-swe-agent-1`` and ``-1.1``, or the bare list of messages of the first versions. The agent's
message has one fenced block, which is the command; the next message of the user is what came of
it, with ``<returncode>``. Newer versions call a tool and answer it by id, with the numbers in
``extra``. Commands are all that the agent has: edits are what they did to the files. There is no
name of a session: the task and the first answer tell two of them apart.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from git_tmem.actions import EXEC, OTHER, Action, Session
from git_tmem.adapters.base import (
    Narration,
    Trace,
    arguments_of,
    clip_name,
    command_of,
    epoch,
    keep_output,
    mapping,
    path_of,
    sequence,
    string,
    text_of,
    whole_number,
)
from git_tmem.adapters.places import folder
from git_tmem.adapters.tasks import task_in

NAME = "mini-swe-agent"
VERSIONS: tuple[str, ...] = ("1.15",)

_KNOWN = frozenset(("info", "trajectory_format", "instance_id"))
_BLOCK = re.compile(r"```(?:bash|sh|mswea_bash_command)[ \t]*\n(.*?)\n?```", re.DOTALL)
_CODE = re.compile(r"\s*<returncode>\s*(-?\d{1,9})\s*</returncode>")
_OUTPUTS = re.compile(r"<(output|output_head|output_tail)>\n?(.*?)</\1>", re.DOTALL)
_SUBMIT = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"


def detect(head: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a record names the format or the version, or is a message in its form."""
    return any(
        string(record.get("trajectory_format")).startswith("mini-swe-agent")
        or "mini_version" in mapping(record.get("info"))
        or _is_own(mapping(record.get("messages")) or record)
        for record in head
    )


def _is_own(message: Mapping[str, Any]) -> bool:
    text = string(message.get("content"))
    if message.get("role") == "assistant":
        return "```mswea_bash_command\n" in text
    return message.get("role") in ("user", "tool") and bool(_CODE.match(text[:100]))


def parse(records: Iterator[tuple[int, Mapping[str, Any]]]) -> Session:
    """The session in the records of a trajectory."""
    reading = _Reading()
    for index, record in records:
        reading.take(index, record)
    return reading.session()


def find_logs(roots: Sequence[str], env: Mapping[str, str]) -> Iterator[str]:
    """The log of the last run; other runs are written wherever the user says."""
    home = folder(env, "MSWEA_GLOBAL_CONFIG_DIR", ".config", "mini-swe-agent")
    path = os.path.join(home, "last_mini_run.traj.json")
    if home and os.path.isfile(path):
        yield path


class _Reading:
    """One pass over a trajectory."""

    def __init__(self) -> None:
        self.trace = Trace(NAME)
        self._said = Narration()
        self._asked = False
        self._waiting: int | None = None  # the action whose outcome is the next message
        self._first: list[str] = []

    def session(self) -> Session:
        if len(self._first) == 2:
            import hashlib  # slow to import, and other logs have an id of their own

            digest = hashlib.sha256("\0".join(self._first).encode("utf-8", "replace"))
            self.trace.id = digest.hexdigest()[:16]
        return self.trace.session()

    def take(self, index: int, record: Mapping[str, Any]) -> None:
        message = mapping(record.get("messages")) or record
        if "info" in record:
            self._info(mapping(record["info"]))
        elif "role" in message:
            self._message(index, message)
        elif not _KNOWN.intersection(record):
            self.trace.miss(record.get("type") or next(iter(record), "empty record"))

    def _info(self, info: Mapping[str, Any]) -> None:
        place = mapping(mapping(info.get("config")).get("environment"))
        self.trace.version = string(info.get("mini_version"))[:80]
        self.trace.cwd = self.trace.cwd or path_of(place.get("cwd"))

    def _message(self, index: int, message: Mapping[str, Any]) -> None:
        role, text = message.get("role"), text_of(message.get("content"))
        if role == "assistant":
            self._assistant(index, message, text)
        elif role == "tool":
            call = string(message.get("tool_call_id"))
            while (number := self.trace.answered(call)) is not None:
                self._settle(number, index, message, text)
        elif role == "user" and self._waiting is not None:
            number, self._waiting = self._waiting, None
            self._settle(number, index, message, text)
        elif role == "user" and not self._asked:
            self._asked = True
            self._remember(text)
            self.trace.prompt(task_in(text), index)
        elif role not in ("user", "system", "exit"):
            self.trace.miss(f"role {clip_name(role)}")

    def _remember(self, text: str) -> None:
        if len(self._first) < 2:
            self._first.append(text[:10_000])

    def _assistant(self, index: int, message: Mapping[str, Any], text: str) -> None:
        self._remember(text)
        self._said.begin()
        self._said.say(text.partition("```")[0].strip().removeprefix("THOUGHT:"))
        self._waiting = None
        calls = [mapping(call) for call in sequence(message.get("tool_calls"))]
        for call in calls:
            function = mapping(call.get("function"))
            given = arguments_of(function.get("arguments"))
            name = string(function.get("name"))
            self._add(index, message, name, command_of(given.get("command")), call.get("id"))
        blocks = [] if calls else _BLOCK.findall(text)
        if len(blocks) == 1:  # of several blocks none is run, and the agent is told so
            self._waiting = self._add(index, message, "bash", command_of(blocks[0].strip()), "")

    def _add(
        self, index: int, message: Mapping[str, Any], name: str, command: str, call: object
    ) -> int:
        known = name == "bash"
        if not known:
            self.trace.miss(f"tool {clip_name(name)}")
        runs = known and _SUBMIT not in command[:200]
        action = Action(EXEC if runs else OTHER, index, command=command if runs else "")
        action = action._replace(
            tool=name[:80], reason=self._said.reason, cwd=self.trace.cwd, time=_time(message)
        )
        return self.trace.add(action, string(call))

    def _settle(self, number: int, index: int, message: Mapping[str, Any], text: str) -> None:
        self._said.answer()
        changes: dict[str, Any] = {"result": index}
        if self.trace.actions[number].kind == EXEC:
            told, found = mapping(message.get("extra")), _CODE.match(text[:100])
            code = int(found.group(1)) if found else whole_number(told.get("returncode"))
            shown = string(told.get("raw_output")) or _printed(text)
            changes.update(exit_code=code, output=keep_output(shown, code))
        self.trace.update(number, **changes)


def _printed(text: str) -> str:
    """What a command printed, out of the tags in which the agent is shown it."""
    parts = [part for _, part in _OUTPUTS.findall(text)]
    return "[...]\n".join(parts) if parts else _CODE.sub("", text, count=1)


def _time(message: Mapping[str, Any]) -> int:
    extra = mapping(message.get("extra"))
    return epoch(extra.get("timestamp")) or epoch(mapping(extra.get("response")).get("created"))
