"""What an agent's session has been told: a small file a session, so that nothing is said twice.

Format of ``.git/tmem/sessions/NAME.json``: the fields of :class:`Told`, as one JSON object. A
file that is damaged, of another session or of another shape counts as none. Files are pruned
when a session begins: all but the newest ``MOST``.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from typing import Any

from git_tmem.git import Layout

#: Files that are kept, bytes of one that are read, and entries of one list in it.
MOST = 64
_LIMIT = 1 << 18
_ENTRIES = 400


class Told:
    """What one session was told, and what waits to be said to it."""

    def __init__(self, session: str) -> None:
        self.session = session
        self.started = False
        self.index = ""  # the block of the session's start, frozen
        self.tip = ""  # the store's tip that the agent knows of
        self.shown: list[str] = []  # ids of records that are visible
        self.paths: list[str] = []  # paths whose card was given
        self.errors: dict[str, int] = {}  # the signature of a failure -> how often it was met
        self.edited = False  # since the last passing check
        self.asked = False  # whether the milestone was told
        self.waiting: list[str] = []  # blocks for the next moment that takes text

    def forget(self) -> None:
        """What was said is out of sight: it may be said again."""
        self.shown, self.paths, self.errors, self.waiting = [], [], {}, []

    def dump(self) -> bytes:
        """The file's content; the oldest entries go when there are too many."""
        fields = dict(vars(self))
        for name, value in fields.items():
            if isinstance(value, list):
                fields[name] = value[-_ENTRIES:]
            elif isinstance(value, dict):
                fields[name] = dict(list(value.items())[-_ENTRIES:])
        return json.dumps(fields, ensure_ascii=True).encode("ascii")


@contextlib.contextmanager
def told(layout: Layout, session: str) -> Iterator[Told]:
    """The state of a session, alone: written back when it changed and nothing was raised.

    Raises OSError where it cannot be kept.
    """
    folder = os.path.join(layout.own_dir, "sessions")
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, f"{file_name(session)}.json")
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
    with open(os.open(path, flags, 0o600), "r+b") as stream:
        _lock(stream)
        data = stream.read(_LIMIT)
        if not data:
            _prune(folder)
        state = _parsed(data, session)
        yield state
        after = state.dump()
        if after != data:
            stream.seek(0)
            stream.write(after)
            stream.truncate()


def file_name(session: str) -> str:
    """A session's id as a file name on any system."""
    safe = "".join(
        one if one.isascii() and (one.isalnum() or one in "-_") else "_" for one in session
    )
    return safe[:100] or "_"


def _parsed(data: bytes, session: str) -> Told:
    state = Told(session)
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return state
    if not isinstance(document, dict) or document.get("session") != session:
        return state
    if all(_fits(document.get(name), value) for name, value in vars(state).items()):
        for name in vars(state):
            setattr(state, name, document[name])
    return state


def _fits(found: Any, default: Any) -> bool:
    if type(found) is not type(default):
        return False
    if isinstance(found, list):
        return all(isinstance(item, str) for item in found)
    return not isinstance(found, dict) or all(type(item) is int for item in found.values())


def _lock(stream: Any) -> None:
    """Alone with the file: agents call several tools, and so hooks, at once."""
    try:
        import fcntl
    except ImportError:  # Windows: at worst something is said twice
        return
    fcntl.flock(stream.fileno(), fcntl.LOCK_EX)


def _prune(folder: str) -> None:
    """Leave the newest files."""
    with contextlib.suppress(OSError):
        files = [entry for entry in os.scandir(folder) if entry.name.endswith(".json")]
        if len(files) > MOST:
            files.sort(key=lambda entry: entry.stat(follow_symlinks=False).st_mtime)
            for entry in files[:-MOST]:
                os.unlink(entry.path)
