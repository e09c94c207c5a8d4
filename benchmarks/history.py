"""Commits of a recorded history as memories and as queries."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from data import rows
from relevance import Places, is_test

from git_tmem.playbook import MUTATE, Playbook, Step

HISTORIES = ("sympy", "pytest", "sphinx", "onepanel")
_KEPT = 1000
_QUERIES = {"onepanel": 400}
_SOURCE = re.compile(r"\.(?:py|pyx|go|ts|vue|js|rs|java|c|h)$")
_NO_SOURCE = re.compile(r"(?:^|/)(?:migrations?|docs?)/|_pb2\.py$")
_NO_WORK = re.compile(
    r"(?i)^(?:merge\b|revert\b|release\b|bump\b|build\(deps|chore\(deps|prepar\w+ release"
    r"|v?\d+\.\d+|\[pre-commit)"
)
_ISSUE = re.compile(r"\s*\(?#\d+\)?")
_HAN = re.compile("[\u3400-\u9fff]{2}")


class Change(NamedTuple):
    """A commit: its time in seconds, and the symbols it changed in each source file."""

    commit: str
    time: int
    subject: str
    body: str
    places: Places


def changes_of(folder: Path, name: str) -> tuple[list[Change], list[Change]]:
    """The last thousand usable commits, oldest first, and the newest of them as queries."""
    found: dict[str, Change] = {}
    for row in rows(folder / f"history-{name}.jsonl.xz"):
        change = _change(row) if "commit" in row else None
        if change and change.subject not in found:
            found[change.subject] = change
    kept = [*found.values()][-_KEPT:]
    queries = kept[-_QUERIES.get(name, 300) :]
    if name == "onepanel":
        queries = [one for one in queries if _HAN.search(one.subject)]
    return kept, queries


def _change(row: Mapping[str, Any]) -> Change | None:
    files = [path for path in row["files"] if _SOURCE.search(path)]
    files = [path for path in files if not is_test(path) and not _NO_SOURCE.search(path)]
    if _NO_WORK.match(row["subject"]) or not 1 <= len(files) <= 8 or len(row["files"]) > 25:
        return None
    places: dict[str, set[str]] = {path: set() for path in files}
    for path, symbol in row["symbols"]:
        if path in places:
            places[path].add(symbol)
    subject = _ISSUE.sub("", row["subject"]).strip()
    return Change(row["commit"], row["time"], subject, _ISSUE.sub("", row["body"]), places)


def playbook_of(change: Change) -> Playbook:
    """The commit as a record: its message as intent, a step for each file."""
    return Playbook(
        title=change.subject[:200],
        agent="generic",
        session=change.commit,
        ended=change.time,
        intent=(change.subject, change.body) if change.body else (change.subject,),
        steps=tuple(
            Step(MUTATE, path, symbols=tuple(sorted(names)))
            for path, names in sorted(change.places.items())
        ),
        files=tuple(sorted(change.places)),
    )
