"""From a session log's bytes to its records: JSON objects, plain or zstd.

A log is JSON lines, one JSON document, or text. Each line of the first is a record. A document
that is an array gives its elements; one that is an object gives a record of one key for each of
its fields, and for a field that is an array one for each element, so ``{"a": 1, "b": [2, 3]}``
gives ``{"a": 1}``, ``{"b": 2}`` and ``{"b": 3}``: what an adapter must hold stays one element.
Text, known by a Markdown heading on its first line, gives ``{"line": ...}`` for each line.
"""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import Any, BinaryIO

Record = dict[str, Any]

#: A longer line is skipped and counted as damaged; it is never held as a whole. Real logs
#: have lines of a few megabytes (images, whole files).
LINE_LIMIT = 16 << 20
#: What is looked at to tell which agent wrote a log.
HEAD_RECORDS = 20
HEAD_BYTES = 64 << 10
#: A document of up to so many bytes is parsed as a whole, several times faster than in parts.
WHOLE = 8 << 20
_PIECE = 256 << 10
#: Blank lines before the first that is none; more are no log.
BLANK_LINES = 1_000

#: What json.loads does, without its search for white space, which costs as much as a short
#: record.
_decode = json.JSONDecoder().raw_decode

#: The first bytes of a zstd frame (RFC 8878, section 3.1.1).
_ZSTD = b"\x28\xb5\x2f\xfd"


class Records:
    """The records of a log, each with the zero-based number of its line, or of the record
    where it is no JSON lines; read once.

    ``count`` is the number of records read so far, ``damaged`` that of the lines which are
    none: cut off, not a JSON object, too long. Strings may hold lone
    surrogates. Raises OSError when the stream cannot be read.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self.count = 0
        self.damaged = 0
        self._size = 0
        self._by_lines = True
        self._head: list[tuple[int, Record]] = []
        self._rest = self._read(stream)

    def head(self) -> list[Record]:
        """The first records, at least one if there is any; they are iterated all the same."""
        while len(self._head) < HEAD_RECORDS and self._size < HEAD_BYTES:
            item = next(self._rest, None)
            if item is None:
                break
            self._head.append(item)
        return [record for _, record in self._head]

    def __iter__(self) -> Iterator[tuple[int, Record]]:
        return chain(self._head, self._rest)

    def _read(self, stream: BinaryIO) -> Iterator[tuple[int, Record]]:
        lines = _lines(stream, lambda: self._by_lines)
        start = list(islice(_until_text(lines), BLANK_LINES))
        first = start[-1].strip() if start else b""
        if first.startswith(b"# "):
            yield from self._text(chain(start, lines))
        elif first == b"{" or first.startswith(b"["):
            self._by_lines = False  # a document's lines mean nothing
            yield from self._document(chain(start, lines))
        else:
            yield from self._json_lines(start, lines)

    def _json_lines(
        self, start: list[bytes], lines: Iterator[bytes]
    ) -> Iterator[tuple[int, Record]]:
        more = list(islice(lines, 1))
        only = None if more or not start else parse_record(start[-1])
        if only and any(isinstance(value, list) for value in only.values()):
            yield from self._document(start)  # one that was written on one line
            return
        for index, line in enumerate(chain(start, more, lines)):
            self._size += len(line)
            record = parse_record(line)
            if record is not None:
                self.count += 1
                yield index, record
            elif not line.isspace():
                self.damaged += 1
                if not self.count and self._size > LINE_LIMIT:
                    return  # so much without one record is no log, however long it goes on

    def _text(self, lines: Iterable[bytes]) -> Iterator[tuple[int, Record]]:
        for line in lines:
            self._size += len(line)
            self.count += 1
            yield self.count - 1, {"line": line.decode("utf-8", "replace").rstrip("\r\n")}

    def _document(self, chunks: Iterable[bytes]) -> Iterator[tuple[int, Record]]:
        chunks = iter(chunks)
        start = b"".join(_up_to(chunks, WHOLE))
        records = _split(start) if len(start) <= WHOLE else None
        if records is not None:
            self.damaged += sum(record is None for record in records)
        for record in self._streamed(chain([start], chunks)) if records is None else records:
            if record is not None:
                self.count += 1
                yield self.count - 1, record

    def _streamed(self, chunks: Iterable[bytes]) -> Iterator[Record]:
        """The records of a document that is long, or damaged somewhere."""
        from git_tmem.adapters.document import Document  # with a parser that few logs need

        document = Document()
        for chunk in chunks:
            yield from document.feed(chunk)
            self._size += len(chunk)
            self.damaged = document.damaged
            if document.ended:
                return
        self.damaged += 1  # cut off


def _up_to(chunks: Iterator[bytes], size: int) -> Iterator[bytes]:
    """The first chunks, until they are more bytes than ``size``."""
    for chunk in chunks:
        yield chunk
        size -= len(chunk)
        if size < 0:
            return


def _split(data: bytes) -> list[Record | None] | None:
    """The records of a whole document, None in place of what is none; None if it is damaged."""
    try:
        value = json.loads(data.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    if isinstance(value, list):
        return [item if isinstance(item, dict) else None for item in value]
    return [
        {key: item}
        for key, field in value.items()
        for item in (field if isinstance(field, list) else [field])
    ]


def _until_text(lines: Iterator[bytes]) -> Iterator[bytes]:
    """Lines up to the first that is not blank, with it."""
    for line in lines:
        yield line
        if not line.isspace():
            return


def parse_record(line: bytes) -> Record | None:
    """The JSON object on a line, None when there is none."""
    text = line.decode("utf-8", "replace").strip()
    try:
        record, end = _decode(text)
    except (ValueError, RecursionError):
        return None
    return record if end == len(text) and isinstance(record, dict) else None


def _lines(stream: BinaryIO, wanted: Callable[[], bool]) -> Iterator[bytes]:
    """Lines with their ends, and larger pieces as soon as lines are not wanted any more; an
    empty one stands for what cannot be read as a line."""
    start = stream.read(len(_ZSTD))
    if start == _ZSTD:
        yield from _zstd_lines(_Joined(start, stream))
        return
    # The four bytes may already hold line ends, as in "{}\n{".
    first = (start + _limited(stream.readline)).removeprefix(b"\xef\xbb\xbf")
    yield from io.BytesIO(first)
    while wanted() and (line := _limited(stream.readline)):
        yield line
    while not wanted() and (piece := stream.read(_PIECE)):
        yield piece


def _zstd_lines(stream: _Joined) -> Iterator[bytes]:
    """Lines of concatenated frames. What is damaged or torn ends the log there."""
    if sys.version_info >= (3, 14):
        from compression.zstd import ZstdError, ZstdFile
    else:
        from backports.zstd import ZstdError, ZstdFile

    with ZstdFile(stream) as plain:
        try:
            while line := _limited(plain.readline):
                yield line
        except (ZstdError, EOFError):
            yield b""


def _limited(readline: Callable[[int], bytes]) -> bytes:
    line = readline(LINE_LIMIT)
    return line if len(line) < LINE_LIMIT else _skip_line(readline, line)


def _skip_line(readline: Callable[[int], bytes], line: bytes) -> bytes:
    while line and not line.endswith(b"\n"):
        line = readline(HEAD_BYTES)
    return b"\0\n"


class _Joined(io.RawIOBase):
    """A stream with the bytes put back that were read from it; closing it leaves that open."""

    def __init__(self, start: bytes, stream: BinaryIO) -> None:
        self._start = start
        self._stream = stream

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        start, self._start = self._start, b""
        return start or self._stream.read(size)
