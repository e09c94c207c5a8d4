"""One JSON document as records, parsed while it is read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import ijson

#: More nesting than any agent writes; what is deeper is skipped and counted.
_DEPTH = 100
#: Values a record may have, and bytes that may pass without a whole one; beyond, it is skipped.
_VALUES = 1 << 20
_SILENCE = 16 << 20

_OPENING = ("start_map", "start_array")
_CLOSING = ("end_map", "end_array")


class Document:
    """Takes a document's bytes in pieces and gives its records as they are complete.

    ``ended`` is true after the last byte that counts, ``damaged`` the number of places that
    were no JSON or beyond the limits above.
    """

    def __init__(self) -> None:
        self.ended = False
        self.damaged = 0
        self._events = ijson.sendable_list()
        self._parser = ijson.basic_parse_coro(self._events, use_float=True)
        self._depth = 0
        self._level = 1  # depth at which a record is a value
        self._key: str | None = None
        self._builder: Any = None
        self._values = 0
        self._silent = 0

    def feed(self, data: bytes) -> Iterator[dict[str, Any]]:
        """The records that these bytes complete."""
        try:
            self._parser.send(data)
        except (ijson.JSONError, ValueError, StopIteration):
            self.ended = True
            self.damaged += 1
        self._silent = 0 if self._events else self._silent + len(data)
        if self._silent > _SILENCE and not self.ended:
            self.ended = True
            self.damaged += 1
        for event, value in self._events:
            record = self._take(event, value)
            if record is not None:
                yield record
        del self._events[:]

    def _take(self, event: str, value: Any) -> dict[str, Any] | None:
        if event in _CLOSING:
            self._depth -= 1
        if self._depth == 0:
            self._outermost(event)
            return None
        if self._depth == 1 and event == "map_key":
            self._key = value
            return None
        if self._depth == self._level == 1 and event == "start_array" and self._key is not None:
            self._depth, self._level = 2, 2
            return None
        if self._depth == 1 and self._level == 2:
            self._level = 1
            return None
        return self._build(event, value)

    def _outermost(self, event: str) -> None:
        if event in _OPENING:
            self._depth = 1
        else:
            self.ended = True

    def _build(self, event: str, value: Any) -> dict[str, Any] | None:
        """Add to the record being built; the record when that completes it."""
        if self._builder is None:
            self._builder, self._values = ijson.ObjectBuilder(), 0
        self._values += 1
        if self._depth <= _DEPTH and self._values <= _VALUES:
            self._builder.event(event, value)
        else:
            self._values = _VALUES + 1
        if event in _OPENING:
            self._depth += 1
        if self._depth > self._level or event == "map_key":
            return None
        record, self._builder = self._builder.value, None
        if self._values > _VALUES:
            self.damaged += 1
            return None
        return self._named(record)

    def _named(self, value: Any) -> dict[str, Any] | None:
        if self._key is not None:
            return {self._key: value}
        if isinstance(value, dict):
            return value
        self.damaged += 1
        return None
