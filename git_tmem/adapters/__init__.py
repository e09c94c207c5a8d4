"""Adapters: an agent's session log becomes a :class:`~git_tmem.actions.Session`.

A new agent is one module in this folder that has what :class:`base.Adapter` asks for, and
one line in ``ADAPTERS``. The order is that of detection: the loosest format comes last.
Sessions that are no file of their own come through :func:`stored.open_log`.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO

from git_tmem.actions import Session
from git_tmem.adapters import (
    agy,
    aider,
    atif,
    claude_code,
    codex,
    copilot,
    cursor,
    dsh,
    gemini,
    generic,
    mini_swe_agent,
    opencode,
    openhands,
    pi,
    swe_agent,
)
from git_tmem.adapters.base import Adapter
from git_tmem.adapters.records import HEAD_BYTES, Records
from git_tmem.adapters.stored import measure as measure
from git_tmem.adapters.stored import open_log as open_log
from git_tmem.errors import InputError

ADAPTERS: dict[str, Adapter] = {
    claude_code.NAME: claude_code,
    dsh.NAME: dsh,
    codex.NAME: codex,
    opencode.NAME: opencode,
    pi.NAME: pi,
    gemini.NAME: gemini,
    copilot.NAME: copilot,
    cursor.NAME: cursor,
    agy.NAME: agy,
    atif.NAME: atif,
    openhands.NAME: openhands,
    swe_agent.NAME: swe_agent,
    mini_swe_agent.NAME: mini_swe_agent,
    aider.NAME: aider,
    generic.NAME: generic,
}

#: Formats that do not name the folder a session worked in: where a log lies tells it, so that
#: their ``find_logs`` yields none but those of the roots.
PLACED = frozenset((cursor.NAME, gemini.NAME))

#: Bytes of a log in which the folder it worked in is looked for.
_FOLDER_BYTES = 256 << 10


def detect(head: bytes) -> str | None:
    """The agent that wrote a log with these first bytes, by their content; None if unknown."""
    return _detect(Records(io.BytesIO(head[:HEAD_BYTES])).head())


def parse(stream: BinaryIO, agent: str | None = None) -> Session:
    """The session in a log, plain or zstd, read once from start to end in bounded memory.

    Damaged lines and a cut-off last one are counted, not refused. Raises InputError for
    input that is no log of a known agent (of ``agent``, if given) or that holds no action,
    OSError when the stream cannot be read.
    """
    records = Records(stream)
    head = records.head()
    name = agent or _detect(head)
    if not head:
        raise InputError(*_no_records(records))
    if name is None:
        raise InputError("no agent is known that writes such a log", _HINT)
    if name not in ADAPTERS:
        raise InputError(f"unknown agent {name!r}", f"known agents: {', '.join(ADAPTERS)}")
    session = ADAPTERS[name].parse(iter(records))
    if not session.actions:
        raise InputError(f"the log holds no action that a session of {name} would have", _HINT)
    return session._replace(
        id=session.id or _identity(head[:_FIRST]), records=records.count, damaged=records.damaged
    )


def glance(location: str) -> Session | None:
    """What the first records of a log tell of its session: the folder, the id, the start. None
    for the log of no known agent. Raises OSError, and InputError as :func:`open_log` does."""
    with open_log(location) as stream:
        start = stream.read(_FOLDER_BYTES)
    head = Records(io.BytesIO(start)).head()
    name = _detect(head)
    if name is None:
        return None
    # The few first records nearly always tell; the rest is parsed only if they do not.
    told = ADAPTERS[name].parse(iter(enumerate(head)))
    if not told.cwd:
        told = ADAPTERS[name].parse(iter(Records(io.BytesIO(start))))
    return told._replace(id=told.id or _identity(head[:_FIRST]))


def was_seen(agent: str, version: str) -> bool:
    """Whether real logs of this version were read when the adapter was made: versions are taken
    for the same when their first two numbers are. True for one that tells no number, and for
    agents whose logs tell none."""
    tested = ADAPTERS[agent].VERSIONS
    found = re.search(r"\d{1,9}(?:\.\d{1,9})?", version)
    return not tested or not found or found.group() in tested


def working_directory(location: str) -> str:
    """The folder that the first records of a log name, '' if none. Raises as :func:`glance`."""
    told = glance(location)
    return told.cwd if told else ""


def _detect(head: Sequence[Mapping[str, Any]]) -> str | None:
    return next((name for name, adapter in ADAPTERS.items() if adapter.detect(head)), None)


def _no_records(records: Records) -> tuple[str, str]:
    if records.damaged:
        return "this is no session log: there is no JSON object on any of its first lines", _HINT
    return "the log is empty", _HINT


def _identity(first: Sequence[Mapping[str, Any]]) -> str:
    """An id for a log that has none; it stays the same while the log grows."""
    import hashlib  # slow to import, and nearly every log has an id

    data = json.dumps(first, sort_keys=True).encode()
    return hashlib.sha256(data).hexdigest()[:16]


#: Records by which a log without an id is known: two sessions may begin with the same words,
#: but hardly with the same answer, and a shorter log has nothing to keep.
_FIRST = 2

_HINT = "logs are JSON lines, plain or zstd; see: man git-tmem-capture"
