"""A lookup as a whole process, against the bare interpreter, at growing numbers of records."""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import sysconfig
import tempfile

from timing import process, side_by_side, table

from git_tmem import trust
from git_tmem.git import discover
from git_tmem.index import Index
from git_tmem.playbook import Playbook, Probe, Repair, Step, canonical, record_id, to_document
from git_tmem.probes import build
from git_tmem.repo import Repository
from git_tmem.store import MAIN, Store
from git_tmem.worktree import WorktreeView

_WORDS = """
    cart checkout price coupon invoice parser token session cache index retry timeout socket
    client server request header cookie render template schema migration queue worker signal
    thread lock buffer stream decode encode locale currency rounding discount basket
""".split()


def main() -> None:
    """Print the table of medians and ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, nargs="*", default=[10, 1_000, 10_000])
    parser.add_argument("--runs", type=int, default=21)
    options = parser.parse_args()
    program = os.path.join(sysconfig.get_path("scripts"), "git-tmem")
    rows = []
    for records in options.records:
        with tempfile.TemporaryDirectory() as folder:
            make_repository(folder, records)
            found = process([program, "lookup", "KeyError: 'price_7' in the checkout"], folder)
            silent = process([program, "lookup", "nothing of the kind"], folder)
            shim = process(
                [os.path.join(folder, ".git", "hooks", "post-commit")], folder, idle(folder)
            )
            bare = process([sys.executable, "-c", "pass"], folder)
            times = side_by_side(options.runs, bare, found, silent, shim)
        cells = [f"{seconds * 1000:.1f} ms ({seconds / times[0]:.2f}x)" for seconds in times[1:]]
        rows.append([f"{records:,}", f"{times[0] * 1000:.1f} ms", *cells])
    head = ["records", "bare interpreter", "lookup, 3 found", "lookup, none", "post-commit shim"]
    print(table(head, rows))


def idle(folder: str) -> dict[str, str]:
    """An environment whose ``git-tmem`` does nothing: what the hook starts in the background
    would otherwise be timed with whatever runs next."""
    place = os.path.join(folder, ".git", "idle")
    os.makedirs(place, exist_ok=True)
    path = os.path.join(place, "git-tmem")
    with open(path, "w", encoding="utf-8") as stream:
        stream.write("#!/bin/sh\n")
    os.chmod(path, 0o700)
    return {**os.environ, "PATH": f"{place}{os.pathsep}{os.environ['PATH']}"}


def make_repository(folder: str, records: int) -> None:
    """A repository with a few source files and that many records, indexed, with the hook."""
    run = ["git", "-C", folder]
    subprocess.run([*run, "init", "-q"], check=True)
    for number in range(50):
        path = os.path.join(folder, f"module_{number}.py")
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(f"def price_{number}(cart):\n    return cart.total\n")
    subprocess.run([*run, "add", "."], check=True)
    person = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    subprocess.run([*run, *person, "commit", "-qm", "first"], check=True)
    chance = random.Random(7)
    with Repository.open(folder) as repository:
        view = WorktreeView(repository.layout)
        guards = [build(steps(number, ["", ""]), view) for number in range(50)]
        books = (playbook(number, chance, guards[number % 50]) for number in range(records))
        data = [canonical(to_document(book)) for book in books]
        blobs = {record_id(one): one for one in data}
        edits = {
            f"mem/{name[:2]}/{name}.json": repository.write_blob(one) for name, one in blobs.items()
        }
        Store(repository)._publish(MAIN, lambda _: edits, "records\n")
        trust.mark_own(Store(repository), blobs)
    with Index(discover(folder)) as index:
        assert index.count() == records, index.damaged()[:1]
    subprocess.run([*run, "tmem", "init"], check=True, capture_output=True)


def steps(number: int, words: list[str]) -> tuple[Step, ...]:
    """What was done to one of the files."""
    path, symbol = f"module_{number % 50}.py", f"price_{number % 50}"
    return (
        Step("READ", path),
        Step("MUTATE", path, symbols=(symbol,), diff=(f"+ {words[0]}",), reason=words[1]),
        Step("VERIFY", command="pytest -q"),
    )


def playbook(number: int, chance: random.Random, probes: tuple[Probe, ...]) -> Playbook:
    """A record of ordinary size about one of the files."""
    words = chance.sample(_WORDS, 12)
    symbol = f"price_{number % 50}"
    return Playbook(
        title=f"{' '.join(words[:6])} {number}",
        agent="claude-code",
        session=f"session-{number}",
        ended=1_700_000_000 + number,
        intent=(" ".join(words),),
        steps=steps(number, words),
        files=(f"module_{number % 50}.py",),
        checks=("pytest -q",),
        repairs=(
            Repair(f"KeyError: '{symbol}'", f"k{number}", f"n{number % 500}", "code", "", (), ""),
        ),
        probes=probes,
    )


if __name__ == "__main__":
    main()
