"""Tries to lose a record: ``python -m benchmarks.stress --minutes 5``.

Writers in several worktrees, some forgetting, two clones that push and fetch, ``git gc`` (now
and then ``--prune=now``) and ``pack-refs``, all at once, and a hand that kills any of the
writers and fetchers at random moments. A line that a writer printed acknowledges what it stored
or forgot. At the end everything acknowledged must be there, everything forgotten must be gone,
after a fetch by a new clone as well, and ``git fsck --full --strict`` must be silent.
"""

from __future__ import annotations

import argparse
import collections
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from git_tmem import remote
from git_tmem.errors import RemoteError
from git_tmem.git import Layout, discover
from git_tmem.repo import Repository
from git_tmem.store import MAIN, Store

#: What runs as a process of its own; it prints a line for each thing that is done.
_WRITER = """
import sys
from git_tmem.errors import StoreError
from git_tmem.playbook import Playbook, Step, to_document
from git_tmem.repo import Repository
from git_tmem.store import Store
folder, name = sys.argv[1:]
with Repository.open(folder) as repository:
    store, done = Store(repository), []
    for number in range(10**9):
        title = f"{name} {number}"
        book = Playbook(title, "generic", title, intent=(title,), steps=(Step("READ", "a.py"),))
        try:
            done.append(store.put(to_document(book)).id)
            print("put", done[-1], flush=True)
            if number % 4 == 3:
                print("forget", done[0], flush=True)  # asked: it may be gone from here on
                store.forget(done[0], "stress", title, title)
                print("forgot", done.pop(0), flush=True)
        except StoreError as error:
            print("kept" if "journal" in error.message else "refused", flush=True)
"""
_SHARER = """
import sys
from git_tmem.errors import RemoteError, StoreError
from git_tmem.remote import fetch, push
from git_tmem.repo import Repository
while True:
    with Repository.open(sys.argv[1]) as repository:
        for work in (fetch, push):
            try:
                work(repository, "origin")
                print(work.__name__, flush=True)
            except (RemoteError, StoreError) as error:
                print(work.__name__, "refused:", error.message, file=sys.stderr, flush=True)
"""
_QUIET = {"GIT_AUTHOR_NAME": "Ada", "GIT_AUTHOR_EMAIL": "ada@example.org",
          "GIT_COMMITTER_NAME": "Ada", "GIT_COMMITTER_EMAIL": "ada@example.org"}  # fmt: skip
#: Seconds after which a lock that a killed process left is cleared, as the doctor does later.
_STALE = 2.0


class Tally:
    """What the processes said, counted and by id."""

    def __init__(self) -> None:
        self.put: set[str] = set()
        self.asked: set[str] = set()
        self.forgot: set[str] = set()
        self.counts: collections.Counter[str] = collections.Counter()
        self.said: collections.Counter[str] = collections.Counter()
        self._lock = threading.Lock()

    def hear(self, line: str) -> None:
        """One line of a process; a line that a kill cut short says nothing."""
        word, _, record = line.rstrip("\n").partition(" ")
        with self._lock:
            self.counts[word] += 1
            if line.endswith("\n") and len(record) == 64:
                {"put": self.put, "forget": self.asked, "forgot": self.forgot}[word].add(record)


def main() -> int:
    """Run, print the tally, and exit 1 when anything was lost."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--writers", type=int, default=4)
    parser.add_argument("--seed", type=int, default=None, help="of the kills; printed")
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.randrange(10**6)
    os.environ.update(_QUIET)
    with tempfile.TemporaryDirectory() as name:
        top = Path(name)
        folders = made(top, options.writers)
        tally = Tally()
        began = time.monotonic()
        run(folders, tally, random.Random(seed), options.minutes * 60)
        print(f"{(time.monotonic() - began) / 60:.1f} minutes, seed {seed}")
        return judge(top, folders, tally)


def git(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A git that may fail."""
    command = ["git", "-C", str(folder), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def made(top: Path, writers: int) -> list[Path]:
    """Two clones of one bare repository, one with linked worktrees: where writers work. The
    last folder is the second clone."""
    (top / "first").mkdir()
    git(top / "first", "init", "-q")
    git(top / "first", "commit", "-q", "--allow-empty", "-m", "first")
    git(top, "clone", "-q", "--bare", "first", "bare.git")
    git(top / "first", "remote", "add", "origin", str(top / "bare.git"))
    git(top, "clone", "-q", "bare.git", "second")
    folders = [top / "first"]
    for number in range(1, writers):
        git(top / "first", "worktree", "add", "-q", "--detach", str(top / f"tree{number}"))
        folders.append(top / f"tree{number}")
    return [*folders, top / "second"]


def run(folders: list[Path], tally: Tally, chance: random.Random, seconds: float) -> None:
    """Keep everything going until the time is up; then let it all end."""
    over = threading.Event()
    jobs: list[Callable[[], None]] = []
    for place, folder in enumerate(folders):
        seed = chance.random()
        jobs.append(keeper(_WRITER, folder, f"w{place}", tally, seed, over))
    jobs += [keeper(_SHARER, folders[place], "", tally, chance.random(), over) for place in (0, -1)]
    jobs += [tidier(folders[0], tally, over), tidier(folders[-1], tally, over)]
    threads = [threading.Thread(target=job) for job in jobs]
    for thread in threads:
        thread.start()
    over.wait(seconds)
    over.set()
    for thread in threads:
        thread.join()


def keeper(
    code: str, folder: Path, name: str, tally: Tally, seed: float, over: threading.Event
) -> Callable[[], None]:
    """Starts a process again and again, and kills it after a random time."""

    def keep() -> None:
        chance, life = random.Random(seed), 0
        while not over.is_set():
            life += 1
            command = [sys.executable, "-c", code, str(folder), *([f"{name}.{life}"] * bool(name))]
            child = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            )
            timer = threading.Timer(chance.uniform(0.5, 9), child.send_signal, [signal.SIGKILL])
            timer.start()
            out, err = child.communicate()
            timer.cancel()
            tally.counts["killed" if child.returncode == -signal.SIGKILL else "ended"] += 1
            for line in out.splitlines(keepends=True):
                tally.hear(line)
            for line in err.splitlines():
                tally.said[line] += 1

    return keep


def tidier(folder: Path, tally: Tally, over: threading.Event) -> Callable[[], None]:
    """Runs git's own housekeeping, and clears the locks of the killed, as git tmem doctor does
    after ten minutes."""
    works = (
        ("pack-refs", "--all"),
        ("gc", "-q"),
        ("pack-refs", "--all"),
        ("gc", "-q", "--prune=now"),
    )

    def tidy() -> None:
        turn = 0
        while not over.wait(1.0):
            clear_locks(discover(str(folder)))
            words = works[turn % len(works)]
            turn += 1
            git(folder, *words)
            tally.counts[" ".join(("git", *words))] += 1

    return tidy


def clear_locks(layout: Layout, age: float = _STALE) -> None:
    """Take away what killed processes left on our refs, and on packed-refs."""
    top = Path(layout.common_dir)
    locks = [*top.glob("refs/tmem*/**/*.lock"), *top.glob("refs/notes/*.lock")]
    for lock in [*locks, top / "packed-refs.lock", top / "gc.pid"]:
        try:
            if time.time() - lock.stat().st_mtime > age:
                lock.unlink()
        except OSError:
            continue


def judge(top: Path, folders: list[Path], tally: Tally) -> int:
    """Bring everything together, compare it with what was acknowledged, and say so."""
    first, second = folders[0], folders[-1]
    time.sleep(_STALE)
    for folder in (first, second):
        clear_locks(discover(str(folder)), 0)
        with Repository.open(str(folder)) as repository:
            Store(repository).replay(set())
    for folder in (first, second, first, second):
        share(folder)
    git(top, "clone", "-q", "bare.git", "third")
    share(top / "third")
    wrong = 0
    for folder in (first, second, top / "third"):
        live = held(folder)
        lost = tally.put - tally.asked - live
        back = tally.forgot & live
        faults = git(folder, "fsck", "--full", "--strict", "--no-dangling")
        said = (faults.stdout + faults.stderr).strip()
        wrong += len(lost) + len(back) + bool(said) + (faults.returncode != 0)
        print(f"{folder.name}: {len(live)} records, {len(lost)} lost, {len(back)} came back, "
              f"fsck {'clean' if not said else said[:300]}")  # fmt: skip
    tips = {git(folder, "rev-parse", MAIN).stdout for folder in (first, second, top / "third")}
    wrong += len(tips) != 1
    print(f"tips: {'one' if len(tips) == 1 else 'DIFFERENT'}")
    print(f"acknowledged: {len(tally.put)} put, {len(tally.forgot)} forgotten")
    print(", ".join(f"{count} {word}" for word, count in sorted(tally.counts.items())))
    for line, count in tally.said.most_common(8):
        print(f"  said {count} times: {line[:200]}")
    return min(wrong, 1)


def share(folder: Path) -> None:
    """Fetch, and push what others lack."""
    with Repository.open(str(folder)) as repository:
        try:
            remote.fetch(repository, "origin")
            remote.push(repository, "origin")
        except RemoteError as error:
            print(f"{folder.name}: {error.message}")


def held(folder: Path) -> set[str]:
    """The ids of the records in a repository."""
    paths = git(folder, "ls-tree", "-r", "--name-only", MAIN).stdout.splitlines()
    return {path[7:71] for path in paths if path.startswith("mem/")}


if __name__ == "__main__":
    sys.exit(main())
