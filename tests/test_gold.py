"""What each real log yields, counted once and kept: a change of any count is seen and judged."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from git_tmem import adapters
from git_tmem.actions import MUTATE
from git_tmem.errors import InputError

GOLD = Path(__file__).parent / "data" / "gold.json"


def logs_of(corpus: Path) -> list[str]:
    """The sessions of the corpus; of a storage in many files, those that stand for one."""
    parts = ("message", "part")
    paths = (path for path in sorted(corpus.glob("*/**/*.*")) if path.is_file())
    return [
        path.relative_to(corpus).as_posix()
        for path in paths
        if path.parent.parent.name not in parts
    ]


def counts_of(location: str) -> dict[str, Any] | str:
    """What a log yields: how many actions of each kind, and what was not understood; or the
    reason why it is refused."""
    try:
        with adapters.open_log(location) as stream:
            session = adapters.parse(stream)
    except InputError as error:
        return error.message
    kinds = Counter(action.kind for action in session.actions)
    edits = [action for action in session.actions if action.kind == MUTATE]
    counts = {
        "agent": session.agent,
        "records": session.records,
        **dict(sorted(kinds.items())),
        "failed": sum(action.failed for action in session.actions),
        "exit codes": sum(action.exit_code is not None for action in session.actions),
        "lines put in": sum(len(hunk.added) for edit in edits for hunk in edit.hunks),
        "damaged": session.damaged,
        "compactions": session.compactions,
        "unknown": dict(session.unknown),
    }
    return {name: count for name, count in counts.items() if count}


def test_every_real_log_yields_what_it_did_or_is_refused_for_the_same_reason(
    corpus: Path,
) -> None:
    gold = json.loads(GOLD.read_text("utf-8"))
    found = {name: counts_of(str(corpus / name)) for name in logs_of(corpus)}
    found = {
        name: told.replace(str(corpus), "") if isinstance(told, str) else told
        for name, told in found.items()
    }
    assert found == gold


@pytest.mark.parametrize("agent", sorted(set(adapters.ADAPTERS) - {"generic"}))
def test_the_gold_has_a_session_of_every_agent(agent: str) -> None:
    gold = json.loads(GOLD.read_text("utf-8"))
    assert any(not isinstance(told, str) and told["agent"] == agent for told in gold.values())
