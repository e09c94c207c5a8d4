"""What a shell command changes: files, the environment; and which paths it names.

Nothing is run, and nothing here raises.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from git_tmem.checks import TASKERS
from git_tmem.shell import SHELLS, Simple, commands, program, temporary, told


def is_setup(command: str) -> bool:
    """Whether the command installs or configures the environment."""
    simples = [simple for simple in commands(command) if simple.words[:1] != ("cd",)]
    only = all(program(simple.words or ("",))[0] in _PREPARES for simple in simples)
    return bool(simples) and (only or any(_sets_up(simple.words) for simple in simples))


def writes(command: str) -> bool:
    """Whether the command changes files; temporary ones do not count."""
    return any(_writes(simple) for simple in commands(command))


def writes_by_code(text: str) -> bool:
    """Whether a program's text opens files for writing, renames or removes any."""
    return bool(re.search(_CODE_WRITES, text))


def discards(command: str) -> tuple[str, ...]:
    """What the command sets back to what git has: paths, '.' for everything."""
    found: list[str] = []
    for simple in commands(command):
        if len(simple.words) > 1 and simple.words[0].rsplit("/", 1)[-1] == "git":
            found += _discarded(simple.words[1:])
    return tuple(found)


def poured(command: str) -> tuple[str, ...]:
    """Relative paths of the files that the command pours its own text into, and of the
    folders that it makes; a leading ``cd`` is applied."""
    found: list[str] = []
    folder = ""
    for simple in commands(command):
        name = simple.words[0] if simple.words else ""
        if name == "cd":
            folder = entered(folder, " ".join(simple.words[1:2]))
            continue
        paths = simple.writes if simple.document or name in _SPEAKERS else ()
        if name in ("mkdir", "tee"):
            plain = (word.rstrip("/") for word in simple.words[1:] if not word.startswith("-"))
            paths = tuple(above for word in plain for above in _with_folders(word))
        if folder != OUTSIDE:
            found += [f"{folder}/{path}" if folder else path for path in paths]
    return tuple(found)


def _with_folders(path: str) -> list[str]:
    """A path and the folders above it, the highest first."""
    return [path[:at] for at, sign in enumerate(path) if sign == "/" and at] + [path]


def declares(command: str, path: str, added: Sequence[str]) -> bool:
    """Whether the command adds a package by name, and the lines added to such a manifest or
    lock file have that name."""
    name = path.rsplit("/", 1)[-1]
    text = "\n".join(added)
    for simple in commands(command):
        tool, rest = program(simple.words or ("",))
        if name in _MANIFESTS.get(tool, ()) and _sets_up(simple.words):
            wanted = [word for word in rest[1:] if not word.startswith("-")]
            names = (re.match(r"@?[\w./-]+", word) for word in wanted)
            return any(found is not None and found[0] in text for found in names)
    return False


def targets(command: str) -> tuple[str, ...]:
    """Relative paths that the command names, in order; a leading ``cd`` is applied."""
    found: dict[str, None] = {}
    folder = ""
    for simple in commands(command):
        if simple.words[:1] == ("cd",):
            folder = entered(folder, " ".join(simple.words[1:2]))
            continue
        for word in (*_operands(simple.words), *simple.writes):
            path = _relative(word)
            if path and not word.startswith("$WORKSPACE"):
                path = f"{folder}/{path}" if folder else path
            if path and not path.startswith(OUTSIDE):
                found[path] = None
    return tuple(found)


# What it changes.

_INSTALLS = {
    "pip": {"install", "uninstall"},
    "pipx": {"install", "inject"},
    "uv": {"sync", "add", "remove", "lock", "venv", "pip", "tool", "python"},
    "poetry": {"install", "add", "remove", "lock", "update"},
    "pipenv": {"install", "sync", "lock"},
    "pdm": {"install", "add", "sync", "lock"},
    "conda": {"install", "create", "env", "update", "activate"},
    "npm": {"install", "i", "ci", "add", "uninstall", "update", "link", "rebuild", "config"},
    "pnpm": {"install", "i", "add", "remove", "update", "up", "approve-builds"},
    "yarn": {"install", "add", "remove", "up"},
    "bun": {"install", "i", "add", "remove"},
    "go": {"get", "mod", "install", "work"},
    "cargo": {"add", "install", "fetch", "update", "remove"},
    "rustup": {"component", "target", "toolchain", "default", "install", "update", "override"},
    "gem": {"install"},
    "bundle": {"install", "update", "config", "lock"},
    "composer": {"install", "require", "update"},
    "dotnet": {"restore", "add", "tool", "workload"},
    "brew": {"install", "upgrade", "link"},
    "nvm": {"install", "use", "alias"},
    "pyenv": {"install", "local", "global", "shell"},
    "asdf": {"install", "local", "global", "plugin"},
    "mise": {"install", "use", "trust"},
    "volta": {"install", "pin"},
    "corepack": {"enable", "prepare", "use"},
    "playwright": {"install", "install-deps"},
    "pre-commit": {"install"},
    "git": {"submodule", "config", "lfs"},
    "docker": {"pull", "build", "start"},
    "docker-compose": {"up", "build", "start", "pull"},
    "systemctl": {"start", "restart", "enable"},
    "service": {"start", "restart"},
    "apk": {"add"},
    "cmake": {"-B", "-S"},
    "make": {"install", "setup", "deps", "bootstrap", "init", "dev-deps"},
    "just": {"install", "setup", "bootstrap"},
    "pip3": {"install", "uninstall"},
    "mamba": {"install", "create", "env", "update", "activate"},
    "micromamba": {"install", "create", "env", "update", "activate"},
    "apt": {"install", "update"},
    "apt-get": {"install", "update"},
    "yum": {"install", "update"},
    "dnf": {"install", "update"},
}
_ALWAYS_INSTALL = {
    "venv", "virtualenv", "ensurepip", "configure", "ldconfig", "sysctl", "update-alternatives",
    "add-apt-repository", "pacman",
}  # fmt: skip
#: Programs that prepare when nothing else is on the line; else they are a prelude.
_PREPARES = {"export", "source", ".", "chmod", "ulimit", "direnv", "unset", "alias"}


def _sets_up(words: Sequence[str]) -> bool:
    if not words:
        return False
    name, rest = program(words)
    plain = [word for word in rest if not word.startswith("-") or word in ("-B", "-S")]
    if name in _ALWAYS_INSTALL or (name == "yarn" and not rest):
        return True
    if name == "docker" and plain[:1] == ["compose"]:
        name, plain = "docker-compose", plain[1:]
    if name == "git" and plain[:1] == ["config"]:
        return len(plain) > 2  # with a value: without, it only reads
    return bool(plain) and plain[0] in _INSTALLS.get(name, ())


#: A folder outside the work tree, or one that is not known.
OUTSIDE = "/"
#: Programs whose redirected output is text of the agent's own.
_SPEAKERS = {"cat", "echo", "printf"}
_CHANGERS = {
    "mv", "cp", "rm", "ln", "install", "rsync", "dd", "truncate", "patch", "touch", "unlink",
    "rmdir", "unzip", "apply_patch", "shred", "ex", "ed", "codemod", "autoflake", "pyupgrade",
    "2to3", "applypatch",
}  # fmt: skip
_GIT_CHANGERS = {
    "mv", "rm", "checkout", "restore", "apply", "am", "stash", "reset", "merge", "rebase",
    "pull", "cherry-pick", "revert", "clean", "switch", "clone",
}  # fmt: skip
_REWRITERS = {
    "sed": r"-[nErsz]*i.*|--in-place.*",
    "perl": r"-[a-zA-Z0]*i.*",
    "awk": r"inplace",
    "gawk": r"inplace",
    "gofmt": r"-w",
    "goimports": r"-w",
    "prettier": r"--write|-w",
    "eslint": r"--fix",
    "ruff": r"--fix|--fix-only",
    "biome": r"--write|--apply|format",
    "clang-format": r"-i",
    "shfmt": r"-w",
    "yapf": r"-i|--in-place",
    "autopep8": r"-i|--in-place",
    "curl": r"-o|-O|--output|-[a-zA-Z]*[oO]",
    "wget": r"\S+",
    "tar": r"-?[a-zA-Z]*x[a-zA-Z]*|--extract",
    "find": r"-delete",
    "sort": r"-o",
    "gh": r"--output",
    "stylelint": r"--fix",
    "rubocop": r"-[aA]|--auto-?correct.*",
    "cargo": r"fmt|fix|add|remove|update",
    "go": r"fmt|generate|get|tidy|fix",
    "dart": r"format|fix",
    "terraform": r"fmt",
    "swift": r"format",
    "mix": r"format",
    "dotnet": r"format",
}
#: Package managers that keep a manifest or a lock file in the tree.
_MANIFESTED = {
    "npm", "pnpm", "yarn", "bun", "uv", "poetry", "pipenv", "pdm", "go", "cargo", "bundle",
    "composer",
}  # fmt: skip
_NODE = (
    "package.json",
    "package-lock.json",
    "pnpm-lock.yaml",
    "yarn.lock",
    "bun.lock",
    "bun.lockb",
)
_PYTHON = ("pyproject.toml", "uv.lock", "poetry.lock", "Pipfile", "Pipfile.lock", "pdm.lock")
#: The files that package managers keep, by their program.
_MANIFESTS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), _NODE),
    **dict.fromkeys(("uv", "poetry", "pipenv", "pdm"), _PYTHON),
    "go": ("go.mod", "go.sum"),
    "cargo": ("Cargo.toml", "Cargo.lock"),
    "bundle": ("Gemfile", "Gemfile.lock"),
    "composer": ("composer.json", "composer.lock"),
}
#: Names of tasks that rewrite files.
_TIDIES = r"(?i)(?:^|[:_-])(?:fmt|format|fix|generate|codegen)$"
#: A program given as text that opens files for writing.
INTERPRETERS = {"python", "node", "ruby", "perl", "php", "bun", "deno"}
_CODE_WRITES = (
    r"open\([^)\n]*,\s*(?:mode=)?['\"][wax]|\.write_(?:text|bytes)\(|write_?[fF]ile|shutil\.|os\.re"
    r"|os\.unlink|\.rename\(|\.unlink\(|File\.write|Bun\.write|file_put_contents"
)


def _discarded(words: Sequence[str]) -> list[str]:
    """What one git command, without its first word, sets back."""
    verb, rest = words[0], words[1:]
    if verb == "reset":
        return ["."] if "--hard" in rest else []
    if verb == "restore" and "--staged" in rest and "--worktree" not in rest:
        return []
    if verb not in ("checkout", "restore") or told(rest, r"-[bB]|--orphan|--detach"):
        return []
    if "--" in rest:
        return [word.rstrip("/") for word in rest[rest.index("--") + 1 :]]
    named = [word for word in rest if not word.startswith("-")]
    # Without --, a word may be a branch: only what ends as a file does is taken for one.
    return [word for word in named if word == "." or re.search(_SUFFIX, _relative(word))]


def _writes(simple: Simple) -> bool:
    """Whether one command changes files that are not temporary."""
    if any(not temporary(path) for path in simple.writes):
        return True
    if not simple.words:
        return False
    name, rest = program(simple.words)
    plain = [word for word in rest if not word.startswith("-")]
    kept = [word for word in plain if not temporary(word)]
    if name in _CHANGERS:
        return bool(kept) or not plain
    if name == "tee":
        return bool(kept)
    if name == "git":
        idle = told(rest, r"-b|-B|-c|drop|list|show|--abort") and "--" not in rest
        return bool(plain) and plain[0] in _GIT_CHANGERS and not idle
    if name in ("black", "isort", "docformatter"):
        return not told(rest, r"--check(?:-only)?|--diff|-c|--version|-h|--help")
    if name == "ruff" and rest[:1] == ["format"]:
        return not told(rest, r"--check|--diff")
    if name in _REWRITERS:
        return told(rest, _REWRITERS[name]) and not told(rest, r"--check|--dry-run|/dev/null")
    if name in INTERPRETERS:
        return writes_by_code("\n".join((*rest, simple.document)))
    if name in TASKERS and any(re.search(_TIDIES, word) for word in plain):
        return True
    return name in _MANIFESTED and _sets_up(simple.words)


# What it names.

#: Programs whose first plain word is a pattern, a text or a script, not a path.
_PATTERN_FIRST = {"sed", "grep", "egrep", "fgrep", "rg", "ag", "awk", "gawk", "perl", "jq", "yq"}
_SPEECH = {"echo", "printf", "gh", "export", "kill", "docker", "curl", "wget", "ssh", "alias"}
_PATH = r"[\w.@+~-]+(?:/[\w.@+~ -]+)*/?"
_SUFFIX = r"\.[A-Za-z][A-Za-z0-9]{0,7}$"
_GIT_PATHS = {"add", "mv", "rm", "restore", "apply", "am"}


def _operands(words: Sequence[str]) -> list[str]:
    """Words that may be paths."""
    if not words:
        return []
    name, rest = program(words)
    if name in _SPEECH:
        return []
    if name == "git":
        plain = [word for word in rest if not word.startswith("-")]
        if plain[:1] and plain[0] in _GIT_PATHS:
            return plain[1:]
        return rest[rest.index("--") + 1 :] if "--" in rest else []
    if "-c" in rest and (name == "python" or name in SHELLS):
        rest = rest[: rest.index("-c")]
    rest = [word.partition("=")[2] if word.startswith("--") else word for word in rest]
    plain = [word for word in rest if word and not word.startswith("-")]
    own = [words[0]] if "/" in words[0] else []
    return own + plain[1 if name in _PATTERN_FIRST else 0 :]


def entered(folder: str, word: str) -> str:
    """The folder after ``cd word``, relative to where the line began; OUTSIDE when it is unknown
    or elsewhere."""
    if word.startswith("$WORKSPACE"):
        folder, word = "", word.removeprefix("$WORKSPACE").lstrip("/")
    elif folder == OUTSIDE or not re.match(r"[\w.]", word):
        return OUTSIDE
    parts = folder.split("/") if folder else []
    for part in word.split("/"):
        if part == "..":
            parts = parts[:-1]
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)


def _relative(word: str) -> str:
    """The path that a word names, relative; '' when it names none or one outside."""
    word = word.partition("::")[0]
    named = "/" in word
    word = word.removeprefix("$WORKSPACE/").removeprefix("${WORKSPACE}/")
    word = re.sub(r"(?:/\.\.\.|/\*\*?(?:/.*)?|/\*\.\w+)$", "", word)
    word = re.sub(r":\d+(?::\d+)?$", "", word).removeprefix("./").rstrip("/")
    while word.startswith("./"):
        word = word[2:]
    outside = word.startswith(("/", "~", "@", "..")) or "/../" in word
    named = named or bool(re.search(_SUFFIX, word))
    return word if named and not outside and re.fullmatch(_PATH, word) else ""
