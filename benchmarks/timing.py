"""Timing things side by side: in turn, medians, and their ratio."""

from __future__ import annotations

import statistics
import subprocess
import time
from collections.abc import Callable, Sequence


def side_by_side(runs: int, *work: Callable[[], object]) -> list[float]:
    """The median seconds of each piece of work, all run in turn after one warm-up each."""
    times: list[list[float]] = [[] for _ in work]
    for round_ in range(runs + 1):
        for place, piece in enumerate(work):
            start = time.perf_counter()
            piece()
            if round_:
                times[place].append(time.perf_counter() - start)
    return [statistics.median(one) for one in times]


def process(
    command: Sequence[str], folder: str, env: dict[str, str] | None = None
) -> Callable[[], object]:
    """A whole process as a piece of work; its output is thrown away."""
    return lambda: subprocess.run(
        command, cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, check=False
    )


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
