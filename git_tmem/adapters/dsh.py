"""Session logs of the DeepSeek Harness: ``$DSH_HOME/sessions/*/*/session[.vN].jsonl[.zstd]``.

Generations 0 to 4 of the format. The first line is the session's header, every other an
event ``{"type", "seq", "time", "data"}``. Up to generation 3 a tool's result is wrapped in
a user message; generation 4 has it flat. A child that was seeded begins with a replay of
its parent's events, which is left out. Only the arguments of a call say what it edits, so
they are parsed; the text of a result says how a command ended.
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
    sequence,
    string,
    text_of,
    whole_number,
)
from git_tmem.adapters.patches import clip_hunks, parse_patch, replaced, written

NAME = "dsh"
VERSIONS: tuple[str, ...] = ("0", "3", "4")

#: Families of events that hold nothing for us, apart from those handled below.
_IGNORED = frozenset(
    names(
        "agent approval assistant command compaction feedback goal hook llm permission plan plugin"
        " request sandbox schedule session step subagent system team todo tool tool-workflow turn"
        " user"
    )
)
_CHUNKS = frozenset(("text-chunks", "reasoning-chunks", "tool-call-chunks"))

_FILE = re.compile(r"session(?:\.v(\d{1,4}))?\.jsonl(?:\.zstd)?")
_STARTED = re.compile(r"started background job (\S+)\s*")
_EXIT = re.compile(r"\[exit code: (-?\d{1,9})\]")
_KILLED = re.compile(r"\[killed by signal: (?:SIG)?(\w{1,20})\]")
_JOB_EXIT = re.compile(r"exit code: (-?\d{1,9})")

#: Exit statuses as a POSIX shell gives them to a command that a signal ended, and as
#: timeout(1) gives them to one that took too long.
_SIGNALS = {"HUP": 129, "INT": 130, "QUIT": 131, "ABRT": 134, "KILL": 137, "SEGV": 139, "TERM": 143}
_UNKNOWN_SIGNAL = 128
_TIMED_OUT = 124


def detect(head: Sequence[Mapping[str, Any]]) -> bool:
    """Whether there is a session's header, or an event with its sequence number."""
    return any(
        "createdAt" in record
        if record.get("type") == "session"
        else "/" in string(record.get("type")) and "seq" in record and "data" in record
        for record in head
    )


def parse(records: Iterator[tuple[int, Mapping[str, Any]]]) -> Session:
    """The session in the records of a log."""
    reading = _Reading()
    for index, record in records:
        reading.take(index, record)
    return reading.trace.session()


def find_logs(roots: Sequence[str], env: Mapping[str, str]) -> Iterator[str]:
    """Every session's log of the highest generation. Folder names do not tell where a
    session worked; the header does, so ``roots`` narrows nothing here."""
    home = env.get("DSH_HOME") or (env.get("HOME") and os.path.join(env["HOME"], ".dsh"))
    if not home:
        return
    sessions = os.path.join(home, "sessions")
    for project in _names(sessions):
        for session in _names(os.path.join(sessions, project)):
            folder = os.path.join(sessions, project, session)
            found = [(match, name) for name in _names(folder) if (match := _FILE.fullmatch(name))]
            if found:
                _, name = max((int(match.group(1) or 0), name) for match, name in found)
                yield os.path.join(folder, name)


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


class _Reading:
    """One pass over a log."""

    def __init__(self) -> None:
        self.trace = Trace(NAME)
        self._subagent = False
        self._seed = 0  # events below this number are a replay
        self._said = Narration()
        self._jobs: dict[str, int] = {}  # background job -> the action that started it
        self._asked: dict[str, str] = {}  # call that asks for a job's output -> job
        self._takers: dict[str, Callable[[int, Mapping[str, Any], Mapping[str, Any]], None]] = {
            "session": self._header,
            "session/end-seed": self._end_seed,
            "user/message": self._user,
            "assistant/message": self._assistant,
            "tool/call": self._call,
            "tool/result": self._result,
            "tool/code-dispatch-start": self._dispatched,
            "tool/ptc-dispatch-start": self._dispatched,
            "tool/code-dispatch": self._dispatch_result,
            "tool/ptc-dispatch": self._dispatch_result,
            "compaction/summary": self._compacted,
        }

    def take(self, index: int, record: Mapping[str, Any]) -> None:
        kind = string(record.get("type"))
        taker = self._takers.get(kind)
        if taker:
            seq = record.get("seq")
            if not (isinstance(seq, int) and seq < self._seed):
                taker(index, record, mapping(record.get("data")))
        elif not self._ignorable(kind, record):
            self.trace.miss(record.get("type"))

    def _ignorable(self, kind: str, record: Mapping[str, Any]) -> bool:
        family = kind.partition("/")[0].partition(":")[0]
        return family in _IGNORED or kind in _CHUNKS or record.get("ignorable") is True

    def _header(self, index: int, record: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        self.trace.id = string(record.get("id"))[:200]
        self.trace.cwd = path_of(record.get("cwd"))
        self.trace.version = f"v{whole_number(record.get('version')) or 0}"
        self._subagent = record.get("origin") == "subagent"
        self._seed = whole_number(record.get("seedLength")) or 0

    def _end_seed(self, index: int, record: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        """From generation 2 on the end of a replay is marked and its length not known before."""
        if data.get("inherited") is True:
            self.trace.restart()
            self._jobs.clear()
            self._asked.clear()
            self._said = Narration()

    def _compacted(self, index: int, record: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        self.trace.compactions += 1

    def _user(self, index: int, record: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        replaces = mapping(record.get("surfaceOp")).get("op") == "replace"
        if mapping(data.get("source")).get("kind") == "user" and not replaces:
            text = text_of(data.get("content"))
            self.trace.prompt(text, index, epoch(record.get("time")), self._subagent)

    def _assistant(self, index: int, record: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        self._said = Narration()
        for block in map(mapping, sequence(mapping(data.get("message")).get("content"))):
            if block.get("type") == "text":
                self._said.say(block.get("text"))
            elif block.get("type") == "reasoning":
                self._said.think(block.get("text"))

    def _call(self, index: int, record: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        self._begin(index, record, data, string(data.get("callId")))

    def _dispatched(self, index: int, record: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        self._begin(index, record, data, string(data.get("subCallId")))

    def _begin(
        self, index: int, record: Mapping[str, Any], data: Mapping[str, Any], call: str
    ) -> None:
        name = string(data.get("name"))
        given = _arguments(data.get("arguments"))
        shape = _TOOLS.get(name)
        if shape is None:
            self.trace.miss(f"tool {name}")
        for action in (shape or _other)(given):
            action = action._replace(
                record=index,
                tool=name[:80],
                reason=self._said.reason,
                cwd=path_of(given.get("workdir")) or self.trace.cwd,
                time=epoch(record.get("time")),
                subagent=self._subagent,
            )
            self.trace.add(action, call)
        if name == "job_output" and call:
            self._asked[call] = string(given.get("job_id"))

    def _result(self, index: int, record: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        message = mapping(data.get("message"))
        content = message.get("content")
        wrapper = next((b for b in map(mapping, sequence(content)) if "toolCallId" in b), {})
        source = mapping(message.get("source"))
        ids = (message.get("toolCallId"), wrapper.get("toolCallId"), source.get("callId"))
        call = next((value for value in ids if isinstance(value, str)), "")
        failed = True in (message.get("isError"), wrapper.get("isError")) or bool(data.get("error"))
        text = text_of(wrapper.get("content") if wrapper else content)
        self._finish(index, call, text, failed, mapping(data.get("meta")))

    def _dispatch_result(
        self, index: int, record: Mapping[str, Any], data: Mapping[str, Any]
    ) -> None:
        call = string(data.get("subCallId"))
        if not self.trace.waits(call):
            self._begin(index, record, data, call)
        text, failed = text_of(data.get("content")), data.get("isError") is True
        self._finish(index, call, text, failed, mapping(data.get("meta")))

    def _finish(
        self, index: int, call: str, text: str, failed: bool, meta: Mapping[str, Any]
    ) -> None:
        job = self._asked.pop(call, "")
        if job:
            self._job_output(index, job, text)
        while (number := self.trace.answered(call)) is not None:
            action = self.trace.actions[number]
            changes: dict[str, Any] = {"failed": failed}
            if action.kind == EXEC:
                changes = self._ran(number, text, failed)
            elif action.kind == MUTATE and not failed:
                changes = _edited(action, text, meta)
            self.trace.update(number, result=index, **changes)

    def _ran(self, number: int, text: str, failed: bool) -> dict[str, Any]:
        started = _STARTED.fullmatch(text)
        if started:
            self._jobs[started.group(1)] = number
        code = None if started or failed else _exit_code(text)
        if failed and "[timed out after" in text[-300:]:
            failed, code = False, _TIMED_OUT
        return {"failed": failed, "exit_code": code, "output": keep_output(text, code)}

    def _job_output(self, index: int, job: str, text: str) -> None:
        """What a background job printed ends with its status, in which the exit code may be."""
        number = self._jobs.get(job)
        status = text[-300:].rpartition("[status:")[2]
        found = _JOB_EXIT.search(status) if status != text[-300:] else None
        if number is not None and found:
            code = int(found.group(1))
            self.trace.update(number, result=index, exit_code=code, output=keep_output(text, code))


def _arguments(value: object) -> Mapping[str, Any]:
    """Arguments as an object; a call has them as the string that the model produced."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return {}
    return mapping(value)


def _exit_code(text: str) -> int:
    """How a command ended by the markers below its output; none of them means 0."""
    lines = text[-500:].rstrip().rsplit("\n", 3)
    if found := _EXIT.fullmatch(lines[-1]):
        return int(found.group(1))
    if found := _KILLED.fullmatch(lines[-1]):
        return _SIGNALS.get(found.group(1), _UNKNOWN_SIGNAL)
    return _TIMED_OUT if lines[-1].startswith("[timed out after ") else 0


def _edited(action: Action, text: str, meta: Mapping[str, Any]) -> dict[str, Any]:
    """What an edit did, from its result where that tells more than the call."""
    diffs = [mapping(diff) for diff in sequence(meta.get("diffs"))]
    named = [diff for diff in diffs if diff.get("path") in (None, action.path)] or diffs
    pairs = [(string(diff.get("oldText")), string(diff.get("newText"))) for diff in named]
    hunks = clip_hunks(hunk for before, after in pairs for hunk in replaced(before, after))
    if not hunks or "Created file" in text[-200:]:
        return {}
    return {"hunks": hunks, "created": False}


def _read(given: Mapping[str, Any]) -> list[Action]:
    return [Action(READ, 0, path=path_of(given.get("file_path")))]


def _searched(given: Mapping[str, Any]) -> list[Action]:
    return [Action(READ, 0, path=file_of(given.get("path")))]


def _edit(given: Mapping[str, Any]) -> list[Action]:
    hunks = replaced(string(given.get("old_string")), string(given.get("new_string")))
    return [Action(MUTATE, 0, path=path_of(given.get("file_path")), hunks=hunks)]


def _write(given: Mapping[str, Any]) -> list[Action]:
    hunks = written(string(given.get("content")))
    return [Action(MUTATE, 0, path=path_of(given.get("file_path")), hunks=hunks, created=True)]


def _str_replace_editor(given: Mapping[str, Any]) -> list[Action]:
    path = path_of(given.get("path"))
    verb = given.get("command")
    if verb == "view":
        return [Action(READ, 0, path=path)]
    if verb == "create":
        return _write({"file_path": path, "content": given.get("file_text")})
    before, after = given.get("old_str"), given.get("new_str")
    return _edit({"file_path": path, "old_string": before, "new_string": after})


def _apply_patch(given: Mapping[str, Any]) -> list[Action]:
    text = given.get("patch") or given.get("input") or given.get("patch_text")
    return [
        Action(MUTATE, 0, path=path_of(edit.path), hunks=edit.hunks, created=edit.created)
        for edit in parse_patch(string(text))
    ] or _other(given)


def _run(given: Mapping[str, Any]) -> list[Action]:
    return [Action(EXEC, 0, command=command_of(given.get("command")))]


def _other(given: Mapping[str, Any]) -> list[Action]:
    return [Action(OTHER, 0)]


_TOOLS: dict[str, Callable[[Mapping[str, Any]], list[Action]]] = {
    "read": _read,
    "glob": _searched,
    "grep": _searched,
    "edit": _edit,
    "write": _write,
    "str_replace_editor": _str_replace_editor,
    "apply_patch": _apply_patch,
    "bash": _run,
    "pwsh": _run,
    # The programs of run_code do their work by dispatched calls, which have their own events.
    **dict.fromkeys(
        names(
            "run_code get_goal update_goal job_kill job_list job_output lsp skill subagent"
            " subagent_fork terminal_close terminal_list terminal_open terminal_read terminal_send"
            " terminal_signal todo_write web_fetch web_search workflow"
        ),
        _other,
    ),
}
