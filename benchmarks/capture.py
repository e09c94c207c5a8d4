"""Capture in MB/s, against one plain ``json.loads`` pass over the same log."""

from __future__ import annotations

import argparse
import itertools
import json
import os
import resource
import subprocess
import sysconfig
import tempfile

from timing import process, side_by_side, table

from git_tmem.actions import MUTATE
from git_tmem.adapters import parse
from git_tmem.capture import capture
from git_tmem.repo import Repository
from git_tmem.store import STORED

_NUMBERS = itertools.count()


def main() -> None:
    """Print the table: the log given (or a made one), and a made one of 200 MB."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("log", nargs="?", help="a session log; without one, 20 MB are made")
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--megabytes", type=int, default=200, help="size of the long log")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = os.path.join(scratch, "made")
        log = options.log or make_log(scratch, folder, 20)
        long_log = make_log(scratch, folder, options.megabytes)
        make_repository(folder, long_log)
        given = os.path.join(scratch, "given")
        make_repository(given, log)
        rows = [row(os.path.basename(log), log, given, options.runs)]
        rows.append(row(f"made, {options.megabytes} MB", long_log, folder, 3))
        print(table(["log", "size", "json.loads", "parse", "capture"], rows))
        print(f"\npeak memory of git tmem capture on the long log: {peak(long_log, folder)} MB")


def row(name: str, log: str, folder: str, runs: int) -> list[str]:
    """One line of the table."""
    size = os.path.getsize(log) / 1e6
    with Repository.open(folder) as repository:
        plain, parsed, captured = side_by_side(
            runs, lambda: read(log), lambda: load(log), lambda: whole(repository, log)
        )
    cells = [
        f"{size / seconds:.0f} MB/s ({seconds / plain:.2f}x)" for seconds in (parsed, captured)
    ]
    return [name, f"{size:.1f} MB", f"{size / plain:.0f} MB/s", *cells]


def read(log: str) -> None:
    """The pass that is compared with."""
    with open(log, "rb") as stream:
        for line in stream:
            json.loads(line)


def load(log: str) -> None:
    """The adapter alone."""
    with open(log, "rb") as stream:
        parse(stream)


def whole(repository: Repository, log: str) -> None:
    """All of capture, writing included: each time as another session, so that it is stored."""
    with open(log, "rb") as stream:
        session = parse(stream)
    done = capture(repository, session._replace(id=str(next(_NUMBERS))))
    assert done.outcome == STORED, done.missing


def peak(log: str, folder: str) -> int:
    """The largest resident size of the command as a process, in MB."""
    program = os.path.join(sysconfig.get_path("scripts"), "git-tmem")
    process([program, "capture", "--session", log], folder)()
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024


def make_repository(folder: str, log: str) -> None:
    """A repository with the files that the log edits, holding the lines it added."""
    with open(log, "rb") as stream:
        session = parse(stream)
    subprocess.run(["git", "init", "-q", folder], check=True)
    for action in session.actions:
        if action.kind == MUTATE and action.path.startswith(f"{session.cwd}/"):
            path = os.path.join(folder, os.path.relpath(action.path, session.cwd))
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "a", encoding="utf-8") as out:
                out.writelines(f"{line}\n" for hunk in action.hunks for line in hunk.added)
    subprocess.run(["git", "-C", folder, "add", "."], check=True)
    person = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    subprocess.run(["git", "-C", folder, *person, "commit", "-qm", "first"], check=True)


def make_log(scratch: str, folder: str, megabytes: int) -> str:
    """A log of ordinary steps in ``folder``: runs with output, and one edit near the end."""
    path = os.path.join(scratch, f"log{megabytes}.jsonl")
    output = "collected 40 items; all of them are fine, and here is some text about it\n" * 120
    size, number = 0, 0
    with open(path, "w", encoding="utf-8") as stream:
        while size < megabytes * 1_000_000:
            number += 1
            for record in _run(folder, number, f"pytest -q part{number}", output):
                size += stream.write(json.dumps(record) + "\n")
        for record in (
            *_edit(folder, number + 1),
            *_run(folder, number + 2, "pytest -q", "1 passed"),
        ):
            stream.write(json.dumps(record) + "\n")
    return path


def _record(
    folder: str, kind: str, number: int, block: object, **more: object
) -> dict[str, object]:
    return {
        "type": kind,
        "uuid": f"{kind}-{number}",
        "sessionId": "made",
        "cwd": folder,
        "timestamp": "2026-01-02T03:04:05.000Z",
        "message": {"role": kind, "content": [block]},
        **more,
    }


def _run(folder: str, number: int, command: str, output: str) -> list[dict[str, object]]:
    call = {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {"command": command}}
    answer = {"type": "tool_result", "tool_use_id": f"t{number}", "content": output}
    result = {"stdout": output, "stderr": "", "interrupted": False}
    return [
        _record(folder, "assistant", number, call),
        _record(folder, "user", number, answer, toolUseResult=result),
    ]


def _edit(folder: str, number: int) -> list[dict[str, object]]:
    old, new = "    return cart.total", "    return cart.total_of_all_lines"
    path = os.path.join(folder, "price.py")
    given = {"file_path": path, "old_string": old, "new_string": new}
    call = {"type": "tool_use", "id": f"t{number}", "name": "Edit", "input": given}
    answer = {"type": "tool_result", "tool_use_id": f"t{number}", "content": "done"}
    result = {"filePath": path, "oldString": old, "newString": new}
    return [
        _record(folder, "assistant", number, call),
        _record(folder, "user", number, answer, toolUseResult=result),
    ]


if __name__ == "__main__":
    main()
