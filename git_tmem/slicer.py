"""The backward slice of a session: the few actions that what survived depends on.

The criterion is what git has in the end, and the last check that passed. An edit survives
by its lines, not by its file. From the surviving edits the walk goes back to the reads that
informed them, to the failures they repaired, and to what the checks needed to pass. All
the rest is dropped, and counted under the reason for it.
"""

from __future__ import annotations

import posixpath
import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from git_tmem import checks, deadends, doubts, effects
from git_tmem.actions import EXEC, PROMPT, Action
from git_tmem.actions import MUTATE as EDIT
from git_tmem.actions import READ as LOOK
from git_tmem.playbook import MUTATE, READ, SETUP, VERIFY
from git_tmem.signature import signature
from git_tmem.survival import (
    Criterion,
    Kept,
    Run,
    inside,
    runs_of,
    surviving,
    targets_of,
    with_whole_lines,
)

#: Values of ``Slice.missing``: which condition a session did not meet.
NO_EDIT = "edit"
NO_CHECK = "check"
NEITHER = "both"
SCRATCH_CHECK = "scratch"

#: Reasons for which an action is dropped; a repeated edit is kept, but merged into its file's step.
TALK = "talk"
OTHER_TOOL = "other tool"
FAILED_CALL = "failed call"
EXPLORATION = "exploration"
DEAD_EDIT = "dead edit"
SCRATCH_FILE = "scratch file"
REPEATED_EDIT = "repeated edit"
FAILING_RUN = "failing run"
REPEATED_CHECK = "repeated check"
OTHER_COMMAND = "other command"

#: Actions within which a cause and its effect must lie, unless told otherwise.
WINDOW = 36
#: Checks kept at most; more of them say the same again.
_CHECKS = 3
#: Distinct passing commands that are compared, the latest ones.
_PASSING = 60


class Pairing(NamedTuple):
    """A failing run, the edits and setups that cured it, and the same check passing."""

    error: int
    repairs: tuple[int, ...]
    check: int


class Dependence(NamedTuple):
    """``source`` informed ``target`` (both indexes of actions); ``rule`` says how it is known."""

    type: str
    source: int
    target: int
    rule: str


class Slice(NamedTuple):
    """What was kept, in the order of the log, and why the rest was not.

    ``check`` is the index of the check that counts, None without one. ``missing`` is '' or
    the condition that was not met: a surviving edit, a passing check after it (SCRATCH_CHECK
    where only throw-away scripts passed), or both. ``undone`` are the tries that failed.
    """

    kept: tuple[Kept, ...]
    pairs: tuple[Pairing, ...]
    informs: tuple[Dependence, ...]
    check: int | None
    dropped: Mapping[str, int]
    missing: str
    undone: tuple[deadends.Undone, ...] = ()


def backward_slice(actions: Sequence[Action], criterion: Criterion, window: int = WINDOW) -> Slice:
    """The slice of ``actions`` (localised: paths relative to the work tree) by ``criterion``.

    ``window`` is the number of actions within which a cause and its effect must lie. Never
    raises; takes time near linear in the actions and the lines they edited.
    """
    actions = [with_whole_lines(action, criterion.final) for action in actions]
    runs = runs_of(actions)
    edits, scratch = surviving(actions, runs, criterion)
    proofs = _checks(actions, runs, edits, scratch)
    chosen = proofs[0] if proofs else None
    setups = [index for index, run in runs.items() if run.setup and run.passed]
    pairs = _pairs(actions, runs, [edit.index for edit in edits], setups, window)
    needed = {at for pair in pairs for at in setups if pair.error < at <= pair.check}
    seen = [look for look in _seen(actions, edits, criterion) if look.path not in scratch]
    informs = _informing(actions, edits, pairs, seen, window)
    kept = [
        *(Kept(at, actions[at]._replace(path=path), READ) for at, path in _used(informs)),
        *(edit._replace(verified=chosen is not None and edit.index <= chosen) for edit in edits),
        *(Kept(index, actions[index], SETUP) for index in needed),
        *(Kept(index, actions[index], VERIFY) for index in proofs),
    ]
    kept.sort(key=lambda item: (item.index, _ROLES.index(item.role), item.action.path))
    dropped = _dropped(actions, kept, pairs, runs, scratch)
    passed = next(_passing(actions, runs, scratch), None)
    missing = _missing(bool(edits), chosen is not None, passed is not None)
    if missing == NO_CHECK and _only_scratch(actions, runs, edits):
        missing = SCRATCH_CHECK
    edges = {Dependence("informs", look.at, edit, rule): None for look, edit, rule in informs}
    undone = deadends.undone(actions, runs, criterion, window)
    return Slice(tuple(kept), pairs, tuple(edges), chosen, dropped, missing, undone)


_ROLES = (READ, SETUP, MUTATE, VERIFY)


def _missing(edited: bool, proved: bool, passed: bool) -> str:
    if edited:
        return "" if proved else NO_CHECK
    return NO_EDIT if passed else NEITHER


def _only_scratch(
    actions: Sequence[Action], runs: Mapping[int, Run], edits: Sequence[Kept]
) -> bool:
    """Whether checks passed after the first edit, none of them one that counts, and none
    failed at the end."""
    latest = {
        actions[index].command: run.passed
        for index, run in runs.items()
        if run.strength and index >= edits[0].index
    }
    return bool(latest) and all(latest.values())


# --- Runs: checks that passed, and failures that were cured ----------------------------------


def _passing(
    actions: Sequence[Action], runs: Mapping[int, Run], scratch: frozenset[str]
) -> Iterator[int]:
    """Indexes of passing checks that are no throw-away script's."""
    for index, run in runs.items():
        if run.strength and run.passed and not _thrown_away(actions[index].command, scratch):
            yield index


def _thrown_away(command: str, scratch: frozenset[str]) -> bool:
    """Whether the command names a scratch file, by its path or as a module, or what lies in a
    scratch folder."""
    paths = targets_of(command)
    places = {path[:at] for path in paths for at in _slashes(path)}
    if not scratch.isdisjoint(places.union(paths)):
        return True
    modules = [f"/{name.replace('.', '/')}.py" for name in _MODULE.findall(command[:4_000])]
    return any(f"/{path}".endswith(name) for path in scratch for name in modules)


_MODULE = re.compile(r"(?<![\w./-])\w+(?:\.\w+)+(?![\w/-])")


def _checks(
    actions: Sequence[Action],
    runs: Mapping[int, Run],
    edits: Sequence[Kept],
    scratch: frozenset[str],
) -> list[int]:
    """The check that counts, then the last passing runs of other kinds of checks.

    Of the checks between the same two surviving edits the strongest counts: a linter that
    ran after the tests proves no more than they did. So do, among equals, those that touch
    what was edited. Where the tests last failed, no lint or build makes up for them.
    """
    starts = [edit.index for edit in edits]
    passing = [at for at in _passing(actions, runs, scratch) if starts and at >= starts[0]]
    passing = _really_run(actions, passing, starts)
    kinds = _last_of_each_kind(actions, passing)
    last = starts[bisect_right(starts, kinds[0]) - 1] if kinds else 0
    needed = _unresolved(actions, runs, scratch, starts)
    kinds = [kind for kind in kinds if runs[kind].strength >= needed]
    paths = {edit.action.path for edit in edits}

    def weight(index: int) -> tuple[bool, int, bool, int]:
        doubt = doubts.of_check(actions[index].command, actions[index].output, paths)
        return index >= last, runs[index].strength, not doubt, index

    return sorted(kinds, key=weight, reverse=True)[:_CHECKS]


def _really_run(
    actions: Sequence[Action], passing: Sequence[int], starts: Sequence[int]
) -> list[int]:
    """The passing runs without those that a cache answered, where the same check had been run
    after the last edit."""
    real: set[str] = set()
    found = []
    for at in passing:
        command = actions[at].command
        cached = doubts.is_cached(actions[at].output)
        if not cached and at >= starts[-1]:
            real.add(command)
        if not cached or command not in real:
            found.append(at)
    return found


def _unresolved(
    actions: Sequence[Action],
    runs: Mapping[int, Run],
    scratch: frozenset[str],
    starts: Sequence[int],
) -> int:
    """How strong the last checks after the edits were that failed, 0 when none is left."""
    latest: dict[int, bool] = {}
    for index, run in runs.items():
        told = run.strength and run.passed is not None and starts and index >= starts[-1]
        if told and not _thrown_away(actions[index].command, scratch):
            latest[run.strength] = bool(run.passed)
    return max((strength for strength, passed in latest.items() if not passed), default=0)


def _last_of_each_kind(actions: Sequence[Action], passing: Sequence[int]) -> list[int]:
    """The last passing run of each family of the same check, the latest first."""
    latest = {actions[index].command: index for index in passing}
    kinds: list[int] = []
    for index in sorted(latest.values(), reverse=True)[:_PASSING]:
        command = actions[index].command
        if not any(checks.same_check(command, actions[kind].command) for kind in kinds):
            kinds.append(index)
    return kinds


def _pairs(
    actions: Sequence[Action],
    runs: Mapping[int, Run],
    edits: Sequence[int],
    setups: Sequence[int],
    window: int,
) -> tuple[Pairing, ...]:
    """Each failing run with what came before its check, or a wider one, passed in the window.

    A run that failed and then passed with nothing in between was unsteady, and is no pair.
    The same failure seen again and again is paired once, at its last sight before a cure; a
    different failure of the same check in between ends the first one's repair.
    """
    same, covers = _Compared(checks.same_check), _Compared(checks.covers)
    cures = sorted({*edits, *setups})
    alone = frozenset(setups).difference(edits)  # a setup that passes is not its own cure
    failures = _failures(actions, runs)
    found: dict[tuple[str, int], Pairing] = {}
    for index, key in failures.items():
        ends = []
        for at in range(index + 1, min(index + window + 1, len(actions))):
            passed = at in runs and runs[at].passed
            other = failures.get(at, key) != key
            commands = actions[at].command, actions[index].command
            if (passed and covers(*commands)) or (other and same(*commands)):
                ends.append(at)
                if passed:
                    break
        if ends and runs[ends[-1]].passed:
            spans = (_between(cures, index, at, alone) for at in ends)
            repairs = next(filter(None, spans), None)
            if repairs:
                found[key, ends[-1]] = Pairing(index, repairs, ends[-1])
    return tuple(sorted(found.values()))


def _between(cures: Sequence[int], start: int, end: int, alone: frozenset[int]) -> tuple[int, ...]:
    found = cures[bisect_right(cures, start) : bisect_right(cures, end)]
    return tuple(at for at in found if at != end or at not in alone)


def _failures(actions: Sequence[Action], runs: Mapping[int, Run]) -> dict[int, str]:
    """Failing runs that show an error or are checks, each with its signature's key or ''."""
    failures = {}
    for index, run in runs.items():
        if run.passed is False:
            error = signature(actions[index].output)
            if error or run.strength:
                failures[index] = error.key if error else ""
    return failures


class _Compared:
    """A comparison of two commands that compares each two once."""

    def __init__(self, compare: Callable[[str, str], bool]) -> None:
        self._compare = compare
        self._known: dict[tuple[str, str], bool] = {}

    def __call__(self, a: str, b: str) -> bool:
        if a == b:
            return True
        if (a, b) not in self._known:
            self._known[a, b] = self._compare(a, b)
        return self._known[a, b]


# --- Reads that informed an edit -------------------------------------------------------------

SAME_FILE = "read the same file"
NAMED_IN_EDIT = "the edit names it"
NAMED_IN_ERROR = "the repaired failure names it"
NAMED_IN_REASON = "the reason names it"

_LOOKS = re.compile(r"(?:cd [^;&|\n]*(?:&&|;)\s*)?(?:cat|head|tail|nl|bat|less|sed -n)\s")
_SEARCHES = re.compile(r"(?:cd [^;&|\n]*(?:&&|;)\s*)?(?:git )?(?:e|f)?(?:grep|rg|ag)\s")
_WORD = re.compile(r"\w+")
_FILE_NAME = re.compile(r"[\w.-]+")

#: Stems that name a file's part in a project rather than its subject.
_COMMON = re.compile(
    r"__\w+|index|main|tests?|lib|mod|init|setup|config|utils?|types|readme|package"
)


class _Seen(NamedTuple):
    """A read: its action, its path, the words by which other texts may name it, and whether
    it was a search that showed a few lines only."""

    at: int
    path: str
    names: tuple[str, ...]
    searched: bool = False


def _informing(
    actions: Sequence[Action],
    edits: Sequence[Kept],
    pairs: Sequence[Pairing],
    seen: Sequence[_Seen],
    window: int,
) -> list[tuple[_Seen, int, str]]:
    """Which reads informed which surviving edits (by index), and the rule that tells so."""
    indexes = [look.at for look in seen]
    errors: dict[int, list[str]] = defaultdict(list)
    for pair in pairs:
        for repair in pair.repairs:
            errors[repair].append(actions[pair.error].output)
    drawn: dict[tuple[_Seen, int], str] = {}
    met: set[str] = set()
    for edit in edits:
        paths = {edit.action.path, actions[edit.index].path} - {""}
        end = bisect_left(indexes, edit.index)
        own = None if met.intersection(paths) else _last_read(seen[:end], paths)
        drawn.update({(own, edit.index): SAME_FILE} if own else {})
        met |= paths
        near = seen[bisect_left(indexes, edit.index - window) : end]
        others = {look.path: look for look in near if look.path not in paths}
        for rule, words in _named(edit, errors[edit.index]) if others else ():
            for look in others.values():
                if not words.isdisjoint(look.names):
                    drawn.setdefault((look, edit.index), rule)
    return sorted((look, edit, rule) for (look, edit), rule in drawn.items())


def _used(informs: Sequence[tuple[_Seen, int, str]]) -> list[tuple[int, str]]:
    return sorted({(look.at, look.path) for look, _, _ in informs})


def _last_read(seen: Sequence[_Seen], paths: set[str]) -> _Seen | None:
    """The last real read of the paths, or, without one, the last search in them."""
    own = [look for look in reversed(seen) if look.path in paths]
    return next((look for look in own if not look.searched), own[0] if own else None)


def _seen(
    actions: Sequence[Action], edits: Sequence[Kept], criterion: Criterion
) -> Iterator[_Seen]:
    """Every read of a file in the work tree; a path that holds others is a searched folder."""
    paths = {action.path for action in actions}.union(criterion.final, criterion.changed)
    folders = {path[:at] for path in paths if inside(path) for at in _slashes(path)}
    written = {edit.index for edit in edits}
    for index, action in enumerate(actions):
        if index not in written and not action.failed:
            for path in _looked_at(action):
                if inside(path) and path not in folders:
                    searched = bool(action.command and _SEARCHES.match(action.command))
                    yield _Seen(index, path, _names(path), searched)


def _slashes(path: str) -> list[int]:
    return [at for at, character in enumerate(path) if character == "/"]


def _looked_at(action: Action) -> list[str]:
    """Paths whose content the action showed to the agent."""
    if action.kind == LOOK:
        return [action.path]
    looks = _LOOKS.match(action.command) or _SEARCHES.match(action.command)
    shows = action.kind == EXEC and not action.exit_code and looks
    if not shows or effects.writes(action.command):
        return []
    return targets_of(action.command)[:8]


def _names(path: str) -> tuple[str, ...]:
    base = posixpath.basename(path).lower()
    stem = base.partition(".")[0] or base
    telling = len(stem) >= 3 and not _COMMON.fullmatch(stem)
    return (base, stem) if telling else (base,)


def _named(edit: Kept, errors: Sequence[str]) -> Iterator[tuple[str, set[str]]]:
    """The words of the edit, of the failures it repaired and of its reason, rule by rule."""
    yield NAMED_IN_EDIT, _words(line for hunk in edit.hunks for line in hunk.added)
    yield NAMED_IN_ERROR, _words(errors)
    yield NAMED_IN_REASON, _words([edit.action.reason])


def _words(texts: Iterable[str]) -> set[str]:
    text = "\n".join(texts).lower()
    names = {word.strip(".-") for word in _FILE_NAME.findall(text)}
    return names.union(_WORD.findall(text), (name.rpartition(".")[0] for name in names))


# --- What was dropped ------------------------------------------------------------------------

_EXPLORES = re.compile(
    r"(?:cd [^;&|\n]*(?:&&|;)\s*)?(?:ls|ll|cat|head|tail|nl|bat|less|grep|rg|ag|find|fd|tree|wc"
    r"|pwd|which|file|stat|echo|sed -n|jq|diff|history"
    r"|git (?:-C \S+ |--no-pager )?(?:status|log|diff|show|blame|branch|grep|ls-files|rev-parse))\b"
)


def _dropped(
    actions: Sequence[Action],
    kept: Sequence[Kept],
    pairs: Sequence[Pairing],
    runs: Mapping[int, Run],
    scratch: frozenset[str],
) -> dict[str, int]:
    """Counts by reason, names in order; kept actions and the runs of pairs are not dropped."""
    used = {item.index for item in kept}
    used.update(at for pair in pairs for at in (pair.error, pair.check))
    counts = Counter(
        _why(action, runs.get(index), scratch)
        for index, action in enumerate(actions)
        if index not in used
    )
    edited = [item.action.path for item in kept if item.role == MUTATE]
    counts[REPEATED_EDIT] = len(edited) - len(set(edited))
    return {reason: counts[reason] for reason in sorted(counts) if counts[reason]}


def _why(action: Action, run: Run | None, scratch: frozenset[str]) -> str:
    if action.kind == PROMPT:
        return TALK
    if action.failed:
        return FAILED_CALL
    if action.kind == LOOK:
        return EXPLORATION
    if action.kind == EDIT:
        return SCRATCH_FILE if action.path in scratch else DEAD_EDIT
    return _why_not_run(action.command, run) if run else OTHER_TOOL


def _why_not_run(command: str, run: Run) -> str:
    if run.strength:
        return REPEATED_CHECK if run.passed else FAILING_RUN
    return EXPLORATION if _EXPLORES.match(command) and not run.writes else OTHER_COMMAND
