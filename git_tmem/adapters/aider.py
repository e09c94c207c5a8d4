"""Aider's chat history: ``.aider.chat.history.md`` in the work tree, Markdown for all sessions.

This follows histories of versions 0.47 to 0.49. ``# aider chat started at ...`` begins a session,
``#### `` marks what the user typed and ``> `` what aider said; all else is the model's. Lines of
both end in two blanks; of a text of many lines that aider printed, which a failed command's output
may be, only the first has the mark and only the last the blanks, and it comes again with all
marks. An edit stands in the model's answer and
counts when aider says that it applied it. Neither folders nor exit codes are told: the record
that :mod:`aider_store` puts before a session's lines names the former.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from git_tmem.actions import EDIT_LINES, EXEC, MUTATE, READ, Action, Session
from git_tmem.adapters import aider_store
from git_tmem.adapters.base import (
    COMMAND_LIMIT,
    KEPT_LIMIT,
    REASON_LIMIT,
    Trace,
    epoch,
    keep_output,
    mapping,
    path_of,
    string,
)
from git_tmem.adapters.patches import clip_hunks, replaced, unified, written
from git_tmem.changes import Hunk

NAME = "aider"
VERSIONS: tuple[str, ...] = ("0.47",)

_STARTED = aider_store.STARTED
_FENCE = re.compile(r"(`{3,})\s*([\w+#.-]*)\s*")
_SEARCH = re.compile(r"<{5,9} SEARCH\s*")
_DIVIDER = re.compile(r"={5,9}\s*")
_REPLACE = re.compile(r">{5,9} REPLACE\s*")
_ADDED = re.compile(r"Added (.{1,4096}?) to the chat\.?")
_RUNNING = re.compile(r"Running:? (.{1,4000})")
_APPLIED = re.compile(r"Applied edit to (.{1,4096})")
_FAILED = re.compile(
    r"## Search\w+: This SEARCH block failed to exactly match lines in (.{1,4096})"
)
_VERSION = re.compile(r"Aider v(\S{1,40})")
#: What the user asks of the model behind a slash; other such commands are for aider itself.
_ASKING = ("/ask ", "/code ", "/architect ", "/chat-mode ", "/context ")
_COMMAND = re.compile(r"(?:/run|/test|/git|!)\s*(.{1,4000})", re.DOTALL)
#: Characters of one block that are kept; longer ones are files, known by their path.
_BLOCK_LIMIT = 200_000


def detect(head: Sequence[Mapping[str, Any]]) -> bool:
    """Whether there is a line that begins a chat."""
    return any(_STARTED.match(string(record.get("line"))) for record in head) or any(
        "aider" in record for record in head[:1]
    )


def parse(records: Iterator[tuple[int, Mapping[str, Any]]]) -> Session:
    """The session in a history's lines; all of them as one when it is a whole history."""
    reading = _Reading()
    for index, record in records:
        reading.take(index, record)
    reading.end()
    return reading.trace.session()


def find_logs(roots: Sequence[str], env: Mapping[str, str]) -> Iterator[str]:
    """The sessions in the history of each of the roots, or in the one that is named for all."""
    named = env.get("AIDER_CHAT_HISTORY_FILE") or ".aider.chat.history.md"
    for path in dict.fromkeys(os.path.join(root, named) for root in roots):
        yield from aider_store.locations(path)


class _Block:
    """A fenced block of an answer: what it puts into a file, or an edit of it."""

    def __init__(self, path: str, kind: str) -> None:
        self.path = path
        self.kind = kind
        self.lines: list[str] = []
        self.size = 0
        self.hunks: list[Hunk] = []
        self.created = True

    def take(self, line: str) -> None:
        if _REPLACE.fullmatch(line) and self.lines:
            self._replaced()
        elif len(self.lines) <= 2 * EDIT_LINES and self.size < _BLOCK_LIMIT:
            self.lines.append(line)
            self.size += len(line)

    def _replaced(self) -> None:
        search = next((n for n, line in enumerate(self.lines) if _SEARCH.fullmatch(line)), None)
        middle = [n for n, line in enumerate(self.lines) if _DIVIDER.fullmatch(line)]
        if search is not None and middle:
            before = "\n".join(self.lines[search + 1 : middle[0]])
            after = "\n".join(self.lines[middle[0] + 1 :])
            self.hunks += replaced(before, after)
            self.created = self.created and not before.strip()
        self.lines, self.size = [], 0

    def close(self) -> None:
        """The fence closed: without a block of SEARCH it is a diff, or the whole file."""
        if not self.hunks and self.kind == "diff":
            self.hunks = list(unified("\n".join(self.lines)))
            self.created = False
        elif not self.hunks:
            self.hunks = list(written("\n".join(self.lines)))


class _Reading:
    """One pass over a history."""

    def __init__(self) -> None:
        self.trace = Trace(NAME)
        self._time = 0
        self._typed: list[str] = []
        self._typed_at = 0
        self._words: list[str] = []  # of the answer, outside its blocks
        self._spoken = 0
        self._near = ""  # the last line before a block, which names its file
        self._fence = ""
        self._block: _Block | None = None
        self._blocks: list[_Block] = []
        self._weight = 0
        self._running: int | None = None  # the command whose output is being read
        self._output: list[str] = []
        self._printed = self._printed_at = 0
        self._open = False  # within a text of many lines that aider printed
        self._closing = False  # which its last line may have closed

    def take(self, index: int, record: Mapping[str, Any]) -> None:
        if "aider" in record:
            told = mapping(record["aider"])
            self.trace.cwd = path_of(told.get("cwd"))
            self.trace.id = string(told.get("id"))[:80]
        elif isinstance(record.get("line"), str):
            self._line(index, record["line"])
        else:
            self.trace.miss(record.get("type") or next(iter(record), "empty record"))

    def end(self) -> None:
        self._ask()
        self._settle()

    def _line(self, index: int, line: str) -> None:
        whole = line.endswith("  ")
        started = _STARTED.match(line)
        if self._open and self._closing and (started or line.startswith(("> ", "#### "))):
            self._open = False
            self._settle()
        if self._open:
            self._print(index, line.rstrip())
            self._closing = whole
        elif started:
            self._start(started.group(1))
        elif line.startswith("#### ") and (whole or not self._fence):
            self._settle()
            self._typed_at = self._typed_at if self._typed else index
            self._typed.append(line[5:].rstrip())
        elif line.startswith(">") and line[1:2] in ("", " ") and (whole or not self._fence):
            self._ask()
            self._open = self._running is not None and not self._output and not whole
            self._closing = False
            self._aider(index, line[2:].rstrip())
        else:
            self._ask()
            if line.strip():
                self._settle()
            self._answer(line)

    def _start(self, moment: str) -> None:
        self.end()
        self._forget()
        self._open = False
        self.trace.id = self.trace.id or aider_store.identity(moment)
        self._time = epoch(moment)

    def _forget(self) -> None:
        """A new answer: what stood in the one before is done or given up."""
        self._words, self._blocks, self._spoken, self._weight = [], [], 0, 0
        self._fence, self._block, self._near = "", None, ""

    def _ask(self) -> None:
        """The user's lines are over: a command, or a word to the model."""
        if not self._typed:
            return
        text, self._typed = "\n".join(self._typed), []
        self._forget()
        command = _COMMAND.fullmatch(text.strip())
        if command:
            self._run(self._typed_at, command.group(1))
        elif text.startswith(_ASKING):
            self.trace.prompt(text.partition(" ")[2], self._typed_at, self._time)
        elif not text.startswith("/"):
            self.trace.prompt(text, self._typed_at, self._time)

    def _run(self, index: int, command: str) -> None:
        self._settle()
        action = Action(EXEC, index, command=command.strip()[:COMMAND_LIMIT])
        self._running = self._add(action)

    def _add(self, action: Action) -> int:
        reason = "\n".join(self._words).strip()[:REASON_LIMIT]
        return self.trace.add(action._replace(reason=reason, cwd=self.trace.cwd, time=self._time))

    def _settle(self) -> None:
        """The output of a command is over."""
        if self._running is not None:
            output = keep_output("\n".join(self._output), None)
            result = self._printed_at if self._output else None
            self.trace.update(self._running, output=output, result=result)
        self._running, self._output, self._printed = None, [], 0

    def _aider(self, index: int, line: str) -> None:
        applied, added = _APPLIED.fullmatch(line), _ADDED.fullmatch(line)
        running = _RUNNING.fullmatch(line)
        if applied:
            self._settle()
            self._apply(index, applied.group(1))
        elif added:
            self._add(Action(READ, index, path=path_of(added.group(1)), result=index))
        elif running:
            self._run(index, running.group(1))
        elif failed := _FAILED.fullmatch(line):
            self._blocks = [block for block in self._blocks if block.path != failed.group(1)]
            self._words, self._spoken = [], 0
        elif version := _VERSION.fullmatch(line):
            self.trace.version = version.group(1)
        else:
            self._print(index, line)

    def _print(self, index: int, line: str) -> None:
        if self._running is not None and self._printed < _BLOCK_LIMIT:
            self._output.append(line)
            self._printed += len(line) + 1
            self._printed_at = index

    def _apply(self, index: int, path: str) -> None:
        mine = [block for block in self._blocks if block.path == path]
        self._blocks = [block for block in self._blocks if block.path != path]
        hunks = clip_hunks(hunk for block in mine for hunk in block.hunks)
        created = bool(mine) and all(block.created for block in mine)
        action = Action(MUTATE, index, "edit", path_of(path), hunks, created, result=index)
        self._add(action)

    def _answer(self, line: str) -> None:
        """A line of the model's answer."""
        fence = _FENCE.fullmatch(line)
        if self._fence:
            if fence and len(fence.group(1)) >= len(self._fence) and not fence.group(2):
                self._close()
            elif self._block is not None:
                self._block.take(line)
        elif fence:
            self._fence = fence.group(1)
            self._block = _Block(self._named(), fence.group(2))
        elif line.strip():
            self._near = line
            if self._spoken < 2 * REASON_LIMIT:
                self._words.append(line[: 2 * REASON_LIMIT])
                self._spoken += len(line)

    def _named(self) -> str:
        """The file that the line before a fence names, as far as it is one; else the last."""
        name = self._near.strip().strip("*`:# ").removeprefix("./")
        last = self._blocks[-1].path if self._blocks else ""
        return path_of(name) if name and " " not in name else last

    def _close(self) -> None:
        block, self._block, self._fence = self._block, None, ""
        if block is None or not block.path or self._weight > KEPT_LIMIT >> 2:
            return
        block.close()
        self._weight += sum(len(line) for hunk in block.hunks for line in hunk.added)
        if self._words and self._words[-1] == self._near:
            self._words.pop()  # the name of the file is no reason
        self._near = ""
        self._blocks.append(block)
