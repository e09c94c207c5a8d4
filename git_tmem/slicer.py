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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from git_tmem import checks
from git_tmem.actions import EXEC, PROMPT, Action
from git_tmem.actions import MUTATE as EDIT
from git_tmem.actions import READ as LOOK
from git_tmem.changes import Hunk, complete
from git_tmem.playbook import MUTATE, READ, SETUP, VERIFY
from git_tmem.signature import signature

#: Values of ``Slice.missing``: which condition a session did not meet.
NO_EDIT = "edit"
NO_CHECK = "check"
NEITHER = "both"

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

#: Checks kept at most; more of them say the same again.
_CHECKS = 3
#: Distinct passing commands that are compared, the latest ones.
_PASSING = 60
#: Names a moved file may bear when it is not known whether a target was a folder.
_NAMES = 16
#: Characters of a command that are read for moves; a longer one carries a file's text.
_COMMAND = 4_000


class Criterion(NamedTuple):
    """What survived, as git tells it.

    ``final`` has the lines of every edited path that is in git's view now; a path that is
    not there, or not tracked, is absent. ``changed`` are the paths git shows changed.
    """

    final: Mapping[str, tuple[str, ...]]
    changed: frozenset[str]


class Kept(NamedTuple):
    """A kept action and the role it plays: READ, MUTATE, SETUP or VERIFY, as in a playbook.

    ``action.path`` is the path as it is called in the end: a file that was moved later, or
    one that a command changed, has it filled in. One command that changed two files is kept
    twice. ``hunks`` are the surviving ones, ``verified`` says that the check ran later.
    """

    index: int  # type: ignore[assignment]  # hides a method of tuple that nobody calls on it
    action: Action
    role: str
    verified: bool = True
    hunks: tuple[Hunk, ...] = ()


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
    the condition that was not met: a surviving edit, a passing check after it, or both.
    """

    kept: tuple[Kept, ...]
    pairs: tuple[Pairing, ...]
    informs: tuple[Dependence, ...]
    check: int | None
    dropped: Mapping[str, int]
    missing: str


def backward_slice(actions: Sequence[Action], criterion: Criterion, window: int = 36) -> Slice:
    """The slice of ``actions`` (localised: paths relative to the work tree) by ``criterion``.

    ``window`` is the number of actions within which a cause and its effect must lie. Never
    raises; takes time near linear in the actions and the lines they edited.
    """
    actions = [_with_whole_lines(action, criterion.final) for action in actions]
    runs = _runs(actions)
    edits, scratch = _surviving(actions, runs, criterion)
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
    edges = {Dependence("informs", look.at, edit, rule): None for look, edit, rule in informs}
    return Slice(tuple(kept), pairs, tuple(edges), chosen, dropped, missing)


_ROLES = (READ, SETUP, MUTATE, VERIFY)


def _missing(edited: bool, proved: bool, passed: bool) -> str:
    if edited:
        return "" if proved else NO_CHECK
    return NO_EDIT if passed else NEITHER


# --- Which edits survive ---------------------------------------------------------------------


def _with_whole_lines(action: Action, final: Mapping[str, tuple[str, ...]]) -> Action:
    """An edit whose log tells replaced text alone, with the lines that this text is in now."""
    if not any(hunk.partial for hunk in action.hunks) or action.path not in final:
        return action
    return action._replace(hunks=tuple(complete(hunk, final[action.path]) for hunk in action.hunks))


class _Edit(NamedTuple):
    """An edit by a tool under its final name; '' when the file is not there in the end."""

    at: int
    path: str
    moves: tuple[int, ...]  # the commands that gave the file this name


def _surviving(
    actions: Sequence[Action], runs: Mapping[int, _Run], criterion: Criterion
) -> tuple[list[Kept], frozenset[str]]:
    """The surviving edits of tools and commands, in order, and the paths that were scratch."""
    made = _tool_edits(actions, runs, criterion)
    kept = _standing_edits(actions, made, criterion)
    covered = {edit.action.path for edit in kept}
    used = {at: edit.path for edit in made if edit.path in covered for at in edit.moves}
    for index, run in runs.items():
        action = actions[index]
        paths = _written(action, run, criterion.changed - covered) if run.writes else set()
        paths.update([used[index]] if index in used else [])
        kept += [Kept(index, action._replace(path=path), MUTATE) for path in sorted(paths)]
    kept.sort(key=lambda item: item.index)
    gone = {actions[edit.at].path for edit in made if not edit.path}
    return kept, frozenset(
        gone.union(_poured(actions, runs)).difference(criterion.final, criterion.changed)
    )


def _tool_edits(
    actions: Sequence[Action], runs: Mapping[int, _Run], criterion: Criterion
) -> list[_Edit]:
    moves = list(_moves(actions, runs))
    edits = []
    for index, action in enumerate(actions):
        if action.kind == EDIT and not action.failed:
            edits.append(_Edit(index, *_final_name(action.path, index, moves, criterion.final)))
    return edits


def _standing_edits(
    actions: Sequence[Action], made: Sequence[_Edit], criterion: Criterion
) -> list[Kept]:
    standing = _standing_hunks(actions, made, criterion)
    last = {actions[edit.at].path: edit.at for edit in made}
    kept = []
    for edit in made:
        action = actions[edit.at]
        path = edit.path or action.path
        if edit.at in standing:
            alive = True
        elif edit.path:  # without hunks the log does not tell the lines, and git must speak
            alive = not action.hunks and path in criterion.changed
        else:  # the file is gone, and git knew it: its deletion is what survived
            alive = path in criterion.changed and last[path] == edit.at and _deletes(action)
        if alive and _inside(path):
            renamed = action._replace(path=path)
            kept.append(Kept(edit.at, renamed, MUTATE, hunks=tuple(standing[edit.at])))
    return kept


def _standing_hunks(
    actions: Sequence[Action], made: Sequence[_Edit], criterion: Criterion
) -> dict[int, list[Hunk]]:
    by_path: dict[str, list[tuple[int, Hunk]]] = defaultdict(list)
    for edit in made:
        if edit.path:
            by_path[edit.path] += [(edit.at, hunk) for hunk in actions[edit.at].hunks]
    standing: dict[int, list[Hunk]] = defaultdict(list)
    for path, hunks in by_path.items():
        for index, hunk in _standing(hunks, criterion.final[path]):
            standing[index].append(hunk)
    return standing


def _deletes(action: Action) -> bool:
    return not action.created and not any(hunk.added for hunk in action.hunks)


def _standing(
    hunks: Sequence[tuple[int, Hunk]], final: Sequence[str]
) -> Iterator[tuple[int, Hunk]]:
    """The hunks of one file, in order, that its final lines still show.

    Left out are those that only turn back the session's own work: the reverse of an edit
    that is wholly dead, and the removal of lines that the session had brought.
    """
    deltas = [_delta(hunk) for _, hunk in hunks]
    stands = _stands([hunk for _, hunk in hunks], deltas, final)
    living = {index for (index, _), alive in zip(hunks, stands, strict=True) if alive}
    own: set[str] = set()
    reverses: set[object] = set()
    for (index, hunk), (added, removed), alive in zip(hunks, deltas, stands, strict=True):
        cleanup = bool(removed) and own.issuperset(removed)
        if alive and not (cleanup and not added) and _key(hunk, added, removed) not in reverses:
            yield index, hunk
        # lines taken out alone and put in again are a move, and no reverse
        if index not in living and not cleanup and (added or not removed):
            reverses.add(_key(Hunk(hunk.added, hunk.removed), removed, added))
        own.update(added)


def _stands(hunks: Sequence[Hunk], deltas: Sequence[_Delta], final: Sequence[str]) -> list[bool]:
    """Whether each hunk's lines are in the final ones, or gone from them if it only removed.

    The latest hunk claims its lines first, as the definition that reaches the end does, so
    an earlier one that added the same line does not live off it.
    """
    budget = Counter(map(normal, final))
    present = frozenset(budget)
    exact = {line.rstrip() for line in final}
    stands = []
    for hunk, (added, removed) in zip(reversed(hunks), reversed(deltas), strict=True):
        if added:
            stands.append(2 * _claim(added, budget) >= sum(added.values()))
        elif removed:
            stands.append(2 * len(present.intersection(removed)) <= len(removed))
        else:
            stands.append(_stands_exactly(hunk, exact))
    return stands[::-1]


def _claim(added: Mapping[str, int], budget: Counter[str]) -> int:
    """How many of the added lines the file still has, taken off the budget."""
    claimed = 0
    for line, count in added.items():
        found = min(count, budget[line])
        if found:
            budget[line] -= found
            claimed += found
    return claimed


def _stands_exactly(hunk: Hunk, exact: set[str]) -> bool:
    """For a hunk that only moved or indented lines: whether they stand just as it left them."""
    lines = [line.rstrip() for line in hunk.added if line.strip()]
    return bool(lines) and 2 * sum(line in exact for line in lines) >= len(lines)


def _key(hunk: Hunk, added: Mapping[str, int], removed: Mapping[str, int]) -> object:
    """What a hunk does, comparable: its telling lines, or all lines when none is telling."""
    if added or removed:
        return frozenset(added.items()), frozenset(removed.items())
    return hunk.removed, hunk.added


_Delta = tuple[Counter[str], Counter[str]]


def _delta(hunk: Hunk) -> _Delta:
    """The telling lines a hunk really put in and took out; what is in both is context."""
    added, removed = Counter(map(normal, hunk.added)), Counter(map(normal, hunk.removed))
    return _telling(added - removed), _telling(removed - added)


def _telling(lines: Counter[str]) -> Counter[str]:
    return Counter({line: count for line, count in lines.items() if not trivial(line)})


def normal(line: str) -> str:
    """A line without its white space, so that layout alone makes no difference."""
    return "".join(line.split())


_BARE = re.compile(
    r"(?:else|try|finally|do|done|fi|end|esac|begin|then|pass|break|continue|return|default"
    r"|loop|ensure|repeat)?"
)


def trivial(line: str) -> bool:
    """Whether a line says nothing about its place: brackets, blanks, a lone keyword."""
    word = normal(line).strip("{}()[];:,")
    return bool(_BARE.fullmatch(word)) or not any(map(str.isalnum, word))


# --- Files that commands moved, wrote or poured text into --------------------------------------


class _Move(NamedTuple):
    at: int
    source: str
    target: str


_PARTS = re.compile(r"[;&|\n]+")
_WORDS = re.compile(r"""'[^'\n]*'|"[^"\n]*"|\S+""")
_REDIRECTION = re.compile(r"(?:>|\btee(?:\s+-a)?)\s*(['\"]?)([^\s'\"<>|&;()]+)\1")


def _moves(actions: Sequence[Action], runs: Mapping[int, _Run]) -> Iterator[_Move]:
    for index, run in runs.items():
        command = actions[index].command[:_COMMAND]
        if run.writes and not actions[index].exit_code and "mv " in command:
            yield from (_Move(index, *pair) for pair in _moved(command))


def _moved(command: str) -> Iterator[tuple[str, str]]:
    """Relative (source, target) pairs that ``mv`` and ``git mv`` name in a command."""
    base = ""
    for part in _PARTS.split(command):
        words = [word.strip("'\"") for word in _WORDS.findall(part)]
        if len(words) == 2 and words[0] == "cd":
            base = words[1]
        if words[:2] == ["git", "mv"]:
            words = words[1:]
        names = [posixpath.join(base, word) for word in words[1:] if not word.startswith("-")]
        if words[:1] == ["mv"] and len(names) > 1:
            *sources, target = map(posixpath.normpath, names)
            yield from ((source, target) for source in sources)


def _final_name(
    path: str, index: int, moves: Sequence[_Move], final: Mapping[str, tuple[str, ...]]
) -> tuple[str, tuple[int, ...]]:
    """What a path is called in the end and the commands that renamed it; '' when it is gone."""
    if path in final:
        return path, ()
    names: dict[str, tuple[int, ...]] = {path: ()}
    for move in moves:
        if move.at < index:
            continue
        for name, used in list(names.items()):
            if len(names) < _NAMES and (name == move.source or name.startswith(f"{move.source}/")):
                rest = name[len(move.source) :]
                into = posixpath.join(move.target, posixpath.basename(move.source))
                names[move.target + rest] = names[into + rest] = (*used, move.at)
    found = [name for name in names if name in final]
    return (found[-1], names[found[-1]]) if found else ("", ())


def _written(action: Action, run: _Run, open_paths: frozenset[str]) -> set[str]:
    """Changed paths that a command which writes files names, itself or by their folder."""
    if not open_paths or (action.exit_code and not run.strength):
        return set()  # one that failed wrote nothing, unless it is a check that came after
    paths = set(_targets(action.command))
    folders = tuple(f"{path}/" for path in paths if path not in (".", ".."))
    below = {path for path in open_paths if folders and path.startswith(folders)}
    return {path for path in below.union(open_paths & paths) if _inside(path)}


def _targets(command: str) -> list[str]:
    return [posixpath.normpath(name) for name in checks.targets(command)]


def _poured(actions: Sequence[Action], runs: Mapping[int, _Run]) -> Iterator[str]:
    """Paths that commands redirected text into: the likely homes of throw-away scripts."""
    for index, run in runs.items():
        if run.writes and not run.strength:
            for match in _REDIRECTION.finditer(actions[index].command[:_COMMAND]):
                yield posixpath.normpath(match[2])


def _inside(path: str) -> bool:
    """Whether a path is a clean relative one that a playbook may name."""
    if not path or len(path) > 1_000 or path[0] in "/-:$~" or path[1:3] in (":/", ":\\"):
        return False
    clean = path == posixpath.normpath(path) and path.split("/")[0] not in (".", "..")
    return clean and "\0" not in path and not any("\ud800" <= sign <= "\udfff" for sign in path)


# --- Runs: checks that passed, and failures that were cured ----------------------------------


class _Run(NamedTuple):
    """What a command was for, and whether it passed (None where the log does not tell)."""

    passed: bool | None
    strength: int  # of the check it makes, 0 when it checks nothing
    setup: bool
    writes: bool


def _runs(actions: Sequence[Action]) -> dict[int, _Run]:
    """The commands that ran, by the index of their action."""
    known: dict[str, tuple[int, bool, bool]] = {}
    runs = {}
    for index, action in enumerate(actions):
        if action.kind == EXEC and not action.failed:
            command = action.command
            if command not in known:
                purposes = checks.strength(command), checks.is_setup(command)
                known[command] = *purposes, checks.writes(command)
            passed = checks.passed(command, action.exit_code, action.output)
            runs[index] = _Run(passed, *known[command])
    return runs


def _passing(
    actions: Sequence[Action], runs: Mapping[int, _Run], scratch: frozenset[str]
) -> Iterator[int]:
    """Indexes of passing checks that are no throw-away script's."""
    for index, run in runs.items():
        if run.strength and run.passed and scratch.isdisjoint(_targets(actions[index].command)):
            yield index


def _checks(
    actions: Sequence[Action],
    runs: Mapping[int, _Run],
    edits: Sequence[Kept],
    scratch: frozenset[str],
) -> list[int]:
    """The check that counts, then the last passing runs of other kinds of checks.

    Of the checks between the same two surviving edits the strongest counts: a linter that
    ran after the tests proves no more than they did.
    """
    starts = [edit.index for edit in edits]
    passing = [at for at in _passing(actions, runs, scratch) if starts and at >= starts[0]]
    kinds = _last_of_each_kind(actions, passing)
    last = starts[bisect_right(starts, kinds[0]) - 1] if kinds else 0

    def weight(index: int) -> tuple[bool, int, int]:
        return index >= last, runs[index].strength, index

    return sorted(kinds, key=weight, reverse=True)[:_CHECKS]


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
    runs: Mapping[int, _Run],
    edits: Sequence[int],
    setups: Sequence[int],
    window: int,
) -> tuple[Pairing, ...]:
    """Each failing run with what came before the same check passed, within the window.

    A run that failed and then passed with nothing in between was unsteady, and is no pair.
    The same failure seen again and again is paired once, at its last sight before a cure; a
    different failure of the same check in between ends the first one's repair.
    """
    same = _SameCheck()
    cures = sorted({*edits, *setups})
    alone = frozenset(setups).difference(edits)  # a setup that passes is not its own cure
    failures = _failures(actions, runs)
    found: dict[tuple[str, int], Pairing] = {}
    for index, key in failures.items():
        ends = []
        for at in range(index + 1, min(index + window + 1, len(actions))):
            passed = at in runs and runs[at].passed
            other = failures.get(at, key) != key
            if (passed or other) and same(actions[index].command, actions[at].command):
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


def _failures(actions: Sequence[Action], runs: Mapping[int, _Run]) -> dict[int, str]:
    """Failing runs that show an error or are checks, each with its signature's key or ''."""
    failures = {}
    for index, run in runs.items():
        if run.passed is False:
            error = signature(actions[index].output)
            if error or run.strength:
                failures[index] = error.key if error else ""
    return failures


class _SameCheck:
    """``checks.same_check`` that compares each two commands once."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], bool] = {}

    def __call__(self, a: str, b: str) -> bool:
        if a == b:
            return True
        if (a, b) not in self._known:
            self._known[a, b] = checks.same_check(a, b)
        return self._known[a, b]


# --- Reads that informed an edit -------------------------------------------------------------

SAME_FILE = "read the same file"
NAMED_IN_EDIT = "the edit names it"
NAMED_IN_ERROR = "the repaired failure names it"
NAMED_IN_REASON = "the reason names it"

_LOOKS = re.compile(r"(?:cd [^;&|\n]*(?:&&|;)\s*)?(?:cat|head|tail|nl|bat|less|sed -n)\s")
_WORD = re.compile(r"\w+")
_FILE_NAME = re.compile(r"[\w.-]+")

#: Stems that name a file's part in a project rather than its subject.
_COMMON = re.compile(
    r"__\w+|index|main|tests?|lib|mod|init|setup|config|utils?|types|readme|package"
)


class _Seen(NamedTuple):
    """A read: its action, its path, and the words by which other texts may name it."""

    at: int
    path: str
    names: tuple[str, ...]


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
    return next((look for look in reversed(seen) if look.path in paths), None)


def _seen(
    actions: Sequence[Action], edits: Sequence[Kept], criterion: Criterion
) -> Iterator[_Seen]:
    """Every read of a file in the work tree; a path that holds others is a searched folder."""
    paths = {action.path for action in actions}.union(criterion.final, criterion.changed)
    folders = {path[:at] for path in paths if _inside(path) for at in _slashes(path)}
    written = {edit.index for edit in edits}
    for index, action in enumerate(actions):
        if index not in written and not action.failed:
            for path in _looked_at(action):
                if _inside(path) and path not in folders:
                    yield _Seen(index, path, _names(path))


def _slashes(path: str) -> list[int]:
    return [at for at, character in enumerate(path) if character == "/"]


def _looked_at(action: Action) -> list[str]:
    """Paths whose content the action showed to the agent."""
    if action.kind == LOOK:
        return [action.path]
    shows = action.kind == EXEC and not action.exit_code and _LOOKS.match(action.command)
    if not shows or checks.writes(action.command):
        return []
    return _targets(action.command)[:8]


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
    runs: Mapping[int, _Run],
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


def _why(action: Action, run: _Run | None, scratch: frozenset[str]) -> str:
    if action.kind == PROMPT:
        return TALK
    if action.failed:
        return FAILED_CALL
    if action.kind == LOOK:
        return EXPLORATION
    if action.kind == EDIT:
        return SCRATCH_FILE if action.path in scratch else DEAD_EDIT
    return _why_not_run(action.command, run) if run else OTHER_TOOL


def _why_not_run(command: str, run: _Run) -> str:
    if run.strength:
        return REPEATED_CHECK if run.passed else FAILING_RUN
    return EXPLORATION if _EXPLORES.match(command) and not run.writes else OTHER_COMMAND
