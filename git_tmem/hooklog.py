"""The log of what ran unseen: one redacted line an event, in git-tmem's own folder."""

from __future__ import annotations

import contextlib
import os
import time

from git_tmem.errors import TmemError
from git_tmem.git import Git, Layout
from git_tmem.redact import own_patterns, redact

#: Bytes after which the log starts over; the one before is kept as ``hook.log.1``.
_LIMIT = 256 * 1024


def path_of(layout: Layout) -> str:
    """Where the log is."""
    return os.path.join(layout.own_dir, "hook.log")


def write(layout: Layout, line: str) -> None:
    """Append one line with the time; a log that cannot be written stops nobody."""
    path = path_of(layout)
    text = _clean(layout, " ".join(line.split()))[:1000]
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    with contextlib.suppress(OSError):
        os.makedirs(layout.own_dir, exist_ok=True)
        if os.path.exists(path) and os.path.getsize(path) > _LIMIT:
            os.replace(path, f"{path}.1")
        with open(path, "a", encoding="utf-8", errors="replace") as stream:
            stream.write(f"{stamp} {text}\n")


def _clean(layout: Layout, line: str) -> str:
    try:
        return redact(line, own_patterns(Git(layout).configs("tmem.redact")))
    except TmemError as error:  # without the patterns nothing can be known to be clean
        return error.message


def last(layout: Layout) -> str:
    """The newest line, '' without any."""
    with contextlib.suppress(OSError), open(path_of(layout), encoding="utf-8") as stream:
        return (stream.readlines() or [""])[-1].strip()
    return ""


def about(layout: Layout, commit: str) -> str:
    """The newest of what the log says of a commit (as it is abbreviated there), '' for none."""
    found = ""
    for path in (f"{path_of(layout)}.1", path_of(layout)):
        with contextlib.suppress(OSError), open(path, encoding="utf-8", errors="replace") as stream:
            for line in stream:
                _, _, text = line.strip().partition(" ")
                if text.startswith(f"{commit} "):
                    found = text.partition(" ")[2]
    return found
