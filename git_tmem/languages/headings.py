"""Sections of Markdown and reStructuredText: a heading, and the text down to the next one."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from git_tmem.languages.base import Symbol, fingerprint

SCHEME = "txt1"

#: Characters of a heading that are kept as the section's name.
_NAME = 80

_MARKED = re.compile(r" {0,3}#{1,6}[ \t]+(\S.*)")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_RULE = re.compile(r"([=\-~^\"'#*+`:.])\1{2,}[ \t]*")


def find(source: str, language: str) -> list[Symbol]:
    """Sections in order, named by their headings. Reflowed text keeps its fingerprint."""
    lines = source.split("\n")
    titles = list(_marked(lines) if language == "markdown" else _underlined(lines))
    found = []
    for place, (start, name) in enumerate(titles, 1):
        end = titles[place][0] - 1 if place < len(titles) else len(lines)
        words = " ".join(lines[start - 1 : end]).split()
        last = next((at for at in range(end, start, -1) if lines[at - 1].strip()), start)
        found.append(Symbol(name, start, last, fingerprint(SCHEME, " ".join(words))))
    return found


def _marked(lines: list[str]) -> Iterator[tuple[int, str]]:
    """Line and name of each ``# heading`` outside fenced code."""
    fence = ""
    for number, line in enumerate(lines, 1):
        opened = _FENCE.match(line)
        if opened and (not fence or opened[1].startswith(fence)):
            fence = "" if fence else opened[1]
        heading = None if fence else _MARKED.match(line)
        if heading:
            name = heading[1].rstrip().rstrip("#").rstrip()
            if name:
                yield number, name[:_NAME]


def _underlined(lines: list[str]) -> Iterator[tuple[int, str]]:
    """Line and name of each title that has a rule as long as itself below it."""
    for number, (line, below) in enumerate(itertools.pairwise(lines), 1):
        name = line.strip()
        rule = name and _RULE.fullmatch(below)
        if rule and len(below.rstrip()) >= len(name) and not _RULE.fullmatch(line):
            yield number, name[:_NAME]
