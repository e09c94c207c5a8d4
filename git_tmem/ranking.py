"""Evidence from several channels, fused into one score a record and held against a floor.

A score is in millionths, so that two runs agree to the byte. What each kind of evidence is
worth is below; words alone must cover a good part of what was asked, weighted by rarity.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from git_tmem.query import FIELDS, Match

#: Below this nothing is shown: silence beats noise.
FLOOR = 250_000

#: Below this nothing is said where nobody asked, as at a prompt. On the recorded issues 14 % of
#: the prompts reach it, and there the first memory is right in 57 % (``benchmarks/recall.py``,
#: B5).
GATE = 345_000

EXACT_ERROR = 2_000_000
NEAR_ERROR = 600_000
PATH = 350_000
BASE_NAME = 250_000
SYMBOL = 200_000
WORDS = 700_000

#: BM25's usual constants (Robertson and Zaragoza, 2009).
_K1 = 1.2
_B = 0.75
#: What each field counts for: the mean of two fits by coordinate search (hit@3 and MRR of
#: recorded issues), one on django's sessions, one on those of eleven other projects; but never
#: less than a tenth, so that words which stand nowhere else are found.
WEIGHTS = {
    "title": 0.9,
    "intent": 1.0,
    "paths": 1.0,
    "symbols": 0.1,
    "diff": 0.1,
    "reasons": 0.1,
    "errors": 0.2,
}


class Evidence(NamedTuple):
    """One reason to show a record: which channel, how strong, and in words a person reads."""

    channel: str
    score: int
    why: str


class Hit(NamedTuple):
    """A record (by its number in the index), its score in millionths, why, and by which
    channels."""

    number: int
    score: int
    why: tuple[str, ...]
    channels: tuple[str, ...] = ()

    @property
    def passes(self) -> bool:
        """Whether the score reaches the floor."""
        return self.score >= FLOOR

    @property
    def speaks(self) -> bool:
        """Whether the score is enough to speak without being asked."""
        return self.score >= GATE


def fuse(evidence: Mapping[int, Sequence[Evidence]]) -> list[Hit]:
    """Hits, in no order: what the evidence of a record is worth, added up."""
    hits = []
    for number, items in evidence.items():
        ordered = sorted(items, key=lambda item: (-item.score, item.channel, item.why))
        score = sum(item.score for item in ordered)
        why = tuple(item.why for item in ordered if item.why)
        hits.append(Hit(number, score, why, tuple(item.channel for item in ordered)))
    return hits


def shared(score: int, records: int) -> int:
    """What evidence is worth when ``records`` records share it: what fits all tells little.
    Five records take away a third of it, ten more than half."""
    return score * 20 // (17 + 3 * max(1, records))


def score_words(
    asked: Sequence[str],
    matches: Sequence[Match],
    frequency: Mapping[str, Sequence[int]],
    records: int,
) -> dict[int, Evidence]:
    """Evidence from words. Each field is scored by BM25 and divided by the best score that any
    candidate has in it, so that a long field cannot drown a short one; their weighted mean,
    over the fields that say anything, counts by the share of the query's rarity that is covered.

    ``frequency`` says in how many records a word stands: in any field, then in each of them.
    A single common word is no evidence.
    """
    weights = Counter(asked)
    rarity = {word: _rarity(_in_any(frequency, word), records) for word in weights}
    total = sum(rarity.values()) or 1.0
    present = {match.number: set().union(*match.fields) for match in matches}
    sums = dict.fromkeys(present, 0.0)
    possible = 0.0
    for place, name in enumerate(FIELDS):
        shares = _field(place, matches, weights, frequency, records)
        possible += WEIGHTS[name] if shares else 0.0
        for number, share in shares.items():
            sums[number] += WEIGHTS[name] * share
    found = {}
    for number, value in sums.items():
        covered = [word for word in weights if word in present[number]]
        if len(covered) < min(2, len(weights)):
            continue
        coverage = sum(rarity[word] for word in covered) / total
        score = round(WORDS * value / possible * coverage)
        rarest = sorted(covered, key=lambda word: (-rarity[word], word))[:5]
        found[number] = Evidence("words", score, f"words: {', '.join(rarest)}")
    return found


def _field(
    place: int,
    matches: Sequence[Match],
    weights: Mapping[str, int],
    frequency: Mapping[str, Sequence[int]],
    records: int,
) -> dict[int, float]:
    """BM25 of each candidate in one field, over the best of them."""
    average = sum(len(match.fields[place]) for match in matches) / max(1, len(matches))
    worth = {
        word: (1 + math.log(times)) * _rarity(frequency[word][place + 1], records) * (_K1 + 1)
        for word, times in weights.items()
        if word in frequency
    }
    scores: dict[int, float] = {}
    for match in matches:
        words = match.fields[place]
        norm = _K1 * (1 - _B + _B * len(words) / (average or 1.0))
        counts: dict[str, int] = {}
        for word in words:
            if word in worth:
                counts[word] = counts.get(word, 0) + 1
        if counts:
            scores[match.number] = sum(
                worth[word] * times / (times + norm) for word, times in counts.items()
            )
    best = max(scores.values(), default=0.0) or 1.0
    return {number: score / best for number, score in scores.items()}


def _in_any(frequency: Mapping[str, Sequence[int]], word: str) -> int:
    return frequency[word][0] if word in frequency else 0


def _rarity(documents: int, records: int) -> float:
    """Inverse document frequency in the form that is never negative (Lucene's); a word that no
    record has counts as one that a single record has, so that small stores answer too."""
    documents = max(1, documents)
    return math.log(1 + (records - documents + 0.5) / (documents + 0.5))
