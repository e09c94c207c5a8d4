"""Guard: a command can still be run, as far as the tree can tell.

What a command needs of the tree is read off it when the guard is built, and kept only if the
tree had it then; checking looks at the named files alone and parses no command.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from git_tmem.playbook import FRESH, GONE, SETUP, VERIFY, Outcome, Step
from git_tmem.probes.base import CachedView, Unknowable, safe_path

KIND = "check"
NEEDS = ("command",)

#: Characters of a command that are looked at, and of it that a guard keeps.
_COMMAND = 4_000
_KEPT = 1_000
#: Things one command may need.
_MOST = 8

_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
#: Programs that run something a file declares by name, and that file.
_DECLARING = {
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), ("package.json",)),
    "composer": ("composer.json",),
    "make": _MAKEFILES,
}
#: Programs that do nothing without their own file.
_MANIFESTS = {
    "cargo": "Cargo.toml",
    "mvn": "pom.xml",
    "tox": "tox.ini",
    "nox": "noxfile.py",
}
_SEPARATORS = re.compile(r"&&|\|\||[;|\n]")
_MODULE = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")


def build(step: Step, view: CachedView) -> Iterator[dict[str, str]]:
    """``{command, path}`` for each file the command names, with ``name`` too for a script or a
    target that the file declares; ``{command}`` alone when it names nothing of the tree."""
    if step.kind not in (SETUP, VERIFY) or not step.command:
        return
    command = step.command[:_KEPT]
    found: dict[tuple[str, str], None] = {}
    for folder, words in _simple_commands(step.command[:_COMMAND]):
        found.update(dict.fromkeys(_declared(folder, words, view)))
        found.update(dict.fromkeys((path, "") for path in _files(folder, words, view)))
    for path, name in list(found)[:_MOST]:
        yield {"command": command, "path": path, **({"name": name} if name else {})}
    if not found:
        yield {"command": command}


def check(args: Mapping[str, str], view: CachedView) -> Outcome:
    """Fresh while everything that the command names is there."""
    command, path, name = args["command"], args.get("path"), args.get("name")
    if path is None:
        return Outcome(FRESH, f"{command}: names nothing of this tree to look for")
    if not view.exists(path):
        return Outcome(GONE, f"{command}: {path} is gone")
    if name and name not in _names(path, view):
        return Outcome(GONE, f"{command}: {path} no longer has {name}", path)
    return Outcome(FRESH, path=path)


def _simple_commands(command: str) -> Iterator[tuple[str, list[str]]]:
    """The words of each simple command of a line, with the folder that ``cd`` led to."""
    folder = ""
    for part in _SEPARATORS.split(command):
        words = [word.strip("\"'()") for word in part.split()]
        words = [word for word in words if word]
        if words[:1] == ["cd"] and len(words) == 2:
            folder = _joined(folder, words[1])
        elif words:
            yield folder, words


def _joined(folder: str, path: str) -> str:
    path = path.removeprefix("$WORKSPACE/").removeprefix("./").rstrip("/")
    return f"{folder}/{path}" if folder and path else path or folder


def _declared(folder: str, words: Sequence[str], view: CachedView) -> Iterator[tuple[str, str]]:
    """File and name of what ``npm run NAME``, ``make NAME`` and their like run."""
    for place, word in enumerate(words[:4]):
        tool = word.rpartition("/")[2]
        if tool in _MANIFESTS:
            yield from ((path, "") for path in _there(folder, _MANIFESTS[tool], view))
        if tool not in _DECLARING:
            continue
        for file in _DECLARING[tool]:
            for path in _there(folder, file, view):
                known = _names(path, view)
                asked = [name for name in words[place + 1 :] if name in known]
                yield from ((path, name) for name in asked or [""])
        return


def _names(path: str, view: CachedView) -> set[str]:
    """What a file declares: a package's scripts, or the targets of a makefile."""
    text = (view.read(path) or b"").decode("utf-8", "replace")
    if path.rpartition("/")[2] in _MAKEFILES:
        heads = [line.partition(":")[0] for line in text.splitlines() if ":" in line]
        return {name for head in heads if not head[:1].isspace() for name in head.split()}
    try:
        document = json.loads(text)
    except ValueError as error:
        raise Unknowable("it is not JSON now") from error
    scripts = document.get("scripts") if isinstance(document, dict) else None
    return set(scripts) if isinstance(scripts, dict) else set()


def _files(folder: str, words: Iterable[str], view: CachedView) -> Iterator[str]:
    """Files and folders of the tree that a command names as its input."""
    written = False
    for word in words:
        if written or word.startswith((">", "1>", "2>", "&>")):
            written = word in (">", ">>", "1>", "2>", "&>")  # the next word is an output
            continue
        written = word in ("-o", "--output", "tee")
        name = word.rpartition("=")[2].partition("::")[0]
        if "/" in name or "." in name:
            yield from _there(folder, name, view) or _modules(folder, name, view)


def _there(folder: str, name: str, view: CachedView) -> list[str]:
    """The path of a name, seen from the folder or, failing that, from the top."""
    paths = dict.fromkeys((_joined(folder, name), _joined("", name)))
    return [path for path in paths if safe_path(path) and view.exists(path)][:1]


def _modules(folder: str, name: str, view: CachedView) -> list[str]:
    """The file of a dotted Python name, which may go on into the file (a class, a test)."""
    if not _MODULE.fullmatch(name):
        return []
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        stem = "/".join(parts[:length])
        found = _there(folder, f"{stem}.py", view) or _there(folder, f"{stem}/__init__.py", view)
        if found:
            return found
    return []
