"""The neutral action list that every agent's log is turned into.

An adapter yields :class:`Action` values in the order of the log. An action is to a
session what a statement is to a program: the slicer walks them backwards.

Values here are ``NamedTuple`` and not dataclasses because importing ``dataclasses``
costs twice the interpreter's own start, and hooks pay for every import.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from git_tmem.changes import Hunk
from git_tmem.injected import without

READ = "READ"  # a file was read, or named by a search
MUTATE = "MUTATE"  # a file was created, edited or deleted by an edit tool
EXEC = "EXEC"  # a command was run
PROMPT = "PROMPT"  # the user said something
OTHER = "OTHER"  # a tool that touches neither files nor commands, or an unknown one

#: Characters of a command's output that an action keeps: enough for an error's head and
#: tail, and little enough that a log of any size stays in bounded memory.
OUTPUT_HEAD = 1_000
OUTPUT_TAIL = 3_000
#: Characters kept of what the user said or of the agent's stated reason.
TEXT_LIMIT = 2_000
#: Lines kept of one edit; a longer one is a generated file, known by its path alone.
EDIT_LINES = 4_000


class Action(NamedTuple):
    """One step of a session.

    ``record`` and ``result`` are zero-based indexes of the log's records (lines) that hold
    the call and its outcome; ``result`` is None when the log ends before the outcome.
    ``failed`` says that the tool itself never did its work (a rejected or invalid call);
    a command that ran and exited non-zero has ``exit_code`` instead. ``exit_code`` is None
    when the log does not tell it.
    """

    kind: str
    record: int
    tool: str = ""
    path: str = ""
    hunks: tuple[Hunk, ...] = ()
    created: bool = False  # a MUTATE that made the file or replaced it whole
    command: str = ""
    exit_code: int | None = None
    output: str = ""
    text: str = ""  # what the user said (PROMPT)
    reason: str = ""  # the agent's own words just before the step
    cwd: str = ""
    time: int = 0  # seconds since the epoch, 0 when the log does not tell
    result: int | None = None
    failed: bool = False
    subagent: bool = False


class Session(NamedTuple):
    """A parsed log. ``unknown`` counts records and tools the adapter did not know, by name."""

    agent: str
    id: str
    cwd: str
    actions: tuple[Action, ...]
    branch: str = ""
    version: str = ""
    records: int = 0
    damaged: int = 0  # lines that are no record: cut off, not JSON, too long
    compactions: int = 0
    unknown: tuple[tuple[str, int], ...] = ()

    @property
    def started(self) -> int:
        """Time of the first action that has one, 0 without any."""
        return next((action.time for action in self.actions if action.time), 0)

    @property
    def ended(self) -> int:
        """Time of the last action that has one, 0 without any."""
        return max((action.time for action in self.actions), default=0)


def clip_output(text: str) -> str:
    """Head and tail of a command's output, with a mark where the middle was left out, and
    without what our own hooks appended to it."""
    text = without(text)
    if len(text) <= OUTPUT_HEAD + OUTPUT_TAIL:
        return text
    return f"{text[:OUTPUT_HEAD]}\n[...]\n{text[-OUTPUT_TAIL:]}"


def edited_paths(actions: Iterable[Action]) -> list[str]:
    """Paths that edit tools changed, as the log spells them, in order of first edit."""
    seen = dict.fromkeys(
        action.path for action in actions if action.kind == MUTATE and not action.failed
    )
    return list(seen)
