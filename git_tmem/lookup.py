"""The read path: a query finds records, probes check them, what still holds is rendered.

::

    query ── index ──▶ hits ──▶ playbooks ── probes.check_all(view) ──▶ grades ──▶ render
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from git_tmem import probes, ranking, render, trust
from git_tmem.grade import WITHHELD, Grade, grade
from git_tmem.index import Index, Row
from git_tmem.playbook import Playbook, from_document
from git_tmem.query import MOST, Query
from git_tmem.ranking import Evidence, Hit
from git_tmem.signature import signature
from git_tmem.tokens import tokens

#: Hex digits of an abbreviated record id.
ABBREV = 12
#: Hits whose guards are checked before giving up on finding one that holds.
_TRIED = 12
#: Records that the words of a query may name, counted once for each word, to find candidates.
_POSTINGS = 20_000
#: Characters of a query that are looked at.
_QUERY_LIMIT = 20_000

_PATH = re.compile(r"[\w@.+-]*(?:[/\\][\w@.+-]+)+|[\w@+-]+(?:\.[\w@+-]+)*\.[A-Za-z]\w{0,7}\b")
_SYMBOL = re.compile(r"[^\W\d]\w*(?:(?:\.|::|#)[^\W\d]\w*)*")


class Memory(NamedTuple):
    """A record that was found: its grade against the view, why it was found, and where it is
    from ('' when that was not asked)."""

    row: Row
    playbook: Playbook
    grade: Grade
    hit: Hit
    origin: str = ""

    @property
    def abbrev(self) -> str:
        """The abbreviated id."""
        return self.row.id[:ABBREV]


class Answer(NamedTuple):
    """``shown`` memories go to the agent as ``text``; ``considered`` is everything looked at,
    for explanations; ``below`` hits did not reach the floor. ``waiting`` records would have
    been looked at, had they been accepted; of them nothing but the id may be told."""

    shown: tuple[Memory, ...]
    text: str
    considered: tuple[Memory, ...]
    below: tuple[Hit, ...]
    waiting: tuple[Row, ...] = ()


def lookup(
    index: Index,
    query: Query,
    view: Any,
    skip: Iterable[str] = (),
    channel: str = "",
    unasked: bool = False,
) -> Answer:
    """Find, check, grade, cut and render. Reads only; ``view`` is a work tree or a revision.

    Records whose id is in ``skip`` are left out, and with a ``channel`` those it did not find.
    ``unasked`` is for where nobody asked: then a record must be surer to be right.
    """
    hits = find(index, query)
    passing = [
        hit
        for hit in hits
        if (hit.speaks if unasked else hit.passes) and (not channel or channel in hit.channels)
    ]
    limit = max(0, min(query.limit, MOST))
    considered: list[Memory] = []
    shown: list[Memory] = []
    for hit in passing[:_TRIED]:
        if len(shown) == limit:
            break
        row = index.by_number(hit.number)
        if row.id in skip:
            continue
        memory = examine(row, hit, view)._replace(origin=origin(index, row))
        considered.append(memory)
        if memory.grade.name != WITHHELD:
            shown.append(memory)
    entries = [entry(memory) for memory in shown]
    text = render.render(entries, index.tip[:ABBREV], query.budget) if entries else ""
    below = tuple(hit for hit in hits if not hit.passes)
    return Answer(tuple(shown), text, tuple(considered), below)


def waiting(index: Index, query: Query) -> tuple[Row, ...]:
    """Records that match as well as those a lookup shows, and wait for review."""
    if not index.waiting():
        return ()
    with index.among_waiting():
        hits = find(index, query)
    return tuple(index.by_number(hit.number) for hit in hits[:_TRIED] if hit.passes)


def origin(index: Index, row: Row) -> str:
    """Where a record is from, in words; its author is a claim, and is not asked."""
    return trust.describe(index.marks(row.id))


def review(row: Row) -> str:
    """What is said of a record that waits for review."""
    return f"waits for review: git tmem accept {row.id[:ABBREV]}"


def examine(row: Row, hit: Hit, view: Any) -> Memory:
    """A record with its guards checked against the view."""
    playbook = decode(row)
    view.prime(probe.args["path"] for probe in playbook.probes if _is_path(probe.args.get("path")))
    return Memory(row, playbook, grade(playbook, probes.check_all(playbook.probes, view)), hit)


def entry(memory: Memory) -> render.Entry:
    """A memory as the renderer takes it."""
    why = "; ".join(memory.hit.why[:2])
    others = "" if memory.origin == trust.MADE_HERE else memory.origin
    return render.Entry(memory.row.id, memory.playbook, memory.grade, why, memory.abbrev, others)


def decode(row: Row) -> Playbook:
    """The playbook of an indexed record."""
    return from_document(json.loads(row.document))


def find(index: Index, query: Query) -> list[Hit]:
    """Hits of all channels, fused, best first; those below the floor are in it too."""
    text = query.text[:_QUERY_LIMIT]
    evidence: dict[int, list[Evidence]] = {}
    touching = index.touching(query.files)
    channels = (
        _by_error(index, query.error[-_QUERY_LIMIT:] or text),
        (
            (number, Evidence("path", ranking.PATH, f"file: {path}"))
            for number, path in touching.items()
        ),
        _by_path(index, _paths_in(text)),
        _by_symbol(index, text),
        _by_words(index, f"{text}\n{_first_error(query.error)}"),
    )
    for channel in channels:
        for number, item in channel:
            if number in touching or not query.files:
                evidence.setdefault(number, []).append(item)
    hits = ranking.fuse(evidence)
    order = index.order(hit.number for hit in hits if hit.passes)
    return sorted(hits, key=lambda hit: (-hit.score, order.get(hit.number, (0, ""))))


def _first_error(error: str) -> str:
    found = signature(error[-_QUERY_LIMIT:]) if error else None
    return found.message if found else ""


def _by_error(index: Index, text: str) -> Iterable[tuple[int, Evidence]]:
    found = signature(text) if text else None
    if found is None:
        return
    exact = index.with_error("signature", found.key)
    for number in exact:
        yield number, Evidence("error", ranking.EXACT_ERROR, f"same error: {found.message}")
    near = index.with_error("near", found.near)
    for number in set(near) - set(exact):
        score = ranking.shared(ranking.NEAR_ERROR, len(near))
        yield number, Evidence("error", score, f"a like error: {found.message}")


def _by_path(index: Index, names: Iterable[str]) -> Iterable[tuple[int, Evidence]]:
    """Paths that the text names: a whole one is worth more than a file's name alone."""
    whole = [name for name in names if name]
    based = index.with_names("path", "base", (name.rpartition("/")[2] for name in whole))
    named = index.with_names("path", "path", whole)
    for found, worth in ((based, ranking.BASE_NAME), (named, ranking.PATH)):
        for number, paths in found.items():
            if found is named or number not in named:
                score = ranking.shared(worth, len(found))
                yield number, Evidence("path", score, f"file: {', '.join(sorted(paths))}")


def _paths_in(text: str) -> list[str]:
    """Paths, file names and dotted modules that a text names."""
    names = [match.replace("\\", "/").strip("./") for match in _PATH.findall(text)]
    named = (other for name in names for other in (*_suffixes(name), *_modules(name)))
    return list(dict.fromkeys(named))[:200]


def _suffixes(path: str) -> list[str]:
    """A path and its ends: a traceback names files by where they are installed."""
    parts = path.split("/")
    return ["/".join(parts[at:]) for at in range(max(1, len(parts) - 1))][:12]


def _modules(name: str) -> list[str]:
    """Files that a dotted name may mean: its module, or the one that a name in it is from."""
    parts = name.split(".")
    if "/" in name or len(parts) < 2:
        return []
    return ["/".join(parts[:end]) + ".py" for end in range(len(parts), 1, -1)]


def _by_symbol(index: Index, text: str) -> Iterable[tuple[int, Evidence]]:
    """Names written as code: with an underscore, a dot, inner capitals or a call's bracket."""
    names = {
        part
        for match in _SYMBOL.finditer(text)
        for name in [match[0].replace("::", ".").replace("#", ".")]
        if _looks_like_code(name, text[match.end() : match.end() + 1])
        for part in (name, name.rpartition(".")[2])
        if len(part) > 2
    }
    found = index.with_names("symbol", "name", sorted(names))
    for number, symbols in found.items():
        score = ranking.shared(ranking.SYMBOL, len(found))
        yield number, Evidence("symbol", score, f"symbol: {', '.join(sorted(symbols))}")


def _looks_like_code(name: str, follows: str) -> bool:
    return follows == "(" or "_" in name.strip("_") or "." in name or name[1:] != name[1:].lower()


def _by_words(index: Index, text: str) -> Iterable[tuple[int, Evidence]]:
    asked = tokens(text)[:400]
    frequency = index.frequencies(dict.fromkeys(asked))
    records = index.size()
    matches = index.matches(_telling(frequency))
    yield from ranking.score_words(asked, matches, frequency, records).items()


def _telling(frequency: Mapping[str, Sequence[int]]) -> list[str]:
    """The words by which candidates are found: all that are known, and in a large store the
    rarest of them, as long as together they name no more records than can be ranked in time."""
    words = sorted(frequency, key=lambda word: (frequency[word][0], word))
    named = 0
    for place, word in enumerate(words):
        named += frequency[word][0]
        if named > _POSTINGS and place > 1:
            return words[:place]
    return words


def _is_path(value: object) -> bool:
    return isinstance(value, str) and probes.safe_path(value)


def explain(answer: Answer, titles: Sequence[str]) -> list[str]:
    """Lines that say what was considered, with scores in thousandths, and what was cut."""
    lines = [f"floor {ranking.FLOOR / 1e6:.3f}; at most {MOST} memories"]
    for memory in answer.considered:
        mark = "shown" if memory in answer.shown else "held back"
        lines.append(
            f"{memory.abbrev}  {memory.hit.score / 1e6:.3f}  {memory.grade.name}  {mark}"
            f"  {memory.playbook.title}"
        )
        lines += [f"    found by {why}" for why in memory.hit.why]
        lines += [f"    {reason}" for reason in memory.grade.reasons]
    below = zip(answer.below[:10], titles, strict=False)
    lines += [f"below the floor  {hit.score / 1e6:.3f}  {title}" for hit, title in below]
    lines += [f"{row.id[:ABBREV]}  {review(row)}" for row in answer.waiting]
    return lines
