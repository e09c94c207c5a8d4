"""What people see: colour only on a terminal, paths from where they stand, progress."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from typing import IO, Any, BinaryIO, TypeVar

import click

from git_tmem.git import Layout
from git_tmem.render import plain

T = TypeVar("T")
_COLOURS = {
    "L0_FULL": "green",
    "L0_PARTIAL": "yellow",
    "L1_TOPOLOGY": "yellow",
    "L2_INVARIANT": "cyan",
    "WITHHELD": "red",
}
#: Bytes and items from which work takes long enough to show a bar for.
_LONG_LOG = 16 << 20
_MANY = 200


def say(text: str = "", colour: str | None = None, error: bool = False) -> None:
    """A line for people, without control characters; coloured on a terminal alone."""
    stream = sys.stderr if error else sys.stdout
    if colour and wants_colour(stream):
        click.echo(click.style(plain(text), fg=colour), file=stream, color=True)
    else:
        click.echo(plain(text), file=stream, color=False)


def say_grade(grade: str, rest: str) -> None:
    """A line that starts with a grade, in its colour."""
    word = (
        click.style(f"{grade:<12}", fg=_COLOURS[grade])
        if wants_colour(sys.stdout)
        else f"{grade:<12}"
    )
    click.echo(f"{word} {plain(rest)}", color=wants_colour(sys.stdout))


def say_json(value: Any) -> None:
    """One JSON value on standard output. Control characters are escaped by JSON itself."""
    click.echo(json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True).translate(_RAW_C1))


#: C1 controls and bidi overrides are legal inside JSON strings, and not wanted on a terminal.
_RAW_C1 = {
    point: f"\\u{point:04x}"
    for span in ((0x7F, 0xA0), (0x200B, 0x2010), (0x2028, 0x202F), (0x2060, 0x206A))
    for point in range(*span)
}


def wants_colour(stream: IO[str]) -> bool:
    """Whether a stream is a terminal and the user did not say NO_COLOR."""
    return stream.isatty() and not os.environ.get("NO_COLOR")


def progress(items: Sequence[T], label: str) -> Iterator[T]:
    """The items, with a bar on standard error when there are many and it is a terminal."""
    if len(items) < _MANY or not sys.stderr.isatty():
        yield from items
        return
    with click.progressbar(items, label=label, file=sys.stderr) as bar:
        yield from bar


class Reading:
    """A binary stream whose reading shows a bar on standard error when it is long."""

    def __init__(self, stream: BinaryIO, size: int, label: str) -> None:
        self._stream = stream
        shown = size > _LONG_LOG and sys.stderr.isatty()
        self._bar = click.progressbar(length=size, label=label, file=sys.stderr) if shown else None

    def read(self, size: int = -1) -> bytes:
        """As the stream's own."""
        return self._moved(self._stream.read(size))

    def readline(self, size: int = -1) -> bytes:
        """As the stream's own."""
        return self._moved(self._stream.readline(size))

    def _moved(self, data: bytes) -> bytes:
        if self._bar is not None:
            self._bar.update(len(data))
        return data

    def close(self) -> None:
        """End the bar's line."""
        if self._bar is not None:
            self._bar.render_finish()


def from_here(layout: Layout, path: str) -> str:
    """A work-tree path as it is spelled from the current folder."""
    return os.path.relpath(os.path.join(layout.top, path)) if layout.top else path


def count(number: int, noun: str, plural: str = "") -> str:
    """``1 record``, ``2 records``."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"
