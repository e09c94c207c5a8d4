"""Session logs of Claude Code: ``~/.claude/projects/<slug>/<session>.jsonl``.

There is no official description; this follows logs of versions 1.0.111 to 2.1.220. A
message is written as several records, one content block each. Calls and results are paired
by id. Steps of sub-agents stand in files of their own (see :mod:`claude_agents`), in records
marked ``isSidechain``, or nested in ``progress`` records; all of them give actions with
``subagent`` set, each once. Those from files of their own count under the record of the
session that came before them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from git_tmem.actions import EXEC, MUTATE, OTHER, READ, Action, Session
from git_tmem.adapters.base import (
    Narration,
    Trace,
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
from git_tmem.adapters.claude_calls import action_of
from git_tmem.adapters.claude_outcomes import answers, broken, edited, objection

NAME = "claude-code"
VERSIONS: tuple[str, ...] = ("1.0", "2.0", "2.1")

#: Types of record that hold nothing for us.
_IGNORED = frozenset(
    names(
        "agent-name ai-title atis-latch bridge-session custom-title file-history-snapshot"
        " frame-link last-prompt mode permission-mode pr-link queue-operation relocated result"
        " started summary worktree-state"
    )
)
_SPOKEN = frozenset(("assistant", "user", "system", "progress", "attachment"))
_MARKS = frozenset(("sessionId", "parentUuid", "leafUuid", "messageId"))

#: Texts in the place of a user's words that no user wrote.
_INJECTED = (
    "<local-command-",
    "<system-reminder>",
    "<task-notification>",
    "<user-memory-input>",
    "<bash-",
    "[Request interrupted",
    "Caveat: The messages below were generated",
)
#: Slash commands whose arguments are settings and not a request.
_SETTINGS = frozenset(
    names(
        "add-dir agents clear color compact config context cost doctor effort exit export help"
        " hooks ide login logout mcp memory model output-style permissions plugin quit rename"
        " resume status statusline terminal-setup theme usage vim"
    )
)
_BACKGROUND = re.compile(r"Command (?:running in|was .{0,80}) background .{0,40}ID: ([\w-]+)")
_EXIT_TAG = re.compile(r"<exit_code>(-?\d{1,9})</exit_code>")
_NOTICE = re.compile(r"<task-id>([\w-]+)</task-id>")
_NOTICE_EXIT = re.compile(r"exit code (\d{1,9})")


def detect(head: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a record has a type and one of the links that only this format has together."""
    return any(
        string(record.get("type")) in _SPOKEN | _IGNORED and not _MARKS.isdisjoint(record)
        for record in head
    )


def parse(records: Iterator[tuple[int, Mapping[str, Any]]]) -> Session:
    """The session in the records of a log."""
    reading = _Reading()
    for index, record in records:
        reading.take(index, record)
    return reading.trace.session()


def find_logs(roots: Sequence[str], env: Mapping[str, str]) -> Iterator[str]:
    """Logs in the project folders of the roots and of what lies below them.

    A project's folder is named after the path it stands for, with a dash for every UTF-16
    unit that is no ASCII letter or digit, which other paths may share.
    """
    home = env.get("CLAUDE_CONFIG_DIR") or (
        env.get("HOME") and os.path.join(env["HOME"], ".claude")
    )
    if not home:
        return
    projects = os.path.join(home, "projects")
    slugs = tuple(_slug(path) for root in roots for path in {root, os.path.realpath(root)})
    for project in _names(projects):
        if project.startswith(slugs):
            for name in _names(os.path.join(projects, project)):
                # Logs of sub-agents repeat in part what their session's log says.
                if name.endswith(".jsonl") and not name.startswith("agent-"):
                    yield os.path.join(projects, project, name)


def _slug(path: str) -> str:
    letters = (c if c.isascii() and c.isalnum() else "-" * (1 + (c > "\uffff")) for c in path)
    return "".join(letters)


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


class _Reading:
    """One pass over a log."""

    def __init__(self) -> None:
        self.trace = Trace(NAME)
        self._seen: set[tuple[str, str, str]] = set()
        self._lanes: dict[str, Narration] = {}
        self._tasks: dict[str, int] = {}  # background task -> the action that started it
        self._asked: dict[int, str] = {}  # action that asks for a task's output -> task
        self._woven = 0  # records so far that are not of the session's own log
        self._last = 0  # number of its last record

    def take(self, index: int, record: Mapping[str, Any]) -> None:
        side = record.get("woven") is True
        self._woven += side
        if not side:
            self._last = index - self._woven
        self._take(self._last, record, side or record.get("isSidechain") is True)

    def _take(self, index: int, record: Mapping[str, Any], subagent: bool) -> None:
        kind = record.get("type")
        if kind in ("assistant", "user"):
            self._message(index, record, subagent)
        elif kind == "progress":
            self._progress(index, record)
        elif kind == "attachment":
            self._attachment(index, record, subagent)
        elif kind == "system":
            self.trace.compactions += record.get("subtype") == "compact_boundary" and not subagent
        elif not (isinstance(kind, str) and kind in _IGNORED):
            self.trace.miss(kind)

    def _is_new(self, record: Mapping[str, Any], call: str) -> bool:
        """Resumed and forked sessions begin with copies of records, under the same ids."""
        key = (string(record.get("uuid")), string(record.get("timestamp")), call)
        if call.startswith("toolu_"):  # made by the model's server, and the same wherever it stands
            key = ("the same", "", call)
        if key in self._seen:
            return False
        if key[0]:
            self._seen.add(key)
        return True

    def _set_scene(self, record: Mapping[str, Any]) -> None:
        trace = self.trace
        trace.cwd = trace.cwd or path_of(record.get("cwd"))
        if record.get("woven") is True:
            return  # named after the sub-agent
        trace.id = string(record.get("sessionId"))[:200] or trace.id
        trace.branch = string(record.get("gitBranch"))[:200] or trace.branch
        trace.version = string(record.get("version"))[:80] or trace.version

    def _message(self, index: int, record: Mapping[str, Any], subagent: bool) -> None:
        name = string(record.get("agentId")) or ("side" if subagent else "")
        lane = self._lanes.get(name)
        if lane is None:
            lane = self._lanes[name] = Narration()
        message = mapping(record.get("message"))
        if record.get("type") == "assistant":
            self._assistant(index, record, message, lane, subagent)
        else:
            self._user(index, record, message.get("content"), lane, subagent)

    def _progress(self, index: int, record: Mapping[str, Any]) -> None:
        """Records of a sub-agent come whole inside records of progress."""
        data = mapping(record.get("data"))
        nested = mapping(data.get("message"))
        if data.get("type") == "agent_progress" and nested.get("type") in ("assistant", "user"):
            outer = {"cwd": record.get("cwd"), "agentId": data.get("agentId") or "side"}
            self._message(index, {**nested, **outer}, True)

    def _attachment(self, index: int, record: Mapping[str, Any], subagent: bool) -> None:
        """What was typed or what ended while the agent worked arrives as an attachment, as
        does a file that the user named."""
        given = mapping(record.get("attachment"))
        kind = given.get("type")
        queued = kind == "queued_command" and not subagent
        if queued and given.get("commandMode") in ("prompt", "task-notification"):
            self._prompt(index, record, given.get("prompt"))
        elif kind == "file" and self._is_new(record, ""):
            file = mapping(mapping(given.get("content")).get("file"))
            path = path_of(file.get("filePath") or given.get("filename"))
            time, cwd = epoch(record.get("timestamp")), path_of(record.get("cwd"))
            read = Action(READ, index, "attachment", path, result=index, cwd=cwd, time=time)
            self.trace.add(read._replace(subagent=subagent))

    def _assistant(
        self,
        index: int,
        record: Mapping[str, Any],
        message: Mapping[str, Any],
        lane: Narration,
        subagent: bool,
    ) -> None:
        if record.get("isApiErrorMessage") is True:
            return
        lane.begin(string(message.get("id")))
        content = message.get("content")
        for block in sequence(content):
            kind = mapping(block).get("type")
            if kind == "text":
                lane.say(block.get("text"))
            elif kind == "thinking":
                lane.think(block.get("thinking"))
            elif kind == "tool_use":
                self._call(index, record, block, lane.reason, subagent)
        lane.say(content)

    def _call(
        self,
        index: int,
        record: Mapping[str, Any],
        block: Mapping[str, Any],
        reason: str,
        subagent: bool,
    ) -> None:
        call = string(block.get("id"))
        if not self._is_new(record, call):
            return
        self._set_scene(record)
        name = string(block.get("name"))
        given = mapping(block.get("input"))
        action = action_of(name, given)
        if action is None:
            self.trace.miss(f"tool {name}")
            action = Action(OTHER, 0)
        action = action._replace(
            record=index,
            tool=name[:80],
            reason=reason,
            cwd=path_of(record.get("cwd")),
            time=epoch(record.get("timestamp")),
            subagent=subagent,
        )
        # Old logs give calls no id; their results name the record of the call.
        number = self.trace.add(action, call or string(record.get("uuid")))
        task = given.get("task_id") or given.get("bash_id") or given.get("shell_id")
        if isinstance(task, str) and action.kind == OTHER:
            self._asked[number] = task

    def _user(
        self,
        index: int,
        record: Mapping[str, Any],
        content: object,
        lane: Narration,
        subagent: bool,
    ) -> None:
        results = [b for b in sequence(content) if mapping(b).get("type") == "tool_result"]
        for block in results:
            lane.answer()
            details = record.get("toolUseResult") if len(results) == 1 else None
            self._result(index, record, block, mapping(details))
        if results or subagent or record.get("isCompactSummary") or record.get("isMeta"):
            return
        lane.answer()
        self._prompt(index, record, content)

    def _prompt(self, index: int, record: Mapping[str, Any], content: object) -> None:
        parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
        texts = [string(mapping(p).get("text")) for p in parts if mapping(p).get("type") == "text"]
        for text in texts:
            if text.startswith("<task-notification>"):
                self._notice(index, text)
        spoken = [said for said in map(_spoken, texts) if said]
        if not spoken or not self._is_new(record, ""):
            return
        self._set_scene(record)
        self.trace.prompt("\n".join(spoken), index, epoch(record.get("timestamp")))

    def _result(
        self,
        index: int,
        record: Mapping[str, Any],
        block: Mapping[str, Any],
        details: Mapping[str, Any],
    ) -> None:
        keys = (
            block.get("tool_use_id"),
            record.get("sourceToolAssistantUUID"),
            record.get("parentUuid"),
        )
        key = next((key for key in keys if isinstance(key, str)), "")
        number = self.trace.answered(key)
        if number is None:
            return
        text = text_of(block.get("content")) or string(details.get("stdout"))
        failed = block.get("is_error") is True
        action = self.trace.actions[number]
        if action.kind == EXEC and not (failed and record.get("toolDenialKind")):
            self._ran(number, index, text, failed, details)
        elif action.kind == MUTATE and not failed:
            self.trace.update(number, result=index, **edited(action, details))
        else:
            self.trace.update(number, result=index, failed=failed)
        if action.kind == OTHER:
            self._task_output(number, index, text, details)
        said = objection(text) if failed else answers(details)
        if not action.subagent:
            self.trace.prompt(said, index, epoch(record.get("timestamp")))

    def _ran(
        self, number: int, index: int, text: str, failed: bool, details: Mapping[str, Any]
    ) -> None:
        if failed:
            self.trace.update(number, result=index, **broken(text))
            return
        # A benign non-zero exit, as of a grep without a match, is told in words under
        # returnCodeInterpretation; it is no failure of the command, so it counts as 0.
        code: int | None = 0
        started = _BACKGROUND.match(text)
        task = string(details.get("backgroundTaskId")) or (started.group(1) if started else "")
        if task:
            self._tasks[task] = number
        if task or details.get("interrupted") is True:
            code = None
        self.trace.update(number, result=index, exit_code=code, output=keep_output(text, code))

    def _task_output(self, number: int, index: int, text: str, details: Mapping[str, Any]) -> None:
        """The result of asking for a background command's output may tell how it ended."""
        told = mapping(details.get("task")) or details
        task = self._asked.pop(number, "") or string(told.get("task_id") or told.get("shellId"))
        tag = _EXIT_TAG.search(text[:4_000])
        codes = (told.get("exitCode"), told.get("exit_code"), tag.group(1) if tag else None)
        code = next((code for code in map(whole_number, codes) if code is not None), None)
        if code is not None:
            output = told.get("output") or told.get("stdout")
            self._ended(task, index, code, string(output) or text)

    def _notice(self, index: int, text: str) -> None:
        task, code = _NOTICE.search(text[:4_000]), _NOTICE_EXIT.search(text[:4_000])
        if task and code:
            self._ended(task.group(1), index, int(code.group(1)), "")

    def _ended(self, task: str, index: int, code: int, output: str) -> None:
        number = self._tasks.pop(task, None)
        if number is not None:
            kept = keep_output(output or self.trace.actions[number].output, code)
            self.trace.update(number, result=index, exit_code=code, output=kept)


def _spoken(text: str) -> str:
    """What the user said in a text: all, the arguments of a slash command, or nothing."""
    text = text.lstrip()
    if text.startswith(("<command-name>", "<command-message>")):
        name = _between(text, "<command-name>", "</command-name>").strip().lstrip("/")
        return "" if name in _SETTINGS else _between(text, "<command-args>", "</command-args>")
    return "" if text.startswith(_INJECTED) else text


def _between(text: str, start: str, end: str) -> str:
    return text.partition(start)[2].partition(end)[0].strip()
