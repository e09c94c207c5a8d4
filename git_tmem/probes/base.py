"""What a probe kind is, and the least it may ask of the tree that it looks at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol

from git_tmem.languages.base import Symbol
from git_tmem.playbook import Outcome, Step

#: Git's ids of the empty blob: that two files are empty does not make one the other's new place.
EMPTY_BLOBS = frozenset(
    (
        "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
        "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
    )
)


class Unknowable(Exception):
    """A view cannot tell: the message says why, to stand after "could not be checked:"."""


class TreeView(Protocol):
    """A work tree or a revision. Paths are relative to its top, with ``/``."""

    def blob(self, path: str) -> str | None:
        """The hex blob id at a path, None when no file or link is there. Raises Unknowable."""
        ...

    def read(self, path: str) -> bytes | None:
        """The bytes of a regular file, None for anything else. Raises Unknowable."""
        ...

    def is_dir(self, path: str) -> bool:
        """Whether a folder is there."""
        ...

    def find(self, blob_id: str) -> list[str]:
        """Paths that hold exactly this blob now."""
        ...


class ProbeKind(Protocol):
    """A module that builds and checks one kind of guard.

    ``NEEDS`` names the arguments without which a probe means nothing. Arguments are strings;
    ``check`` is only called with safe paths and hex blob ids.
    """

    KIND: str
    NEEDS: tuple[str, ...]

    def build(self, step: Step, view: CachedView) -> Iterator[dict[str, str]]:
        """Arguments of each probe that guards the step in the tree as it is now."""
        ...

    def check(self, args: Mapping[str, str], view: CachedView) -> Outcome:
        """What has become of the thing. May raise Unknowable."""
        ...


class CachedView:
    """A view that is asked each question once; a file is parsed once for all its symbols."""

    def __init__(self, view: TreeView) -> None:
        self._view = view
        self._blobs: dict[str, str | None] = {}
        self._data: dict[str, bytes | None] = {}
        self._folders: dict[str, bool] = {}
        self._found: dict[str, list[str]] = {}
        self._symbols: dict[tuple[str, str], dict[str, list[Symbol]]] = {}

    def blob(self, path: str) -> str | None:
        """As ``TreeView.blob``."""
        if path not in self._blobs:
            self._blobs[path] = self._view.blob(path)
        return self._blobs[path]

    def read(self, path: str) -> bytes | None:
        """As ``TreeView.read``."""
        if path not in self._data:
            self._data[path] = self._view.read(path)
        return self._data[path]

    def is_dir(self, path: str) -> bool:
        """As ``TreeView.is_dir``."""
        if path not in self._folders:
            self._folders[path] = self._view.is_dir(path)
        return self._folders[path]

    def exists(self, path: str) -> bool:
        """Whether a file, a link or a folder is there."""
        return self.blob(path) is not None or self.is_dir(path)

    def find(self, blob_id: str) -> list[str]:
        """As ``TreeView.find``."""
        if blob_id not in self._found:
            self._found[blob_id] = self._view.find(blob_id)
        return self._found[blob_id]

    def symbols(self, path: str, scheme: str = "") -> dict[str, list[Symbol]]:
        """Symbols of a file by name, found in the way of a scheme if one is given. Raises
        Unknowable when it is no readable source."""
        key = path, scheme
        if key not in self._symbols:
            from git_tmem import languages  # a tree where nothing changed parses nothing

            data = self.read(path)
            if data is None or len(data) > languages.SOURCE_LIMIT:
                raise Unknowable("it is a link, or too long to be source")
            named: dict[str, list[Symbol]] = {}
            for symbol in languages.symbols(path, data.decode("utf-8", "replace"), scheme):
                named.setdefault(symbol.name, []).append(symbol)
            self._symbols[key] = named
        return self._symbols[key]


def safe_path(path: str) -> bool:
    """Whether a path from a record may be looked at: relative, inside the tree, not git's own."""
    try:
        size = len(path.encode("utf-8", "surrogateescape"))
    except UnicodeEncodeError:
        return False
    parts = path.lower().split("/")
    return (
        0 < size <= 4096
        and path[0] not in "-:~\\"
        and path[1:3] not in (":\\", ":/")
        and "\0" not in path
        and not {"", ".", "..", ".git"}.intersection(parts)
    )
