"""What slicing keeps of recorded sessions, against the patches they ended in.

Each session is captured by the product's own path into a repository made of its patch. A
file of L0 is right when the patch has it. ``reduction`` is one minus the tokens of what a
lookup could show of the record, over those of the trace.
"""

from __future__ import annotations

import io
import json
import re
import statistics
import tempfile
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from data import Recorded, as_log, changes, import_sessions, options, require, sessions
from timing import table

from git_tmem import adapters, effects
from git_tmem.capture import Captured, Target, capture
from git_tmem.playbook import MUTATE, READ, to_document
from git_tmem.repo import Repository

_ABSOLUTE = re.compile(r"(?<![\w.$:/<~-])/(?:testbed|home|Users|tmp|opt|root|usr|var)/\w")


class Measured(NamedTuple):
    """One session: what L0 says was edited, what the patch edits, and the record's traits."""

    outcome: str
    edited: frozenset[str]
    patched: frozenset[str]
    tracked_check: bool
    absolute: int
    reads: int
    pairs: int
    reduction: float


def main() -> None:
    """Print the table."""
    parser = options(__doc__)
    chosen = parser.parse_args()
    require(chosen.data, "sessions.jsonl.xz")
    found = sessions(chosen.data, chosen.quick)
    with tempfile.TemporaryDirectory() as scratch:
        measured = measure(Path(scratch) / "repo", found)
    print(report(found, measured))


def measure(folder: Path, found: list[Recorded]) -> dict[str, Measured]:
    """What each session gave, by its id."""
    commits = import_sessions(folder, found)
    with Repository.open(str(folder)) as repository:
        return {
            session.id: judge(session, _captured(repository, session, commits[session.id]))
            for session in found
        }


def _captured(repository: Repository, session: Recorded, commit: str) -> Captured:
    parsed = adapters.parse(io.BytesIO(as_log(session)), "generic")
    return capture(repository, parsed, Target(commit), raw=False)


def judge(session: Recorded, done: Captured) -> Measured:
    """The measures of one captured session."""
    patched = frozenset(change.path for change in changes(session.patch))
    book = done.playbook
    if book is None:
        return Measured(done.missing or done.outcome, frozenset(), patched, False, 0, 0, 0, 0.0)
    document = json.dumps(to_document(book), ensure_ascii=False)
    made = {step.path for step in book.steps if step.kind == MUTATE}
    named = {name for name in effects.targets(book.checks[0]) if "." in name}
    trace = sum(len(step.cmd) + len(step.out) + len(step.why) for step in session.steps)
    shown = json.dumps(to_document(book)["l0"], ensure_ascii=False)
    return Measured(
        "captured",
        frozenset(made),
        patched,
        not named & (_created(session) - patched),
        len(_ABSOLUTE.findall(document)),
        len({step.path for step in book.steps if step.kind == READ}),
        len(book.repairs),
        1 - len(shown) / max(trace, 1),
    )


_REDIRECTED = re.compile(r">>?\s*['\"]?(?:/testbed/|\./)?([\w./-]+)")


def _created(session: Recorded) -> frozenset[str]:
    """Files that the session's commands wrote text into, but those that git set back: it has
    them."""
    written = {name for step in session.steps for name in _REDIRECTED.findall(step.cmd)}
    restored = (name for step in session.steps for name in effects.discards(step.cmd))
    return frozenset(written.difference(restored))


def report(found: list[Recorded], measured: dict[str, Measured]) -> str:
    """The tables of the sessions resolved and of all."""
    resolved = [measured[session.id] for session in found if session.resolved]
    groups = (("resolved", resolved), ("all", [*measured.values()]))
    head = ["sessions", "n", "captured", "precision", "recall", "tracked check", "absolute paths"]
    lines = table([*head, "reads", "repairs", "reduction"], [_row(*group) for group in groups])
    refused = Counter(one.outcome for one in measured.values() if one.outcome != "captured")
    reasons = ", ".join(f"{count} without {reason}" for reason, count in refused.most_common())
    return f"{lines}\n\nnot captured: {reasons or 'none'}"


def _row(name: str, group: list[Measured]) -> list[str]:
    kept = [one for one in group if one.outcome == "captured"]
    right = sum(len(one.edited & one.patched) for one in kept)
    said = sum(len(one.edited) for one in kept)
    wanted = sum(len(one.patched) for one in kept)
    return [
        name,
        str(len(group)),
        f"{len(kept) / len(group):.1%}",
        f"{right / said:.3f}",
        f"{right / wanted:.3f}",
        f"{sum(one.tracked_check for one in kept) / len(kept):.1%}",
        str(sum(one.absolute for one in kept)),
        f"{statistics.mean(one.reads for one in kept):.1f}",
        str(sum(one.pairs for one in kept)),
        f"{statistics.median(one.reduction for one in kept):.1%}",
    ]


if __name__ == "__main__":
    main()
