"""An agent's hook as a whole process, against the bare interpreter, as records grow."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable

from lookup import make_repository
from timing import side_by_side, table


def main() -> None:
    """Print the table of medians and ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, nargs="*", default=[10, 10_000, 100_000])
    parser.add_argument("--runs", type=int, default=31)
    options = parser.parse_args()
    rows = []
    for records in options.records:
        with tempfile.TemporaryDirectory() as folder:
            make_repository(folder, records)
            bare = called([sys.executable, "-c", "pass"], folder, lambda: b"")
            idle = hook(folder, "PostToolUse", tool_name="Bash", tool_input={"command": "ls"})
            none = hook(folder, "UserPromptSubmit", prompt="nothing of the kind")
            error = "Exit code 1\nTraceback (most recent call last):\nKeyError: 'price_7'\n"
            words = "KeyError: 'price_7' in the checkout"
            given = hook(folder, "UserPromptSubmit", prompt=words, error=error)
            assert given(), "the hook that injects says something"
            times = side_by_side(options.runs, bare, idle, none, given)
        cells = [f"{seconds * 1000:.1f} ms ({seconds / times[0]:.2f}x)" for seconds in times[1:]]
        rows.append([f"{records:,}", f"{times[0] * 1000:.1f} ms", *cells])
    head = ["records", "bare interpreter", "no concern", "prompt, nothing found", "injecting"]
    print(table(head, rows))


def hook(folder: str, event: str, **fields: object) -> Callable[[], bytes]:
    """One hook of Claude Code; each call is of a session of its own, so that it is told anew."""
    program = os.path.join(sysconfig.get_path("scripts"), "git-tmem")
    count = iter(range(1 << 30))

    def payload() -> bytes:
        session = f"{event}-{next(count)}"
        _known(folder, session)
        return json.dumps({"session_id": session, "cwd": folder, **fields}).encode()

    return called([program, "hook", "claude-code", event], folder, payload)


def _known(folder: str, session: str) -> None:
    """A session that has begun: its index block is not part of what is measured."""
    path = os.path.join(folder, ".git", "tmem", "sessions")
    os.makedirs(path, exist_ok=True)
    state = {
        "session": session, "started": True, "index": "", "tip": "", "shown": [], "paths": [],
        "errors": {}, "edited": False, "asked": False, "waiting": [],
    }  # fmt: skip
    with open(os.path.join(path, f"{session}.json"), "w", encoding="ascii") as stream:
        json.dump(state, stream)


def called(command: list[str], folder: str, payload: Callable[[], bytes]) -> Callable[[], bytes]:
    """A whole process with its input; what it wrote."""
    return lambda: (
        subprocess.run(command, cwd=folder, input=payload(), capture_output=True, check=True).stdout
    )


if __name__ == "__main__":
    main()
