"""Whether guards tell what changed: body guards of a year ago, held against recorded labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from data import options, require, rows
from timing import table

from git_tmem import probes
from git_tmem.playbook import EDITED, FRESH, GONE, MOVED, MUTATE, Step
from git_tmem.probes import CachedView
from git_tmem.repo import Repository

#: Owner of a pack -> the repository that its rows are about.
CLONES = {"pytest-dev": "pytest", "sphinx-doc": "sphinx", "pallets": "flask"}


def main() -> None:
    """Print the table."""
    parser = options(__doc__)
    parser.add_argument("--repos", type=Path, required=True, help="folder of full clones, by name")
    chosen = parser.parse_args()
    require(chosen.data, *(f"drift-{owner}.jsonl.xz" for owner in CLONES))
    head = (
        "repository",
        "rows",
        "semantic P",
        "R",
        "F1",
        "false alarm",
        "cosmetic fresh",
        "moved right",
    )
    lines = []
    whole: Counter[str] = Counter()
    for owner, name in CLONES.items():
        found = list(rows(chosen.data / f"drift-{owner}.jsonl.xz"))
        counts = judge(chosen.repos / name, found[:: 5 if chosen.quick else 1])
        whole += counts
        lines.append((name, *figures(counts)))
    print(table(head, [*lines, ("all", *figures(whole))]))


def judge(clone: Path, found: Iterable[Mapping[str, Any]]) -> Counter[str]:
    """How often a guard's state met each label."""
    counts: Counter[str] = Counter()
    views: dict[str, CachedView] = {}
    with Repository.open(str(clone)) as repository:
        for row in found:
            for name in (row["commit"], row["later"]):
                if name not in views:
                    views[name] = CachedView(repository.view(name))
            step = Step(MUTATE, row["file"], (row["symbol"],))
            made = probes.build([step], views[row["commit"]])
            body = [probe for probe in made if probe.kind == "body"]
            counts["rows"] += 1
            state = probes.check(body[0], views[row["later"]]).state if body else "unguarded"
            counts[state] += 1
            counts[f"{state} semantic"] += bool(row["label_semantic"])
            counts[f"{state} cosmetic"] += bool(row["label_cosmetic"])
    return counts


def figures(counts: Counter[str]) -> tuple[str, ...]:
    """A row of the table. Precision of "moved" is that the label does not say changed."""
    right = counts[f"{EDITED} semantic"] + counts[f"{GONE} semantic"]
    called = counts[EDITED] + counts[GONE]
    changed = sum(number for name, number in counts.items() if name.endswith(" semantic"))
    cosmetic = sum(number for name, number in counts.items() if name.endswith(" cosmetic"))
    precision, recall = right / max(1, called), right / max(1, changed)
    moved = counts[MOVED] - counts[f"{MOVED} semantic"]
    return (
        str(counts["rows"]),
        f"{precision:.3f}",
        f"{recall:.3f}",
        f"{2 * precision * recall / max(1e-9, precision + recall):.3f}",
        f"{(called - right) / max(1, counts['rows'] - changed):.3f}",
        f"{counts[f'{FRESH} cosmetic']} of {cosmetic}",
        f"{moved} of {counts[MOVED]}",
    )


if __name__ == "__main__":
    main()
