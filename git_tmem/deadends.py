"""Dead ends: what a session tried, saw fail, and undid; and whether a plan repeats one.

A dead end is known by its hunk: the path and a fingerprint of the lines that really changed,
so that context and layout make no difference. Only what is about to be done again is worth
a warning, so nothing here matches by resemblance.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from math import inf
from typing import NamedTuple

from git_tmem import checks, effects
from git_tmem.actions import MUTATE, Action
from git_tmem.changes import Hunk
from git_tmem.playbook import DeadEnd
from git_tmem.survival import Criterion, Delta, Run, delta, inside, normal, sets_back, targets_of

#: Hex digits of a fingerprint; it is compared among the few dead ends of one file.
_DIGITS = 16


class Undone(NamedTuple):
    """A try at ``index`` of ``path``, by a hunk or (hunk None) by a command, undone later, and
    the index of the check that failed while it stood."""

    index: int  # type: ignore[assignment]  # hides a method of tuple that nobody calls on it
    path: str
    hunk: Hunk | None
    failed: int


def undone(
    actions: Sequence[Action], runs: Mapping[int, Run], criterion: Criterion, window: int
) -> tuple[Undone, ...]:
    """The tries that failed a check within ``window`` actions and are not in git's files.

    Only files that git has in the end count: what was made and thrown away was scratch. A hunk
    that brings back what was there before is the undoing, and no try.
    """
    failed_checks = (at for at, run in runs.items() if run.strength and run.passed is False)
    failures = [at for at in failed_checks if not _never_ran(actions[at])]
    passes = [at for at, run in runs.items() if run.strength == checks.TEST and run.passed]
    discards = {at: effects.discards(actions[at].command) for at, run in runs.items() if run.writes}
    discards = {at: paths for at, paths in discards.items() if paths and not actions[at].exit_code}
    if not failures:
        return ()
    tries = [
        *_by_hunks(actions, criterion, discards),
        *_by_commands(actions, runs, discards),
    ]
    found: dict[object, Undone] = {}
    for index, path, hunk, end in tries:
        failed = _first(failures, index)
        if failed < min(end, index + window + 1, _first(passes, index)):
            key = (path, fingerprint(hunk)) if hunk else (path, actions[index].command)
            found[key] = Undone(index, path, hunk, int(failed))
    return tuple(sorted(found.values(), key=lambda one: (one.index, one.path)))


def _never_ran(action: Action) -> bool:
    """Whether the check itself could not start, which speaks against no edit."""
    name = _NO_MODULE.search(action.output)
    absent = name is not None and re.search(rf"-m\s+{name[1]}\b", action.command)
    return action.exit_code in (126, 127) or bool(absent)


_NO_MODULE = re.compile(r"No module named '?(\w+)")


def _first(places: Sequence[int], after: int) -> float:
    """The first of the ordered places after one, infinity without any."""
    at = bisect_right(places, after)
    return places[at] if at < len(places) else inf


_Try = tuple[int, str, Hunk | None, int]


def _by_hunks(
    actions: Sequence[Action], criterion: Criterion, discards: Mapping[int, Sequence[str]]
) -> Iterable[_Try]:
    """The hunks of edit tools that the final files do not show, with where each was undone."""
    edits: dict[str, list[tuple[int, Hunk, Delta]]] = {}
    for index, action in enumerate(actions):
        if action.kind == MUTATE and not action.failed and action.path in criterion.final:
            made = edits.setdefault(action.path, [])
            made += [(index, hunk, delta(hunk)) for hunk in action.hunks]
    for path, made in edits.items():
        final = frozenset(map(normal, criterion.final[path]))
        back = [at for at, places in discards.items() if sets_back(path, places)]
        putting, taking = _places(made, 0), _places(made, 1)
        brought: set[str] = set()
        taken: set[str] = set()
        for place, (index, hunk, (added, removed)) in enumerate(made):
            undoing = removed and brought.issuperset(removed) and taken.issuperset(added)
            brought.update(added)
            taken.update(removed)
            if _is_gone((added, removed), final) and not undoing:
                lines, where = (added, taking) if added else (removed, putting)
                later = min(_first(where.get(line, ()), place) for line in lines)
                end = made[int(later)][0] if later < inf else len(actions)
                yield index, path, hunk, int(min(end, _first(back, index)))


def _places(made: Sequence[tuple[int, Hunk, Delta]], side: int) -> dict[str, list[int]]:
    """Which of the hunks put in (side 0) or took out (side 1) each line, in order."""
    places: dict[str, list[int]] = {}
    for place, (_, _, change) in enumerate(made):
        for line in change[side]:
            places.setdefault(line, []).append(place)
    return places


def _is_gone(change: Delta, final: frozenset[str]) -> bool:
    added, removed = change
    if added:
        return 2 * len(final.intersection(added)) < len(added)
    return bool(removed) and final.issuperset(removed)


def _by_commands(
    actions: Sequence[Action], runs: Mapping[int, Run], discards: Mapping[int, Sequence[str]]
) -> Iterable[_Try]:
    """Commands that changed files which a later one set back, by name, to what git has."""
    for index, run in runs.items():
        ends = [at for at in discards if at > index]
        if run.writes and not run.strength and index not in discards and ends:
            for path in dict.fromkeys(filter(inside, targets_of(actions[index].command))):
                named = [at for at in ends if path in discards[at]]
                if named:
                    yield index, path, None, named[0]


def fingerprint(hunk: Hunk) -> str:
    """What a hunk really changes, in 16 hex digits: the telling lines that it puts in and takes
    out, without their white space and whatever their order; '' when there are none."""
    added, removed = delta(hunk)
    lines = [
        *(f"+{line}" for line in added.elements()),
        *(f"-{line}" for line in removed.elements()),
    ]
    if not lines:
        return ""
    import hashlib  # not needed unless there is something to compare with

    new = [f"+{line}" for line in added.elements()]
    old = [f"-{line}" for line in removed.elements()]
    text = "\n".join(sorted(new + old)).encode("utf-8", "replace")
    return hashlib.sha256(text).hexdigest()[:_DIGITS]


def repeated(
    ends: Iterable[DeadEnd],
    path: str,
    hunk: Hunk | None = None,
    command: str = "",
    symbol: str = "",
) -> DeadEnd | None:
    """The dead end that a planned edit, or a planned command, does again; None for a new try.

    ``path`` is relative to the work tree; ``hunk`` has whole lines (``changes.hunk_of``), and
    ``command`` is portable, as records hold it. With ``symbol``, a dead end that is known to
    be of other symbols does not count. Never raises.
    """
    planned = " ".join(command.split())
    print_ = None
    for end in ends:
        elsewhere = symbol and end.symbols and not _is_among(symbol, end.symbols)
        if end.path != path or elsewhere:
            continue
        if planned and planned == " ".join(end.command.split()):
            return end
        if hunk is not None and end.fingerprint:
            print_ = fingerprint(hunk) if print_ is None else print_
            if print_ == end.fingerprint:
                return end
    return None


def _is_among(symbol: str, names: Iterable[str]) -> bool:
    """Whether one of the names is the symbol, encloses it or is in it."""
    last = symbol.rpartition(".")[2]
    return any(
        name in (symbol, last)
        or name.rpartition(".")[2] == last
        or name.startswith(f"{symbol}.")
        or symbol.startswith(f"{name}.")
        for name in names
    )
