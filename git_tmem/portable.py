"""Paths that hold on any machine: absolute ones become relative to a named place."""

from __future__ import annotations

import re
from collections.abc import Sequence

#: Top folders of file systems: what starts there is a path, and not a route or a pattern. The
#: common words count only with more than one part below them.
_TOPS = (
    r"(?:bin|boot|etc|home|Users|lib(?:32|64)?|media|mnt|nix|opt|private|proc|root|run|sbin|snap"
    r"|srv|sys|tmp|usr|var|Volumes|Applications|Library|System|workspaces?|testbed|workdir)"
)
_WORDY_TOPS = (
    r"(?:app|apps|builds?|cache|code|data|dev|github|projects?|repos?|scratch|source|src|work)"
)
_PART = r"/(?:[\w.@+~%#-]|\\ )+"
#: What does not stand before an absolute path: a name, or a path that goes on. An option's
#: letter, the end of a colour code and a test runner's dots do.
_BEFORE = r"(?:(?<![A-Za-z0-9_.$~/})\\-])|(?<=-[ILFCo])|(?<=\dm)|(?<=\.[EFfsxX.])(?<!\.\.\.))"
_ABSOLUTE = (
    rf"(?:{_BEFORE}(?:file://)?(?:/{_TOPS}(?![\w.@+~%#-])(?:{_PART})*|/{_WORDY_TOPS}(?:{_PART}){{2,}})"
    rf"|(?<![\w./])(?:\.\./)*\.\.(?:/(?:opt|usr|home|Users|root|var|tmp|private|nix)(?:{_PART})+))/?"
)
_DEVICE = r"/dev/(?:null|stdin|stdout|stderr|tty|fd/\d+|zero|u?random)"
_SHEBANG = r"/(?:usr/)?bin/\w+"
_SCRATCH = r"(?:/private)?/(?:tmp|var/tmp|var/folders/[^/]+/[^/]+/T|dev/shm)(?=/|$)"
_HOME = r"/(?:home|Users)/[^/]+(?=/|$)|/root(?=/|$)"
_PROGRAM = r".*/(?:bin|sbin|Scripts|shims)/([\w.+-]+)"
_WINDOWS = (
    rf"(?<![A-Za-z0-9])[A-Za-z]:[\\/]{{1,2}}(?:Windows|Program Files(?: \(x86\))?|ProgramData|a"
    rf"|{_TOPS}"
    rf"|{_WORDY_TOPS})(?:[\\/]{{1,2}}[\w.@+~%#-]+)+[\\/]?"
)
_VALUE = r"(?:\"[^\"\n]*\"|'[^'\n]*'|[^\s\"';&|]*)"
#: An assignment before a command whose value holds an absolute path.
_ASSIGNED_PATH = (
    rf"(?m)(?P<lead>^[ \t]*|(?:&&|\|\||;|\||\() ?)(?:export[ \t]+[A-Za-z_]\w*=(?P<value>{_VALUE})"
    rf"[ \t]*(?:&&|;|\n)[ \t]*|[A-Za-z_]\w*=(?P<other>{_VALUE})[ \t]+(?=[\w./$\"']))"
)


def portable(text: str, roots: Sequence[str]) -> str:
    """The text without absolute paths.

    A path in ``roots`` becomes ``$WORKSPACE`` and a leading ``cd`` to it goes; a home folder
    becomes ``$HOME``, a temporary one ``$TMPDIR``; a program's path becomes its name; an
    assignment of an absolute path before a command goes; of other absolute paths the last two
    parts stay. Idempotent.
    """
    if "/" not in text and "\\" not in text and "$WORKSPACE" not in text:
        return text
    for _ in range(8):
        before = text
        text = _without_assignments(text, roots)
        for root in sorted({root.rstrip("/\\") for root in roots}, key=len, reverse=True):
            text = _without_root(text, root)
        text = re.sub(r"^(?:\s*cd (?P<q>[\"']?)\$WORKSPACE/?(?P=q)[ \t]*(?:&&|;|\n)\s*)+", "", text)
        text = re.sub(r"\$WORKSPACE/(?:\.?v?env|\.tox/\w+|\.nox/\w+)/bin/(?=\w)", "", text)
        text = re.sub(_ABSOLUTE, _anywhere, text)
        text = re.sub(_WINDOWS, _anywhere_windows, text)
        if text == before:
            break
    return text


def _without_assignments(text: str, roots: Sequence[str]) -> str:
    def kept(found: re.Match[str]) -> str:
        value = found["value"] or found["other"] or ""
        holds = any(root in value for root in roots if root) or re.search(_ABSOLUTE, value)
        return found["lead"] if holds else found[0]

    return re.sub(_ASSIGNED_PATH, kept, text) if "=" in text else text


def _without_root(text: str, root: str) -> str:
    """The root as ``$WORKSPACE``, where it is a whole path and not the head of a longer name."""
    if not root or root not in text:
        return text
    before = (
        r"(?:(?:(?<![A-Za-z0-9_$~/-])(?<![^.]\.\.\.)(?<!^\.\.\.))|(?<=\dm)|(?<=\.[EFfsxX]))"
        r"(?:(?<![./])(?:\.\./)*\.\.)?"
    )
    pattern = rf"{before}(?:file://)?(?:/private(?=/))?{re.escape(root)}(?![\w-]|\.\w)"
    return re.sub(pattern, "$WORKSPACE", text)


def _anywhere(found: re.Match[str]) -> str:
    """An absolute path as it can be said on any machine."""
    path = re.sub(r"^(?:file:/|(?:\.\./)*\.\.)/", "/", found[0])
    if re.match(_DEVICE, path):
        return path
    if found.string.endswith("#!", 0, found.start()):
        return path if re.fullmatch(_SHEBANG, path) else "/usr/bin/env " + path.rpartition("/")[2]
    for known, name in ((_SCRATCH, "$TMPDIR"), (_HOME, "$HOME")):
        if re.match(known, path) and not re.fullmatch(_PROGRAM, path):
            return re.sub(known, name, path, count=1)
    program = re.fullmatch(_PROGRAM, path)
    if program:
        return program[1]
    _, packages, inner = path.rpartition("/site-packages/")
    if packages:
        return inner
    return ".../" + "/".join(path.strip("/").split("/")[-2:])


def _anywhere_windows(found: re.Match[str]) -> str:
    parts = [part for part in re.split(r"[\\/]+", found[0]) if part]
    if parts[1] == "Users":
        return "/".join(["$HOME", *parts[3:]])
    return ".../" + "/".join(parts[1:][-2:])
