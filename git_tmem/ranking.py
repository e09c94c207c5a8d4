"""Evidence from several channels, fused into one score a record and held against a floor.

A score is in millionths, so that two runs agree to the byte. What each kind of evidence is
worth is below; words alone must cover a good part of what was asked, weighted by rarity.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from git_tmem.query import Match

#: Below this nothing is shown: silence beats noise.
FLOOR = 250_000

EXACT_ERROR = 1_000_000
NEAR_ERROR = 600_000
PATH = 450_000
BASE_NAME = 350_000
SYMBOL = 300_000
WORDS = 700_000

#: BM25's usual constants (Robertson and Zaragoza, 2009), and what each field counts for.
_K1 = 1.2
_B = 0.75
_FIELDS = {"intent": 1.0, "names": 0.6, "content": 0.4}


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


def fuse(evidence: Mapping[int, Sequence[Evidence]]) -> list[Hit]:
    """Hits, in no order. The strongest evidence counts whole, each further one a third of that
    of the one before it, so that many weak hints do not outdo one proof."""
    hits = []
    for number, items in evidence.items():
        ordered = sorted(items, key=lambda item: (-item.score, item.channel, item.why))
        score = sum(item.score // 3**place for place, item in enumerate(ordered))
        why = tuple(item.why for item in ordered if item.why)
        hits.append(Hit(number, score, why, tuple(item.channel for item in ordered)))
    return hits


def shared(score: int, records: int) -> int:
    """What evidence is worth when ``records`` records share it: what fits all tells little.
    Five records take away a third of it, ten more than half."""
    return score * 20 // (17 + 3 * max(1, records))


def score_words(
    asked: Sequence[str], matches: Sequence[Match], frequency: Mapping[str, int], records: int
) -> dict[int, Evidence]:
    """Evidence from words: BM25 per field over the candidates, times the share of the query's
    rarity that the record covers. A single common word is no evidence."""
    weights = Counter(asked)
    rarity = {word: _rarity(frequency.get(word, 0), records) for word in weights}
    total = sum(rarity.values()) or 1.0
    lengths = {
        field: sum(len(getattr(match, field)) for match in matches) / max(1, len(matches))
        for field in _FIELDS
    }
    raw = {match.number: _bm25(match, lengths, weights, rarity) for match in matches}
    best = max(raw.values(), default=0.0) or 1.0
    found = {}
    for match in matches:
        present = {*match.intent, *match.names, *match.content}
        covered = [word for word in weights if word in present]
        if len(covered) < min(2, len(weights)):
            continue
        coverage = sum(rarity[word] for word in covered) / total
        score = round(WORDS * coverage * (0.6 + 0.4 * raw[match.number] / best))
        rarest = sorted(covered, key=lambda word: (-rarity[word], word))[:5]
        found[match.number] = Evidence("words", score, f"words: {', '.join(rarest)}")
    return found


def _rarity(documents: int, records: int) -> float:
    """Inverse document frequency in the form that is never negative (Lucene's); a word that no
    record has counts as one that a single record has, so that small stores answer too."""
    documents = max(1, documents)
    return math.log(1 + (records - documents + 0.5) / (documents + 0.5))


def _bm25(
    match: Match,
    lengths: Mapping[str, float],
    weights: Mapping[str, int],
    rarity: Mapping[str, float],
) -> float:
    """BM25 over the fields; ``lengths`` are the candidates' average numbers of words in each."""
    total = 0.0
    for field, weight in _FIELDS.items():
        counts = Counter(getattr(match, field))
        norm = _K1 * (1 - _B + _B * counts.total() / (lengths[field] or 1.0))
        total += weight * sum(
            (1 + math.log(times)) * rarity[word] * counts[word] * (_K1 + 1) / (counts[word] + norm)
            for word, times in weights.items()
            if word in counts
        )
    return total
