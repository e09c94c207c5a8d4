"""Sessions recorded on a repository's checkpoint branch, captured at the commits that name them.

Takes clones whose branch ``entire/checkpoints/v1`` holds whole sessions, and whose commits name
a checkpoint in a trailer. Each session is compiled by the product's own path against the last
of its commits; nothing is stored. The files of L0's edits are held against those of its commits.
"""

from __future__ import annotations

import argparse
import io
import json
import re
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

from timing import table

from git_tmem import adapters
from git_tmem.capture import Target, compiled, describe_missing
from git_tmem.errors import TmemError
from git_tmem.history import exactly
from git_tmem.playbook import MUTATE
from git_tmem.repo import Repository

_BRANCH = "entire/checkpoints/v1"
_FOLDER = re.compile(r"(?P<name>\w\w/\w{10})/(?P<part>\d+)/full\.jsonl$")


class Checkpointed(NamedTuple):
    """A session: the blob of its longest log, and the commits that name it, newest first."""

    id: str
    blob: str
    size: int
    commits: tuple[str, ...]


class Result(NamedTuple):
    """What came of a session."""

    agent: str
    outcome: str
    edited: frozenset[str] = frozenset()
    committed: frozenset[str] = frozenset()
    repairs: int = 0


def main() -> None:
    """Print a table of each clone, and why sessions gave nothing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("clones", nargs="+", help="folders of full clones")
    parser.add_argument("--each", action="store_true", help="also print a line a session")
    options = parser.parse_args()
    rows, reasons = [], []
    for clone in options.clones:
        results = list(judged(clone, options.each))
        rows += [row(clone, agent, group) for agent, group in by_agent(results)]
        reasons += [f"{count} {why}" for why, count in refusals(results)]
    head = ["clone", "agent", "sessions", "named by commits", "playbooks", "of named"]
    print(table([*head, "files: precision", "recall", "repairs"], rows))
    print("\nno playbook: " + "; ".join(reasons))


def judged(clone: str, each: bool) -> Iterator[Result]:
    """The result of every session of a clone."""
    with Repository.open(clone) as repository:
        for session in checkpointed(clone):
            result = judge(repository, session)
            if each:
                wrong = sorted(result.edited - result.committed)[:3]
                lost = sorted(result.committed - result.edited)[:3]
                print(session.id[:12], len(session.commits), result.outcome, wrong, lost)
            yield result


def judge(repository: Repository, session: Checkpointed) -> Result:
    """Compile one session against the newest commit that names it, else against main."""
    stream = io.BytesIO(repository.git.run("cat-file", "blob", session.blob))
    named = "named" if session.commits else "unnamed"
    try:
        parsed = adapters.parse(stream)
    except TmemError as error:
        return Result("unread", f"{named}: {error.message}")
    commit = session.commits[0] if session.commits else repository.resolve("HEAD")
    try:
        done = compiled(repository, parsed, Target(commit))
    except TmemError as error:
        return Result(parsed.agent, f"{named}: {re.sub(r'/.*', 'elsewhere', error.message)}")
    if done.playbook is None:
        return Result(parsed.agent, f"{named}: {describe_missing(done.missing)}")
    edited = frozenset(step.path for step in done.playbook.steps if step.kind == MUTATE)
    commits = exactly(repository.git, session.commits) if session.commits else []
    committed = frozenset(change.path for one in commits for change in one.changes)
    return Result(parsed.agent, named, edited, committed, len(done.playbook.repairs))


def checkpointed(clone: str) -> list[Checkpointed]:
    """The sessions of the checkpoint branch, the longest log of each."""
    ref = next(
        ref
        for ref in (_BRANCH, f"origin/{_BRANCH}")
        if _git(clone, "rev-parse", "-q", "--verify", ref)
    )
    named = _named(clone)
    longest: dict[str, tuple[int, str]] = {}
    commits: dict[str, list[str]] = defaultdict(list)
    for line in _git(clone, "ls-tree", "-r", "-l", ref).splitlines():
        head, path = line.split("\t")
        match = _FOLDER.match(path)
        if not match or not head.split()[3].isdecimal():  # BAD: not in this clone
            continue
        told = _json(_git(clone, "show", f"{ref}:{match['name']}/{match['part']}/metadata.json"))
        name = str(told.get("session_id") or path)
        _, _, blob, size = head.split()
        longest[name] = max(longest.get(name, (0, "")), (int(size), blob))
        commits[name] += named.get(match["name"].replace("/", ""), [])
    order = {commit: place for place, commit in enumerate(_git(clone, "rev-list", "--all").split())}
    return [
        Checkpointed(name, blob, size, tuple(sorted(set(commits[name]), key=order.__getitem__)))
        for name, (size, blob) in sorted(longest.items())
    ]


def _named(clone: str) -> dict[str, list[str]]:
    """Commits by the checkpoint that their trailer names."""
    shape = "%H %(trailers:key=Entire-Checkpoint,valueonly,separator=%x20)"
    found: dict[str, list[str]] = defaultdict(list)
    for line in _git(clone, "log", "--all", "--no-merges", f"--format={shape}").splitlines():
        commit, *names = line.split()
        for name in names:
            found[name].append(commit)
    return found


def by_agent(results: list[Result]) -> list[tuple[str, list[Result]]]:
    """The results by agent, all of them first."""
    agents = sorted({result.agent for result in results})
    return [("all", results)] + [(a, [one for one in results if one.agent == a]) for a in agents]


def row(clone: str, agent: str, group: list[Result]) -> list[str]:
    """One line of the table; precision and recall over sessions that commits name."""
    kept = [one for one in group if one.edited or one.outcome in ("named", "unnamed")]
    named = [one for one in group if one.outcome.startswith("named")]
    sure = [one for one in kept if one.committed]
    both = sum(len(one.edited & one.committed) for one in sure)
    edited, committed = (
        sum(len(one.edited) for one in sure),
        sum(len(one.committed) for one in sure),
    )
    return [
        clone.rstrip("/").rpartition("/")[2],
        agent,
        str(len(group)),
        str(len(named)),
        str(len(kept)),
        str(len(sure)),
        f"{both / edited:.3f}" if edited else "-",
        f"{both / committed:.3f}" if committed else "-",
        str(sum(one.repairs for one in kept)),
    ]


def refusals(results: list[Result]) -> list[tuple[str, int]]:
    """Why sessions gave nothing, the most frequent first."""
    return Counter(one.outcome for one in results if ": " in one.outcome).most_common()


def _git(clone: str, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", clone, *arguments], capture_output=True, check=False)
    return done.stdout.decode("utf-8", "replace").strip()


def _json(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


if __name__ == "__main__":
    main()
