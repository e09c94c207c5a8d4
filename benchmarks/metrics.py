"""Measures of a ranking against graded relevance, and how sure a mean is.

A ranking is a list of ids, best first; ``grades`` has the ids that are relevant with their
grade, 1 or more. Constants: nDCG's gain is 2^grade - 1 and its discount log2(rank + 1)
(Järvelin and Kekäläinen, 2002); the interval is the percentile bootstrap (Efron, 1979).
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence

SEED = 7
DRAWS = 1000


def hit(ranking: Sequence[str], grades: Mapping[str, int], depth: int) -> float:
    """1.0 when one of the first ``depth`` is relevant, else 0.0."""
    return float(any(one in grades for one in ranking[:depth]))


def recall(ranking: Sequence[str], grades: Mapping[str, int], depth: int = 3) -> float:
    """The relevant ones among the first ``depth``, over as many as could be there."""
    return sum(one in grades for one in ranking[:depth]) / min(depth, len(grades))


def precision(ranking: Sequence[str], grades: Mapping[str, int], depth: int = 3) -> float:
    """The share of the first ``depth`` places that hold a relevant one."""
    return sum(one in grades for one in ranking[:depth]) / depth


def reciprocal_rank(ranking: Sequence[str], grades: Mapping[str, int], depth: int = 10) -> float:
    """One over the place of the first relevant one, 0 when it is not among ``depth``."""
    for place, one in enumerate(ranking[:depth], 1):
        if one in grades:
            return 1 / place
    return 0.0


def ndcg(ranking: Sequence[str], grades: Mapping[str, int], depth: int = 10) -> float:
    """Discounted gain of the first ``depth``, over that of the best order there is."""
    best = _gain(sorted(grades.values(), reverse=True)[:depth])
    return _gain([grades.get(one, 0) for one in ranking[:depth]]) / best


def _gain(grades: Sequence[int]) -> float:
    return sum((2**grade - 1) / math.log2(place + 1) for place, grade in enumerate(grades, 1))


def mean(values: Sequence[float]) -> float:
    """The mean; 0 of nothing."""
    return sum(values) / len(values) if values else 0.0


def interval(values: Sequence[float]) -> tuple[float, float]:
    """The 95 % bootstrap interval of the mean; the same in every run."""
    if not values:
        return 0.0, 0.0
    chance = random.Random(SEED)
    means = sorted(mean(chance.choices(values, k=len(values))) for _ in range(DRAWS))
    return means[round(0.025 * DRAWS)], means[round(0.975 * DRAWS) - 1]
