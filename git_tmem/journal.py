"""The journal: what is about to be stored lies on the disk before git is touched.

::

    <common-dir>/tmem/journal/<time>-<process>-<number>.log        pending
    <common-dir>/tmem/journal/done/<the same name>                 in git; kept for 14 days

One file is one batch, written under a temporary name, flushed, and moved into place. Each
of its lines is ``<16 hex of the SHA-256 of the rest> <JSON>``, so of a file that was cut
every whole line is still good, and the rest is known to be missing. A writer holds the
kernel lock of its own file while it works; a pending file without a holder is left over
from one that failed or died, and is for the next writer to replay.

Texts must be redacted before they come here.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, BinaryIO, NamedTuple

from git_tmem.errors import StoreError
from git_tmem.git import Layout

#: Seconds that a batch is kept after it is in git, for repair.
KEPT = 14 * 86_400
#: Seconds between two looks for batches that are too old.
_SWEEP = 86_400

RECORD = "mem"
TOMBSTONE = "gone"
NOTE = "note"
TASK = "task"


class Entry(NamedTuple):
    """One thing to store. ``room`` is mem, gone, task or note; ``name`` the record's id, for a note
    the commit's; ``text`` the canonical document, for a note its lines; ``message`` that of
    the store's commit."""

    room: str
    name: str
    text: str
    message: str = ""


class Batch(NamedTuple):
    """What a journal file holds; ``bad`` lines of it could not be read."""

    path: str
    entries: tuple[Entry, ...]
    bad: int


class Held:
    """A batch of this process: pending until ``done``, ``drop`` or ``leave`` is called."""

    def __init__(self, path: str, stream: BinaryIO) -> None:
        self._path = path
        self._stream = stream

    def done(self) -> None:
        """It is in git now; keep it a while for repair."""
        finish(self._path)
        self._stream.close()

    def drop(self) -> None:
        """It will not be written, or was there before."""
        with contextlib.suppress(OSError):
            os.unlink(self._path)
        self._stream.close()

    def leave(self) -> None:
        """Leave it for the next writer."""
        self._stream.close()


def folder_of(layout: Layout) -> str:
    """Where pending batches lie."""
    return os.path.join(layout.own_dir, "journal")


def write(layout: Layout, entries: Iterable[Entry]) -> Held:
    """Put a batch on the disk. Raises StoreError when that fails: then nothing is kept."""
    folder = folder_of(layout)
    name = f"{time.time_ns():020}-{os.getpid()}-{os.urandom(4).hex()}.log"
    temporary = os.path.join(folder, f".{name}")
    path = os.path.join(folder, name)
    try:
        os.makedirs(os.path.join(folder, "done"), exist_ok=True)
        stream = open(temporary, "wb")  # noqa: SIM115
        try:
            _lock(stream)
            stream.write(b"".join(map(_line, entries)))
            stream.flush()
            os.fsync(stream.fileno())
            os.replace(temporary, path)
            _flush_folder(folder)
        except OSError:
            stream.close()
            for left in (temporary, path):
                with contextlib.suppress(OSError):
                    os.unlink(left)
            raise
    except OSError as error:
        raise StoreError(
            f"{folder} cannot be written: {error.strerror}; nothing was kept",
            "make room or give permission, then do it again",
        ) from error
    return Held(path, stream)


def pending(layout: Layout) -> Iterator[Batch]:
    """Batches that nobody holds, oldest first. Each is held while the caller looks at it."""
    for path in _files(folder_of(layout)):
        try:
            stream = open(path, "rb")  # noqa: SIM115
        except OSError:  # somebody else has finished it
            continue
        with stream:
            if _lock(stream):
                yield _read(path, stream.read())


def finished(layout: Layout) -> Iterator[Batch]:
    """Batches that were stored in the last days, oldest first."""
    for path in _files(os.path.join(folder_of(layout), "done")):
        with contextlib.suppress(OSError), open(path, "rb") as stream:
            yield _read(path, stream.read())


def finish(path: str) -> None:
    """Move a stored batch to ``done``, and now and then sweep there."""
    folder, name = os.path.split(path)
    done = os.path.join(folder, "done")
    with contextlib.suppress(OSError):
        os.replace(path, os.path.join(done, name))
        _sweep(done)


def set_aside(path: str) -> str:
    """Keep a damaged batch under a name that nobody replays; the new path."""
    os.replace(path, f"{path}.damaged")
    return f"{path}.damaged"


def purge(layout: Layout, drops: Callable[[bytes], bool]) -> int:
    """Take the lines for which ``drops`` holds out of every batch, damaged ones included; how
    many. Files nothing is left of go. To be called with the store's lock held."""
    taken = 0
    for folder in (folder_of(layout), os.path.join(folder_of(layout), "done")):
        for name in os.listdir(folder) if os.path.isdir(folder) else ():
            path = os.path.join(folder, name)
            if os.path.isfile(path):
                taken += _purge_file(path, drops)
    return taken


def _purge_file(path: str, drops: Callable[[bytes], bool]) -> int:
    with open(path, "rb") as stream:
        lines = stream.read().splitlines(True)
    kept = [line for line in lines if not drops(line)]
    if len(kept) < len(lines):
        temporary = f"{path}.purged"
        with open(temporary, "wb") as stream:
            stream.write(b"".join(kept))
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
        if not kept:
            os.unlink(path)
    return len(lines) - len(kept)


def _files(folder: str) -> list[str]:
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    return [os.path.join(folder, name) for name in names if _is_batch(name)]


def _is_batch(name: str) -> bool:
    return name.endswith(".log") and not name.startswith(".")


def _sweep(done: str) -> None:
    """Remove old batches, by the time of the file; at most once a day, since looking costs."""
    mark = os.path.join(done, ".swept")
    now = time.time()
    with contextlib.suppress(OSError):
        if abs(now - os.stat(mark).st_mtime) < _SWEEP:
            return
    with open(mark, "wb"):
        os.utime(mark)
    for path in _files(done):
        with contextlib.suppress(OSError):
            if os.stat(path).st_mtime < now - KEPT:
                os.unlink(path)


def _line(entry: Entry) -> bytes:
    data = json.dumps(entry._asdict(), ensure_ascii=True, sort_keys=True).encode("ascii")
    return _sum(data) + b" " + data + b"\n"


def _sum(data: bytes) -> bytes:
    import hashlib

    return hashlib.sha256(data).hexdigest()[:16].encode("ascii")


def _read(path: str, data: bytes) -> Batch:
    lines = data.splitlines()
    entries = [entry for line in lines if (entry := _entry(line)) is not None]
    bad = len(lines) - len(entries) + (not data)
    return Batch(path, tuple(entries), bad)


def _entry(line: bytes) -> Entry | None:
    check, _, data = line.partition(b" ")
    if check != _sum(data):
        return None
    fields: dict[str, Any] = json.loads(data)
    return Entry(**fields)


def _lock(stream: BinaryIO) -> bool:
    """Whether this process now holds the file; the kernel lets go when the process ends."""
    try:
        import fcntl
    except ImportError:  # Windows: replaying a batch of a living writer stores it once all the same
        return True
    try:
        fcntl.flock(stream.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return True


def _flush_folder(folder: str) -> None:
    """Flush a folder, so that a new name in it outlives a power cut."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
