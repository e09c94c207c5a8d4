"""The sample logs, and short ways to build and to parse logs in tests."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from git_tmem import adapters
from git_tmem.actions import Action, Session
from git_tmem.adapters.records import Records

DATA = Path(__file__).parent.parent / "data"
SAMPLES = [
    (agent, path) for agent in adapters.ADAPTERS for path in sorted((DATA / agent).iterdir())
]


def sample(agent: str, name: str) -> Session:
    """The session in one of the sample logs."""
    return parse((DATA / agent / name).read_bytes())


def plain(path: Path) -> bytes:
    """A log's bytes as JSON lines: its records, one a line, whatever holds them."""
    data = path.read_bytes()
    return data if path.suffix == ".jsonl" else log(*(r for _, r in Records(io.BytesIO(data))))


def log(*records: Mapping[str, Any]) -> bytes:
    """Records as JSON lines."""
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def parse(data: bytes, agent: str | None = None) -> Session:
    """The session in a log's bytes."""
    return adapters.parse(io.BytesIO(data), agent)


def only(session: Session, kind: str) -> list[Action]:
    """The session's actions of one kind."""
    return [action for action in session.actions if action.kind == kind]
