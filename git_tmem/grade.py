"""Grades a record: from what its probes found to how much of it may be shown.

::

    L0_FULL       every step holds, moved ones with their new path
    L0_PARTIAL    the edits that hold; what was changed or is gone is hidden
    L1_TOPOLOGY   no edit holds: the files that still exist, and the checks
    L2_INVARIANT  no file exists: the repairs alone
    WITHHELD      nothing
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from git_tmem.playbook import (
    EDITED,
    FRESH,
    GONE,
    INSIGHT,
    MOVED,
    MUTATE,
    NOTE,
    UNKNOWN,
    Outcome,
    Playbook,
    Probe,
    Step,
)

L0_FULL = "L0_FULL"
L0_PARTIAL = "L0_PARTIAL"
L1_TOPOLOGY = "L1_TOPOLOGY"
L2_INVARIANT = "L2_INVARIANT"
WITHHELD = "WITHHELD"

#: From most to least shown.
GRADES = (L0_FULL, L0_PARTIAL, L1_TOPOLOGY, L2_INVARIANT, WITHHELD)

#: How much a state takes away. Not having been able to look is weaker than having seen a change.
_SEVERITY = {FRESH: 0, MOVED: 1, UNKNOWN: 2, EDITED: 3, GONE: 4}
#: Reasons of one step that are told.
_REASONS = 3

Evidence = Sequence[tuple[Probe, Outcome]]


class Grade(NamedTuple):
    """``outcomes`` has one for each L0 step, ``reasons`` one for each thing that is hidden,
    moved or could not be checked; ``files`` are the record's files where they are now."""

    name: str
    outcomes: tuple[Outcome, ...]
    reasons: tuple[str, ...]
    files: tuple[str, ...] = ()


def grade(playbook: Playbook, outcomes: Sequence[Outcome]) -> Grade:
    """The grade of a record whose probes gave ``outcomes``, in the order of its probes.

    The order of probes is irrelevant, and a worse outcome never gives a better grade. Raises
    ValueError when there is not one outcome for each probe.
    """
    evidence = list(zip(playbook.probes, outcomes, strict=True))
    moved = _moved(evidence)
    leaning: dict[int, list[tuple[Probe, Outcome]]] = {}
    for probe, outcome in evidence:
        for number in set(probe.steps):
            leaning.setdefault(number, []).append((probe, _heal(probe, outcome, moved)))
    judged = tuple(
        _judge(step, leaning.get(number, [])) for number, step in enumerate(playbook.steps)
    )
    files = _existing(playbook.files, evidence, moved)
    name = _ladder(playbook, judged, files)
    reasons = [outcome.reason for outcome in judged if outcome.state != FRESH and outcome.reason]
    if name == WITHHELD and not reasons:
        reasons = ["nothing in it can be used any more"]
    return Grade(name, judged, tuple(dict.fromkeys(reasons)), files)


def _ladder(playbook: Playbook, judged: Sequence[Outcome], files: Sequence[str]) -> str:
    """Edits decide; a record without any is decided by what it read and checked. An insight is
    shown whole unless all that it is about is gone."""
    if playbook.kind == INSIGHT:
        return WITHHELD if all(map(hidden, judged)) else L0_FULL
    edits = [
        outcome for step, outcome in zip(playbook.steps, judged, strict=True) if step.kind == MUTATE
    ]
    if any(holds(outcome) for outcome in edits or judged):
        return L0_PARTIAL if any(map(hidden, judged)) else L0_FULL
    if files:
        return L1_TOPOLOGY
    return L2_INVARIANT if playbook.repairs else WITHHELD


def holds(outcome: Outcome) -> bool:
    """Whether the step was seen to be as it was, here or elsewhere."""
    return outcome.state in (FRESH, MOVED)


def hidden(outcome: Outcome) -> bool:
    """Whether the step is not to be shown: it was seen to be changed or gone."""
    return outcome.state in (EDITED, GONE)


def _judge(step: Step, evidence: Evidence) -> Outcome:
    """One outcome for a step. For an edit the whole file decides while it is as it was; once it
    is not, its symbols do, if any are guarded."""
    if step.kind == NOTE:
        return _judge_note(evidence)
    blobs = [outcome for probe, outcome in evidence if probe.kind == "blob"]
    inner = [outcome for probe, outcome in evidence if probe.kind in ("symbol", "body")]
    if step.kind == MUTATE and blobs:
        best = min(blobs, key=lambda outcome: (_severity(outcome), outcome))
        if holds(best):
            return best
    # the path is there or not; of kinds that are not known here, only a clear answer counts
    rest = [
        outcome
        for probe, outcome in evidence
        if probe.kind in ("path", "check")
        or (probe.kind not in ("blob", "symbol", "body") and _severity(outcome) != 2)
    ]
    found = rest + (inner or blobs)
    if not found:
        return Outcome(UNKNOWN, f"{step.path or step.command or step.kind}: nothing guards it")
    return _worst(found)


def _judge_note(evidence: Evidence) -> Outcome:
    """A note holds while anything that it is about is there; one about nothing in particular
    cannot be checked, and is no worse for that."""
    found = [outcome for _, outcome in evidence]
    return min(found, key=lambda outcome: (_severity(outcome), outcome), default=Outcome(FRESH))


def _worst(outcomes: Sequence[Outcome]) -> Outcome:
    severity = max(map(_severity, outcomes))
    worst = sorted(outcome for outcome in outcomes if _severity(outcome) == severity)
    reasons = dict.fromkeys(outcome.reason for outcome in worst if outcome.reason)
    place = max(outcome.path for outcome in worst)
    return Outcome(_STATES[severity], "; ".join(list(reasons)[:_REASONS]), place)


_STATES = {severity: state for state, severity in _SEVERITY.items()}


def _severity(outcome: Outcome) -> int:
    return _SEVERITY.get(outcome.state, _SEVERITY[UNKNOWN])


def _moved(evidence: Iterable[tuple[Probe, Outcome]]) -> dict[str, Outcome]:
    """Paths whose content is known to be elsewhere now."""
    found = [
        (str(probe.args.get("path", "")), outcome)
        for probe, outcome in evidence
        if probe.kind == "blob" and outcome.state == MOVED and outcome.path
    ]
    return dict(sorted(found, reverse=True))


def _heal(probe: Probe, outcome: Outcome, moved: Mapping[str, Outcome]) -> Outcome:
    """A path that is only looked for follows the content that an edit is known by."""
    if outcome.state == GONE and probe.kind in ("path", "check"):
        return moved.get(str(probe.args.get("path", "")), outcome)
    return outcome


def _existing(
    files: Iterable[str], evidence: Evidence, moved: Mapping[str, Outcome]
) -> tuple[str, ...]:
    """Where the files are now; one is left out when a probe saw that it is gone, and none that
    its content is as it was."""
    seen = [
        (str(probe.args.get("path", "")), probe.kind, outcome.state) for probe, outcome in evidence
    ]
    same = {path for path, kind, state in seen if kind == "blob" and state in (FRESH, MOVED)}
    gone = {path for path, kind, state in seen if kind in ("path", "blob") and state == GONE}
    gone -= same
    places = {path: moved[path].path if path in moved else path for path in files}
    return tuple(
        dict.fromkeys(place for path, place in places.items() if path in moved or path not in gone)
    )
