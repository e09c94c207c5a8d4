"""The store against git itself: appends, import, reading, and what the user's own git notices."""

from __future__ import annotations

import argparse
import itertools
import os
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lookup import idle
from timing import process, side_by_side, table

from git_tmem.git import discover
from git_tmem.install import install
from git_tmem.merge import SIZE_LIMIT
from git_tmem.playbook import Playbook, Step, canonical, record_id, to_document
from git_tmem.repo import Repository
from git_tmem.store import MAIN, Store

_PERSON = {
    f"GIT_{role}_{part}": value
    for role in ("AUTHOR", "COMMITTER")
    for part, value in (("NAME", "Ada"), ("EMAIL", "ada@example.org"))
}
_ENV = {**os.environ, **_PERSON, "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "gc.auto",
        "GIT_CONFIG_VALUE_0": "0"}  # fmt: skip


def main() -> None:
    """Print the table of medians and ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--many", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=21)
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder)
        few, many, none = (made(top / name) for name in ("few", "many", "none"))
        fill(few, 1_000)
        fill(many, options.many)
        rows += appends(few, many, options)
        rows += imports(top, 10_000, max(3, options.runs // 4))
        rows += reads(top / "read", 10_000, max(5, options.runs // 3))
        rows += own_git(none, many, options)
        rows += commits(top, options.runs)
    print(table(["what", "against", "median", "ratio", "aim"], rows))


def git(folder: Path, *arguments: str, data: bytes = b"") -> bytes:
    """Output of a git that must succeed."""
    command = ["git", "-C", str(folder), *arguments]
    return subprocess.run(command, input=data, env=_ENV, check=True, capture_output=True).stdout


def made(folder: Path) -> Path:
    """A repository of some size with an origin."""
    folder.mkdir()
    git(folder, "init", "-q")
    for number in range(500):
        path = folder / f"d{number % 20}" / f"f{number}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"x = {number}\n", encoding="utf-8")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "first")
    for number in range(200):
        git(folder, "commit", "-q", "--allow-empty", "-m", f"commit {number}")
    bare = f"{folder}.git"
    git(folder, "clone", "-q", "--bare", ".", bare)
    git(folder, "remote", "add", "origin", bare)
    return folder


def document(number: int) -> dict[str, Any]:
    """A record of about a kilobyte."""
    words = " ".join(f"word{number * 7 + place}" for place in range(30))
    step = Step("MUTATE", f"f{number % 500}.py", reason=words)
    title, session = f"Record {number}", f"session-{number}"
    return to_document(Playbook(title, "claude-code", session, intent=(words,), steps=(step,)))


def record(number: int) -> bytes:
    """The bytes of a record."""
    return canonical(document(number))


def fill(folder: Path, count: int) -> None:
    """Records in one commit, as an import makes it."""
    put_all(folder, [record(number) for number in range(count)])


def put_all(folder: Path, records: list[bytes]) -> None:
    """One batch by the store."""
    with Repository.open(str(folder)) as repository:
        edits = {}
        for data in records:
            name = record_id(data)
            edits[f"mem/{name[:2]}/{name}.json"] = repository.write_blob(data)
        Store(repository).publish(MAIN, lambda _: edits, "records\n")


def objects_size(folder: Path) -> int:
    """Bytes of all object files."""
    found = (folder / ".git" / "objects").rglob("*")
    return sum(path.stat().st_size for path in found if path.is_file())


def appends(few: Path, many: Path, options: argparse.Namespace) -> list[list[str]]:
    """One record more, in a small and in a large store, by a process that runs already."""
    numbers = itertools.count(10_000_000)
    before = objects_size(many)
    with Repository.open(str(few)) as small, Repository.open(str(many)) as large:

        def one(store: Store) -> Callable[[], object]:
            return lambda: store.put(document(next(numbers)))

        times = side_by_side(options.runs, one(Store(small)), one(Store(large)))
    growth = (objects_size(many) - before) / (options.runs + 1) / 1024
    return [
        row(f"append at {options.many:,} records", "append at 1,000", times, "3x"),
        [f"growth of that append, {growth:.0f} KiB", "", "", "", "64 KiB"],
    ]


def imports(top: Path, count: int, runs: int) -> list[list[str]]:
    """Many records at once, and the same blobs by git fast-import, each to a new repository."""
    records = [record(number) for number in range(count)]
    parts = [
        b"commit refs/tmem/main\ncommitter Ada <ada@example.org> 1700000000 +0000\ndata 2\nx\n"
    ]
    for data in records:
        name = record_id(data).encode()
        path = b"mem/%s/%s.json" % (name[:2], name)
        parts.append(b"M 100644 inline %s\ndata %d\n%s\n" % (path, len(data), data))
    stream = b"".join(parts)
    numbers = itertools.count()
    fresh = [top / f"import{number}" for number in range(2 * (runs + 1))]
    for folder in fresh:
        folder.mkdir()
        git(folder, "init", "-q")

    def theirs() -> None:
        git(fresh[next(numbers)], "fast-import", "--quiet", data=stream)

    times = side_by_side(runs, theirs, lambda: put_all(fresh[next(numbers)], records))
    return [row(f"import of {count:,} records", "git fast-import", times, "2x")]


def reads(folder: Path, count: int, runs: int) -> list[list[str]]:
    """All records, and the same by git cat-file."""
    folder.mkdir()
    git(folder, "init", "-q")
    fill(folder, count)
    with Repository.open(str(folder)) as repository:

        def ours() -> None:
            files = repository.files(repository.tree_of(repository.ref(MAIN)))
            entries = [(path, oid) for path, (_, oid) in files.items()]
            assert sum(1 for _ in repository.git.blobs(entries, SIZE_LIMIT)) == count + 1

        def theirs() -> None:
            lines = git(folder, "ls-tree", "-r", MAIN).splitlines()
            asked = b"".join(line.split()[2] + b"\n" for line in lines)
            git(folder, "cat-file", "--batch", "--buffer", data=asked)

        times = side_by_side(runs, theirs, ours)
    return [row(f"read of all {count:,} records", "git cat-file --batch", times, "1.5x")]


def own_git(none: Path, many: Path, options: argparse.Namespace) -> list[list[str]]:
    """The user's own commands, in repositories that differ in their records alone."""
    rows = []
    for words in (["status"], ["log", "--oneline"], ["fetch", "-q", "origin"]):
        command = ["git", *words]
        work = [process(command, str(folder), _ENV) for folder in (none, many)]
        times = side_by_side(3 * options.runs, *work)
        text = f"git {words[0]} with {options.many:,} records"
        rows.append(row(text, "without any", times, "1.05x"))
    return rows


def commits(top: Path, runs: int) -> list[list[str]]:
    """The foreground of a commit, with our hook and without; what the hook starts in the
    background does nothing here, because it would be timed with whatever runs next."""
    plain, hooked = made(top / "plain"), made(top / "hooked")
    install(discover(str(hooked)))
    env = {**_ENV, **_PERSON, "PATH": idle(str(hooked))["PATH"]}
    command = ["git", "commit", "-q", "--allow-empty", "-m", "more"]
    work = [process(command, str(folder), env) for folder in (plain, hooked)]
    return [row("git commit with our hook", "without", side_by_side(2 * runs, *work), "1.3x")]


def row(what: str, against: str, times: list[float], aim: str) -> list[str]:
    """A line of the table, from the times of theirs and ours."""
    theirs, ours = times
    cells = f"{theirs * 1000:.1f} → {ours * 1000:.1f} ms"
    return [what, against, cells, f"{ours / theirs:.2f}x", aim]


if __name__ == "__main__":
    main()
