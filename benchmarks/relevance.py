"""Which memory is relevant to which work: they edit the same file, or the same symbol of it."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from functools import cache

from data import Recorded

_FILE = re.compile(r"^diff --git a/\S+ b/(\S+)$")
_HUNK = re.compile(r"^@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@ ?(.*)$")
_NAME = re.compile(r"^\s*(?:async\s+)?(?:def|class)\s+(\w+)")
_TEST = re.compile(
    r"(?:^|/)(?:tests?|testing)/|(?:^|/)(?:test_[^/]*|[^/]*_test\.\w+|conftest\.py)$"
)

#: Symbols edited, by the path of the file; '' stands for what is outside of all.
Places = Mapping[str, Collection[str]]


def is_test(path: str) -> bool:
    """Whether a path is that of a test or of what tests need."""
    return bool(_TEST.search(path))


def touched(past: Places, now: Places) -> int:
    """2 for a symbol in common, 1 for a file, else 0."""
    common = past.keys() & now.keys()
    if any(set(past[path]) & set(now[path]) - {""} for path in common):
        return 2
    return int(bool(common))


def grade(past: Recorded, now: Recorded) -> int:
    """The relevance of a session to a later one."""
    return touched(places(past.patch), places(now.patch))


@cache
def places(patch: str) -> dict[str, frozenset[str]]:
    """The non-test source files of a patch, with the innermost def or class before each change."""
    found: dict[str, set[str]] = {}
    path = name = ""
    for line in patch.splitlines():
        if match := _FILE.match(line):
            path = match[1] if match[1].endswith((".py", ".pyx")) and not is_test(match[1]) else ""
        elif match := _HUNK.match(line):
            inside = _NAME.match(match[1])
            name = inside[1] if inside else ""
        elif line[:1] in ("+", "-") and not line.startswith(("+++", "---")):
            inside = _NAME.match(line[1:])
            name = inside[1] if inside else name
            if path:
                found.setdefault(path, set()).add(name)
        elif inside := _NAME.match(line[1:]):
            name = inside[1]
    return {one: frozenset(names) for one, names in found.items()}
