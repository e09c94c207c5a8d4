"""A hundred random schedules of five clones, each of which must end in one tip.

The clones push to and fetch from a real remote by the real git; what they do is drawn from
a seed that a failing test names. Between two schedules everything of git-tmem is taken away,
which is quicker than to clone anew.
"""

from __future__ import annotations

import os
import random
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from git_tmem import remote
from git_tmem.repo import Repository
from git_tmem.store import FORGOTTEN, MAIN, NOTES, Store, note_line
from tests.conftest import run_git
from tests.samples import document

_GROUPS = 10
_SCHEDULES = 10
_STEPS = 8


class Clone(NamedTuple):
    """A clone, and the commit its notes are on."""

    repository: Repository
    store: Store
    head: str


@pytest.fixture
def bare(repo: Path) -> Iterator[Path]:
    """A bare repository and its clones, in memory where that can be: disks are tried elsewhere."""
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory) as name:
        folder = Path(name)
        run_git(folder, "clone", "-q", "--bare", str(repo), "bare.git")
        for number in range(5):
            run_git(folder, "clone", "-q", f"file://{folder}/bare.git", f"clone{number}")
        yield folder / "bare.git"


@pytest.mark.parametrize("group", range(_GROUPS))
def test_random_schedules_of_five_clones_end_in_one_tip(bare: Path, group: int) -> None:
    head = run_git(bare, "rev-parse", "HEAD")
    for seed in range(group * _SCHEDULES, (group + 1) * _SCHEDULES):
        folders = [bare.parent / f"clone{number}" for number in range(5)]
        wipe(bare)
        for folder in folders:
            wipe(folder / ".git")
        opened = [Repository.open(str(folder)) for folder in folders]
        clones = [Clone(one, Store(one), head) for one in opened]
        made, forgotten = played(clones, random.Random(seed))
        for clone in clones:
            remote.push(clone.repository, "origin")
        for clone in clones:
            remote.fetch(clone.repository, "origin")
        for ref in (MAIN, NOTES):
            assert len({clone.repository.ref(ref) for clone in clones}) == 1, f"seed {seed}: {ref}"
        tip = opened[0].tree_of(opened[0].ref(MAIN)) if made else ""
        held = {path[7:71] for path in opened[0].files(tip) if path.startswith("mem/")}
        assert held == made - forgotten, f"seed {seed}"
        lines = clones[0].store.notes([head]).get(head, [])
        assert {line[:12] for line in lines} == {record[:12] for record in held}, f"seed {seed}"
        for one in opened:
            one.__exit__()
    assert run_git(bare, "fsck", "--strict", "--no-dangling") == ""


def played(clones: list[Clone], chance: random.Random) -> tuple[set[str], set[str]]:
    """What a schedule stored and what it forgot, as ids."""
    made: set[str] = set()
    forgotten: set[str] = set()
    for _ in range(_STEPS):
        clone = chance.choice(clones)
        deed = chance.choice(["put", "put", "push", "fetch", "forget"])
        if deed == "put":  # of few names, so that two clones make the same record at times
            done = clone.store.put(document(f"part{chance.randrange(12)}"))
            made.add(done.id)
            if done.outcome != FORGOTTEN:
                clone.store.annotate({clone.head: [note_line(done.id, "part")]})
        elif deed == "push":
            remote.push(clone.repository, "origin")
        elif deed == "fetch":
            remote.fetch(clone.repository, "origin")
        elif here := records(clone):
            record = chance.choice(here)
            clone.store.forget(record, "wrong", "title", "session")
            clone.store.annotate({clone.head: []}, gone=[record])
            forgotten.add(record)
    return made, forgotten


def records(clone: Clone) -> list[str]:
    """The ids that a clone holds, in order."""
    tip = clone.store.tip()
    files = clone.repository.files(clone.repository.tree_of(tip)) if tip else {}
    return sorted(path[7:71] for path in files if path.startswith("mem/"))


def wipe(git_dir: Path) -> None:
    """Take away everything of git-tmem but objects, which are the same for all."""
    for name in ("tmem", *(f"{top}refs/{name}" for top in ("", "logs/") for name in _REFS)):
        shutil.rmtree(git_dir / name, ignore_errors=True)


_REFS = ("tmem", "notes", "tmem-local", "tmem-remote")
