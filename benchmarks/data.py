"""Readers for the data packs: xz-compressed JSON lines that lie outside the project."""

from __future__ import annotations

import argparse
import json
import lzma
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple


class Step(NamedTuple):
    """A command that an agent ran: its exit status, output (clipped) and stated reason."""

    cmd: str
    rc: int
    out: str
    why: str


class Recorded(NamedTuple):
    """A session of ``sessions.jsonl.xz``: an issue, the steps, and the patch it ended in.

    ``order`` stands for time; ``resolved`` is the verdict of tests the agent did not see.
    """

    id: str
    repo: str
    order: int
    issue: str
    resolved: bool
    patch: str
    steps: tuple[Step, ...]


def options(description: str | None) -> argparse.ArgumentParser:
    """A parser with ``--data`` and ``--quick``, which every benchmark on the packs takes."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--data", default=os.environ.get("TMEM_BENCH_DATA", ""), type=Path)
    parser.add_argument("--quick", action="store_true", help="every fifth row only")
    return parser


def require(folder: Path, *names: str) -> None:
    """Leave with status 0 and a word when the packs are not there."""
    if not str(folder) or not all((folder / name).is_file() for name in names):
        print("benchmark data not found, skipped (name its folder with --data)")
        sys.exit(0)


def rows(path: Path) -> Iterator[Mapping[str, Any]]:
    """The objects of one pack."""
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def sessions(folder: Path, quick: bool = False) -> list[Recorded]:
    """All recorded sessions, by repository and order."""
    found = [
        Recorded(**{**row, "steps": tuple(Step(**step) for step in row["steps"])})
        for row in rows(folder / "sessions.jsonl.xz")
    ]
    found.sort(key=lambda session: (session.repo, session.order, session.id))
    return found[::5] if quick else found


def as_log(session: Recorded) -> bytes:
    """The session as a log that the generic adapter reads."""
    head = {"type": "session", "id": session.id, "cwd": "/testbed"}
    events: list[dict[str, object]] = [head, {"type": "prompt", "text": session.issue}]
    for step in session.steps:
        events.append({"type": "say", "text": step.why})
        run = {"type": "run", "command": step.cmd, "exit_code": step.rc, "output": step.out}
        events.append(run)
    return "".join(f"{json.dumps(event)}\n" for event in events).encode()


_FILE = re.compile(r"^diff --git a/(\S+) b/(\S+)$", re.M)
_HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


class Change(NamedTuple):
    """A file of a patch: its lines before and after, None where there is no file.

    Lines that the patch does not show are stood for by ``<filler N>``.
    """

    path: str
    before: list[str] | None
    after: list[str] | None


def changes(patch: str) -> list[Change]:
    """The files of a unified diff, as far as it shows them."""
    starts = [*_FILE.finditer(patch)]
    ends = [match.start() for match in starts[1:]]
    return [
        _change(match[2], patch[match.end() : end].splitlines())
        for match, end in zip_longest(starts, ends)
    ]


def _change(path: str, lines: list[str]) -> Change:
    before: list[str] = []
    after: list[str] = []
    for line in lines:
        hunk = _HUNK.match(line)
        if hunk:
            gap = int(hunk[1]) - 1 - len(before)
            filler = [f"# <filler {len(before) + at}>" for at in range(gap)]
            before += filler
            after += filler
        elif line[:1] in (" ", "-") and not line.startswith("--- "):
            before.append(line[1:])
        if line[:1] in (" ", "+") and not line.startswith("+++ "):
            after.append(line[1:])
    new = any(line.startswith("new file mode") for line in lines)
    gone = any(line.startswith("deleted file mode") for line in lines)
    return Change(path, None if new else before, None if gone else after)


def import_sessions(folder: Path, found: list[Recorded]) -> dict[str, str]:
    """Make a repository with a branch of two commits, before and after, for each session.

    Returns the commit after, by the session's id.
    """
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    marks = folder / "marks"
    stream = b"".join(_branch(number, session) for number, session in enumerate(found))
    load = ["git", "-C", str(folder), "fast-import", "--quiet", f"--export-marks={marks}"]
    subprocess.run(load, input=stream, check=True)
    ids = dict(line.split() for line in marks.read_text().splitlines())
    marks.unlink()
    return {session.id: ids[f":{2 * number + 2}"] for number, session in enumerate(found)}


def _branch(number: int, session: Recorded) -> bytes:
    ref = f"refs/heads/s{number}".encode()
    before, after = [], []
    for change in changes(session.patch):
        before.append(_entry(change.path, change.before))
        after.append(_entry(change.path, change.after))
    first = _commit(ref, 2 * number + 1, "before", b"".join(before))
    return b"reset %s\n" % ref + first + _commit(ref, 2 * number + 2, "after", b"".join(after))


def _entry(path: str, lines: list[str] | None) -> bytes:
    if lines is None:
        return f"D {path}\n".encode()
    text = "".join(f"{line}\n" for line in lines).encode()
    return f"M 100644 inline {path}\ndata {len(text)}\n".encode() + text + b"\n"


def _commit(ref: bytes, mark: int, subject: str, entries: bytes) -> bytes:
    person = b"Ada <ada@example.org> %d +0000" % (1_700_000_000 + mark)
    head = b"commit %s\nmark :%d\ncommitter %s\n" % (ref, mark, person)
    return head + b"data %d\n%s\n" % (len(subject), subject.encode()) + entries + b"\n"
