"""Changing a JSON file as an editor would: text goes in or out, all other bytes stay.

Comments, trailing commas and a byte order mark are read, as the agents' settings have them.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

_DEPTH = 64
_BLANK = re.compile(r"(?:[\s\ufeff]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_SPACE = re.compile(r"[\s\ufeff]*\Z")
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_SCALAR = re.compile(r"true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?")


class Entry(NamedTuple):
    """One member of an object (with its key) or item of an array (key ''). ``start`` is where
    its own text begins, the key's for a member; ``comma`` that of the comma after it, or -1."""

    key: str
    start: int
    node: Node
    comma: int


class Node(NamedTuple):
    """A value between ``start`` and ``end``: an object or an array with entries, or a scalar
    with its ``value``."""

    kind: str
    start: int
    end: int
    value: Any = None
    entries: tuple[Entry, ...] = ()

    def member(self, key: str) -> Node | None:
        """The value of a key; of one that is there twice, the last, as parsers have it."""
        return next((entry.node for entry in reversed(self.entries) if entry.key == key), None)


def parse(text: str) -> Node:
    """The one value of a document. Raises ValueError with the line that cannot be read."""
    node = _value(text, _skip(text, 0), 0)
    if _skip(text, node.end) != len(text):
        raise _wrong(text, _skip(text, node.end))
    return node


def plain(node: Node) -> Any:
    """The value as Python's own objects."""
    if node.kind == "object":
        return {entry.key: plain(entry.node) for entry in node.entries}
    if node.kind == "array":
        return [plain(entry.node) for entry in node.entries]
    return node.value


def insert(text: str, container: Node, value: Any, key: str = "") -> str:
    """The text with a value at the end of an object (under ``key``) or of an array, in the
    indentation that the document has."""
    close = container.end - 1
    newline = "\r\n" if "\r\n" in text else "\n"
    last = container.entries[-1] if container.entries else None
    at = _content_end(text, container)
    wide = "\n" in text[container.start : last.start if last else close] or (
        not last and ("\n" in text.strip() or container.start == _skip(text, 0))
    )
    if wide:
        outer = _indentation(text, container.start)
        inner = _indentation(text, last.start) if last else outer + _unit(text)
        body = json.dumps(value, indent=_unit(text), ensure_ascii=False)
        item = newline + inner + _named(key, body).replace("\n", newline + inner)
        after = newline + outer if not last and "\n" not in text[at:close] else ""
    else:
        item = (" " if last else "") + _named(key, json.dumps(value, ensure_ascii=False))
        after = ""
    if last and last.comma < 0:
        return f"{text[: last.node.end]},{text[last.node.end : at]}{item}{text[at:]}"
    return f"{text[:at]}{item}{',' if last else ''}{after}{text[at:]}"


def remove(text: str, container: Node, entry: Entry) -> str:
    """The text without an entry, its comma and the blanks before it."""
    position = container.entries.index(entry)
    start = len(_SPACE.sub("", text[: entry.start]))
    if entry.comma >= 0:
        return text[:start] + text[entry.node.end : entry.comma] + text[entry.comma + 1 :]
    if not position:
        rest = text[entry.node.end :]
        alone = text[start - 1] in "[{" and rest.lstrip()[:1] in ("]", "}")
        return text[:start] + (rest.lstrip() if alone else rest)
    comma = container.entries[position - 1].comma
    return text[:comma] + text[comma + 1 : start] + text[entry.node.end :]


def _named(key: str, body: str) -> str:
    return f"{json.dumps(key, ensure_ascii=False)}: {body}" if key else body


def _content_end(text: str, container: Node) -> int:
    """Where the last value, comma or comment of a container ends."""
    last = container.entries[-1] if container.entries else None
    start = max(last.node.end, last.comma + 1) if last else container.start + 1
    return start + len(_SPACE.sub("", text[start : container.end - 1]))


def _indentation(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))].lstrip("\ufeff")


def _unit(text: str) -> str:
    found = re.search(r"\n([ \t]+)\S", text)
    return found[1] if found else "  "


def _skip(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at


def _value(text: str, at: int, depth: int) -> Node:
    if depth > _DEPTH:
        raise _wrong(text, at)
    if text[at : at + 1] in ("{", "["):
        return _container(text, at, depth)
    found = _STRING.match(text, at) or _SCALAR.match(text, at)
    if not found:
        raise _wrong(text, at)
    return Node("scalar", at, found.end(), json.loads(found[0]))


def _container(text: str, start: int, depth: int) -> Node:
    kind, close = ("object", "}") if text[start] == "{" else ("array", "]")
    entries: list[Entry] = []
    at = _skip(text, start + 1)
    while text[at : at + 1] != close:
        if entries and entries[-1].comma < 0:
            raise _wrong(text, at)
        begin, key = at, ""
        if kind == "object":
            found = _STRING.match(text, at)
            at = _skip(text, found.end()) if found else at
            if not found or text[at : at + 1] != ":":
                raise _wrong(text, at)
            key, at = json.loads(found[0]), _skip(text, at + 1)
        node = _value(text, at, depth + 1)
        at = _skip(text, node.end)
        comma = at if text[at : at + 1] == "," else -1
        entries.append(Entry(key, begin, node, comma))
        at = _skip(text, at + 1) if comma >= 0 else at
    return Node(kind, start, at + 1, None, tuple(entries))


def _wrong(text: str, at: int) -> ValueError:
    return ValueError(f"line {text.count(chr(10), 0, at) + 1} is not JSON")
