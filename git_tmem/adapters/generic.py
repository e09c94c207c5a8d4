"""Any agent's log, written as JSON lines in one of two shapes, which may be mixed.

**Chat**: messages as the OpenAI chat API has them. ::

    {"role": "user", "content": "fix the test"}
    {"role": "assistant", "content": "I will run it first.", "tool_calls": [
        {"id": "c1", "function": {"name": "bash", "arguments": "{\\"command\\": \\"pytest\\"}"}}]}
    {"role": "tool", "tool_call_id": "c1", "content": "1 failed", "exit_code": 1}

**Events**: one flat object a step, named by ``type``, ``kind``, ``action`` or ``event``. ::

    {"type": "session", "id": "s1", "cwd": "/home/ada/app", "branch": "main", "version": "2"}
    {"type": "prompt", "text": "fix the test"}
    {"type": "say", "text": "The parser drops the last field."}
    {"type": "read", "path": "app/parse.py"}
    {"type": "edit", "path": "app/parse.py", "old": "a, b", "new": "a, b, c"}
    {"type": "write", "path": "app/new.py", "content": "x = 1\\n"}
    {"type": "run", "command": "pytest", "exit_code": 0, "output": "1 passed"}

What a tool or an event does is told by its name, in any case, with ``-`` or ``_``, behind
any prefix that ends in a dot:

* reading: read, view, open, cat, grep, glob, search, list, ls (and read_file, ...)
* editing: edit, replace, str_replace, insert, modify, patch, apply_patch, delete (and
  edit_file, ...)
* writing a file whole: write, create (and write_file, ...)
* running: run, exec, execute, command, shell, bash, sh, terminal, test (and run_command, ...)
* the user: prompt, user, user_message; the agent: say, assistant, assistant_message,
  thought, thinking, reason, reasoning
* a result that comes later, with the ``id`` of its event or call: result, tool_result, output

Fields, the first that is there: ``path`` / ``file`` / ``file_path`` / ``filename``;
``command`` / ``cmd`` (a string or a list of arguments); ``old_string`` / ``old_str`` /
``old`` and ``new_string`` / ``new_str`` / ``new``; ``content`` / ``text`` / ``file_text``;
``patch`` / ``diff`` (unified, or as apply_patch takes it); ``exit_code`` / ``exitCode`` /
``returncode`` / ``status`` (a number, or ok, success, passed, completed, error, failed);
``output`` / ``stdout`` / ``content`` of a result; ``is_error``: true for a call that was
refused; ``cwd``, ``branch``, ``session_id`` and ``timestamp`` / ``time`` (ISO 8601, or
seconds or milliseconds since the epoch) in any record. Without a field for it, the exit
code is taken from the first or last line of the output when that line says ``exit code N``.
Records and tools of other names are counted as unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from git_tmem.actions import EXEC, MUTATE, OTHER, PROMPT, READ, Action, Session
from git_tmem.adapters.base import (
    Narration,
    Trace,
    arguments_of,
    clip_name,
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
from git_tmem.adapters.patches import clip_hunks, parse_patch, replaced, unified, written
from git_tmem.changes import Hunk

NAME = "generic"
VERSIONS: tuple[str, ...] = ()  # the log does not tell

_SAY = "say"
_THINK = "think"
_RESULT = "result"
_SESSION = "session"
_WRITE = "write"

_VERBS = {
    **dict.fromkeys(names("read view open cat grep glob search list ls"), READ),
    **dict.fromkeys(
        names("edit replace str_replace search_replace multi_edit insert modify"), MUTATE
    ),
    **dict.fromkeys(names("str_replace_editor patch apply_patch delete remove"), MUTATE),
    **dict.fromkeys(names("write create"), _WRITE),
    **dict.fromkeys(names("run exec execute command shell bash sh terminal test"), EXEC),
    **dict.fromkeys(names("prompt user user_message"), PROMPT),
    **dict.fromkeys(names("say assistant assistant_message"), _SAY),
    **dict.fromkeys(names("thought thinking reason reasoning"), _THINK),
    **dict.fromkeys(names("result tool_result output"), _RESULT),
    "session": _SESSION,
}
#: Endings of tool names that say no more than the verb: read_file, run_shell_command.
_ENDINGS = ("_file", "_files", "_dir", "_directory", "_command", "_shell_command", "_terminal_cmd")
_TOOL_VERBS = frozenset((READ, MUTATE, _WRITE, EXEC))
_SILENT_ROLES = ("system", "developer")

_PATHS = ("path", "file", "file_path", "filename")
_COMMANDS = ("command", "cmd")
_OLD = ("old_string", "old_str", "old")
_NEW = ("new_string", "new_str", "new")
_CONTENT = ("content", "text", "file_text")
_PATCHES = ("patch", "diff", "input")
_CODES = ("exit_code", "exitCode", "returncode", "status")
_OUTPUTS = ("output", "stdout", "content", "text")
#: Fields by which an event tells its own outcome.
_OUTCOMES = (*_CODES, "output", "stdout", "is_error")
_SESSIONS = ("session_id", "sessionId", "session")
_TIMES = ("timestamp", "time")

_STATUSES = {
    **dict.fromkeys(("ok", "success", "succeeded", "passed", "completed"), 0),
    **dict.fromkeys(("error", "failed", "failure"), 1),
}
_EXIT_LINE = re.compile(
    r"\W*(?:process )?exit(?:ed)?(?: with)?(?: code| status)\W{0,3}(\d{1,9})\W*", re.I
)


def detect(head: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a record has one of the shapes, with what makes it one."""
    return any(_is_message(record) or _is_event(record) for record in head)


def parse(records: Iterator[tuple[int, Mapping[str, Any]]]) -> Session:
    """The session in the records of a log."""
    reading = _Reading()
    for index, record in records:
        reading.take(index, record)
    return reading.trace.session()


def find_logs(roots: Sequence[str], env: Mapping[str, str]) -> Iterator[str]:
    """Nothing: such a log lies wherever its agent puts it, and is named by the user."""
    return iter(())


def _is_message(record: Mapping[str, Any]) -> bool:
    role = record.get("role")
    if role in ("user", "system", "developer", "tool"):
        return isinstance(record.get("content"), (str, list))
    return role == "assistant" and ("tool_calls" in record or bool(record.get("content")))


def _is_event(record: Mapping[str, Any]) -> bool:
    verb = verb_of(_event_name(record))
    if verb == EXEC:
        return bool(command_of(_first(record, _COMMANDS)))
    if verb in _TOOL_VERBS:
        return bool(path_of(_first(record, _PATHS)))
    return verb in (PROMPT, _SAY) and bool(text_of(_first(record, _CONTENT)))


def _event_name(record: Mapping[str, Any]) -> str:
    return string(_first(record, ("type", "kind", "action", "event")))


def _first(record: Mapping[str, Any], names: Sequence[str]) -> Any:
    return next((record[name] for name in names if record.get(name) is not None), None)


def verb_of(name: str) -> str:
    """What a tool or an event of this name does, '' if unknown."""
    name = name.lower().rpartition(".")[2].replace("-", "_")
    if name in _VERBS:
        return _VERBS[name]
    return next((_VERBS.get(name[: -len(end)], "") for end in _ENDINGS if name.endswith(end)), "")


class _Reading:
    """One pass over a log."""

    def __init__(self) -> None:
        self.trace = Trace(NAME)
        self._said = Narration()

    def take(self, index: int, record: Mapping[str, Any]) -> None:
        self._set_scene(record)
        if "role" in record:
            self._message(index, record)
        else:
            self._event(index, record)

    def _set_scene(self, record: Mapping[str, Any]) -> None:
        trace = self.trace
        trace.cwd = trace.cwd or path_of(record.get("cwd"))
        trace.branch = string(record.get("branch"))[:200] or trace.branch
        trace.id = trace.id or string(_first(record, _SESSIONS))[:200]

    def _message(self, index: int, record: Mapping[str, Any]) -> None:
        role, text = record.get("role"), text_of(record.get("content"))
        if role == "user":
            self._prompt(index, record, text)
        elif role == "assistant":
            self._said.begin()
            self._said.say(text)
            for call in map(mapping, sequence(record.get("tool_calls"))):
                function = mapping(call.get("function")) or call
                given = arguments_of(function.get("arguments"))
                self._call(index, record, string(function.get("name")), given, call.get("id"))
        elif role in ("tool", "function"):
            self._result(index, record, string(record.get("tool_call_id")))
        elif role not in _SILENT_ROLES:
            self.trace.miss(f"role {clip_name(role)}")

    def _event(self, index: int, record: Mapping[str, Any]) -> None:
        name = _event_name(record)
        verb = verb_of(name)
        if verb in _TOOL_VERBS:
            self._said.begin()
            self._call(index, record, name, record, record.get("id"))
        elif verb == PROMPT:
            self._prompt(index, record, text_of(_first(record, _CONTENT)))
        elif verb in (_SAY, _THINK):
            self._said.begin()
            (self._said.say if verb == _SAY else self._said.think)(
                text_of(_first(record, _CONTENT))
            )
        elif verb == _RESULT:
            self._result(index, record, string(_first(record, ("id", "call_id", "tool_call_id"))))
        elif verb == _SESSION:
            self.trace.id = string(record.get("id"))[:200] or self.trace.id
            self.trace.version = string(record.get("version"))[:80]
        else:
            self.trace.miss(name or "record without a name")

    def _prompt(self, index: int, record: Mapping[str, Any], text: str) -> None:
        self._said.answer()
        self.trace.prompt(text, index, epoch(_first(record, _TIMES)))

    def _call(
        self,
        index: int,
        record: Mapping[str, Any],
        name: str,
        given: Mapping[str, Any],
        call: object,
    ) -> None:
        for action in actions_of(name, given):
            if action.kind == OTHER and not verb_of(name):
                self.trace.miss(f"tool {name}")
            action = action._replace(
                record=index,
                tool=name[:80],
                reason=self._said.reason,
                cwd=path_of(_first(given, ("cwd", "workdir"))) or self.trace.cwd,
                time=epoch(_first(record, _TIMES)),
            )
            number = self.trace.add(action, string(call))
            if given is record and _first(record, _OUTCOMES) is not None:
                self._said.answer()
                self._settle(number, index, record)

    def _result(self, index: int, record: Mapping[str, Any], call: str) -> None:
        self._said.answer()
        while (number := self.trace.answered(call)) is not None:
            self._settle(number, index, record)

    def _settle(self, number: int, index: int, record: Mapping[str, Any]) -> None:
        told = {**_told(record.get("content")), **record}
        action = self.trace.actions[number]
        refused = told.get("is_error") is True
        changes: dict[str, Any] = {"result": index, "failed": refused}
        if action.kind == EXEC:
            own = text_of(_first(told, _OUTPUTS[:2]))
            text = own or (text_of(_first(told, _OUTPUTS)) if action.record != index else "")
            code = None if refused else _exit_code(told, text)
            changes.update(exit_code=code, output=keep_output(text, code))
        elif action.kind == MUTATE:
            changes["failed"] = refused or (_exit_code(told, "") or 0) != 0
        self.trace.update(number, **changes)


def _told(content: object) -> Mapping[str, Any]:
    """The fields of a tool result whose text is itself a JSON object."""
    if isinstance(content, str) and content[:1] == "{" and any(f'"{c}"' in content for c in _CODES):
        return arguments_of(content)
    return {}


def _exit_code(told: Mapping[str, Any], text: str) -> int | None:
    for name in _CODES:
        value = told.get(name)
        code = _STATUSES.get(value.lower()) if isinstance(value, str) else None
        code = whole_number(value) if code is None else code
        if code is not None:
            return code
    lines = text[:200].partition("\n")[0], text[-200:].rstrip().rpartition("\n")[2]
    found = next(filter(None, map(_EXIT_LINE.fullmatch, lines)), None)
    return int(found.group(1)) if found else None


def actions_of(name: str, given: Mapping[str, Any]) -> list[Action]:
    """The actions of a tool or an event of this name: one, or one for each file of a patch."""
    verb = verb_of(name)
    path = path_of(_first(given, _PATHS))
    if verb == READ:
        listing = name.lower().startswith(("grep", "glob", "search", "list", "ls"))
        return [Action(READ, 0, path=file_of(path) if listing else path)]
    if verb == EXEC:
        return [Action(EXEC, 0, command=command_of(_first(given, _COMMANDS)))]
    if verb == _WRITE:
        hunks = written(text_of(_first(given, _CONTENT)))
        return [Action(MUTATE, 0, path=path, hunks=hunks, created=True)]
    return _edits(given, path) if verb == MUTATE else [Action(OTHER, 0)]


def _edits(given: Mapping[str, Any], path: str) -> list[Action]:
    """An edit by its texts, by a patch, or, for an editor of many commands, by its command."""
    if given.get("command") == "view":
        return [Action(READ, 0, path=path)]
    patch = string(_first(given, _PATCHES))
    files = parse_patch(patch) if "*** " in patch else []
    if files:
        return [
            Action(MUTATE, 0, path=path_of(file.path), hunks=file.hunks, created=file.created)
            for file in files
        ]
    if given.get("command") == "create":
        hunks = written(text_of(_first(given, ("file_text", *_CONTENT))))
        return [Action(MUTATE, 0, path=path, hunks=hunks, created=True)]
    hunks = unified(patch) or _replacements(given)
    return [Action(MUTATE, 0, path=path, hunks=hunks)]


def _replacements(given: Mapping[str, Any]) -> tuple[Hunk, ...]:
    parts = [given, *map(mapping, sequence(given.get("edits")))]
    pairs = [(string(_first(part, _OLD)), string(_first(part, _NEW))) for part in parts]
    return clip_hunks(hunk for before, after in pairs for hunk in replaced(before, after))
