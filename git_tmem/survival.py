"""Which edits of a session survive: those whose lines are in git's files in the end.

An edit survives by its lines, not by its file; files that commands moved are followed, and
what commands wrote counts where git shows the file changed.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from types import MappingProxyType
from typing import NamedTuple

from git_tmem import checks, effects
from git_tmem.actions import EXEC, Action
from git_tmem.actions import MUTATE as EDIT
from git_tmem.changes import Hunk, complete
from git_tmem.playbook import MUTATE
from git_tmem.programs import named_by_programs

#: Names a moved file may bear when it is not known whether a target was a folder.
_NAMES = 16
#: Characters of a command that are read for moves; a longer one carries a file's text.
_COMMAND = 4_000


class Criterion(NamedTuple):
    """What survived, as git tells it.

    ``final`` has the lines of every edited path that is in git's view now; a path that is
    not there, or not tracked, is absent. ``changed`` are the paths git shows changed, and
    ``diffs`` what it shows of those that no edit tool touched.
    """

    final: Mapping[str, tuple[str, ...]]
    changed: frozenset[str]
    diffs: Mapping[str, tuple[Hunk, ...]] = MappingProxyType({})


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


class Run(NamedTuple):
    """What a command was for, and whether it passed (None where the log does not tell)."""

    passed: bool | None
    strength: int  # of the check it makes, 0 when it checks nothing
    setup: bool
    writes: bool


def runs_of(actions: Sequence[Action]) -> dict[int, Run]:
    """The commands that ran, by the index of their action."""
    known: dict[str, tuple[int, bool, bool]] = {}
    runs = {}
    for index, action in enumerate(actions):
        if action.kind == EXEC and not action.failed:
            command = action.command
            if command not in known:
                purposes = checks.strength(command), effects.is_setup(command)
                known[command] = *purposes, effects.writes(command)
            passed = checks.passed(command, action.exit_code, action.output)
            runs[index] = Run(passed, *known[command])
    return runs


def with_whole_lines(action: Action, final: Mapping[str, tuple[str, ...]]) -> Action:
    """An edit whose log tells replaced text alone, with the lines that this text is in now."""
    if not any(hunk.partial for hunk in action.hunks) or action.path not in final:
        return action
    return action._replace(hunks=tuple(complete(hunk, final[action.path]) for hunk in action.hunks))


class _Edit(NamedTuple):
    """An edit by a tool under its final name; '' when the file is not there in the end."""

    at: int
    path: str
    moves: tuple[int, ...]  # the commands that gave the file this name


def surviving(
    actions: Sequence[Action], runs: Mapping[int, Run], criterion: Criterion
) -> tuple[list[Kept], frozenset[str]]:
    """The surviving edits of tools and commands, in order, and the paths that were scratch."""
    made = _tool_edits(actions, runs, criterion)
    kept = _standing_edits(actions, made, criterion)
    covered = {edit.action.path for edit in kept}
    used = {at: edit.path for edit in made if edit.path in covered for at in edit.moves}
    kept += [Kept(at, actions[at]._replace(path=path), MUTATE) for at, path in used.items()]
    kept += _command_edits(actions, runs, criterion, covered)
    kept.sort(key=lambda item: item.index)
    gone = {actions[edit.at].path for edit in made if not edit.path}
    there = criterion.changed.union(criterion.final)
    folders = {path[:at] for path in there for at, sign in enumerate(path) if sign == "/"}
    restored = _restored(actions, runs)
    scratch = gone.union(_poured(actions, runs)).difference(there, folders, restored)
    return kept, frozenset(scratch)


def _restored(actions: Sequence[Action], runs: Mapping[int, Run]) -> set[str]:
    """Paths that git set back to what it has: it knows them, so they are no scratch."""
    return {
        path
        for index, run in runs.items()
        if run.writes and actions[index].exit_code == 0
        for path in effects.discards(actions[index].command)
    }


def _command_edits(
    actions: Sequence[Action], runs: Mapping[int, Run], criterion: Criterion, covered: set[str]
) -> Iterator[Kept]:
    """The commands that changed what git shows changed and no edit tool did.

    Those before the file was last set back to what git has are dead, if others follow. The
    last one carries what git shows of the file: which line is whose is not told.
    """
    authors: dict[str, list[int]] = defaultdict(list)
    named = named_by_programs(actions)
    for index, run in runs.items():
        for path in _written(actions[index], run, named.get(index), criterion.changed - covered):
            authors[path].append(index)
    for path, hunks in criterion.diffs.items():
        if path not in authors and path not in covered:
            authors[path] += _declaring(actions, runs, path, hunks)
    discards = {
        index: found
        for index, run in runs.items()
        if authors and run.writes and not actions[index].exit_code
        if (found := effects.discards(actions[index].command))
    }
    for path, indexes in sorted(item for item in authors.items() if item[1]):
        last = max((at for at in discards if sets_back(path, discards[at])), default=-1)
        alive = [at for at in indexes if at > last and at not in discards] or indexes
        for at in alive:
            hunks = criterion.diffs.get(path, ()) if at == alive[-1] else ()
            yield Kept(at, actions[at]._replace(path=path), MUTATE, hunks=hunks)


def sets_back(path: str, discarded: Iterable[str]) -> bool:
    """Whether a path is one of those discarded, or in one."""
    return any(place in (".", path) or path.startswith(f"{place}/") for place in discarded)


def _tool_edits(
    actions: Sequence[Action], runs: Mapping[int, Run], criterion: Criterion
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
        if alive and inside(path):
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
    deltas = [delta(hunk) for _, hunk in hunks]
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


def _stands(hunks: Sequence[Hunk], deltas: Sequence[Delta], final: Sequence[str]) -> list[bool]:
    """Whether each hunk's lines are in the final ones, or gone from them if it only removed.

    The latest hunk claims its lines first, as the definition that reaches the end does, so
    an earlier one that added the same line does not live off it.
    """
    budget = Counter(map(normal, final))
    present = frozenset(budget)
    text = _Reflow(final)
    exact = {line.rstrip() for line in final}
    stands = []
    for hunk, (added, removed) in zip(reversed(hunks), reversed(deltas), strict=True):
        if added:
            half = 2 * _claim(added, budget) >= sum(added.values())
            stands.append(half or text.holds(hunk))
        elif removed:
            stands.append(2 * len(present.intersection(removed)) <= len(removed))
        else:
            stands.append(_stands_exactly(hunk, exact))
    return stands[::-1]


#: What formatters put in, take out and change about code without changing what it says.
_LAYOUT = re.compile(r"[\s,;()'\"`\\]+")
#: Characters below which a text without its layout may be anywhere by chance.
_TELLING = 24


class _Reflow:
    """A file's text without its layout, to find in it what a formatter broke into other lines."""

    def __init__(self, lines: Sequence[str]) -> None:
        squeezed = [_LAYOUT.sub("", line) for line in lines]
        self._text = "".join(squeezed)
        self._ends = {0, *accumulate(map(len, squeezed))}

    def holds(self, hunk: Hunk) -> bool:
        """Whether what the hunk put in stands there, from a line's start to a line's end."""
        added = _LAYOUT.sub("", "".join(hunk.added))
        at = self._text.find(added) if len(added) >= _TELLING else -1
        while at >= 0 and not {at, at + len(added)} <= self._ends:
            at = self._text.find(added, at + 1)
        return at >= 0 and added not in _LAYOUT.sub("", "".join(hunk.removed))


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


Delta = tuple[Counter[str], Counter[str]]


def delta(hunk: Hunk) -> Delta:
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


def _moves(actions: Sequence[Action], runs: Mapping[int, Run]) -> Iterator[_Move]:
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


def _written(
    action: Action, run: Run, named: frozenset[str] | None, open_paths: frozenset[str]
) -> set[str]:
    """Changed paths that a command which writes files names, itself, by their folder, or in
    the text of a program of its own."""
    if not open_paths or (action.exit_code and not run.strength):
        return set()  # one that failed wrote nothing, unless it is a check that came after
    paths = open_paths & (named or frozenset())
    if run.writes:
        targets = set(targets_of(action.command))
        folders = tuple(f"{path}/" for path in targets if path not in (".", ".."))
        paths |= {path for path in open_paths if folders and path.startswith(folders)}
        paths |= open_paths & targets
    return {path for path in paths if inside(path)}


def _declaring(
    actions: Sequence[Action], runs: Mapping[int, Run], path: str, hunks: Sequence[Hunk]
) -> list[int]:
    """The commands that put a package into a manifest or lock file that none of them names."""
    added = [line for hunk in hunks for line in hunk.added]
    return [
        index
        for index, run in runs.items()
        if run.setup and not actions[index].exit_code
        if effects.declares(actions[index].command, path, added)
    ]


def targets_of(command: str) -> list[str]:
    return [posixpath.normpath(name) for name in effects.targets(command)]


def _poured(actions: Sequence[Action], runs: Mapping[int, Run]) -> Iterator[str]:
    """Paths that commands poured text into and folders that they made: the likely homes of
    throw-away scripts."""
    for index, run in runs.items():
        if run.writes or "mkdir" in actions[index].command:
            yield from map(posixpath.normpath, effects.poured(actions[index].command))


def inside(path: str) -> bool:
    """Whether a path is a clean relative one that a playbook may name."""
    if not path or len(path) > 1_000 or path[0] in "/-:$~" or path[1:3] in (":/", ":\\"):
        return False
    clean = path == posixpath.normpath(path) and path.split("/")[0] not in (".", "..")
    return clean and "\0" not in path and not any("\ud800" <= sign <= "\udfff" for sign in path)
