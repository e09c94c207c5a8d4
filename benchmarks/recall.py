"""Recall on the data packs, through the product's own capture, index and lookup.

B1 the issue of a later session, B1t its first line alone, B2 the maintainers' own words for a
fix, B3 commit subjects in English, B4 in Chinese, B5 when it speaks at a prompt, B6 when it
speaks at a file. A memory is relevant when its patch edits the same non-test file (grade 1) or
the same function or class of it (grade 2).
"""

from __future__ import annotations

import io
import itertools
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import metrics
from baselines import DEPTH, Memory, systems
from data import Recorded, as_log, import_sessions, options, require, rows, sessions
from history import HISTORIES, Change, changes_of, playbook_of
from relevance import grade, touched
from timing import table

from git_tmem import adapters, effects, lookup, trust
from git_tmem.actions import Session
from git_tmem.capture import Target, capture
from git_tmem.index import Index
from git_tmem.playbook import Playbook, canonical, record_id, to_document
from git_tmem.query import Query
from git_tmem.ranking import FLOOR, GATE, Hit
from git_tmem.repo import Repository
from git_tmem.store import MAIN, Store

PRODUCT = "git tmem"
#: Sessions or days that must lie before a query.
_EARLIER = 5
_DAYS = 7


class Case(NamedTuple):
    """A query: its group, each system's ranking, the relevant ids with their grade, and the
    product's score for its first (0 for none)."""

    group: str
    rankings: Mapping[str, Sequence[str]]
    grades: Mapping[str, int]
    score: int = 0


class Shown(NamedTuple):
    """A memory shown at a file: the step, whether an edit set it off, whether it is relevant."""

    step: int
    edit: bool
    right: bool


class Replay(NamedTuple):
    """What B6 showed in one session, and whether there was anything relevant to show."""

    answerable: bool
    shown: tuple[Shown, ...]


class Results(NamedTuple):
    """The cases of each table by its name, and the replays of B6."""

    cases: Mapping[str, list[Case]]
    replays: list[Replay]


def main() -> None:
    """Print the tables."""
    parser = options(__doc__)
    chosen = parser.parse_args()
    require(chosen.data, "sessions.jsonl.xz", "rephrase.jsonl.xz", "history-onepanel.jsonl.xz")
    print(report(measure(chosen.data, chosen.quick)))


def measure(folder: Path, quick: bool = False) -> Results:
    """Run everything; ``quick`` takes every fifth query of the smaller packs."""
    found = [one for one in sessions(folder) if not quick or not one.repo.startswith("django")]
    rephrased = {row["id"]: row["query"] for row in rows(folder / "rephrase.jsonl.xz")}
    cases: dict[str, list[Case]] = {}
    replays: list[Replay] = []
    with tempfile.TemporaryDirectory() as scratch:
        for name, group in itertools.groupby(found, key=lambda one: one.repo):
            place = Path(scratch) / name.replace("/", "-")
            replays += _project(place, list(group), rephrased, cases, 5 if quick else 1)
        for name in HISTORIES:
            place = Path(scratch) / name
            key = "B4" if name == "onepanel" else "B3"
            cases.setdefault(key, []).extend(_history(place, folder, name, 5 if quick else 1))
    return Results(cases, replays)


# --- Sessions ----------------------------------------------------------------------------------


def _project(
    place: Path,
    found: list[Recorded],
    rephrased: Mapping[str, str],
    cases: dict[str, list[Case]],
    step: int,
) -> list[Replay]:
    """All sessions of one project in order: asked first, then captured; the replays of B6."""
    commits = import_sessions(place, found)
    bench = _Bench()
    replays = []
    earlier: list[Recorded] = []
    with Repository.open(str(place)) as repository:
        for number, one in enumerate(found):
            parsed = adapters.parse(io.BytesIO(as_log(one)), "generic")
            if one.resolved and len(earlier) >= _EARLIER and number % step == 0:
                grades = {past.id: got for past in earlier if (got := grade(past, one))}
                with Index(repository.layout) as index:
                    for name, text in (("B1", one.issue), ("B1t", one.issue.partition("\n")[0])):
                        case = bench.ask(index, one.repo, text, grades)
                        cases.setdefault(f"{name} end to end", []).append(case)
                        kept = {past: got for past, got in grades.items() if past in bench.known}
                        cases.setdefault(name, []).append(case._replace(grades=kept))
                    replays.append(_replay(index, one, parsed, kept))
            done = capture(repository, parsed, Target(commits[one.id]), raw=False)
            if done.playbook:
                bench.add(one.id, done.playbook)
            earlier.append(one)
        with Index(repository.layout) as index:
            for one in found[::step]:
                if one.id in rephrased:
                    case = bench.ask(index, one.repo, rephrased[one.id], {one.id: 1})
                    cases.setdefault("B2 end to end", []).append(case)
                    if one.id in bench.known:
                        cases.setdefault("B2", []).append(case)
    return replays


def _replay(index: Index, one: Recorded, parsed: Session, grades: Mapping[str, int]) -> Replay:
    """The session's steps: at the first touch and the first edit of each file, the best memory
    of that file for this prompt, once."""
    shown: list[Shown] = []
    told: set[str] = set()
    seen: set[tuple[str, bool]] = set()
    touches = (
        (step, effects.writes(action.command), path.removeprefix("/testbed/"))
        for step, action in enumerate(parsed.actions)
        for path in effects.targets(action.command)
    )
    for step, edit, path in touches:
        if (path, edit) in seen or "/" not in path:
            continue
        seen.add((path, edit))
        hits = [hit for hit in lookup.find(index, Query(one.issue, (path,))) if hit.passes]
        for hit in hits[:1]:
            name = _name(index, hit)
            if name not in told:
                told.add(name)
                shown.append(Shown(step, edit, name in grades))
    return Replay(bool(grades), tuple(shown))


class _Bench:
    """The memories so far, as every system knows them."""

    def __init__(self) -> None:
        self._systems = systems()
        self.known: set[str] = set()

    def add(self, name: str, book: Playbook) -> None:
        """One more memory."""
        self.known.add(name)
        texts = [
            book.title,
            *book.intent,
            *book.files,
            *(text for step in book.steps for text in (*step.symbols, step.reason, *step.diff)),
            *(repair.error for repair in book.repairs),
        ]
        memory = Memory(
            name, f"{book.title}\n" + "\n".join(book.intent), book.files, "\n".join(texts)
        )
        for system in self._systems.values():
            system.add(memory)

    def ask(self, index: Index, group: str, text: str, grades: Mapping[str, int]) -> Case:
        """The rankings of all systems for a query."""
        rankings = {name: system.rank(text) for name, system in self._systems.items()}
        hits = lookup.find(index, Query(text))[:DEPTH]
        rankings[PRODUCT] = [_name(index, hit) for hit in hits]
        first = hits[0] if hits else Hit(0, 0, ())
        return Case(group, rankings, grades, first.score)


def _name(index: Index, hit: Hit) -> str:
    return index.by_number(hit.number).session.partition(" ")[2]


# --- Histories ---------------------------------------------------------------------------------


def _history(place: Path, folder: Path, name: str, step: int) -> Iterator[Case]:
    """Newest commits as queries against those that are older by a week."""
    memories, queries = changes_of(folder, name)
    bench = _Bench()
    waiting = list(memories)
    past: list[Change] = []
    subprocess.run(["git", "init", "-q", str(place)], check=True)
    with Repository.open(str(place)) as repository:
        for query in queries[::step]:
            ready = [one for one in waiting if one.time <= query.time - _DAYS * 86_400]
            waiting = waiting[len(ready) :]
            _store(repository, ready)
            past += ready
            for one in ready:
                bench.add(one.commit, playbook_of(one))
            grades = {one.commit: got for one in past if (got := touched(one.places, query.places))}
            if grades:
                with Index(repository.layout) as index:
                    yield bench.ask(index, name, query.subject, grades)


def _store(repository: Repository, changes: Sequence[Change]) -> None:
    """Put memories into the store, all in one commit."""
    if not changes:
        return
    data = [canonical(to_document(playbook_of(one))) for one in changes]
    blobs = {record_id(one): one for one in data}
    edits = {
        f"mem/{name[:2]}/{name}.json": repository.write_blob(one) for name, one in blobs.items()
    }
    store = Store(repository)
    store._publish(MAIN, lambda _: edits, "records\n")
    trust.mark_own(store, blobs)


# --- Tables ------------------------------------------------------------------------------------


def report(results: Results) -> str:
    """All tables, in Markdown."""
    parts = []
    for name in sorted(results.cases):
        answerable = [case for case in results.cases[name] if case.grades]
        total = len(results.cases[name])
        parts.append(f"### {name}: {len(answerable)} answerable of {total} queries\n")
        parts.append(_systems_table(answerable) + "\n")
        if name in ("B1", "B3"):
            parts.append(_groups_table(answerable) + "\n")
    parts.append("### B5: what is said at a prompt\n\n" + _gate_table(results.cases["B1"]) + "\n")
    parts.append("### B6: what is said at a file\n\n" + _trigger_table(results.replays))
    return "\n".join(parts)


def _systems_table(cases: Sequence[Case]) -> str:
    head = ["system", "hit@1", "hit@3 (95 %)", "hit@10", "recall@3", "MRR@10 (95 %)"]
    lines = []
    for system in cases[0].rankings if cases else ():
        lines.append([system, *_cells(cases, system)])
    return table([*head, "nDCG@10", "P@3"], lines)


def figures(results: Results) -> dict[str, float]:
    """What ``floors.json`` has floors for, by name."""
    found = {}
    for name, cases in results.cases.items():
        answerable = [case for case in cases if case.grades]
        pairs = [(case.rankings[PRODUCT], case.grades) for case in answerable]
        found[f"{name} hit@3"] = metrics.mean([metrics.hit(*pair, 3) for pair in pairs])
        found[f"{name} MRR"] = metrics.mean([metrics.reciprocal_rank(*pair) for pair in pairs])
    found["B5 precision at 10 %"] = precision_at(results.cases["B1"], 0.1)
    found["B5 precision at 20 %"] = precision_at(results.cases["B1"], 0.2)
    _, precision, reach, _ = trigger_figures(results.replays, False)
    return {**found, "B6 precision": precision, "B6 reach": reach}


def _groups_table(cases: Sequence[Case]) -> str:
    head = [PRODUCT, "n", "hit@1", "hit@3 (95 %)", "hit@10", "recall@3", "MRR@10 (95 %)"]
    groups = sorted({case.group for case in cases})
    lines = []
    for group in groups:
        chosen = [case for case in cases if case.group == group]
        lines.append([group, str(len(chosen)), *_cells(chosen, PRODUCT)])
    return table([*head, "nDCG@10", "P@3"], lines)


def _cells(cases: Sequence[Case], system: str) -> list[str]:
    pairs = [(case.rankings[system], case.grades) for case in cases]
    hits = {depth: [metrics.hit(*pair, depth) for pair in pairs] for depth in (1, 3, 10)}
    ranks = [metrics.reciprocal_rank(*pair) for pair in pairs]
    return [
        _share(hits[1]),
        _sure(hits[3]),
        _share(hits[10]),
        _share([metrics.recall(*pair) for pair in pairs]),
        _sure(ranks),
        _share([metrics.ndcg(*pair) for pair in pairs]),
        _share([metrics.precision(*pair) for pair in pairs]),
    ]


def _share(values: Sequence[float]) -> str:
    return f"{metrics.mean(values):.3f}"


def _sure(values: Sequence[float]) -> str:
    low, high = metrics.interval(values)
    return f"{metrics.mean(values):.3f} ({low:.2f}-{high:.2f})"


def precision_at(cases: Sequence[Case], share: float) -> float:
    """How many of the surest ``share`` of first memories are relevant; all prompts count."""
    order = sorted(cases, key=lambda case: -case.score)[: max(1, round(share * len(cases)))]
    return metrics.mean([metrics.hit(case.rankings[PRODUCT], case.grades, 1) for case in order])


def _gate_table(cases: Sequence[Case]) -> str:
    lines = []
    for name, least in (("the gate", GATE), ("the floor", FLOOR)):
        spoken = [case for case in cases if case.score >= least]
        right = [metrics.hit(case.rankings[PRODUCT], case.grades, 1) for case in spoken]
        reached = f"{len(spoken) / len(cases):.1%} of {len(cases)} prompts ({name})"
        lines.append([reached, _sure(right), f"{1 - metrics.mean(right):.3f}" if right else "-"])
    for share in (0.1, 0.2, 0.3, 0.5, 1.0):
        got = precision_at(cases, share)
        lines.append([f"{share:.0%}, the surest first", f"{got:.3f}", f"{1 - got:.3f}"])
    return table(["coverage", "precision of the first", "false injections"], lines)


def trigger_figures(replays: Sequence[Replay], edits_only: bool) -> tuple[float, float, float, int]:
    """Shown a session, precision, answerable sessions reached, step of the first good one."""
    shown = [[one for one in replay.shown if one.edit or not edits_only] for replay in replays]
    right = [float(one.right) for group in shown for one in group]
    answerable = [group for replay, group in zip(replays, shown, strict=True) if replay.answerable]
    first = sorted(
        next(one.step for one in group if one.right)
        for group in answerable
        if any(one.right for one in group)
    )
    return (
        len(right) / max(1, len(replays)),
        metrics.mean(right),
        len(first) / max(1, len(answerable)),
        first[len(first) // 2] if first else -1,
    )


def _trigger_table(replays: Sequence[Replay]) -> str:
    lines = []
    for name, edits_only in (("first touch or edit", False), ("edit alone", True)):
        shown, precision, reach, step = trigger_figures(replays, edits_only)
        lines.append([name, f"{shown:.2f}", f"{precision:.3f}", f"{reach:.1%}", str(step)])
    head = ["trigger", "shown a session", "precision", "answerable sessions reached"]
    note = "Relevance is defined by edited files, so the second row is true in part by definition."
    return f"{table([*head, 'median action of the first good one'], lines)}\n\n{note}"


if __name__ == "__main__":
    main()
