"""``git tmem evaluate``: how well this repository's sessions are compiled, in figures."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterator, Sequence

import click

from git_tmem.capture import COMPILED, describe_missing
from git_tmem.commands.logs import found_logs, read_log
from git_tmem.commands.terminal import count, progress, say, say_json
from git_tmem.errors import InputError
from git_tmem.evaluation import Evaluated, evaluate, own_rank
from git_tmem.index import Index
from git_tmem.repo import Repository
from git_tmem.sessions import Log


@click.command()
@click.option("--agent", default="", metavar="NAME", help="Only sessions of this agent.")
@click.option("--since", default="", metavar="DATE", help="Only sessions that went on since then.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON for scripts.")
def command(agent: str, since: str, as_json: bool) -> None:
    """Measure how this repository's own sessions are compiled; nothing is stored.

    Each session is held against the newest commit made within an hour of its end. The table
    says how many give a playbook and why the others do not, how much smaller what is kept is
    than what was read and done, how many reads are left, whether the files that L0 says were
    edited are those that the commits changed, and how long it took. "own title" is the rank at
    which a stored record comes back for its own title: a smoke test, and no measure of recall.

    \b
    Examples:
      git tmem evaluate
      git tmem evaluate --agent claude-code --since "1 month ago"
      git tmem evaluate --json
    """
    with Repository.open() as repository:
        logs = found_logs(repository, agent, since)
        told = list(_evaluated(repository, logs))
        with Index(repository.layout) as index:
            ranks = [own_rank(index, row.number) for row in index.rows()]
    if as_json:
        say_json({"sessions": [one._asdict() for one in told], "own_title_ranks": ranks})
        return
    for name, figure in _rows(told, ranks):
        say(f"{name:<26} {figure}")


def _evaluated(repository: Repository, logs: Sequence[Log]) -> Iterator[Evaluated]:
    for log in progress(logs, "compiling sessions"):
        try:
            yield evaluate(repository, read_log(log))
        except InputError as error:
            yield Evaluated(log.agent, "", "refused", error.message, 0)


def _rows(told: Sequence[Evaluated], ranks: Sequence[int]) -> Iterator[tuple[str, str]]:
    kept = [one for one in told if one.outcome == COMPILED]
    yield "sessions", str(len(told))
    yield "with a playbook", f"{len(kept)} ({_share(len(kept), len(told))})"
    for reason, number in _refusals(told):
        yield "without one", f"{number}: {reason}"
    yield from _figures(kept) if kept else ()
    if ranks:
        first = sum(rank == 1 for rank in ranks)
        yield "own title comes first", f"{first} of {count(len(ranks), 'record')}"


def _figures(kept: Sequence[Evaluated]) -> Iterator[tuple[str, str]]:
    trace, card = sum(one.trace for one in kept), sum(one.card for one in kept)
    actions, steps = sum(one.actions for one in kept), sum(one.steps for one in kept)
    looks, reads = sum(one.looks for one in kept), sum(one.reads for one in kept)
    edited, committed = sum(one.edited for one in kept), sum(one.committed for one in kept)
    both = sum(one.both for one in kept)
    yield "steps of actions", f"{steps} of {actions} ({_share(steps, actions)})"
    yield "tokens of the trace", f"{card} of {trace} ({_share(card, trace)})"
    yield "reads left", f"{reads} of {looks} ({_share(reads, looks)})"
    yield "edited files in commits", f"{both} of {edited} ({_share(both, edited)})"
    yield "committed files in L0", f"{both} of {committed} ({_share(both, committed)})"
    yield "repairs", str(sum(one.repairs for one in kept))
    yield "seconds a session", f"{statistics.median(one.seconds for one in kept):.2f} (median)"


def _refusals(told: Sequence[Evaluated]) -> list[tuple[str, int]]:
    reasons: Counter[str] = Counter()
    for one in told:
        if one.outcome != COMPILED:
            reasons[one.missing if one.outcome == "refused" else describe_missing(one.missing)] += 1
    return reasons.most_common()


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.0%}" if whole else "-"
