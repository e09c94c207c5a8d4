"""Putting hooks, commands and skills into the settings of coding agents, and out again.

``hooks/AGENT/agent.json`` says what an agent has: ``signs`` (paths that tell that a project uses
it), ``settings`` (JSON files into which entries are merged), ``files`` (whole files of ours)
and ``next`` (what is left for the user to do). A new agent is such a folder. How every file was
before is kept in ``agents.json`` in our own folder, so that taking out gives it back byte for
byte; in a file that was changed since, our entries alone go.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from git_tmem import jsonc
from git_tmem.errors import InputError, StoreError
from git_tmem.git import Layout
from git_tmem.install import Report, read_exclude, set_exclude
from git_tmem.schema import data_folder
from git_tmem.sessions import find_sessions

AGENTS_MD = "AGENTS.md"
#: What a hook's command line looks like; nothing else is ever run by :func:`commands_of`'s users.
LINE = re.compile(r"git tmem hook [a-z-]+ [A-Za-z./_-]+")
_CONSTANT = re.compile(r'"(git tmem hook [a-z-]+)"')
_BEGIN, _END = "<!-- git-tmem:begin -->", "<!-- git-tmem:end -->"
_SECTION = re.compile(rf"(\r?\n)?{_BEGIN}.*?{_END}\r?\n?", re.DOTALL)
_STATE = "agents.json"
_MARK = "# git-tmem: what it installed for agents"
#: Seconds for which a session tells that its agent is in use here.
_RECENT = 60 * 86400
_LIMIT = 4 << 20


class Target(NamedTuple):
    """A file to be: its path from the top, how it is made (json, file or section), from what."""

    path: str
    kind: str
    source: str


class _Kind(NamedTuple):
    """How our part gets into a file's bytes (None: no file) and out of them."""

    put: Callable[[bytes | None, bytes], bytes]
    take: Callable[[bytes, bytes], bytes | None]


class _Refused(Exception):
    """A file that is better left as it is; the message says why."""


def known() -> list[str]:
    """The agents there is something to install for."""
    root = data_folder("hooks")
    return sorted(
        name for name in os.listdir(root) if os.path.isfile(os.path.join(root, name, "agent.json"))
    )


def chosen(layout: Layout, words: str, env: Mapping[str, str]) -> list[str]:
    """The agents that ``--agents`` names: a list with commas, ``all``, ``none``, or '' for those
    that the project uses. Raises InputError for an unknown one."""
    names = [word.strip() for word in words.split(",") if word.strip()]
    if not names:
        return [name for name in known() if layout.top and _is_used(layout, name, env)]
    if names in (["all"], ["none"]):
        return known() if names == ["all"] else []
    for name in names:
        if name not in known():
            raise InputError(f"unknown agent {name!r}", f"known agents: {', '.join(known())}")
    return names


def add_agents(layout: Layout, names: Sequence[str], agents_md: bool = False) -> Report:
    """Install for these agents in the work tree; twice is the same as once.

    A file that cannot be changed safely is left alone, and the report says why. Raises
    StoreError when a file cannot be written."""
    wanted = [(name, target) for name in names for target in targets_of(name)]
    if agents_md:
        wanted.append((AGENTS_MD, Target(AGENTS_MD, "section", "common/rules.md")))
    done: dict[str, None] = {}
    advice: list[str] = []
    try:
        state = _State(layout)
        for name, target in wanted:
            try:
                if _put(layout, state, target):
                    done[f"installed for {name}" if name != AGENTS_MD else f"wrote {name}"] = None
            except _Refused as reason:
                advice.append(f"{target.path} was left as it is: {reason}")
        state.save()
    except OSError as error:
        raise _unwritable(error) from error
    for name in names:
        step = _manifest(name).get("next")
        if step and f"installed for {name}" in done:
            advice.append(f"{name}: {step}")
    return Report(tuple(done), tuple(advice))


def remove_agents(layout: Layout) -> Report:
    """Take out whatever is installed for any agent, in every work tree it was put in."""
    done: list[str] = []
    advice: list[str] = []
    try:
        state = _State(layout)
        here = {state.key(os.path.join(layout.top, t.path)): t for t in _all() if layout.top}
        told = {key: Target(key, *record["made"]) for key, record in state.files.items()}
        for key, target in {**here, **told}.items():
            path = state.path(key)
            try:
                if _take(state, path, key, target):
                    done.append(f"took git-tmem out of {os.path.relpath(path, layout.top or '.')}")
            except _Refused as reason:
                advice.append(f"{path} was left as it is: {reason}")
        state.clear()
    except OSError as error:
        raise _unwritable(error) from error
    return Report(tuple(done), tuple(advice))


def targets_of(name: str) -> list[Target]:
    """The files of one agent."""
    manifest = _manifest(name)
    merged = [Target(path, "json", source) for path, source in manifest["settings"].items()]
    return merged + [Target(path, "file", source) for path, source in manifest["files"].items()]


def commands_of(layout: Layout, name: str) -> Iterator[tuple[str, list[str]]]:
    """The files of an agent that are there and call us, each with the command lines in it as the
    agent would run them. Raises InputError for settings that cannot be read any more."""
    for target in targets_of(name):
        data = _read(os.path.join(layout.top, target.path)) if layout.top else None
        if data is None:
            continue
        if target.kind == "json":
            try:
                lines = list(dict.fromkeys(_strings(jsonc.plain(_parsed(data)[1]))))
            except _Refused as reason:
                raise InputError(f"{target.path}: {reason}") from reason
        else:
            lines = [
                f"{line} dry-run" for line in _CONSTANT.findall(data.decode("utf-8", "replace"))
            ]
        if lines:
            yield target.path, lines


class _State:
    """What was installed where; paths are relative to the common git directory, so that a
    repository may be moved."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.files: dict[str, Any] = {}
        self.folders: list[str] = []
        with contextlib.suppress(ValueError, KeyError, TypeError):
            kept = json.loads(_read(os.path.join(layout.own_dir, _STATE)) or b"{}")
            if kept.get("format") == 1:
                self.files, self.folders = dict(kept["files"]), list(kept["folders"])

    def key(self, path: str) -> str:
        base = os.path.realpath(self.layout.common_dir)
        folder = os.path.realpath(os.path.dirname(path))
        return os.path.relpath(os.path.join(folder, os.path.basename(path)), base)

    def path(self, key: str) -> str:
        return os.path.normpath(os.path.join(os.path.realpath(self.layout.common_dir), key))

    def before(self, key: str, data: bytes | None, target: Target) -> bytes | None:
        """A file's bytes without us: as they were, or as they are now but for our part."""
        record = self.files.get(key)
        if record and data is not None and record["after"] == _digest(data):
            return None if record["before"] is None else base64.b64decode(record["before"])
        if data is None:
            return None
        left = _KINDS[target.kind].take(data, _packaged(target.source))
        if record and record["before"] is None and left is not None and _is_bare(left, target):
            return None
        return left

    def keep(self, key: str, before: bytes | None, after: bytes, target: Target) -> None:
        self.files[key] = {
            "before": None if before is None else base64.b64encode(before).decode(),
            "after": _digest(after),
            "made": [target.kind, target.source],
        }

    def save(self) -> None:
        document = {"format": 1, "files": self.files, "folders": self.folders}
        os.makedirs(self.layout.own_dir, exist_ok=True)
        data = json.dumps(document, indent=1, sort_keys=True).encode()
        if data != _read(os.path.join(self.layout.own_dir, _STATE)):
            _write(os.path.join(self.layout.own_dir, _STATE), data)
        self._exclude([_MARK, *self._made()] if self._made() else [])

    def clear(self) -> None:
        self._exclude([])
        for folder in reversed(self.folders):
            with contextlib.suppress(OSError):
                os.rmdir(self.path(folder))
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(self.layout.own_dir, _STATE))

    def _made(self) -> list[str]:
        """Patterns of the files we made: they stay out of ``git status``, as they are this
        clone's own. ``AGENTS.md`` is for everybody."""
        own = [
            os.path.relpath(self.path(key), os.path.realpath(self.layout.top))
            for key, record in self.files.items()
            if self.layout.top and record["before"] is None and record["made"][0] != "section"
        ]
        return [f"/{path.replace(os.sep, '/')}" for path in sorted(own) if path[:2] != ".."]

    def _exclude(self, ours: list[str]) -> None:
        lines = read_exclude(self.layout)
        patterns = {_MARK, *self._made()}
        kept = [line for line in lines if line not in patterns]
        if [*kept, *ours] != lines:
            set_exclude(self.layout, [*kept, *ours])


def _put(layout: Layout, state: _State, target: Target) -> bool:
    path = _real(layout, target.path)
    key = state.key(path)
    data = _read(path)
    before = state.before(key, data, target)
    after = _KINDS[target.kind].put(before, _packaged(target.source))
    state.keep(key, before, after, target)
    if after == data:
        return False
    _make_folders(state, os.path.dirname(path))
    _write(path, after)
    return True


def _take(state: _State, path: str, key: str, target: Target) -> bool:
    data = _read(path)
    before = state.before(key, data, target)
    if data is None or before == data:
        return False
    if before is None:
        os.unlink(path)
    else:
        _write(path, before)
    return True


def _real(layout: Layout, path: str) -> str:
    """Where a file really is; one that a link takes out of the work tree is not ours to change."""
    top = os.path.realpath(layout.top)
    real = os.path.realpath(os.path.join(layout.top, path))
    if os.path.commonpath([top, real]) != top:
        raise _Refused("a link leads out of the work tree")
    return real


def _put_json(before: bytes | None, part: bytes) -> bytes:
    if before is None:
        return part
    text, root = _parsed(before)
    if root.kind != "object":
        raise _Refused("it is no JSON object")
    if root.end == 0:
        return before + part
    return _merged(text, (), json.loads(part)).encode()


def _merged(text: str, where: tuple[str, ...], wanted: Mapping[str, Any]) -> str:
    """The text with every entry of ``wanted`` in the object at a path of keys."""
    for key, value in wanted.items():
        at = _at(text, where)
        there = at.member(key)
        if there is None:
            text = jsonc.insert(text, at, value, key)
        elif isinstance(value, dict):
            _expect(there, "object", key)
            text = _merged(text, (*where, key), value)
        elif isinstance(value, list):
            _expect(there, "array", key)
            for item in value:
                text = jsonc.insert(text, _at(text, (*where, key)), item)
    return text


def _expect(node: jsonc.Node, kind: str, key: str) -> None:
    if node.kind != kind:
        raise _Refused(f"{key!r} in it is no {kind}")


def _at(text: str, where: tuple[str, ...]) -> jsonc.Node:
    node: jsonc.Node | None = jsonc.parse(text)
    for key in where:
        node = node.member(key) if node else None
    if node is None:
        raise _Refused("it changed while it was read")
    return node


def _take_json(data: bytes, _part: bytes) -> bytes | None:
    if b"git tmem hook " not in data:
        return data
    text, root = _parsed(data)
    while gone := _ours(root, root=True):
        text = jsonc.remove(text, *gone)
        root = jsonc.parse(text)
    return text.encode()


def _ours(node: jsonc.Node, root: bool = False) -> tuple[jsonc.Node, jsonc.Entry] | None:
    """The outermost entry that holds hooks of ours and of nobody else, with its container."""
    for entry in node.entries:
        if _all_ours(entry.node) and not (root and entry.node.kind == "scalar"):
            return node, entry
    return next((found for entry in node.entries if (found := _ours(entry.node))), None)


def _all_ours(node: jsonc.Node) -> bool:
    """Whether a handler is ours, or all handlers below a group, an event or an object are."""
    if node.kind == "scalar":
        return False
    if any(_is_line(entry.node.value) for entry in node.entries):
        return True
    nested = [entry.node for entry in node.entries if entry.node.kind != "scalar"]
    return bool(nested) and all(_all_ours(child) for child in nested)


def _is_line(value: object) -> bool:
    return isinstance(value, str) and LINE.fullmatch(value) is not None


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, (dict, list)):
        for child in value.values() if isinstance(value, dict) else value:
            yield from _strings(child)
    elif _is_line(value):
        yield value


def _parsed(data: bytes) -> tuple[str, jsonc.Node]:
    try:
        text = data.decode("utf-8")
        if not text.strip("\ufeff \t\r\n"):
            return text, jsonc.Node("object", 0, 0)
        return text, jsonc.parse(text)
    except ValueError as error:
        reason = "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else error
        raise _Refused(str(reason)) from error


def _put_file(before: bytes | None, part: bytes) -> bytes:
    if before is not None:
        raise _Refused("it was there before, or was changed since")
    return part


def _take_file(data: bytes, part: bytes) -> bytes | None:
    return None if data == part else data


def _put_section(before: bytes | None, part: bytes) -> bytes:
    text = (before or b"").decode("utf-8", "surrogateescape")
    section = f"{_BEGIN}\n{part.decode()}{_END}\n"
    if text:
        section = ("\n" if text.endswith("\n") else "\n\n") + section
    if "\r\n" in text:
        section = section.replace("\n", "\r\n")
    return (text + section).encode("utf-8", "surrogateescape")


def _take_section(data: bytes, _part: bytes) -> bytes | None:
    text = _SECTION.sub("", data.decode("utf-8", "surrogateescape"))
    return text.encode("utf-8", "surrogateescape")


_KINDS = {
    "json": _Kind(_put_json, _take_json),
    "file": _Kind(_put_file, _take_file),
    "section": _Kind(_put_section, _take_section),
}


def _is_bare(left: bytes, target: Target) -> bool:
    """Whether a file that we made holds nothing any more that somebody else wrote."""
    if target.kind != "json":
        return not left.strip()
    made = json.loads(_packaged(target.source))
    rest = jsonc.plain(_parsed(left)[1])
    return all(not value or made.get(key) == value for key, value in rest.items())


def _is_used(layout: Layout, name: str, env: Mapping[str, str]) -> bool:
    signs = _manifest(name)["signs"]
    if any(os.path.lexists(os.path.join(layout.top, sign)) for sign in signs):
        return True
    since = time.time() - _RECENT
    return bool(find_sessions([layout.top], env, agent=name, since=since, most=1))


def _all() -> Iterator[Target]:
    for name in known():
        yield from targets_of(name)
    yield Target(AGENTS_MD, "section", "common/rules.md")


def _manifest(name: str) -> dict[str, Any]:
    manifest: dict[str, Any] = json.loads(_packaged(f"{name}/agent.json"))
    return manifest


def _packaged(source: str) -> bytes:
    with open(os.path.join(data_folder("hooks"), *source.split("/")), "rb") as stream:
        return stream.read()


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _read(path: str) -> bytes | None:
    try:
        with open(path, "rb") as stream:
            data = stream.read(_LIMIT + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    if len(data) > _LIMIT:
        raise _Refused(f"it is larger than {_LIMIT >> 20} MiB")
    return data


def _write(path: str, data: bytes) -> None:
    temporary = f"{path}.tmem-new"
    with open(temporary, "wb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())
    with contextlib.suppress(FileNotFoundError):
        os.chmod(temporary, os.stat(path).st_mode & 0o7777)
    os.replace(temporary, path)


def _make_folders(state: _State, folder: str) -> None:
    if folder and not os.path.isdir(folder):
        _make_folders(state, os.path.dirname(folder))
        os.mkdir(folder)
        state.folders.append(state.key(folder))


def _unwritable(error: OSError) -> StoreError:
    return StoreError(f"{error.filename or 'a file'} cannot be written: {error.strerror}")
