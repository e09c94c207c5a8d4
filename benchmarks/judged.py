"""L0 against steps that a reader judged to matter, before what the slicer keeps was looked at.

``judged/sessions.jsonl`` has a line a session: groups of zero-based steps under ``edit``,
``read`` and ``check``. A group is found when one of its steps is kept, because the steps of a
group show or do the same; a kept step is right when it is in any group. ``fair`` steps are
neither wanted nor wrong. Where no check was judged to count, the right answer is no playbook.
"""

from __future__ import annotations

import io
import json
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from data import as_log, import_sessions, options, require, sessions
from timing import table

from git_tmem import adapters
from git_tmem.capture import COMPILED, Captured, Target, compiled
from git_tmem.playbook import MUTATE, READ, SETUP, VERIFY
from git_tmem.repo import Repository

_ROLES = {"edit": (MUTATE,), "read": (READ,), "check": (VERIFY, SETUP)}
#: The log that a pack becomes: a head, a prompt, then a reason and a command for each step.
_HEAD, _EACH = 3, 2


class Compared(NamedTuple):
    """One kind of step in one session: groups wanted and found, steps kept, and wrong ones."""

    wanted: int
    found: int
    kept: int
    wrong: tuple[int, ...]


def main() -> None:
    """Print the table."""
    parser = options(__doc__)
    parser.add_argument("--each", action="store_true", help="also print what differs, by session")
    chosen = parser.parse_args()
    require(chosen.data, "sessions.jsonl.xz")
    text = (Path(__file__).parent / "judged" / "sessions.jsonl").read_text(encoding="utf-8")
    judged = {row["id"]: row for row in map(json.loads, text.splitlines())}
    with tempfile.TemporaryDirectory() as scratch:
        done = sliced(Path(scratch) / "repo", chosen.data, set(judged))
    if chosen.each:
        print("\n".join(difference(row, done[name]) for name, row in judged.items()))
    print(report(judged, done))


def sliced(folder: Path, data: Path, names: set[str]) -> dict[str, Captured]:
    """What comes of each judged session, by its id; nothing is stored."""
    found = [session for session in sessions(data) if session.id in names]
    commits = import_sessions(folder, found)
    with Repository.open(str(folder)) as repository:
        return {
            session.id: compiled(
                repository,
                adapters.parse(io.BytesIO(as_log(session)), "generic"),
                Target(commits[session.id]),
            )
            for session in found
        }


def compared(row: dict[str, Any], done: Captured, kind: str) -> Compared:
    """The steps of one kind against the judgement; wrong is what is in no group of any kind."""
    kept = {
        (done.session.actions[item.index].record - _HEAD) // _EACH
        for item in done.slice.kept
        if item.role in _ROLES[kind]
    }
    found = sum(not kept.isdisjoint(group) for group in row[kind])
    kept -= set(row["fair"])
    right = {step for name in _ROLES for group in row[name] for step in group}
    return Compared(len(row[kind]), found, len(kept), tuple(sorted(kept - right)))


def difference(row: dict[str, Any], done: Captured) -> str:
    """A line on what was missed and what was kept for nothing."""
    parts = [f"{row['id']}: {done.outcome} {done.missing}".rstrip()]
    for kind in _ROLES:
        one = compared(row, done, kind)
        if one.found < one.wanted or one.wrong:
            parts.append(f"{kind} {one.found}/{one.wanted}, wrong {list(one.wrong)}")
    return "; ".join(parts)


def report(judged: dict[str, dict[str, Any]], done: dict[str, Captured]) -> str:
    """Recall and precision by kind, over the sessions that were judged to give a playbook and
    did; then how many were rightly and wrongly refused."""
    worthy = {name for name, row in judged.items() if row["check"]}
    given = {name for name, one in done.items() if one.outcome == COMPILED}
    rows, total = [], [0, 0, 0, 0]
    for kind in _ROLES:
        every = [compared(judged[name], done[name], kind) for name in sorted(worthy & given)]
        sums = [
            sum(one.wanted for one in every),
            sum(one.found for one in every),
            sum(one.kept for one in every),
            sum(one.kept - len(one.wrong) for one in every),
        ]
        total = [a + b for a, b in zip(total, sums, strict=True)]
        rows.append(_row(kind, *sums))
    rows.append(_row("all", *total))
    head = ["steps", "judged to matter", "found", "recall", "kept", "right", "precision"]
    told = (
        f"{len(judged)} sessions, {len(worthy)} judged to give a playbook: "
        f"{len(worthy & given)} did, {len(worthy - given)} were refused. "
        f"Of the {len(judged) - len(worthy)} judged to give none, {len(given - worthy)} did."
    )
    return f"{table(head, rows)}\n\n{told}"


def _row(kind: str, wanted: int, found: int, kept: int, right: int) -> list[str]:
    counts = [str(wanted), str(found), f"{found / wanted:.3f}", str(kept), str(right)]
    return [kind, *counts, f"{right / kept:.3f}"]


if __name__ == "__main__":
    main()
