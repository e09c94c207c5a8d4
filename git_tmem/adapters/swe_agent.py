"""Trajectories of SWE-agent: ``<instance>.traj``, one JSON document.

``{"environment", "trajectory": [step], "history": [message], "info", "replay_config"}``; this
follows files of versions 0.5 to 1.0. A step holds the command as the agent's shell took it, what
it printed, and the agent's thought; an exit code is never recorded. Files are read and edited by
commands of that shell, which act on the file that is open. The messages repeat the steps, and
only the task stands nowhere else; it is put before the steps, where it was said.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from git_tmem.actions import EXEC, MUTATE, OTHER, PROMPT, READ, TEXT_LIMIT, Action, Session
from git_tmem.adapters.base import (
    REASON_LIMIT,
    Trace,
    arguments_of,
    command_of,
    file_of,
    keep_output,
    mapping,
    names,
    path_of,
    string,
    text_of,
)
from git_tmem.adapters.patches import clip_hunks, replaced, written
from git_tmem.adapters.tasks import task_in
from git_tmem.changes import Hunk, hunk_of

NAME = "swe-agent"
VERSIONS: tuple[str, ...] = ("1.0",)

_KNOWN = frozenset(names("environment replay_config"))
#: How the output of an edit begins that was not done.
_REFUSED = re.compile(
    r"\s*(?:Your proposed edit|Your edit was not|Text .{0,200}not found|No edit|No replacement"
    r"|No match|Found multiple|No file open|File .{0,300}(?:not found|does not exist)|Usage:"
    r"|Invalid|ERROR|Error|Expected|The path|Ran into|Multiple occurrences)",
    re.DOTALL,
)
_RANGE = re.compile(r"(\d{1,7}):(\d{1,7})\n(.*?)\n?(?:end_of_edit\s*)?", re.DOTALL)
_SHOWN = re.compile(r"^(\d{1,7}):(.*?)\r?$", re.MULTILINE)
_WINDOW = re.compile(r"\[File: (.{1,4096}?) \(\d+ lines total\)\]")
#: Characters of a window and of a command that are looked at.
_WINDOW_LIMIT = 200_000


class _Scene(NamedTuple):
    """The file open in the agent's shell, and the lines of it that were last shown."""

    open_file: str
    lines: Mapping[int, str]


def detect(head: Sequence[Mapping[str, Any]]) -> bool:
    """Whether there is a step of a trajectory with a command and what it printed."""
    steps = (mapping(record.get("trajectory")) for record in head)
    return any(
        isinstance(step.get("action"), str) and isinstance(step.get("observation"), str)
        for step in steps
    )


def parse(records: Iterator[tuple[int, Mapping[str, Any]]]) -> Session:
    """The session in the records of a trajectory."""
    reading = _Reading()
    for index, record in records:
        reading.take(index, record)
    return reading.trace.session()


def find_logs(roots: Sequence[str], env: Mapping[str, str]) -> Iterator[str]:
    """Nothing: trajectories lie below the folder from which the agent was started."""
    return iter(())


class _Reading:
    """One pass over a trajectory."""

    def __init__(self) -> None:
        self.trace = Trace(NAME)
        self._lines: dict[int, str] = {}
        self._asked = False

    def take(self, index: int, record: Mapping[str, Any]) -> None:
        if "trajectory" in record:
            self._step(index, mapping(record["trajectory"]))
        elif "history" in record:
            self._message(index, mapping(record["history"]))
        elif "info" in record:
            self.trace.version = string(mapping(record["info"]).get("swe_agent_version"))[:80]
        elif not _KNOWN.intersection(record):
            self.trace.miss(record.get("type") or next(iter(record), "empty record"))

    def _message(self, index: int, message: Mapping[str, Any]) -> None:
        """The first words of the user that are no demonstration are the task."""
        demo = message.get("is_demo") or message.get("message_type") == "demonstration"
        if self._asked or demo or message.get("role") != "user":
            return
        self._asked = True
        task = task_in(text_of(message.get("content")))[:TEXT_LIMIT]
        if task:
            first = self.trace.actions[0].record if self.trace.actions else index
            self.trace.actions.insert(0, Action(PROMPT, first, text=task))

    def _step(self, index: int, step: Mapping[str, Any]) -> None:
        command, shown = string(step.get("action")), string(step.get("observation"))
        state = arguments_of(step.get("state"))  # older versions give it as text
        cwd = path_of(state.get("working_dir"))
        self.trace.cwd = self.trace.cwd or cwd
        word, _, rest = command.strip().partition(" ")
        scene = _Scene(path_of(state.get("open_file")), self._lines)
        action = (_COMMANDS.get(word.strip()) or _run)(rest, scene)
        if action.kind == EXEC:
            output = keep_output(shown.replace("\r\n", "\n"), None)
            action = action._replace(command=command_of(command.strip()), output=output)
        elif action.kind == MUTATE and _REFUSED.match(shown[:1_000]):
            action = action._replace(failed=True, hunks=(), created=False)
        reason = string(step.get("thought")).strip() or string(step.get("response")).strip()
        self._look(shown[:_WINDOW_LIMIT])
        self.trace.add(
            action._replace(
                record=index,
                result=index,
                tool="" if action.kind == EXEC else word.strip()[:80],
                cwd=cwd,
                reason=reason[:REASON_LIMIT],
            )
        )

    def _look(self, shown: str) -> None:
        """Remember the lines of the open file that a command showed."""
        if _WINDOW.search(shown) and not _REFUSED.match(shown):
            self._lines = {int(number): line for number, line in _SHOWN.findall(shown)}


def _words(text: str) -> list[str]:
    """A command's arguments, as the shell splits them; none when it could not."""
    try:
        return shlex.split(text[:_WINDOW_LIMIT])
    except ValueError:
        return []


def _run(rest: str, scene: _Scene) -> Action:
    return Action(EXEC, 0)


def _other(rest: str, scene: _Scene) -> Action:
    return Action(OTHER, 0)


def _opened(rest: str, scene: _Scene) -> Action:
    return Action(READ, 0, path=path_of(next(iter(_words(rest)), "")))


def _scrolled(rest: str, scene: _Scene) -> Action:
    return Action(READ, 0, path=scene.open_file)


def _searched(rest: str, scene: _Scene) -> Action:
    return Action(READ, 0, path=file_of((_words(rest) or [""])[-1]))


def _found(rest: str, scene: _Scene) -> Action:
    return Action(READ, 0)


def _create(rest: str, scene: _Scene) -> Action:
    return Action(MUTATE, 0, path=path_of(next(iter(_words(rest)), "")), created=True)


def _edit(rest: str, scene: _Scene) -> Action:
    """An edit of the open file: of a range of lines, or of a text that was looked for."""
    lines = _RANGE.fullmatch(rest.strip("\n") + "\n")
    if lines:
        first, last = int(lines.group(1)), int(lines.group(2))
        wanted = range(first, last + 1) if last - first < 100_000 else ()
        before = [scene.lines[number] for number in wanted if number in scene.lines]
        hunk = hunk_of("\n".join(before), lines.group(3))
        return Action(MUTATE, 0, path=scene.open_file, hunks=clip_hunks([hunk]))
    words = _words(rest)
    hunks = replaced(words[0], words[1]) if len(words) > 1 else ()
    return Action(MUTATE, 0, path=scene.open_file, hunks=hunks)


def _insert(rest: str, scene: _Scene) -> Action:
    text = next(iter(_words(rest)), "")
    hunks = clip_hunks([Hunk((), tuple(text.splitlines()))])
    return Action(MUTATE, 0, path=scene.open_file, hunks=hunks)


def _str_replace_editor(rest: str, scene: _Scene) -> Action:
    words = _words(rest)
    verb, path = (*words[:2], "", "")[:2]
    options = dict(pairwise(words[2:]))
    if verb == "view":
        return Action(READ, 0, path=path_of(path))
    if verb == "create":
        hunks = written(options.get("--file_text", ""))
        return Action(MUTATE, 0, path=path_of(path), hunks=hunks, created=True)
    hunks = replaced(options.get("--old_str", ""), options.get("--new_str", ""))
    return Action(MUTATE, 0, path=path_of(path), hunks=hunks)


#: The commands that the agent's shell has beside the programs of the system.
_COMMANDS: dict[str, Callable[[str, _Scene], Action]] = {
    "open": _opened,
    **dict.fromkeys(names("goto scroll_up scroll_down"), _scrolled),
    **dict.fromkeys(names("search_file filemap"), _searched),
    **dict.fromkeys(names("search_dir find_file"), _found),
    "create": _create,
    "edit": _edit,
    "insert": _insert,
    "append": _insert,
    "str_replace_editor": _str_replace_editor,
    **dict.fromkeys(names("submit exit_cost exit_context exit_error"), _other),
    **dict.fromkeys(names("exit_format exit_api exit_forfeit"), _other),
}
