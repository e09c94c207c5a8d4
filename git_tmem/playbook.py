"""The stored record: a playbook or an insight, its guards as data, and its JSON both ways.

Format history (``format`` in the document; ``schema/<kind>.json`` is the full shape):

1. playbook: title, intent, l0.steps, l1.files and l1.checks, l2.repairs, dead_ends,
   graph.edges, anchor, probes, dropped, supersedes. insight: title, text, about, author,
   branch, time, anchor, probes, supersedes.

An insight is read as a playbook whose one step is the NOTE, so that it is found, guarded,
graded and shown like any other record.

Of the git ids in a record, ``anchor`` ones are bare: they are compared, never read, so
they may name objects that are gone. What must be read back is in the record itself.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

FORMAT = 1

#: Kinds of step. SETUP is a command that changed the environment so that a check could pass.
READ = "READ"
MUTATE = "MUTATE"
SETUP = "SETUP"
VERIFY = "VERIFY"
#: The one step of an insight: what somebody wrote down, as its reason.
NOTE = "NOTE"

#: Kinds of record.
PLAYBOOK = "playbook"
INSIGHT = "insight"
KINDS = (PLAYBOOK, INSIGHT)

#: States of an outcome, from best to worst; UNKNOWN means that nobody could look.
FRESH = "fresh"
MOVED = "moved"
EDITED = "edited"
GONE = "gone"
UNKNOWN = "unknown"


class Probe(NamedTuple):
    """A guard as data. ``steps`` are zero-based indexes of the L0 steps that lean on it."""

    kind: str
    args: Mapping[str, str]
    steps: tuple[int, ...] = ()


class Outcome(NamedTuple):
    """What a probe found: a state, a reason a person can read, and where a thing moved to."""

    state: str
    reason: str = ""
    path: str = ""


class Step(NamedTuple):
    """One thing to do again. Paths are relative to the work tree's top, with ``/``."""

    kind: str
    path: str = ""
    symbols: tuple[str, ...] = ()
    added: int = 0
    removed: int = 0
    diff: tuple[str, ...] = ()  # the compact diff: "-old" and "+new" lines, few and short
    command: str = ""
    reason: str = ""
    verified: bool = True  # a passing check ran after it
    evidence: tuple[int, ...] = ()  # records of the log that show it
    doubt: str = ""  # why a check proves less than it seems, or how an edit weakens a test


class Repair(NamedTuple):
    """An error, what cured it, and the check that then passed.

    ``signature`` is the exact key and ``near`` the looser one, as ``signature.py`` makes
    them. ``kind`` is code, dependency or toolchain. ``steps`` index into L0.
    """

    error: str
    signature: str
    near: str
    kind: str
    failed: str  # the command that showed the error
    fix: tuple[str, ...]
    check: str
    steps: tuple[int, ...] = ()
    evidence: tuple[int, ...] = ()


class DeadEnd(NamedTuple):
    """An edit, or a command that edits, after which a check failed, and which was undone.

    ``fingerprint`` is of the hunk, as ``deadends.py`` makes it, '' for a command. ``error``,
    ``signature``, ``near`` and ``failed`` are of the failing check, as in a repair.
    """

    path: str
    failed: str
    error: str
    fingerprint: str = ""
    command: str = ""
    symbols: tuple[str, ...] = ()
    diff: tuple[str, ...] = ()
    signature: str = ""
    near: str = ""
    reason: str = ""  # why it was tried
    evidence: tuple[int, ...] = ()


class Edge(NamedTuple):
    """``source`` -type-> ``target``; nodes read ``req:0``, ``step:2``, ``error:0``,
    ``file:a/b.py#name``. ``by`` names the rule that drew the edge."""

    type: str
    source: str
    target: str
    evidence: tuple[int, ...]
    by: str


class Anchor(NamedTuple):
    """Where in history the work landed: newest commit first, and ids that outlive rewriting.

    ``commit`` is '' while nothing is committed. ``patch`` is git's stable patch id of that
    commit, ``blobs`` the resulting blob id of each changed path.
    """

    commit: str = ""
    tree: str = ""
    patch: str = ""
    commits: tuple[str, ...] = ()
    blobs: Mapping[str, str] = {}


class Playbook(NamedTuple):
    """A compiled session, or an insight. Times are seconds since the epoch, a session's from
    its log."""

    title: str
    agent: str
    session: str
    author: str = ""
    branch: str = ""
    started: int = 0
    ended: int = 0
    intent: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()
    files: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    repairs: tuple[Repair, ...] = ()
    dead_ends: tuple[DeadEnd, ...] = ()
    edges: tuple[Edge, ...] = ()
    anchor: Anchor = Anchor()
    probes: tuple[Probe, ...] = ()
    dropped: Mapping[str, int] = {}
    supersedes: tuple[str, ...] = ()
    kind: str = PLAYBOOK


def to_document(playbook: Playbook) -> dict[str, Any]:
    """The record as the JSON object of ``schema/<kind>.json``."""
    if playbook.kind == INSIGHT:
        return _insight(playbook)
    ends = [_plain(end) for end in playbook.dead_ends]
    return {
        "format": FORMAT,
        "kind": "playbook",
        "title": playbook.title,
        "agent": playbook.agent,
        "session": playbook.session,
        "author": playbook.author,
        "branch": playbook.branch,
        "started": playbook.started,
        "ended": playbook.ended,
        "intent": list(playbook.intent),
        "l0": {"steps": [_plain(step) for step in playbook.steps]},
        "l1": {"files": list(playbook.files), "checks": list(playbook.checks)},
        "l2": {"repairs": [_plain(repair) for repair in playbook.repairs]},
        **({"dead_ends": ends} if ends else {}),
        "graph": {"edges": [_plain(edge) for edge in playbook.edges]},
        "anchor": _plain(playbook.anchor),
        "probes": [_plain(probe) for probe in playbook.probes],
        "dropped": dict(playbook.dropped),
        "supersedes": list(playbook.supersedes),
    }


def from_document(document: Mapping[str, Any]) -> Playbook:
    """The record in a document that has passed ``schema.validate`` or is our own."""
    if document.get("kind") == INSIGHT:
        return _from_insight(document)
    return Playbook(
        title=document["title"],
        agent=document["agent"],
        session=document["session"],
        author=document.get("author", ""),
        branch=document.get("branch", ""),
        started=document.get("started", 0),
        ended=document.get("ended", 0),
        intent=tuple(document.get("intent", ())),
        steps=tuple(_value(Step, step) for step in document["l0"]["steps"]),
        files=tuple(document["l1"]["files"]),
        checks=tuple(document["l1"]["checks"]),
        repairs=tuple(_value(Repair, repair) for repair in document["l2"]["repairs"]),
        dead_ends=tuple(_value(DeadEnd, end) for end in document.get("dead_ends", ())),
        edges=tuple(_value(Edge, edge) for edge in document["graph"]["edges"]),
        anchor=_value(Anchor, document["anchor"]),
        probes=tuple(_value(Probe, probe) for probe in document["probes"]),
        dropped=document.get("dropped", {}),
        supersedes=tuple(document.get("supersedes", ())),
    )


def _insight(playbook: Playbook) -> dict[str, Any]:
    note = playbook.steps[0]
    return {
        "format": FORMAT,
        "kind": INSIGHT,
        "title": playbook.title,
        "text": note.reason,
        "about": {"files": list(playbook.files), "symbols": list(note.symbols)},
        "author": playbook.author,
        "branch": playbook.branch,
        "time": playbook.ended,
        "anchor": _plain(playbook.anchor),
        "probes": [_plain(probe) for probe in playbook.probes],
        "supersedes": list(playbook.supersedes),
    }


def _from_insight(document: Mapping[str, Any]) -> Playbook:
    about = document.get("about", {})
    files = tuple(about.get("files", ()))
    return Playbook(
        title=document["title"],
        agent="",
        session="",
        author=document.get("author", ""),
        branch=document.get("branch", ""),
        started=document.get("time", 0),
        ended=document.get("time", 0),
        steps=(Step(NOTE, symbols=tuple(about.get("symbols", ())), reason=document["text"]),),
        files=files,
        anchor=_value(Anchor, document.get("anchor", {})),
        probes=tuple(_value(Probe, probe) for probe in document.get("probes", ())),
        supersedes=tuple(document.get("supersedes", ())),
        kind=INSIGHT,
    )


def canonical(document: Mapping[str, Any]) -> bytes:
    """The one byte form of a document: sorted keys, UTF-8, no spaces. Its SHA-256 is the id.

    Raises ValueError for NaN and infinities, UnicodeEncodeError for lone surrogates.
    """
    text = json.dumps(
        document, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False
    )
    return text.encode("utf-8")


def record_id(data: bytes) -> str:
    """The id of a record: SHA-256 of its canonical bytes, in hex."""
    import hashlib  # not needed by hooks, and slow to import

    return hashlib.sha256(data).hexdigest()


def keywords(playbook: Playbook) -> list[str]:
    """Up to a dozen words that ``git log --grep`` can find the record by."""
    names = [path.rpartition("/")[2] for path in playbook.files]
    symbols = [name for step in playbook.steps for name in step.symbols]
    errors = [repair.error.split(":")[0] for repair in playbook.repairs]
    words = (" ".join(word.split())[:40] for word in (*names, *symbols, *errors))
    return list(dict.fromkeys(filter(None, words)))[:12]


def _plain(value: Any) -> dict[str, Any]:
    """A value as a JSON object; fields at their default are left out to keep records small."""
    return {
        name: list(item) if isinstance(item, tuple) else item
        for name, item in value._asdict().items()
        if name not in value._field_defaults or item != value._field_defaults[name]
    }


def _value(kind: Any, document: Mapping[str, Any]) -> Any:
    """The value of a JSON object; names this version does not know are skipped."""
    return kind(
        **{
            name: tuple(document[name]) if isinstance(document[name], list) else document[name]
            for name in kind._fields
            if name in document
        }
    )
