"""Reading a shell command line as a shell would, without running anything.

Quotes, here documents, pipes and lists are understood; wrappers such as ``timeout 60`` or
``uv run`` are looked through. What cannot be read is taken word by word; nothing here raises.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

#: Characters of a command that are read, here documents apart.
_READ = 8_000
#: Texts within texts (``bash -c "bash -c ..."``) that are opened.
_DEEPEST = 4


class Simple(NamedTuple):
    """One command of a line: its words without quotes, the files that it is redirected to,
    the operator after it, and its here document."""

    words: tuple[str, ...]
    writes: tuple[str, ...] = ()
    then: str = ""
    document: str = ""


_LEXEME = (
    r"(?s)(?P<space>(?:[ \t\r]|\\\n)+)"
    r"|(?P<comment>(?<![^\s;&|(])#[^\n]*)"
    r"|(?P<write>(?:\d|&)?>>?\|?(?!&))"
    r"|(?P<copy>\d?[<>]&[\d-]*)"
    r"|(?P<here><<-?(?!<))"
    r"|(?P<read><<<|<)"
    r"|(?P<operator>\|\||&&|\|&|;;|[;&|\n()])"
    r"|(?P<word>(?:'[^']*'|\"(?:\\.|[^\"\\])*\"|`[^`]*`|\$\((?:[^()]|\([^()]*\))*\)"
    r"|\\.|[^\s'\"\\|&;()<>`])+)"
    r"|(?P<other>.)"
)
_KEYWORDS = {"if", "then", "else", "elif", "do", "while", "until", "{"}
_ASSIGNMENT = r"[A-Za-z_]\w*\+?="


@lru_cache(maxsize=8192)
def commands(command: str) -> tuple[Simple, ...]:
    """The simple commands of a line, wrappers taken off, ``bash -c`` texts opened. A session
    runs the same few commands again and again, and each is asked about many times."""
    return tuple(_opened(command, 0))


def _opened(command: str, depth: int) -> Iterator[Simple]:
    for simple in _parsed(command):
        words = _unwrapped(simple.words)
        inner = _shell_text(words)
        if inner is not None and depth < _DEEPEST:
            *first, last = list(_opened(inner, depth + 1)) or [Simple(())]
            yield from first
            yield last._replace(then=simple.then, writes=last.writes + simple.writes)
        elif words or simple.writes:
            yield simple._replace(words=words)


def _parsed(command: str) -> list[Simple]:
    """The simple commands of a line as they stand."""
    found: list[Simple] = []
    words: list[str] = []
    files: list[str] = []
    documents: list[str] = []
    wanted = ""  # what the next word is: "write" or "here" or a plain word
    text, bodies = _without_documents(command)
    for token in re.finditer(_LEXEME, text[:_READ]):
        kind, value = token.lastgroup, token[0]
        if kind in ("write", "here", "read"):
            wanted = kind
        elif kind in ("word", "other"):
            if wanted == "write":
                files.append(_unquoted(value))
            elif wanted == "here":
                documents.append(bodies.pop(0) if bodies else "")
            elif not wanted:
                words.append(_unquoted(value))
            wanted = ""
        elif kind == "operator":
            if words or files:
                found.append(Simple(tuple(words), tuple(files), value, "".join(documents)))
            elif found and found[-1].then == ")":  # what follows a group follows its last command
                found[-1] = found[-1]._replace(then=value)
            words, files, documents, wanted = [], [], [], ""
    if words or files:
        found.append(Simple(tuple(words), tuple(files), "", "".join(documents)))
    return found


def _without_documents(command: str) -> tuple[str, list[str]]:
    """The command without the bodies of its here documents, and the bodies in order."""
    if "<<" not in command:
        return command, []
    lines: list[str] = []
    bodies: list[str] = []
    ends: list[str] = []
    body: list[str] = []
    for line in command.split("\n"):
        if ends:
            if line.strip() != ends[0]:
                body.append(line)
                continue
            bodies.append("\n".join(body))
            body = []
            ends.pop(0)
            continue
        lines.append(line)
        ends = re.findall(r"(?<!<)<<-?[ \t]*\\?['\"]?([A-Za-z_][\w.-]*)", line)
    if ends:
        bodies.append("\n".join(body))
    return "\n".join(lines), bodies


def _unquoted(word: str) -> str:
    if not re.search(r"['\"\\]", word):
        return word
    return re.sub(
        r"'([^']*)'|\"((?:\\.|[^\"\\])*)\"|\\(.)",
        lambda part: part[1] or re.sub(r"\\([\"\\$`])", r"\1", part[2] or "") or part[3] or "",
        word,
        flags=re.DOTALL,
    )


#: Programs that run another one, with their options that take a value.
_WRAPPERS: dict[str, tuple[str, ...]] = {
    "env": ("-u", "-C", "-S"),
    "sudo": ("-u", "-g", "-E"),
    "time": ("-f", "-o"),
    "nice": ("-n",),
    "nohup": (),
    "command": (),
    "exec": (),
    "stdbuf": (),
    "setsid": (),
    "xvfb-run": ("-s", "-n"),
    "xargs": ("-n", "-I", "-P", "-L", "-d", "-s"),
    "cross-env": (),
    "npx": ("-p", "--package"),
    "bunx": (),
    "uvx": ("--from", "--with", "--python"),
}
#: Two-word wrappers: what comes after them is run.
_RUNNERS = {
    "uv": {"run"},
    "poetry": {"run"},
    "pipenv": {"run"},
    "hatch": {"run"},
    "pdm": {"run"},
    "rye": {"run"},
    "conda": {"run"},
    "micromamba": {"run"},
    "coverage": {"run"},
    "bundle": {"exec"},
    "pnpm": {"exec", "dlx"},
    "yarn": {"exec", "dlx"},
    "npm": {"exec", "x"},
    "bun": {"x"},
    "mise": {"exec", "x"},
    "direnv": {"exec"},
    "rtk": {"test", "err"},
}
#: Words that name a project's task for such a wrapper, and no program.
_OWN_TASKS = {"test", "lint", "build", "check", "typecheck", "types", "cov", "ci"}
_VALUED = {
    "--with", "--from", "--group", "--extra", "--python", "-p", "-n", "--name", "--project",
    "--directory", "--env-file", "--package", "-e", "--source", "--omit", "--rcfile",
}  # fmt: skip
SHELLS = {"bash", "sh", "zsh", "dash", "ksh", "fish"}


def _unwrapped(words: Sequence[str]) -> tuple[str, ...]:
    """The words from the program on that does the work; its folder goes from its name."""
    rest = list(words)
    for _ in range(12):
        while rest and (rest[0] in _KEYWORDS or re.match(_ASSIGNMENT, rest[0])):
            rest.pop(0)
        if not rest:
            break
        name = rest[0].rsplit("/", 1)[-1]
        if name == "timeout":
            rest = _after_options(rest[1:], ("-s", "-k", "--signal", "--kill-after"))[1:]
        elif name in _WRAPPERS and len(rest) > 1 and rest[1] not in ("-v", "-V"):
            rest = _after_options(rest[1:], _WRAPPERS[name])
        elif len(rest) > 2 and rest[1] in _RUNNERS.get(name, ()) and rest[2] not in _OWN_TASKS:
            rest = _after_options(rest[2:], tuple(_VALUED))
        else:
            break
    return tuple(rest)


def _after_options(words: list[str], valued: tuple[str, ...]) -> list[str]:
    """The words after leading options, the values of ``valued`` ones, and assignments."""
    at = 0
    while at < len(words):
        if words[at] == "--":
            return words[at + 1 :]
        if words[at] == "-m":  # a module to run, for coverage and python alike
            return ["python", *words[at:]]
        if not words[at].startswith("-") and not re.match(_ASSIGNMENT, words[at]):
            break
        at += 2 if words[at] in valued else 1
    return words[at:]


def _shell_text(words: Sequence[str]) -> str | None:
    """The text that ``bash -c`` is given, or that ``eval`` is."""
    if words[:1] == ("eval",):
        return " ".join(words[1:])
    if not words or words[0].rsplit("/", 1)[-1] not in SHELLS:
        return None
    for at, word in enumerate(words[1:-1], start=1):
        if re.fullmatch(r"-[a-z]*c", word):
            return ("set -o pipefail; " if "pipefail" in words[:at] else "") + words[at + 1]
    return None


def program(words: Sequence[str]) -> tuple[str, list[str]]:
    """The program's plain name and its arguments; ``python -m pytest`` is ``pytest``."""
    name = re.sub(r"\.(?:exe|cmd|bat)$", "", words[0].replace("\\", "/").rsplit("/", 1)[-1])
    rest = list(words[1:])
    if re.fullmatch(r"(?:python|pypy)[\d.]*|py", name):
        name = "python"
        options = [at for at, word in enumerate(rest) if word == "-m"]
        if options and all(
            word.startswith(("-", "ignore", "error")) for word in rest[: options[0]]
        ):
            return " ".join(rest[options[0] + 1 : options[0] + 2]), rest[options[0] + 2 :]
    return name, rest


def told(words: Sequence[str], pattern: str) -> bool:
    """Whether a word is, from end to end, what the pattern says."""
    return any(re.fullmatch(pattern, word) for word in words)


def temporary(path: str) -> bool:
    """Whether a path lies in a place for temporary files."""
    return bool(
        re.match(r"(?:/private)?/(?:var/)?tmp/|/dev/|\$\{?TMPDIR|\$\{?TMP\b|/var/folders/", path)
    )
