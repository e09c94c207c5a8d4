"""The work tree as a view for probes: what the agent sees, uncommitted changes included.

Blob ids come from ``git hash-object``, which applies the same line-end rules and filters as
``git add``, so that a checkout with other line ends is not taken for an edit.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable

from git_tmem.git import Git, Layout

#: Bytes of a file that probes read; a longer one is no source that a symbol is looked up in.
READ_LIMIT = 4 << 20
#: Untracked files that are hashed when a moved file is looked for.
_UNTRACKED = 200


class WorktreeView:
    """Answers probes from the files on disk. Links are never followed out of the tree."""

    def __init__(self, layout: Layout) -> None:
        self._real_top = os.path.realpath(layout.top)
        self._git = Git(layout)
        self._ids: dict[str, str | None] = {}

    def prime(self, paths: Iterable[str]) -> None:
        """Learn the blob ids of many paths with one call of git."""
        wanted = [path for path in dict.fromkeys(paths) if path not in self._ids]
        files = [path for path in wanted if self._mode(path) == stat.S_IFREG]
        self._ids.update(dict.fromkeys(wanted))
        self._ids.update(self._hash(files))
        for path in wanted:
            if self._mode(path) == stat.S_IFLNK:
                self._ids[path] = self._link_id(path)

    def blob(self, path: str) -> str | None:
        """The id git would give the file's content now, None when no file is there."""
        if path not in self._ids:
            self.prime([path])
        return self._ids[path]

    def read(self, path: str) -> bytes | None:
        """The file's bytes, None when it is no regular file or too long to be source."""
        if self._mode(path) != stat.S_IFREG:
            return None
        try:
            with open(self._full(path), "rb") as stream:
                data = stream.read(READ_LIMIT + 1)
        except OSError:
            return None
        return data if len(data) <= READ_LIMIT else None

    def is_dir(self, path: str) -> bool:
        """Whether a folder is there."""
        return self._mode(path) == stat.S_IFDIR

    def find(self, blob_id: str) -> list[str]:
        """Paths that hold exactly this blob now, tracked ones first."""
        tracked = [path for oid, path in self._tracked() if oid == blob_id]
        found = [path for path in tracked if self.blob(path) == blob_id]
        if found:
            return found
        untracked = self._untracked()[:_UNTRACKED]
        self.prime(untracked)
        return [path for path in untracked if self._ids[path] == blob_id]

    def _tracked(self) -> list[tuple[str, str]]:
        _, data = self._git.output("ls-files", "-s", "-z")
        entries = (entry.partition(b"\t") for entry in data.split(b"\0") if entry)
        return [(os.fsdecode(head.split()[1]), os.fsdecode(path)) for head, _, path in entries]

    def _untracked(self) -> list[str]:
        _, data = self._git.output("ls-files", "-o", "-z", "--exclude-standard")
        return [os.fsdecode(path) for path in data.split(b"\0") if path]

    def _hash(self, paths: list[str]) -> dict[str, str]:
        if not paths:
            return {}
        status, data = self._git.output("hash-object", "--", *paths)
        ids = data.decode("ascii", "replace").split()
        if status == 0 and len(ids) == len(paths):
            return dict(zip(paths, ids, strict=True))
        if len(paths) == 1:  # unreadable, or gone since it was looked at
            return {}
        middle = len(paths) // 2
        return {**self._hash(paths[:middle]), **self._hash(paths[middle:])}

    def _link_id(self, path: str) -> str:
        target = os.fsencode(os.readlink(self._full(path)))
        _, out, _ = self._git.attempt("hash-object", "--stdin", data=target)
        return out.decode("ascii", "replace").strip()

    def _mode(self, path: str) -> int:
        """The file type at a path; 0 when nothing is there or a link leads to it."""
        folder = os.path.join(self._real_top, *path.split("/")[:-1])
        try:
            if os.path.realpath(folder) != os.path.normpath(folder):
                return 0
            return stat.S_IFMT(os.lstat(self._full(path)).st_mode)
        except (OSError, ValueError):
            return 0

    def _full(self, path: str) -> str:
        return os.path.join(self._real_top, *path.split("/"))
