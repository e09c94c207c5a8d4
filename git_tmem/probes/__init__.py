"""Guards as data: built on the tree that a session left, checked on the tree of today.

A kind is one module and one line in ``PROBES``. A record may hold kinds that this version
does not know; their outcome is unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from git_tmem.errors import TmemError
from git_tmem.playbook import UNKNOWN, Outcome, Probe, Step
from git_tmem.probes import blob, body, path, symbol
from git_tmem.probes import check as command
from git_tmem.probes.base import CachedView, ProbeKind, TreeView, Unknowable, safe_path

__all__ = [
    "PROBES",
    "CachedView",
    "TreeView",
    "Unknowable",
    "build",
    "check",
    "check_all",
    "safe_path",
]

PROBES: dict[str, ProbeKind] = {kind.KIND: kind for kind in (path, blob, symbol, body, command)}

#: Probes of one record, as the schema limits them.
_MOST = 500


def build(steps: Sequence[Step], view: TreeView) -> tuple[Probe, ...]:
    """The probes of a record's steps on a view: one for each thing that is guarded, with the
    indexes of all steps that lean on it. What cannot be told is not guarded."""
    cached = _cached(view)
    leaning: dict[tuple[str, tuple[tuple[str, str], ...]], list[int]] = {}
    for number, step in enumerate(steps):
        for kind in PROBES.values():
            for args in _built(kind, step, cached):
                leaning.setdefault((kind.KIND, tuple(args.items())), []).append(number)
    made = [Probe(kind, dict(args), tuple(numbers)) for (kind, args), numbers in leaning.items()]
    return tuple(made[:_MOST])


def _built(kind: ProbeKind, step: Step, view: CachedView) -> list[dict[str, str]]:
    try:
        return list(kind.build(step, view))
    except (Unknowable, TmemError, OSError, ValueError):
        return []


def check(probe: Probe, view: TreeView) -> Outcome:
    """What has become of the thing a probe guards. Never raises, whatever the arguments."""
    fault = _fault(probe)
    if fault:
        return Outcome(UNKNOWN, fault)
    try:
        return PROBES[probe.kind].check(probe.args, _cached(view))
    except Unknowable as error:
        reason = str(error)
    except (TmemError, OSError, ValueError, RecursionError) as error:
        reason = str(error) or type(error).__name__
    subject = probe.args.get("path") or probe.args.get("command", "")
    return Outcome(UNKNOWN, f"{subject} could not be checked: {reason}")


def check_all(probes: Iterable[Probe], view: TreeView) -> tuple[Outcome, ...]:
    """The outcomes of many probes, in order; a file is looked up and parsed once for all.

    Given a ``CachedView``, what it has learned is used and added to: for more than one record.
    """
    cached = _cached(view)
    return tuple(check(probe, cached) for probe in probes)


def _cached(view: TreeView) -> CachedView:
    return view if isinstance(view, CachedView) else CachedView(view)


def _fault(probe: Probe) -> str:
    """Why a probe from a record cannot be checked, '' when it can."""
    kind = PROBES.get(probe.kind) if isinstance(probe.kind, str) else None
    if kind is None:
        return f"guards of kind {probe.kind!r} are not known to this version"
    args = probe.args
    if not isinstance(args, Mapping) or not all(isinstance(item, str) for item in args.values()):
        return f"a {probe.kind} guard has unreadable arguments"
    lacking = [name for name in kind.NEEDS if not args.get(name)]
    if lacking:
        return f"a {probe.kind} guard lacks its {lacking[0]}"
    if "path" in args and not safe_path(args["path"]):
        return f"a {probe.kind} guard has an unsafe path"
    if "blob" in args and not _is_hex(args["blob"]):
        return f"a {probe.kind} guard has a malformed blob id"
    return ""


def _is_hex(text: str) -> bool:
    return len(text) in (40, 64) and not text.strip("0123456789abcdef")
