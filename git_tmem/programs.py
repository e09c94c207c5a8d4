"""What the programs that a session wrote itself were to change.

Agents without an edit tool, and some with one, edit by a program: a text on the command line,
a here document, or a script that is run and thrown away. The paths that it names in quotes
tell which changes are its work. Nothing is run, and nothing here raises.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence

from git_tmem import effects
from git_tmem.actions import EXEC, MUTATE, Action
from git_tmem.shell import SHELLS, Simple, commands, program

#: Characters of one program that are read, and programs that are remembered.
_READ = 64_000
_PROGRAMS = 2_000

_QUOTED = re.compile(
    r"""(['"`])((?:\$\{?WORKSPACE\}?/|(?:\.{1,2}/)*)[\w@+~-][\w./@+~ -]{0,400})\1"""
)
#: Options after which an interpreter takes its program as a word.
_INLINE = ("-c", "-e", "-p", "--eval", "--print")


def named_by_programs(actions: Sequence[Action]) -> dict[int, frozenset[str]]:
    """Relative paths named by the writing programs that each command ran, by its index."""
    texts: dict[str, str] = {}
    found = {}
    for index, action in enumerate(actions):
        if action.failed:
            continue
        if action.kind == MUTATE and len(texts) < _PROGRAMS:
            lines = [line for hunk in action.hunks for line in hunk.added]
            kept = "" if action.created else texts.get(action.path, "")
            texts[action.path] = (kept + "\n".join(lines))[:_READ]
        elif action.kind == EXEC:
            names = _named_by(action.command, texts)
            if names:
                found[index] = frozenset(names)
    return found


def _named_by(command: str, texts: dict[str, str]) -> set[str]:
    """The paths named by the programs of one command line; the texts it wrote are noted."""
    folder = ""
    names: set[str] = set()
    for simple in commands(command):
        if simple.words[:1] == ("cd",):
            folder = effects.entered(folder, " ".join(simple.words[1:2]))
        if simple.words[:1] == ("cd",) or folder == effects.OUTSIDE:
            continue
        for path in simple.writes if simple.document and len(texts) < _PROGRAMS else ():
            texts[_joined(folder, path)] = simple.document[:_READ]
        names.update(_joined(folder, name) for name in _names(simple, folder, texts))
    return names


def _joined(folder: str, path: str) -> str:
    path = re.sub(r"^\$\{?WORKSPACE\}?/", "/", path)
    return posixpath.normpath(posixpath.join(folder, path)).lstrip("/")


def _names(simple: Simple, folder: str, texts: dict[str, str]) -> set[str]:
    if not simple.words:
        return set()
    name, rest = program(simple.words)
    script = _script(simple.words, name, rest)
    text = texts.get(_joined(folder, script), "") if script else ""
    if name in SHELLS or (script == simple.words[0] and not effects.writes_by_code(text)):
        return set(effects.targets(text)) if effects.writes(text) else set()
    if name in effects.INTERPRETERS and not script:
        text = "\n".join((*rest, simple.document))
    if not effects.writes_by_code(text[:_READ]):
        return set()
    return {match[2] for match in _QUOTED.finditer(text[:_READ])}


def _script(words: Sequence[str], name: str, rest: Sequence[str]) -> str:
    """The script file that a command runs, '' for none."""
    if name in effects.INTERPRETERS or name in SHELLS:
        if any(option in rest for option in _INLINE):
            return ""
        return next((word for word in rest if not word.startswith("-")), "")
    return words[0] if "/" in words[0] else ""
