"""The measures of a ranking, on rankings made by hand."""

from __future__ import annotations

import importlib.util
import math
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="module")
def metrics() -> ModuleType:
    path = Path(__file__).resolve().parent.parent / "benchmarks" / "metrics.py"
    spec = importlib.util.spec_from_file_location("metrics", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_hits_and_ranks(metrics: ModuleType) -> None:
    ranking, grades = ["x", "b", "a", "y"], {"a": 2, "b": 1}
    assert [metrics.hit(ranking, grades, depth) for depth in (1, 2, 3)] == [0.0, 1.0, 1.0]
    assert metrics.reciprocal_rank(ranking, grades) == 0.5
    assert metrics.reciprocal_rank(["x"], grades) == 0.0
    assert metrics.recall(ranking, grades) == 1.0
    assert metrics.recall(["a", "x", "y"], {"a": 1, "b": 1, "c": 1, "d": 1}) == 1 / 3
    assert metrics.precision(ranking, grades) == 2 / 3
    assert metrics.precision(["a"], grades) == 1 / 3


def test_gain_prefers_the_better_one_first(metrics: ModuleType) -> None:
    grades = {"a": 2, "b": 1}
    assert metrics.ndcg(["a", "b"], grades) == 1.0
    best = 3 + 1 / math.log2(3)
    assert metrics.ndcg(["b", "a"], grades) == pytest.approx((1 + 3 / math.log2(3)) / best)
    assert metrics.ndcg([], grades) == 0.0


def test_the_interval_is_the_same_in_every_run_and_holds_the_mean(metrics: ModuleType) -> None:
    values = [1.0] * 30 + [0.0] * 10
    low, high = metrics.interval(values)
    assert (low, high) == metrics.interval(values)
    assert low < 0.75 < high
    assert metrics.interval([1.0] * 9) == (1.0, 1.0)
    assert metrics.interval([]) == (0.0, 0.0)
