"""Transcripts of Cursor's agent: ``~/.cursor/projects/<slug>/agent-transcripts/**/*.jsonl``.

Lines are ``{"role", "message": {"content": [...]}}`` with blocks of text, thinking and calls,
and ``{"type": "turn_ended"}``. They do not tell the working folder, at most the times of the
user's messages, and what a call came to only where a ``tool_result`` block stands, which most
transcripts leave out: then an edit counts as made, and how a command ended is unknown.
"""

from __future__ import annotations

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
    string,
    text_of,
)
from git_tmem.adapters.patches import parse_patch, replaced, written
from git_tmem.adapters.places import entries, folder, spellings

NAME = "cursor"
VERSIONS: tuple[str, ...] = ()  # the log does not tell

#: What stands where the agent's words were taken out.
_HIDDEN = "[REDACTED]"
_EXIT = re.compile(r"\s*Exit code: (-?\d{1,9})\s*(?:\n|$)")
_QUERY = re.compile(r"<user_query>(.*?)(?:</user_query>|$)", re.DOTALL)
_TIME = re.compile(
    r"<timestamp>\w+, (\w{3})\w* (\d{1,2}), (\d{4}), (\d{1,2}):(\d\d) ([AP])M"
    r" \(UTC(?:([+-]\d{1,2})(?::(\d\d))?)?\)</timestamp>"
)
_MONTHS = names("Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec")
_OTHER_LETTERS = re.compile(r"[^A-Za-z0-9]+")


def detect(head: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a record has a role and a message of blocks, and nothing that names it."""
    return any(
        record.get("role") in ("user", "assistant")
        and "type" not in record
        and isinstance(mapping(record.get("message")).get("content"), list)
        for record in head
    )


def parse(records: Iterator[tuple[int, Mapping[str, Any]]]) -> Session:
    """The session in the records of a log."""
    reading = _Reading()
    for index, record in records:
        reading.take(index, record)
    return reading.trace.session()


def find_logs(roots: Sequence[str], env: Mapping[str, str]) -> Iterator[str]:
    """Transcripts in the folders of the roots' projects and of folders below them.

    A project's folder is named after its path, with a dash for each run of characters that
    are no ASCII letters or digits. Transcripts of sub-agents are not looked at.
    """
    tops = spellings(roots)
    for home in {folder(env, "", ".cursor"), folder(env, "CURSOR_CONFIG_DIR", ".cursor")} - {""}:
        for project in entries(os.path.join(home, "projects")):
            slug = os.path.basename(project)
            if any(_stands_for(slug.lower(), _slug(top).lower(), top) for top in tops):
                yield from _transcripts(os.path.join(project, "agent-transcripts"))


def _transcripts(place: str) -> Iterator[str]:
    for path in entries(place):
        inner = os.path.join(path, os.path.basename(path) + ".jsonl")
        if path.endswith(".jsonl"):
            yield path
        elif os.path.isfile(inner):
            yield inner


def _slug(path: str) -> str:
    return _OTHER_LETTERS.sub("-", path).strip("-")


def _stands_for(slug: str, own: str, path: str) -> bool:
    """Whether a name stands for a path, named ``own``, or for a folder that is there below."""
    if slug == own or not slug.startswith(f"{own}-"):
        return slug == own
    return any(
        _stands_for(slug, f"{own}-{_slug(os.path.basename(inner)).lower()}", inner)
        for inner in entries(path)
        if os.path.isdir(inner)
    )


class _Reading:
    """One pass over a log."""

    def __init__(self) -> None:
        self.trace = Trace(NAME)
        self._said = Narration()
        self._open: list[int] = []  # calls without an id that wait for their results

    def take(self, index: int, record: Mapping[str, Any]) -> None:
        role = record.get("role")
        content = mapping(record.get("message")).get("content")
        blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
        if role == "assistant":
            self._assistant(index, blocks)
        elif role == "user":
            self._user(index, blocks)
        elif record.get("type") != "turn_ended":
            self.trace.miss(role or record.get("type"))

    def _assistant(self, index: int, blocks: Sequence[Any]) -> None:
        self._said.begin()
        self._open.clear()
        for block in map(mapping, blocks):
            kind = block.get("type")
            if kind == "text":
                self._said.say(string(block.get("text")).replace(_HIDDEN, ""))
            elif kind == "thinking":
                self._said.think(block.get("thinking"))
            elif kind == "tool_use":
                self._call(index, block)
        self._said.answer()

    def _call(self, index: int, block: Mapping[str, Any]) -> None:
        name = string(block.get("name"))
        shape = _TOOLS.get(name)
        if shape is None:
            self.trace.miss(f"tool {name}")
        given = block.get("input")
        for action in (shape or _other)(
            {"patch": given} if isinstance(given, str) else mapping(given)
        ):
            action = action._replace(record=index, tool=name[:80], reason=self._said.reason)
            self.trace.cwd = self.trace.cwd or action.cwd
            number = self.trace.add(action, string(block.get("id")))
            if not block.get("id"):
                self._open.append(number)

    def _user(self, index: int, blocks: Sequence[Any]) -> None:
        for block in map(mapping, blocks):
            if block.get("type") == "tool_result":
                self._result(index, block)
        texts = [string(b.get("text")) for b in map(mapping, blocks) if b.get("type") == "text"]
        time = _time("\n".join(texts)[:500])
        self.trace.prompt("\n".join(filter(None, map(_spoken, texts))), index, time)

    def _result(self, index: int, block: Mapping[str, Any]) -> None:
        number = self.trace.answered(string(block.get("tool_use_id")))
        if number is None and self._open:
            number = self._open.pop(0)
        if number is None:
            return
        failed = block.get("is_error") is True
        changes: dict[str, Any] = {"failed": failed}
        if self.trace.actions[number].kind == EXEC:
            text = text_of(block.get("content"))
            ended = _EXIT.match(text[:200])
            code = int(ended.group(1)) if ended else None
            changes = {"failed": failed and code is None, "exit_code": code}
            changes["output"] = keep_output(text[ended.end() :] if ended else text, code)
        self.trace.update(number, result=index, **changes)


def _spoken(text: str) -> str:
    """What the user said in a text: all, what is marked as said, or nothing."""
    if found := _QUERY.search(text):
        return found.group(1).strip()
    return "" if text.lstrip().startswith("<") else text


def _time(text: str) -> int:
    """Seconds since the epoch of the user's local time, which newer transcripts tell; or 0."""
    found = _TIME.search(text)
    if not found or found.group(1) not in _MONTHS:
        return 0
    month, (day, year, hour, minute) = found.group(1), map(int, found.group(2, 3, 4, 5))
    east, rest = found.group(7) or "+0", int(found.group(8) or 0)
    away = int(east) * 60 + (-rest if east[0] == "-" else rest)
    hour = hour % 12 + (12 if found.group(6) == "P" else 0)
    date = f"{year:04}-{_MONTHS.index(month) + 1:02}-{day:02}T{hour:02}:{minute:02}:00"
    return max(epoch(date) - away * 60, 0)


def _read(given: Mapping[str, Any]) -> list[Action]:
    return [Action(READ, 0, path=path_of(given.get("path") or given.get("file_path")))]


def _searched(given: Mapping[str, Any]) -> list[Action]:
    return [Action(READ, 0, path=file_of(given.get("path") or given.get("target_file")))]


def _edit(given: Mapping[str, Any]) -> list[Action]:
    path = path_of(given.get("path") or given.get("file_path") or given.get("target_notebook"))
    hunks = replaced(string(given.get("old_string")), string(given.get("new_string")))
    return [Action(MUTATE, 0, path=path, hunks=hunks)]


def _write(given: Mapping[str, Any]) -> list[Action]:
    path = path_of(given.get("path") or given.get("file_path"))
    hunks = written(string(given.get("contents")) or string(given.get("content")))
    return [Action(MUTATE, 0, path=path, hunks=hunks, created=True)]


def _delete(given: Mapping[str, Any]) -> list[Action]:
    return [Action(MUTATE, 0, path=path_of(given.get("path")))]


def _apply_patch(given: Mapping[str, Any]) -> list[Action]:
    text = string(given.get("patch")) or string(given.get("input"))
    edits = [
        Action(MUTATE, 0, path=path_of(edit.path), hunks=edit.hunks, created=edit.created)
        for edit in parse_patch(text)
    ]
    return edits or _delete(given)


def _run(given: Mapping[str, Any]) -> list[Action]:
    command = command_of(given.get("command"))
    return [Action(EXEC, 0, command=command, cwd=path_of(given.get("working_directory")))]


def _other(given: Mapping[str, Any]) -> list[Action]:
    return [Action(OTHER, 0)]


_TOOLS: dict[str, Callable[[Mapping[str, Any]], list[Action]]] = {
    **dict.fromkeys(("Read", "ReadFile"), _read),
    **dict.fromkeys(("Glob", "Grep", "LS", "SemanticSearch"), _searched),
    **dict.fromkeys(("Edit", "EditNotebook", "StrReplace"), _edit),
    "Write": _write,
    "Delete": _delete,
    "ApplyPatch": _apply_patch,
    **dict.fromkeys(("Bash", "Shell"), _run),
    **dict.fromkeys(
        names(
            "AskQuestion Await CallMcpTool CreatePlan FetchMcpResource GenerateImage"
            " ListMcpResources ReadLints RecordScreen SwitchMode Task TodoWrite WebFetch WebSearch"
        ),
        _other,
    ),
}
