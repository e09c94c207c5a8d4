"""From a session log's bytes to its records: one JSON object a line, plain or zstd."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any, BinaryIO

Record = dict[str, Any]

#: A longer line is skipped and counted as damaged; it is never held as a whole. Real logs
#: have lines of a few megabytes (images, whole files).
LINE_LIMIT = 16 << 20
#: What is looked at to tell which agent wrote a log.
HEAD_RECORDS = 20
HEAD_BYTES = 64 << 10

#: What json.loads does, without its search for white space, which costs as much as a short
#: record.
_decode = json.JSONDecoder().raw_decode

#: The first bytes of a zstd frame (RFC 8878, section 3.1.1).
_ZSTD = b"\x28\xb5\x2f\xfd"


class Records:
    """The records of a log, each with the zero-based number of its line, read once.

    ``count`` is the number of records read so far, ``damaged`` that of the lines which are
    none: cut off, not a JSON object, too long. Strings may hold lone
    surrogates. Raises OSError when the stream cannot be read.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self.count = 0
        self.damaged = 0
        self._size = 0
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
        for index, line in enumerate(_lines(stream)):
            self._size += len(line)
            record = parse_record(line)
            if record is not None:
                self.count += 1
                yield index, record
            elif not line.isspace():
                self.damaged += 1
                if not self.count and self._size > LINE_LIMIT:
                    return  # so much without one record is no log, however long it goes on


def parse_record(line: bytes) -> Record | None:
    """The JSON object on a line, None when there is none."""
    text = line.decode("utf-8", "replace").strip()
    try:
        record, end = _decode(text)
    except (ValueError, RecursionError):
        return None
    return record if end == len(text) and isinstance(record, dict) else None


def _lines(stream: BinaryIO) -> Iterator[bytes]:
    """Lines with their ends; an empty one stands for what cannot be read as a line."""
    start = stream.read(len(_ZSTD))
    if start == _ZSTD:
        yield from _zstd_lines(_Joined(start, stream))
        return
    # The four bytes may already hold line ends, as in "{}\n{".
    first = (start + _limited(stream.readline)).removeprefix(b"\xef\xbb\xbf")
    yield from io.BytesIO(first)
    while line := _limited(stream.readline):
        yield line


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
