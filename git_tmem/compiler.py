"""Compiles a slice into a playbook: steps, files and checks, repairs, and the graph of why.

Everything in a playbook is read off the slice and the final text of the files; every step,
repair and edge carries the log's records that show it. The same slice gives the same bytes.
"""

from __future__ import annotations

import posixpath
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from git_tmem import deadends, doubts, languages
from git_tmem.actions import EXEC, PROMPT, Action, Session
from git_tmem.changes import Hunk
from git_tmem.intent import clean_prompts, title_of
from git_tmem.playbook import MUTATE, READ, SETUP, VERIFY, DeadEnd, Edge, Playbook, Repair, Step
from git_tmem.signature import signature
from git_tmem.slicer import Pairing, Slice
from git_tmem.survival import Kept, normal, trivial

#: What a record may hold at most, so that it stays small whatever the session did.
STEPS = 40
REPAIRS = 20
DEAD_ENDS = 12
EDGES = 120
FILES = 500
TEXT = 2_000
DIFF_LINES = 6
DIFF_WIDTH = 120
REASON = 200
SYMBOLS = 5
EVIDENCE = 100
FIX_LINES = 12

#: The reason counted for steps beyond the limit.
OVER_LIMIT = "over the limit"

CODE = "code"
DEPENDENCY = "dependency"
TOOLCHAIN = "toolchain"


def compile_playbook(session: Session, slice_: Slice, sources: Mapping[str, str]) -> Playbook:
    """The playbook of a sliced session, without anchor and probes.

    ``slice_`` indexes ``session.actions``; ``sources`` has the final text of the kept paths,
    and a path without one gets no symbols. Deterministic; never raises.
    """
    groups = _groups(slice_.kept)
    chosen = _within_limit(groups, slice_)
    files = [_text(group.path) for group in groups if group.role == MUTATE]
    book = _Book(session, slice_, chosen, {path: _File(path, sources[path]) for path in sources})
    needs = _requirements(session.actions)
    pairs = slice_.pairs[-REPAIRS:]
    dropped = dict(slice_.dropped)
    if len(groups) > len(chosen):
        dropped[OVER_LIMIT] = len(groups) - len(chosen)
    return Playbook(
        title=_text(title_of(needs.texts, files), 80),
        agent=session.agent,
        session=_text(session.id, 400),
        branch=_text(session.branch, 400),
        started=session.started,
        ended=session.ended,
        intent=tuple(map(_text, needs.texts)),
        steps=tuple(_step(group, book) for group in chosen),
        files=tuple(files[:FILES]),
        checks=_check_commands(slice_),
        repairs=tuple(_repair(pair, book) for pair in pairs),
        dead_ends=tuple(_dead_end(one, book) for one in slice_.undone[-DEAD_ENDS:]),
        edges=tuple(_edges(book, needs, pairs))[:EDGES],
        dropped=dropped,
    )


class _Group(NamedTuple):
    """The kept actions that become one step: all edits, or all reads, of one file."""

    role: str
    members: tuple[Kept, ...]

    @property
    def path(self) -> str:
        return self.members[0].action.path if self.role in (READ, MUTATE) else ""

    @property
    def start(self) -> int:
        return self.members[0].index

    @property
    def hunks(self) -> tuple[Hunk, ...]:
        return tuple(hunk for member in self.members for hunk in member.hunks)

    @property
    def evidence(self) -> tuple[int, ...]:
        return _evidence(member.action for member in self.members)


class _Book:
    """What the parts of one playbook are compiled from."""

    def __init__(
        self,
        session: Session,
        slice_: Slice,
        groups: Sequence[_Group],
        files: Mapping[str, _File],
    ) -> None:
        self.actions = session.actions
        self.slice = slice_
        self.groups = groups
        self.files = files
        self.edited = {group.path for group in groups if group.role == MUTATE}
        self.steps: dict[int, list[int]] = {}  # index of an action -> the steps it is part of
        for number, group in enumerate(groups):
            for member in group.members:
                self.steps.setdefault(member.index, []).append(number)

    def symbols(self, path: str, hunks: Iterable[Hunk]) -> tuple[str, ...]:
        return self.files[path].symbols(hunks) if path in self.files else ()

    def diff(self, path: str, hunks: Iterable[Hunk], limit: int) -> tuple[str, ...]:
        return _compact_diff(hunks, self.files.get(path), limit)


# --- Steps -----------------------------------------------------------------------------------


def _groups(kept: Sequence[Kept]) -> list[_Group]:
    """Steps in order: one for each file's edits, placed where the first of them was."""
    members: dict[tuple[str, ...], list[Kept]] = {}
    for item in kept:
        name = item.action.path if item.role in (READ, MUTATE) else item.action.command
        members.setdefault((item.role, name), []).append(item)
    groups = [_Group(key[0], tuple(items)) for key, items in members.items()]
    # the same check passing twice is one step, and its place is that of the last pass
    return sorted(groups, key=lambda group: (_place(group), group.role, group.path))


def _place(group: _Group) -> int:
    return group.members[-1].index if group.role == VERIFY else group.start


def _within_limit(groups: Sequence[_Group], slice_: Slice) -> list[_Group]:
    """The steps that fit: checks first, then the largest edits, setups, the most used reads."""
    used = Counter(edge.source for edge in slice_.informs)
    order = (VERIFY, MUTATE, SETUP, READ)

    def weight(group: _Group) -> int:
        lines = sum(len(hunk.added) + len(hunk.removed) for hunk in group.hunks)
        return lines + sum(used[member.index] for member in group.members)

    ranked = sorted(
        range(len(groups)), key=lambda at: (order.index(groups[at].role), -weight(groups[at]), at)
    )
    return [groups[at] for at in sorted(ranked[:STEPS])]


def _step(group: _Group, book: _Book) -> Step:
    hunks = group.hunks
    last = group.members[-1]
    commands = [member.action.command for member in group.members if member.action.kind == EXEC]
    by_tool = len(commands) < len(group.members)
    return Step(
        kind=group.role,
        path=_text(group.path),
        symbols=book.symbols(group.path, hunks),
        added=sum(len(hunk.added) for hunk in hunks),
        removed=sum(len(hunk.removed) for hunk in hunks),
        diff=book.diff(group.path, hunks, DIFF_LINES),
        command="" if by_tool or group.role == READ else _text(commands[-1]),
        reason=_reason(group),
        verified=last.verified,
        evidence=group.evidence,
        doubt=_doubt(group, book),
    )


def _doubt(group: _Group, book: _Book) -> str:
    if group.role == MUTATE:
        return doubts.of_test(group.path, group.hunks)
    if group.role == VERIFY:
        passed = group.members[-1].action
        return doubts.of_check(passed.command, passed.output, book.edited)
    return ""


def _reason(group: _Group) -> str:
    reasons = "\n".join(member.action.reason for member in group.members)
    return _best_sentence(reasons, group.path, group.hunks)


def _best_sentence(reasons: str, path: str, hunks: Iterable[Hunk]) -> str:
    """Of the reasons given, the latest sentence that shares most words with the edits."""
    texts = [line for hunk in hunks for line in (*hunk.added, *hunk.removed)]
    subject = set(_LONG_WORD.findall("\n".join([path, *texts]).lower()))
    sentences = [" ".join(part.split()) for part in _SENTENCE_END.split(reasons)]

    def telling(sentence: str) -> tuple[int, bool]:
        shared = subject.intersection(_LONG_WORD.findall(sentence.lower()))
        return len(shared), len(sentence.encode("utf-8", "replace")) >= 20

    spoken = [part for part in reversed(sentences) if any(map(str.isalnum, part))]
    return _text(max(spoken, key=telling, default=""), REASON)


_LONG_WORD = re.compile(r"\w{4,}")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")


# --- Lines and symbols of a file -------------------------------------------------------------


class _File:
    """The final text of a path, with its symbols and the places of its lines on demand."""

    def __init__(self, path: str, source: str) -> None:
        self._path = path
        self._source = source
        self._places: dict[str, list[int]] | None = None
        self._symbols: tuple[languages.Symbol, ...] | None = None

    @property
    def places(self) -> dict[str, list[int]]:
        """One-based numbers of each line, by the line without its white space."""
        if self._places is None:
            self._places = {}
            text = self._source.replace("\r\n", "\n").replace("\r", "\n")
            for number, line in enumerate(text.split("\n"), 1):
                self._places.setdefault(normal(line), []).append(number)
        return self._places

    def symbols(self, hunks: Iterable[Hunk]) -> tuple[str, ...]:
        """Names of the innermost symbols that hold the hunks' lines, the most touched first.

        What only encloses them is left out: a class is not changed by work in another method.
        """
        touched = self._touched(hunks)
        if not touched:
            return ()
        if self._symbols is None:
            self._symbols = languages.symbols(self._path, self._source)
        inner: dict[int, str] = {}
        for symbol in sorted(self._symbols, key=lambda item: (item.start - item.end, item.start)):
            lines = touched[bisect_left(touched, symbol.start) : bisect_right(touched, symbol.end)]
            inner.update(dict.fromkeys(lines, symbol.name))
        names = [name for name, _ in Counter(inner[line] for line in sorted(inner)).most_common()]
        return tuple(map(_text, names[:SYMBOLS]))

    def _touched(self, hunks: Iterable[Hunk]) -> list[int]:
        """Numbers of the lines that the hunks put in, by lines that are alone in the file."""
        touched: set[int] = set()
        for hunk in hunks:
            lines = {normal(line) for line in hunk.added}
            spots = [self.places.get(line, []) for line in lines if not trivial(line)]
            sure = [spot[0] for spot in spots if len(spot) == 1]
            touched.update(sure or [spot[0] for spot in spots if spot])
        return sorted(touched)


_DEFINES = re.compile(
    r"\s*(?:(?:export|default|pub|public|private|protected|static|async|abstract|final)\b\W*)*"
    r"(?:def|class|func|fn|function|struct|enum|interface|trait|impl|type|module|const)\b"
)
_INCIDENTAL = re.compile(
    r"\s*(?:#|//|/\*|\*|--|import\b|from\b|use\b|require\b|[\"'][^\"']*[\"'],?$)"
)


def _compact_diff(hunks: Iterable[Hunk], file: _File | None, limit: int) -> tuple[str, ...]:
    """The most telling ``-old`` and ``+new`` lines, in order, at most ``limit``."""
    lines = list(dict.fromkeys(_diff_lines(hunks, file)))
    ranked = sorted(range(len(lines)), key=lambda at: (_dullness(lines[at]), at))
    return tuple(_text(lines[at], DIFF_WIDTH) for at in sorted(ranked[:limit]))


def _diff_lines(hunks: Iterable[Hunk], file: _File | None) -> Iterator[str]:
    """What the hunks really changed; lines that only moved, or later went, are left out."""
    for hunk in hunks:
        old, new = set(map(normal, hunk.removed)), set(map(normal, hunk.added))
        for sign, lines, other in (("-", hunk.removed, new), ("+", hunk.added, old)):
            for line in lines:
                text = normal(line)
                lost = sign == "+" and file is not None and text not in file.places
                if not lost and text not in other and not trivial(text):
                    yield sign + line.strip()


def _dullness(line: str) -> int:
    """Definitions first, then code that names things, then the rest; new before old lines."""
    body = line[1:]
    if _DEFINES.match(body):
        rank = 0
    else:
        names = len(set(_LONG_WORD.findall(body)))
        rank = 6 if _INCIDENTAL.match(body) else 4 if names < 2 else 2
    return rank + line.startswith("-")


# --- Requirements ----------------------------------------------------------------------------


class _Requirements(NamedTuple):
    """The cleaned requests, and for each prompt that is one: its action and its number."""

    texts: tuple[str, ...]
    starts: tuple[int, ...]
    numbers: tuple[int, ...]

    def at(self, index: int) -> tuple[int, int] | None:
        """Prompt and number of the request that an action came after, None before the first."""
        place = bisect_right(self.starts, index) - 1
        return (self.starts[place], self.numbers[place]) if place >= 0 else None


def _requirements(actions: Sequence[Action]) -> _Requirements:
    prompts = [
        (index, action.text)
        for index, action in enumerate(actions)
        if action.kind == PROMPT and not action.subagent
    ]
    texts = clean_prompts(text for _, text in prompts)
    numbers = {text: number for number, text in reversed(list(enumerate(texts)))}
    asked = [
        (index, numbers[said])
        for index, text in prompts
        for said in clean_prompts([text])
        if said in numbers
    ]
    return _Requirements(texts, tuple(at for at, _ in asked), tuple(no for _, no in asked))


# --- Checks and repairs ----------------------------------------------------------------------


def _check_commands(slice_: Slice) -> tuple[str, ...]:
    """The commands of the kept checks, the one that counts first."""
    verify = [item for item in slice_.kept if item.role == VERIFY]
    verify.sort(key=lambda item: (item.index != slice_.check, item.index))
    return tuple(dict.fromkeys(_text(item.action.command) for item in verify))


def _repair(pair: Pairing, book: _Book) -> Repair:
    failing, check = book.actions[pair.error], book.actions[pair.check]
    found = signature(failing.output)
    cures = [
        item
        for item in book.slice.kept
        if item.index in pair.repairs and item.role in (MUTATE, SETUP)
    ]
    numbers = {number for item in cures for number in book.steps.get(item.index, ())}
    steps = [number for number in numbers if book.groups[number].role in (MUTATE, SETUP)]
    fix = dict.fromkeys(line for item in cures for line in _fix_lines(item, book))
    return Repair(
        error=_text(found.message if found else _last_line(failing.output)),
        signature=_text(found.key if found else ""),
        near=_text(found.near if found else ""),
        kind=_kind(cures),
        failed=_text(failing.command),
        fix=tuple(fix)[:FIX_LINES],
        check=_text(check.command),
        steps=tuple(sorted(steps)),
        evidence=_evidence([failing, *(book.actions[at] for at in pair.repairs), check]),
    )


def _dead_end(one: deadends.Undone, book: _Book) -> DeadEnd:
    tried, failing = book.actions[one.index], book.actions[one.failed]
    found = signature(failing.output)
    hunks = (one.hunk,) if one.hunk else ()
    # What was undone is not in the file; the lines that it had taken out are, once it is.
    restored = [Hunk(hunk.added, hunk.removed) for hunk in hunks]
    return DeadEnd(
        path=_text(one.path),
        failed=_text(failing.command),
        error=_text(found.message if found else _last_line(failing.output)),
        fingerprint=deadends.fingerprint(one.hunk) if one.hunk else "",
        command="" if one.hunk else _text(tried.command),
        symbols=book.symbols(one.path, restored),
        diff=_compact_diff(hunks, None, DIFF_LINES),
        signature=_text(found.key if found else ""),
        near=_text(found.near if found else ""),
        reason=_best_sentence(tried.reason, one.path, hunks),
        evidence=_evidence([tried, failing]),
    )


_FAILS = re.compile(r"fail|error|panic|exception|denied|not found|失败|错误", re.IGNORECASE)


def _last_line(output: str) -> str:
    """The last line that speaks of a failure, or the last one at all."""
    lines = [line.strip() for line in output[-TEXT:].splitlines() if line.strip()][::-1]
    return next(filter(_FAILS.search, lines), lines[0] if lines else "failed without output")


def _fix_lines(item: Kept, book: _Book) -> Iterator[str]:
    """What was done, in words a person and an agent can follow."""
    action = item.action
    if action.kind == EXEC:
        yield _text(f"run {action.command}")
        return
    names = ", ".join(book.symbols(action.path, item.hunks)[:1])
    verb = "create" if action.created else "edit" if item.hunks else "change"
    doubt = doubts.of_test(action.path, item.hunks)
    said = f" ({doubt})" if doubt else ""
    yield _text(f"{verb} {action.path} {names}".rstrip() + said)
    yield from book.diff(action.path, item.hunks, 2)


_MANIFEST = re.compile(
    r"package\.json|package-lock\.json|pnpm-lock\.yaml|yarn\.lock|bun\.lockb?|pyproject\.toml"
    r"|setup\.(?:py|cfg)|pipfile(?:\.lock)?|poetry\.lock|uv\.lock|requirements.*\.(?:txt|in)"
    r"|environment\.ya?ml|go\.(?:mod|sum|work)|cargo\.(?:toml|lock)|gemfile(?:\.lock)?"
    r"|composer\.(?:json|lock)|pom\.xml|build\.gradle(?:\.kts)?|mix\.exs|.*\.(?:csproj|gemspec)"
)
_TOOL_CONFIG = re.compile(
    r"dockerfile.*|containerfile.*|.*compose.*\.ya?ml|makefile|justfile|tox\.ini|pytest\.ini"
    r"|conftest\.py|mypy\.ini|noxfile\.py|mise\.toml|[tj]sconfig.*\.json|.*\.config\.[cm]?[jt]s"
    r"|cmakelists\.txt|gradle\.properties|settings\.gradle(?:\.kts)?|\.[\w.-]+"
)
_INSTALLS = re.compile(
    r"\b(?:install|add|sync|restore|get|tidy|require|update|upgrade|ci|fetch|download)\b"
)


def _kind(cures: Sequence[Kept]) -> str:
    """Code when any code was edited, else dependency when any was installed or declared."""
    kinds = {_cure(item) for item in cures}
    return next((kind for kind in (CODE, DEPENDENCY) if kind in kinds), TOOLCHAIN)


def _cure(item: Kept) -> str:
    if item.role == SETUP:
        return DEPENDENCY if _INSTALLS.search(item.action.command) else TOOLCHAIN
    name = posixpath.basename(item.action.path).lower()
    if _MANIFEST.fullmatch(name):
        return DEPENDENCY
    folders = item.action.path.split("/")[:-1]
    if _TOOL_CONFIG.fullmatch(name) or any(folder.startswith(".") for folder in folders):
        return TOOLCHAIN
    return CODE


# --- The graph -------------------------------------------------------------------------------


def _edges(book: _Book, needs: _Requirements, pairs: Sequence[Pairing]) -> Iterator[Edge]:
    """All edges, each kind in order; kinds that would be many come last."""
    yield from _fixed_by(book, pairs)
    yield from _verifies(book, needs)
    yield from _served_by(book, needs)
    yield from _informs(book)
    yield from _modifies(book)


def _fixed_by(book: _Book, pairs: Sequence[Pairing]) -> Iterator[Edge]:
    for error, pair in enumerate(pairs):
        cures: dict[int, list[int]] = {}
        for at in pair.repairs:
            for number in book.steps.get(at, ()):
                if book.groups[number].role in (MUTATE, SETUP):
                    cures.setdefault(number, []).append(at)
        for number, repairs in cures.items():
            shown = _evidence(book.actions[at] for at in (pair.error, *repairs, pair.check))
            source, target = f"error:{error}", f"step:{number}"
            yield Edge("fixed_by", source, target, shown, "failed before, passed after")


def _verifies(book: _Book, needs: _Requirements) -> Iterator[Edge]:
    """A check verifies the requests for which an edit had been made by then."""
    edits = [item.index for item in book.slice.kept if item.role == MUTATE]
    for number, group in enumerate(book.groups):
        if group.role == VERIFY:
            passed = group.members[-1]
            done = [needs.at(index) for index in edits if index <= passed.index]
            for prompt, need in _first_of_each(done):
                shown = _evidence([book.actions[prompt], passed.action])
                yield Edge("verifies", f"step:{number}", f"req:{need}", shown, "passed after edits")


def _served_by(book: _Book, needs: _Requirements) -> Iterator[Edge]:
    for number, group in enumerate(book.groups):
        served = {needs.at(member.index): member for member in reversed(group.members)}
        for prompt, need in _first_of_each(served):
            shown = _evidence([book.actions[prompt], served[prompt, need].action])
            yield Edge("served_by", f"req:{need}", f"step:{number}", shown, "came after the prompt")


def _first_of_each(found: Iterable[tuple[int, int] | None]) -> list[tuple[int, int]]:
    """One (prompt, number) for each request number, the earliest, in order."""
    first: dict[int, int] = {}
    for prompt, number in sorted(filter(None, set(found))):
        first.setdefault(number, prompt)
    return sorted((prompt, number) for number, prompt in first.items())


def _informs(book: _Book) -> Iterator[Edge]:
    drawn: dict[tuple[int, int], Edge] = {}
    for found in book.slice.informs:
        sources = [at for at in book.steps.get(found.source, ()) if _is(book, at, READ)]
        targets = [at for at in book.steps.get(found.target, ()) if _is(book, at, MUTATE)]
        shown = _evidence(book.actions[at] for at in (found.source, found.target))
        for ends in ((source, target) for source in sources for target in targets):
            edge = Edge("informs", f"step:{ends[0]}", f"step:{ends[1]}", shown, found.rule)
            drawn.setdefault(ends, edge)
    yield from drawn.values()


def _is(book: _Book, number: int, role: str) -> bool:
    return book.groups[number].role == role


def _modifies(book: _Book) -> Iterator[Edge]:
    for number, group in enumerate(book.groups):
        if group.role == MUTATE:
            names = book.symbols(group.path, group.hunks)
            rule = "its lines survive" if group.hunks else "git shows it changed"
            for name in names or ("",):
                target = f"file:{group.path}#{name}" if name else f"file:{group.path}"
                yield Edge("modifies", f"step:{number}", _text(target), group.evidence, rule)


# --- Texts and evidence ----------------------------------------------------------------------


def _evidence(actions: Iterable[Action]) -> tuple[int, ...]:
    """Records of the log that hold the actions and their results, in order."""
    found = {at for action in actions for at in (action.record, action.result) if at is not None}
    return tuple(sorted(found))[:EVIDENCE]


def _text(text: str, limit: int = TEXT) -> str:
    """Text that every reader of JSON takes, cut to ``limit`` characters with a mark."""
    text = text.encode("utf-8", "replace").decode("utf-8")
    return text if len(text) <= limit else f"{text[: limit - 3]}..."
