"""Whether errors have one name everywhere: equal keys, collisions, coverage, noise, repairs."""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import slicing
from data import Recorded, options, require, sessions
from timing import table

from git_tmem import effects
from git_tmem.signature import signature

#: A search that found nothing exits 1 in silence: no error.
_SEARCH = re.compile(r"(?:cd \S+ && )?(?:git )?(?:grep|rg|ag|find|ls|diff|test|which)\b")


def main() -> None:
    """Print the table."""
    chosen = options(__doc__).parse_args()
    require(chosen.data, "sessions.jsonl.xz", "errors-a.txt", "errors-b.txt")
    here = blocks(chosen.data / "errors-a.txt")
    there = blocks(chosen.data / "errors-b.txt")
    found = sessions(chosen.data, chosen.quick)
    rows = [*metamorphic(here, there), *coverage(found)]
    with tempfile.TemporaryDirectory() as scratch:
        rows += repairs(found, slicing.measure(Path(scratch) / "repo", found))
    print(table(["what", "figure"], rows))


def blocks(path: Path) -> dict[str, str]:
    """The failures of one file, by name."""
    parts = re.split(r"(?m)^### ", path.read_text(encoding="utf-8"))[1:]
    pairs = (part.partition("\n")[::2] for part in parts)
    return {name.strip(): re.sub(r"\nrc=\d+\s*$", "", text) for name, text in pairs}


def metamorphic(here: dict[str, str], there: dict[str, str]) -> list[list[str]]:
    """The same failures elsewhere: equal keys, unequal ones, keys of more than one failure."""
    keys = {name: (_key(here[name]), _key(there[name])) for name in here}
    named = {name: pair for name, pair in keys.items() if all(pair)}
    equal = sum(a == b for a, b in named.values())
    shared = Counter(a for a, _ in named.values())
    unnamed = ", ".join(sorted(set(keys) - set(named))) or "none"
    return [
        ["equal keys", f"{equal} of {len(keys)} (without a key: {unnamed})"],
        ["unstable keys", str(len(named) - equal)],
        ["collisions", str(sum(count > 1 for count in shared.values()))],
    ]


def _key(output: str) -> str:
    found = signature(output)
    return found.key if found else ""


def coverage(found: Sequence[Recorded]) -> list[list[str]]:
    """Of the failing commands that are no silent search, how many have a key."""
    families: Counter[str] = Counter()
    spread: Counter[str] = Counter()
    total = 0
    for session in found:
        seen = set()
        for step in session.steps:
            if not step.rc or not step.out.strip() or _SEARCH.match(step.cmd):
                continue
            total += 1
            error = signature(step.out)
            if error:
                families[error.family] += 1
                seen.add(error.key)
        spread.update(seen)
    named = families.total()
    told = ", ".join(f"{name} {count / total:.0%}" for name, count in families.most_common(4))
    noisy = sum(count >= 5 for count in spread.values())
    return [
        ["failing commands with a key", f"{named / total:.3f} of {total} ({told})"],
        ["keys seen in 5 sessions or more", f"{noisy} of {len(spread)}"],
    ]


def repairs(found: Sequence[Recorded], measured: dict[str, slicing.Measured]) -> list[list[str]]:
    """Sessions in which a command failed, files were changed, and the same command passed."""
    closed = [session for session in found if _closes(session)]
    kept = [session for session in closed if measured[session.id].outcome == "captured"]
    paired = sum(measured[session.id].pairs > 0 for session in kept)
    return [
        ["sessions with failure, change, same command passes", str(len(closed))],
        ["of these captured, with a repair in the record", f"{len(kept)}, {paired}"],
    ]


def _closes(session: Recorded) -> bool:
    failed: dict[str, int] = {}
    for place, step in enumerate(session.steps):
        if step.rc and not _SEARCH.match(step.cmd):
            failed.setdefault(step.cmd, place)
        elif step.cmd in failed and not step.rc:
            between = session.steps[failed[step.cmd] + 1 : place]
            if any(effects.writes(other.cmd) for other in between):
                return True
    return False


if __name__ == "__main__":
    main()
