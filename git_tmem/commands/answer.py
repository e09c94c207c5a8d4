"""What ``git tmem lookup`` does, without click: this is the road of every prompt."""

from __future__ import annotations

import json
import os
import sys
from typing import Any, NamedTuple

from git_tmem import lookup
from git_tmem.errors import InputError
from git_tmem.git import Layout, discover
from git_tmem.index import Index
from git_tmem.query import BUDGET, MOST, Query
from git_tmem.render import render
from git_tmem.worktree import WorktreeView

_FLAGS = {"--explain": "explain", "--json": "as_json"}
#: Bytes of an error's output that are read.
_ERROR_LIMIT = 1 << 20


class Options(NamedTuple):
    """The options of a lookup; ``files`` as the user spells them."""

    text: str = ""
    file: tuple[str, ...] = ()
    error: str = ""
    at: str = ""
    limit: int = MOST
    budget: int = BUDGET
    explain: bool = False
    as_json: bool = False


def parse(arguments: list[str]) -> Options | None:
    """The options of a plain command line; None for one that click has to judge."""
    words: list[str] = []
    found: dict[str, Any] = {"file": ()}
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        name, equals, value = word.partition("=")
        if word == "--":
            words += rest
            break
        if word in _FLAGS:
            found[_FLAGS[word]] = True
        elif name in ("--file", "--error", "--at", "--limit", "--budget"):
            if not equals and not rest:
                return None
            value = value if equals else rest.pop(0)
            if not _add(found, name[2:], value):
                return None
        elif word.startswith("-") and word != "-":
            return None
        else:
            words.append(word)
    return Options(" ".join(words), **found) if words or found["file"] or "error" in found else None


def _add(found: dict[str, Any], name: str, value: str) -> bool:
    if name == "file":
        found["file"] = (*found["file"], value)
    elif name in ("limit", "budget"):
        if not value.isascii() or not value.isdigit():
            return False
        found[name] = int(value)
    else:
        found[name] = value
    return True


def run(options: Options) -> int:
    """Print what is known and still holds; 0 when there is something, else 1."""
    layout = discover()
    query = Query(
        options.text,
        to_top(layout, options.file),
        _read_error(options.error),
        options.limit,
        options.budget,
    )
    with Index(layout) as index:
        answer = _answer(index, query, layout, options.at)
        if options.explain or options.as_json:
            answer = answer._replace(waiting=lookup.waiting(index, query))
        titles = [index.by_number(hit.number).title for hit in answer.below[:10]]
    if options.as_json:
        sys.stdout.write(
            json.dumps(_document(answer, index.tip, options), ensure_ascii=True) + "\n"
        )
    elif answer.text:
        sys.stdout.write(answer.text + "\n")
    if options.explain and not options.as_json:
        from git_tmem.render import plain

        sys.stderr.write("".join(f"{plain(line)}\n" for line in lookup.explain(answer, titles)))
    if not answer.shown and sys.stderr.isatty():
        sys.stderr.write("nothing here matches well enough and still holds\n")
    return 0 if answer.shown else 1


def _answer(index: Index, query: Query, layout: Layout, at: str) -> lookup.Answer:
    """Against the work tree, or a revision; a bare repository's is HEAD."""
    if layout.top and not at:
        return lookup.lookup(index, query, WorktreeView(layout))
    from git_tmem.repo import Repository

    with Repository(layout) as repository:
        commit = repository.resolve(at or "HEAD")
        return lookup.lookup(index, query, repository.view(commit))


def _document(answer: lookup.Answer, tip: str, options: Options) -> dict[str, Any]:
    """The answer as the JSON that scripts read; documented in the manual."""
    document: dict[str, Any] = {
        "format": 1,
        "tip": tip,
        "at": options.at,
        "text": answer.text,
        "memories": [_memory(memory, tip, options.budget) for memory in answer.shown],
        "waiting": [{"id": row.id, "reason": lookup.review(row)} for row in answer.waiting],
    }
    if options.explain:
        considered = [_memory(memory, tip, options.budget) for memory in answer.considered]
        document["considered"] = considered
        document["below_floor"] = len(answer.below)
    return document


def _memory(memory: lookup.Memory, tip: str, budget: int) -> dict[str, Any]:
    return {
        "id": memory.row.id,
        "title": memory.playbook.title,
        "grade": memory.grade.name,
        "reasons": list(memory.grade.reasons),
        "why": list(memory.hit.why),
        "score": memory.hit.score,
        "agent": memory.playbook.agent,
        "origin": memory.origin,
        "commit": memory.playbook.anchor.commit,
        "text": render([lookup.entry(memory)], tip[: lookup.ABBREV], budget),
    }


def _read_error(source: str) -> str:
    """The output of a failing command: a file's, or standard input for ``-``."""
    if not source:
        return ""
    try:
        if source == "-":
            data = sys.stdin.buffer.read(_ERROR_LIMIT)
        else:
            with open(source, "rb") as stream:
                data = stream.read(_ERROR_LIMIT)
    except OSError as error:
        raise InputError(f"{source}: {error.strerror}", "give a file, or - for input") from error
    return data.decode("utf-8", "replace")


def to_top(layout: Layout, paths: tuple[str, ...]) -> tuple[str, ...]:
    """Paths as the user spells them, relative to the work tree's top, with ``/``."""
    if not paths:
        return ()
    top = os.path.realpath(layout.top or os.curdir)
    full = [
        os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
        for path in paths
    ]
    relative = [os.path.relpath(path, top).replace(os.sep, "/") for path in full]
    return tuple(
        given if found.startswith("../") else found
        for given, found in zip(paths, relative, strict=True)
    )
