"""Transcripts of Antigravity: ``brain/<conversation>/.system_generated/logs/transcript*.jsonl``.

Each line is a step ``{"step_index", "source", "type", "status", "created_at", "content"}``. The
agent's steps hold its calls, the steps that follow hold what came of them, without an id: the
first call waiting for a step of that type is the one. Arguments are JSON inside strings. How
a command ended is said in a sentence, for one in the background by a later system message.
There is no official description; this follows logs of 2026.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
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
    whole_number,
)
from git_tmem.adapters.patches import clip_hunks, replaced, unified, written
from git_tmem.adapters.places import entries, folder
from git_tmem.changes import Hunk

NAME = "agy"
VERSIONS: tuple[str, ...] = ()  # the log does not tell

#: Types of step that hold nothing for us.
_IGNORED = frozenset(
    names("CONVERSATION_HISTORY EPHEMERAL_MESSAGE ERROR_MESSAGE KNOWLEDGE_ARTIFACTS USER_SETTINGS")
)
#: Types of step that hold what a call of one of these tools came to; other tools' results
#: are of type GENERIC.
_RESULTS = {
    "view_file": "VIEW_FILE",
    "list_dir": "LIST_DIRECTORY",
    "grep_search": "GREP_SEARCH",
    "run_command": "RUN_COMMAND",
    "write_to_file": "CODE_ACTION",
    "write_file": "CODE_ACTION",
    "replace_file_content": "CODE_ACTION",
    "multi_replace_file_content": "CODE_ACTION",
    "search_web": "SEARCH_WEB",
}
_GENERIC = "GENERIC"
_ENDINGS = frozenset((*_RESULTS.values(), _GENERIC))
_TROUBLE = frozenset(("ERROR", "CANCELED", "CANCELLED", "FAILED", "REJECTED"))

#: The three families of the application, each with its own folder below ``~/.gemini``.
_FOLDERS = ("antigravity-cli", "antigravity", "antigravity-ide")
_FILES = ("transcript.jsonl", "transcript_full.jsonl")

#: The argument that holds several edits of a file.
_CHUNKS = "ReplacementChunks"
#: Different folders that are counted.
_MOST_FOLDERS = 100

_CODE = re.compile(r"The command (?:exited with code|failed with exit code:?) (-?\d{1,9})")
_PASSED = "The command completed successfully"
_OUTPUT = re.compile(r"^[ \t]*(?:Output|Stdout):[ \t]*\n?", re.MULTILINE)
_BACKGROUND = re.compile(r"background task with task id: (\S{1,200})")
_FINISHED = re.compile(r'Task id "([^"\s]{1,200})" finished with result:')
_SEEN = re.compile(r"File Path: `(?:file://)?([^`\n]{1,4096})`")
_MADE = re.compile(r"Created file (?:file://)?(.{1,4096}?) with requested content")
_CHANGED = re.compile(r"changes were made by the \w{1,80} tool to: (.{1,4096}?)\. If relevant")


def detect(head: Sequence[Mapping[str, Any]]) -> bool:
    """Whether there is a numbered step with a source and a type."""
    return any(
        "step_index" in record and "source" in record and isinstance(record.get("type"), str)
        for record in head
    )


def parse(records: Iterator[tuple[int, Mapping[str, Any]]]) -> Session:
    """The session in the records of a log."""
    reading = _Reading()
    for index, record in records:
        reading.take(index, record)
    return reading.trace.session()


def find_logs(roots: Sequence[str], env: Mapping[str, str]) -> Iterator[str]:
    """Every conversation's transcript, the full one where there are two. A transcript's place
    does not tell the folder it worked in; its commands do."""
    home = folder(env, "", ".gemini")
    places = [os.path.join(home, name) for name in _FOLDERS] if home else []
    places += [os.path.join(root, ".antigravity", _FOLDERS[0]) for root in roots]
    for place in places:
        for brain in entries(os.path.join(place, "brain")):
            logs = entries(os.path.join(brain, ".system_generated", "logs"))
            found = [path for path in logs if os.path.basename(path) in _FILES]
            if found:
                yield max(found, key=len)


class _Reading:
    """One pass over a log."""

    def __init__(self) -> None:
        self.trace = Trace(NAME)
        self._said = Narration()
        self._waiting: list[tuple[str, int]] = []  # (type of the result's step, action)
        # What is still running may come again, under the same number and type.
        self._running: dict[tuple[int, str], int] = {}
        self._folders: Counter[str] = Counter()  # where commands ran
        self._tasks: dict[str, int] = {}  # background task -> the action that started it

    def take(self, index: int, record: Mapping[str, Any]) -> None:
        kind = string(record.get("type"))
        if kind == "USER_INPUT":
            said = _spoken(string(record.get("content")))
            self.trace.prompt(said, index, epoch(record.get("created_at")))
        elif kind == "PLANNER_RESPONSE":
            self._planned(index, record)
        elif kind == "SYSTEM_MESSAGE":
            self._notice(index, string(record.get("content")))
        elif kind == "CHECKPOINT":
            self.trace.compactions += 1
        elif kind in _ENDINGS or (self._waiting and record.get("source") == "MODEL"):
            self._calls(index, record)
            self._result(index, kind, record)
        elif kind not in _IGNORED:
            self.trace.miss(record.get("type"))

    def _planned(self, index: int, record: Mapping[str, Any]) -> None:
        self._said.begin()
        self._said.think(record.get("thinking"))
        self._said.say(record.get("content"))
        self._waiting.clear()  # what has no result by now was cut short
        self._calls(index, record)
        self._said.answer()

    def _calls(self, index: int, record: Mapping[str, Any]) -> None:
        for call in map(mapping, sequence(record.get("tool_calls"))):
            name = string(call.get("name")).rpartition(":")[2]
            shape = _TOOLS.get(name)
            if shape is None:
                self.trace.miss(f"tool {name}")
            given = _decoded(call.get("args") or call.get("arguments"))
            action = (shape or _other)(given)
            self._learn_folder(action, given)
            self._add(index, record, action._replace(tool=name[:80], reason=self._said.reason))

    def _add(self, index: int, record: Mapping[str, Any], action: Action) -> None:
        time = epoch(record.get("created_at"))
        number = self.trace.add(action._replace(record=index, time=time))
        self._waiting.append((_RESULTS.get(action.tool, _GENERIC), number))

    def _learn_folder(self, action: Action, given: Mapping[str, Any]) -> None:
        """The folder of a session is the one in which most of it happened."""
        place = action.cwd or path_of(given.get("DirectoryPath"))
        if place and (place in self._folders or len(self._folders) < _MOST_FOLDERS):
            self._folders[place] += 1
            self.trace.cwd = self._folders.most_common(1)[0][0]

    def _result(self, index: int, kind: str, record: Mapping[str, Any]) -> None:
        text, status = string(record.get("content")), string(record.get("status")).upper()
        step = (whole_number(record.get("step_index")) or 0, kind)
        number = self._running.pop(step, None)
        if number is None:
            number = self._answered(index, kind, record)
        if number is None:
            return
        if status == "RUNNING":
            self._running[step] = number
        self.trace.update(number, result=index, **self._outcome(number, text, status in _TROUBLE))

    def _answered(self, index: int, kind: str, record: Mapping[str, Any]) -> int | None:
        """The number of the action that a result is of, None when the log does not tell."""
        wanted = [n for n, (result, _) in enumerate(self._waiting) if result == kind]
        if not wanted and kind in _ENDINGS and not record.get("tool_calls"):
            action = _told(kind, string(record.get("content")))  # its call was left out
            if action:
                self._add(index, record, action)
            wanted = [len(self._waiting) - 1] if action else []
        elif not wanted and self._waiting:
            wanted = [0]
        return self._waiting.pop(wanted[0])[1] if wanted else None

    def _outcome(self, number: int, text: str, failed: bool) -> dict[str, Any]:
        action = self.trace.actions[number]
        if action.kind == EXEC:
            started = _BACKGROUND.search(text[:1_000])
            if started:
                self._tasks[started.group(1)] = number
            code = _exit_code(text)
            shown = keep_output(_printed(text), code)
            return {"failed": failed and code is None, "exit_code": code, "output": shown}
        if action.kind == MUTATE and not failed:
            return _edited(text)
        return {"failed": failed}

    def _notice(self, index: int, text: str) -> None:
        """How a background task ended is told in a message of the system."""
        found = _FINISHED.search(text[:2_000])
        number = self._tasks.pop(found.group(1), None) if found else None
        if number is not None and found:
            told = text[found.end() :].partition("</SYSTEM_MESSAGE>")[0]
            code = _exit_code(told)
            shown = keep_output(_printed(told), code)
            self.trace.update(number, result=index, exit_code=code, output=shown)


def _spoken(text: str) -> str:
    """What the user said in an input: what is marked as the request, or all of it."""
    _, mark, rest = text.partition("<USER_REQUEST>")
    if mark:
        return rest.partition("</USER_REQUEST>")[0]
    return "" if text.lstrip().startswith("<") else text


def _decoded(value: object) -> Mapping[str, Any]:
    """Arguments, each out of the JSON string in which it may be written."""
    return {name: _inner(name, inner) for name, inner in mapping(value).items()}


def _inner(name: str, value: object) -> object:
    # A file's content may be JSON itself; only of the edits is more than a string wanted.
    quoted = isinstance(value, str) and len(value) > 1 and value[0] == value[-1] == '"'
    if isinstance(value, str) and (quoted or name == _CHUNKS):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def _exit_code(text: str) -> int | None:
    # The sentence stands above the output, which may be of any length and say anything.
    above = text[:2_000]
    label = _OUTPUT.search(above)
    above = above[: label.start()] if label else above
    if found := _CODE.search(above):
        return int(found.group(1))
    return 0 if _PASSED in above else None


def _printed(text: str) -> str:
    label = _OUTPUT.search(text[:2_000])
    return text[label.end() :].lstrip("\t") if label else text


def _edited(text: str) -> dict[str, Any]:
    """What an edit did, from the diff of its result where there is one."""
    _, mark, rest = text.partition("[diff_block_start]\n")
    hunks = unified(rest.partition("\n[diff_block_end]")[0]) if mark else ()
    return {"hunks": hunks, "created": False} if hunks else {}


def _told(kind: str, text: str) -> Action | None:
    """The action that a result tells of by itself, None when it names no file."""
    start = text[:10_000]
    if kind == "VIEW_FILE" and (found := _SEEN.search(start)):
        return Action(READ, 0, tool="view_file", path=path_of(found.group(1)))
    if kind == "CODE_ACTION" and (found := _MADE.search(start)):
        return Action(MUTATE, 0, tool="write_to_file", path=path_of(found.group(1)), created=True)
    if kind == "CODE_ACTION" and (found := _CHANGED.search(start)):
        return Action(MUTATE, 0, tool="replace_file_content", path=path_of(found.group(1)))
    return None


def _view(given: Mapping[str, Any]) -> Action:
    path = string(given.get("AbsolutePath") or given.get("File")).removeprefix("file://")
    return Action(READ, 0, path=path_of(path))


def _searched(given: Mapping[str, Any]) -> Action:
    return Action(READ, 0, path=file_of(given.get("SearchPath") or given.get("SearchDirectory")))


def _pair(given: Mapping[str, Any]) -> tuple[Hunk, ...]:
    before, after = string(given.get("TargetContent")), string(given.get("ReplacementContent"))
    return replaced(before, after)


def _replace(given: Mapping[str, Any]) -> Action:
    return Action(MUTATE, 0, path=path_of(given.get("TargetFile")), hunks=_pair(given))


def _replace_all(given: Mapping[str, Any]) -> Action:
    chunks = map(mapping, sequence(given.get(_CHUNKS)))
    hunks = clip_hunks(hunk for chunk in chunks for hunk in _pair(chunk))
    return Action(MUTATE, 0, path=path_of(given.get("TargetFile")), hunks=hunks)


def _write(given: Mapping[str, Any]) -> Action:
    hunks = written(string(given.get("CodeContent")))
    return Action(MUTATE, 0, path=path_of(given.get("TargetFile")), hunks=hunks, created=True)


def _run(given: Mapping[str, Any]) -> Action:
    command, cwd = command_of(given.get("CommandLine")), path_of(given.get("Cwd"))
    return Action(EXEC, 0, command=command, cwd=cwd)


def _other(given: Mapping[str, Any]) -> Action:
    return Action(OTHER, 0)


_TOOLS: dict[str, Callable[[Mapping[str, Any]], Action]] = {
    **dict.fromkeys(("view_file", "view_file_outline", "view_code_item"), _view),
    **dict.fromkeys(("codebase_search", "find_by_name", "grep_search", "list_dir"), _searched),
    "replace_file_content": _replace,
    "multi_replace_file_content": _replace_all,
    **dict.fromkeys(("write_file", "write_to_file"), _write),
    "run_command": _run,
    **dict.fromkeys(
        names(
            "ask_question browser_subagent command_status generate_image invoke_subagent"
            " manage_task notify_user read_terminal read_url_content schedule search_web"
            " send_command_input task_boundary view_content_chunk"
        ),
        _other,
    ),
}
