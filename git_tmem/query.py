"""What is asked of the store, and what of a record matches its words."""

from __future__ import annotations

from typing import NamedTuple

#: Never more memories than this at once, whatever is asked.
MOST = 3
#: Bytes of the rendered block.
BUDGET = 4096
#: The parts of a record whose words are told apart, as the index has them.
FIELDS = ("title", "intent", "paths", "symbols", "diff", "reasons", "errors")


class Query(NamedTuple):
    """Free text, work-tree paths to restrict to, an error's output, and how much may come back
    (memories, bytes)."""

    text: str = ""
    files: tuple[str, ...] = ()
    error: str = ""
    limit: int = MOST
    budget: int = BUDGET


class Match(NamedTuple):
    """A record with some of the words asked for: the tokens of each of ``FIELDS``."""

    number: int
    fields: tuple[list[str], ...]
