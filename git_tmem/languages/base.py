"""What a language says about a source text: its symbols, and what they are worth comparing by."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Protocol


class Symbol(NamedTuple):
    """A named piece of a file.

    ``name`` is qualified (``Class.method``), ``start`` and ``end`` are one-based line numbers,
    both inclusive, of lines that end in a line feed, a carriage return or both. ``fingerprint``
    stands for the text without comments, layout, documentation strings, trailing commas and
    quote style. It starts with its scheme, so that fingerprints made in different ways are
    never equal.
    """

    name: str
    start: int
    end: int
    fingerprint: str

    @property
    def scheme(self) -> str:
        """How the fingerprint was made."""
        return self.fingerprint.partition(":")[0]


class Language(Protocol):
    """A module that finds symbols. It may raise what its parser raises: ``symbols`` then asks
    the block finder, which raises nothing."""

    def symbols(self, source: str) -> Iterable[Symbol]:
        """The symbols of a text whose lines end in line feeds."""
        ...


def fingerprint(scheme: str, text: str) -> str:
    """``scheme:`` and sixteen hex digits of the text's BLAKE2b."""
    import hashlib  # only what parses a file needs it

    data = text.encode("utf-8", "surrogatepass")
    return f"{scheme}:{hashlib.blake2b(data, digest_size=8).hexdigest()}"
