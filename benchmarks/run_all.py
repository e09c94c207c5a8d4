"""Measure recall, write what came of it, and hold it against the floors.

Writes ``results.json`` and the recall part of ``RESULTS.md``; with ``--check`` nothing is
written, and the exit status is 1 when a figure is below its floor in ``floors.json``.
"""

from __future__ import annotations

import json
import platform
import re
import sqlite3
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from data import options, require
from recall import figures, measure, report
from timing import table

_HERE = Path(__file__).resolve().parent
_PART = re.compile("<!-- recall -->.*<!-- end of recall -->", re.S)


def main() -> None:
    """Run, then write or check."""
    parser = options(__doc__)
    parser.add_argument("--check", action="store_true", help="compare with floors.json")
    chosen = parser.parse_args()
    require(chosen.data, "sessions.jsonl.xz", "rephrase.jsonl.xz", "history-onepanel.jsonl.xz")
    results = measure(chosen.data, chosen.quick)
    found = figures(results)
    floors = json.loads((_HERE / "floors.json").read_text(encoding="utf-8"))
    held = against(found, floors)
    print(held)
    if chosen.check:
        sys.exit(int(any(found[name] < floor for name, floor in floors.items())))
    (_HERE / "results.json").write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    words = f"<!-- recall -->\n{origin()}\n\n{held}\n\n{report(results)}\n<!-- end of recall -->"
    path = _HERE / "RESULTS.md"
    path.write_text(_PART.sub(lambda _: words, path.read_text(encoding="utf-8")), encoding="utf-8")


def against(found: Mapping[str, float], floors: Mapping[str, float]) -> str:
    """Each figure that has a floor, beside it."""
    lines = [
        [name, f"{found[name]:.3f}", f"{floor:.2f}", "yes" if found[name] >= floor else "no"]
        for name, floor in floors.items()
    ]
    return table(["figure", "reached", "floor", "held"], lines)


def origin() -> str:
    """What was measured: the commit and the versions that matter."""
    run = ["git", "-C", str(_HERE), "log", "-1", "--format=%h of %cs"]
    commit = subprocess.run(run, capture_output=True, text=True, check=True).stdout.strip()
    versions = f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}"
    return f"Measured on commit {commit}, {versions}."


if __name__ == "__main__":
    main()
