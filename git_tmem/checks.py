"""What a shell command is for: a check, a setup, a change of files; and whether it passed.

Nothing is run, and nothing here raises: ``shell`` reads the line, this module knows what the
programs in it do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from git_tmem.shell import SHELLS, Simple, commands

#: What a pass proves: tests, a build or type check, a lint; 0 is no check at all.
TEST = 3
BUILD = 2
LINT = 1


def is_check(command: str) -> bool:
    """Whether the command runs tests, a build, a type checker or a linter."""
    return strength(command) > 0


def strength(command: str) -> int:
    """How much a pass of the command proves: tests 3, build or types 2, lint 1, no check 0."""
    return max((_strength(simple) for simple in commands(command)), default=0)


def passed(command: str, exit_code: int | None, output: str) -> bool | None:
    """Whether the check passed; None when that cannot be told.

    An exit code is believed unless something after the check replaces it: a pipe without
    ``pipefail``, ``|| true``, a later command. Then the output speaks.
    """
    simples = commands(command)
    if exit_code is not None and not _hidden(simples):
        return exit_code == 0 or bool(_goes_on(simples) and _verdict(output))
    if exit_code in (124, 137, 139, 143):  # timed out, killed, crashed
        return False
    said = _verdict(output)
    if said is not None or exit_code is None:
        return said
    return True if exit_code == 0 and _keeps_end(simples, output) else None


def same_check(a: str, b: str) -> bool:
    """Whether two commands run the same check: wrappers, pipes and verbosity do not count."""
    return _essence(a) == _essence(b)


def covers(wider: str, narrower: str) -> bool:
    """Whether a pass of one command proves what the other ran: the same check, or the same
    test runner on a whole that the other is a part of (a folder of its file, all tests of its
    ``-k`` filter)."""
    whole, part = _essence(wider), _essence(narrower)
    return whole == part or (bool(part) and all(_among(one, whole) for one in part))


def is_setup(command: str) -> bool:
    """Whether the command installs or configures the environment."""
    simples = [simple for simple in commands(command) if simple.words[:1] != ("cd",)]
    only = all(_program(simple.words or ("",))[0] in _PREPARES for simple in simples)
    return bool(simples) and (only or any(_sets_up(simple.words) for simple in simples))


def writes(command: str) -> bool:
    """Whether the command changes files; temporary ones do not count."""
    return any(_writes(simple) for simple in commands(command))


def targets(command: str) -> tuple[str, ...]:
    """Relative paths that the command names, in order; a leading ``cd`` is applied."""
    found: dict[str, None] = {}
    folder = ""
    for simple in commands(command):
        if simple.words[:1] == ("cd",):
            folder = _entered(folder, " ".join(simple.words[1:2]))
            continue
        for word in (*_operands(simple.words), *simple.writes):
            path = _relative(word)
            if path and not word.startswith("$WORKSPACE"):
                path = f"{folder}/{path}" if folder else path
            if path:
                found[path] = None
    return tuple(found)


# What a program does.

_TESTERS = {
    "pytest", "py.test", "nosetests", "nose2", "tox", "nox", "trial", "behave", "robot", "ward",
    "jest", "vitest", "mocha", "ava", "tap", "karma", "cypress", "playwright", "c8", "nyc",
    "jasmine", "rspec", "cucumber", "minitest", "phpunit", "pest", "ctest", "bats", "busted",
    "prove", "gotestsum", "ginkgo", "unittest", "pytest-3", "stestr", "runtests", "testem",
    "wtr",
}  # fmt: skip
_BUILDERS = {
    "tsc", "mypy", "pyright", "basedpyright", "pyre", "ty", "pytype", "vue-tsc", "ninja",
    "javac", "rustc", "gcc", "g++", "cc", "c++", "clang", "clang++", "webpack", "tsup",
    "esbuild", "rollup", "sphinx-build", "sphinx", "sphinx.cmd.build", "py_compile",
    "compileall", "phpstan", "psalm", "msbuild", "xcodebuild", "scalac", "kotlinc", "ghc",
    "compile", "meson", "tsdown", "attw", "svelte-check", "scons",
}  # fmt: skip
_LINTERS = {
    "flake8", "pylint", "eslint", "shellcheck", "golangci-lint", "staticcheck", "rubocop",
    "hadolint", "yamllint", "markdownlint", "actionlint", "stylelint", "cppcheck", "clang-tidy",
    "bandit", "pycodestyle", "pydocstyle", "codespell", "oxlint", "standard", "xo", "tslint",
    "ktlint", "detekt", "swiftlint", "revive", "vulture", "pre-commit", "luacheck", "jsonlint",
}  # fmt: skip
#: Formatters check only when they are told to; without, they write.
_FORMATTERS = {
    "black": r"--check",
    "isort": r"--check(-only)?|-c",
    "prettier": r"--check|-c|--list-different|-l",
    "rustfmt": r"--check",
    "clang-format": r"--?Werror",
    "autopep8": r"--exit-code",
    "yapf": r"--diff|-d",
    "shfmt": r"-d",
    "dprint": r"check",
    "biome": r"check|lint|ci",
}
#: Programs whose first plain argument says what they do.
_SUBCOMMANDS = {
    "go": {"test": TEST, "vet": BUILD, "build": BUILD},
    "cargo": {"test": TEST, "nextest": TEST, "t": TEST, "check": BUILD, "build": BUILD, "b": BUILD,
              "c": BUILD, "clippy": LINT, "doc": BUILD, "miri": TEST},
    "dotnet": {"test": TEST, "build": BUILD},
    "bazel": {"test": TEST, "build": BUILD},
    "buck2": {"test": TEST, "build": BUILD},
    "swift": {"test": TEST, "build": BUILD},
    "mix": {"test": TEST, "compile": BUILD, "credo": LINT},
    "deno": {"test": TEST, "check": BUILD, "lint": LINT},
    "flutter": {"test": TEST, "build": BUILD, "analyze": BUILD},
    "dart": {"test": TEST, "analyze": BUILD},
    "zig": {"test": TEST, "build": BUILD},
    "stack": {"test": TEST, "build": BUILD},
    "cabal": {"test": TEST, "build": BUILD},
    "lein": {"test": TEST},
    "sbt": {"test": TEST, "compile": BUILD},
    "ruff": {"check": LINT},
    "terraform": {"validate": BUILD, "plan": BUILD},
    "rails": {"test": TEST},
    "buf": {"lint": LINT, "build": BUILD},
    "helm": {"lint": LINT},
    "next": {"build": BUILD, "lint": LINT},
    "vite": {"build": BUILD},
    "mkdocs": {"build": BUILD},
    "hatch": {"test": TEST, "build": BUILD},
    "poetry": {"check": LINT},
    "meson": {"test": TEST},
    "ng": {"test": TEST, "build": BUILD, "lint": LINT},
}  # fmt: skip
#: Programs that run a project's own tasks: the task's name says what it does.
_TASKERS = {
    "make", "gmake", "just", "task", "mise", "npm", "pnpm", "yarn", "bun", "mvn", "mvnw",
    "gradle", "gradlew", "rake", "invoke", "inv", "ant", "turbo", "nx", "lerna", "composer",
    "poe", "pdm", "doit", "moon", "rush", "wireit", "earthly", "cmake", "nimble", "gulp",
    "grunt", "hatch", "uv",
}  # fmt: skip
_PACKAGERS = {"npm", "pnpm", "yarn", "bun", "uv", "composer", "pdm", "hatch"}
_TASK_OPTIONS = {
    "-C", "-f", "--filter", "-F", "--prefix", "-w", "--workspace", "--cwd", "--dir", "-j", "-p",
    "-P", "--project", "-pl", "--file",
}  # fmt: skip
_WORDS = {
    **dict.fromkeys(("test", "tests", "runtests", "spec", "specs", "e2e", "ci", "integration",
                     "unittest", "unittests", "pytest", "jest", "coverage", "testsuite"), TEST),
    **dict.fromkeys(("build", "check", "verify", "validate", "typecheck", "types", "compile", "tsc",
                     "mypy", "all", "package", "assemble", "vet", "checks", "typescript"), BUILD),
    **dict.fromkeys(("lint", "eslint", "ruff", "flake8", "style", "clippy", "linter"), LINT),
}  # fmt: skip
_INTERPRETERS = {"python", "node", "ruby", "perl", "php", "bash", "sh", "zsh", "deno", "bun", "tsx"}
_IDLE = r"--(?:help|version|collect-only|co|listTests|showConfig|fixtures|markers|list)$"


def _strength(simple: Simple) -> int:
    """What the passing of one command proves."""
    words = simple.words
    if not words or any(re.match(_IDLE, word) for word in words) or words[1:] in (("-h",), ("-V",)):
        return 0
    name, rest = _program(words)
    if name in _TESTERS:
        return TEST
    if name in _LINTERS or (
        name == "ruff" and rest[:1] == ["format"] and _told(rest, r"--check|--diff")
    ):
        return LINT
    if name in _FORMATTERS:
        return LINT if _told(rest, _FORMATTERS[name]) else 0
    if name == "cargo" and rest[:1] == ["fmt"]:
        return LINT if "--check" in rest else 0
    if name in _BUILDERS:
        return BUILD
    plain = [word for word in rest if not word.startswith("-")]
    known = _SUBCOMMANDS.get(name, {}).get(plain[0] if plain else "", 0)
    return known or _task(name, rest) or _script(words[0] if "/" in words[0] else name, rest)


def _program(words: Sequence[str]) -> tuple[str, list[str]]:
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


def _told(words: Sequence[str], pattern: str) -> bool:
    return any(re.fullmatch(pattern, word) for word in words)


def _task(name: str, words: Sequence[str]) -> int:
    """What a task runner's tasks prove, by their names; the strongest counts."""
    if name not in _TASKERS:
        return 0
    tasks = [word for word in _after_values(words) if not word.startswith("-") and "=" not in word]
    if name in _PACKAGERS:
        tasks = _package_script(tasks)
    elif name == "cmake":
        return BUILD if "--build" in words else 0
    elif name in ("make", "gmake", "gradle", "gradlew", "just", "task", "ant") and not tasks:
        return BUILD
    elif tasks[:1] in (["run"], ["r"]):
        tasks = tasks[1:]
    if name in ("mvn", "mvnw") and {"verify", "install", "package", "integration-test"} & {*tasks}:
        return TEST if not any(word.startswith("-DskipTests") for word in words) else BUILD
    if name in ("gradle", "gradlew") and {"check", "build"} & {
        task.split(":")[-1] for task in tasks
    }:
        return TEST
    if name in ("make", "gmake") and "check" in tasks:
        return TEST
    return max((_by_words(task) for task in tasks), default=0)


def _after_values(words: Sequence[str]) -> Iterator[str]:
    """The words without the values of task runners' options."""
    skip = False
    for word in words:
        if word == "--":
            return
        if not skip:
            yield word
        skip = word in _TASK_OPTIONS


def _package_script(words: Sequence[str]) -> list[str]:
    """The script that a package manager is asked to run, without its arguments."""
    rest = list(words)
    while rest and rest[0] in ("workspace", "workspaces", "foreach", "-r", "recursive"):
        rest = rest[2:] if rest[0] == "workspace" else rest[1:]
    if rest[:1] in (["run"], ["run-script"]):
        return rest[1:2]
    direct = {"test", "t", "tst", "lint", "build", "typecheck", "check", "test:unit", "test:ci"}
    return ["test" if rest[0] in ("t", "tst") else rest[0]] if rest and rest[0] in direct else []


def _by_words(text: str) -> int:
    """What a name promises: ``test:unit``, ``scripts/run_tests.sh``, ``check-types``."""
    text = re.sub(r"([a-z])([A-Z])", r"\1 \2", text)
    found = {_WORDS.get(word, 0) for word in re.split(r"[^a-z0-9]+", text.lower())}
    return max(found)


def _script(program: str, words: Sequence[str]) -> int:
    """What a script proves by its file's name; one-liners and temporary files prove nothing."""
    name = program.rsplit("/", 1)[-1]
    plain = [word for word in words if not word.startswith("-")]
    if name in _INTERPRETERS or re.match(r"(?:python|pypy)[\d.]*$|ts-node", name):
        if _told(words, r"--test|--check|-n"):  # node, bun, shells
            return {"--test": TEST, "--check": BUILD}.get(words[0], LINT if name in SHELLS else 0)
        if not plain or _told(words, r"-c|-e|-p|--eval|--print|-"):
            return 0
        program, plain = plain[0], plain[1:]
    elif "/" not in program and not re.search(r"\.\w+$|^run", name):
        return 0
    base = program.rsplit("/", 1)[-1]
    if base in ("manage.py", "setup.py", "django-admin"):
        return {"test": TEST, "check": BUILD, "build": BUILD}.get(plain[0] if plain else "", 0)
    return 0 if _temporary(program) else _by_words(base.rsplit(".", 1)[0])


def _temporary(path: str) -> bool:
    return bool(
        re.match(r"(?:/private)?/(?:var/)?tmp/|/dev/|\$\{?TMPDIR|\$\{?TMP\b|/var/folders/", path)
    )


# Whether it passed.

#: What the end of a run says, by tool: a failure beats a success, both beat a remark.
_FAILED = (
    r"(?m)^(?:FAILED|ERROR) \S|^FAILED \(|^--- FAIL|^FAIL(?:\t|$|:? )|^panic: |^not ok \d"
    r"|(?<![\d.])[1-9]\d* (?:failed|failing|failures?|exceptions?|errors?\b(?! (?:fixed|ignored)))"
    r"|^[#ℹ] fail [1-9]|^ *[1-9]\d* fail$|test result: FAILED|could not compile"
    r"|^error(?:\[E\d+\])?: "
    r"|error TS\d+:|BUILD FAIL(?:ED|URE)|Build FAILED|^FAILURES!|^ERRORS!"
    r"|[1-9]\d* problems? \([1-9]"
    r"|: (?:fatal )?error: |(?:Failures|Errors): [1-9]|^Failed! |make(?:\[\d+\])?: \*\*\* "
    r"|ninja: build stopped"
    r"|npm ERR!|npm error|ELIFECYCLE|^ERROR: |ERROR task failed|would reformat|^E  +\S"
)
_PASSED = (
    r"(?m)\b[1-9]\d* (?:passed|passing)\b|^OK(?: \(.*\))?$|^ok[ \t]+\S|test result: ok|^PASS\b"
    r"|BUILD SUCCESS|[Bb]uild succeeded|All checks passed|no issues found|^[#ℹ] fail 0|^ *0 fail$"
    r"|\b0 (?:errors|failures|problems)\b|100% tests passed|^Passed! |^OK \(\d+ test|tests finished"
    r"|Tests? passed|All tests passed|Finished `?(?:test|dev|release)"
)
_BROKEN = (
    r"(?m)^Traceback \(most recent call last\)|command not found"
    r"|^(?:\S*/)?python[\d.]*: (?:No module|can't)"
    r"|No such file or directory|Segmentation fault|^Error: |^fatal: |^\w*(?:Error|Exception): "
    r"|: undefined: |undefined reference|Cannot find module|missing script"
)
_SHOWS_END = {"tail", "cat", "tee"}
_CLOSERS = {"done", "fi", "esac", "}"}


def _verdict(output: str) -> bool | None:
    """What the output alone says about a run."""
    output = re.sub(r"\x1b\[[0-9;]*m", "", output)
    if re.search(_FAILED, output):
        return False
    if re.search(_PASSED, output):
        return True
    return False if re.search(_BROKEN, output) else None


def _set(simples: Sequence[Simple], option: str) -> bool:
    """Whether the line turns a shell option on."""
    return any(
        simple.words[:1] == ("set",) and any(re.search(option, word) for word in simple.words[1:])
        for simple in simples
    )


def _hidden(simples: Sequence[Simple]) -> bool:
    """Whether the line's exit code may be another's than its checks'."""
    pipefail, errexit = _set(simples, "^pipefail$"), _set(simples, "^-[a-z]*e")
    checks = [at for at, simple in enumerate(simples) if _strength(simple)]
    if not checks:
        return False
    for at in range(checks[0], len(simples) - 1):
        then = simples[at].then
        if simples[at + 1].words[:1] and simples[at + 1].words[0] in _CLOSERS:
            continue
        if then in ("|", "|&") and not pipefail:
            return True
        if then == "||" and simples[at + 1].words[:1] not in (("exit",), ("false",)):
            return True
        if then == "&" or (then in (";", "\n", ")", "(") and not errexit):
            return True
    return simples[-1].then == "&"


def _goes_on(simples: Sequence[Simple]) -> bool:
    """Whether more runs after the last check has passed, which may be what failed."""
    last = max((at for at, simple in enumerate(simples) if _strength(simple)), default=len(simples))
    return any(simple.then == "&&" for simple in simples[last:-1])


def _keeps_end(simples: Sequence[Simple], output: str) -> bool:
    """Whether a failure would show: all that follows the check passes the output's end on."""
    last = max(at for at, simple in enumerate(simples) if _strength(simple))
    after = {simple.words[0] for simple in simples[last + 1 :] if simple.words}
    piped = all(simple.then in ("|", "|&") for simple in simples[last:-1])
    piped = piped and simples[-1].then != "&"
    return piped and (
        after <= _SHOWS_END or (after <= {"head", *_SHOWS_END} and not output.strip())
    )


#: Options that change what a run shows, not what it checks.
_NOISE = (
    r"-[qvsxl]+|-r[a-zA-Z]+|--(?:verbose|quiet|no-header|silent|no-cov|pretty|no-color|showlocals)"
    r"|--(?:tb|color|colors|durations|maxfail|reporter|log-level|show-capture|capture)(?:=.*)?|-count=\d+"
)


def _essence(command: str) -> tuple[tuple[str, ...], ...]:
    """The checks of a line without wrappers and noise; of a line without checks, all it runs."""
    simples = commands(command)
    checks = [simple for simple in simples if _strength(simple)] or simples
    found: list[tuple[str, ...]] = []
    for simple in checks:
        if simple.words:
            name, rest = _program(simple.words)
            found.append((name, *(word for word in rest if not re.fullmatch(_NOISE, word))))
    return tuple(found)


#: Test runners whose further words choose among the tests, by the words that name what they do.
_CHOOSERS = {
    "pytest": 0, "unittest": 0, "jest": 0, "vitest": 0, "mocha": 0, "rspec": 0, "phpunit": 0,
    "ctest": 0, "go": 1, "cargo": 1, "npm": 1, "pnpm": 1, "yarn": 1, "bun": 1,
}  # fmt: skip


def _among(part: tuple[str, ...], whole: Sequence[tuple[str, ...]]) -> bool:
    return part in whole or any(_is_part(part, one) for one in whole)


def _is_part(part: tuple[str, ...], whole: tuple[str, ...]) -> bool:
    """Whether one run of a test runner chooses among what another one runs whole."""
    own = 1 + _CHOOSERS.get(part[0], len(part))
    if part[:own] != whole[:own] or len(part) < own:
        return False
    chosen, limits = part[own:], whole[own:]
    folders = [word.removesuffix("...").removeprefix("./").rstrip("/") for word in limits]
    if any(word.startswith("-") or "::" in word for word in limits):
        return set(limits) <= set(
            chosen
        )  # options and single tests limit: the same must stand there
    paths = [word.removeprefix("./") for word in chosen if not word.startswith("-")]
    below = ("", ".")
    return not folders or any(
        folder in below or path == folder or path.startswith((f"{folder}/", f"{folder}::"))
        for folder in folders
        for path in paths[:1]
    )


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
    name, rest = _program(words)
    plain = [word for word in rest if not word.startswith("-") or word in ("-B", "-S")]
    if name in _ALWAYS_INSTALL or (name == "yarn" and not rest):
        return True
    if name == "docker" and plain[:1] == ["compose"]:
        name, plain = "docker-compose", plain[1:]
    if name == "git" and plain[:1] == ["config"]:
        return len(plain) > 2  # with a value: without, it only reads
    return bool(plain) and plain[0] in _INSTALLS.get(name, ())


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
#: Names of tasks that rewrite files.
_TIDIES = r"(?i)(?:^|[:_-])(?:fmt|format|fix|generate|codegen)$"
#: A program given as text that opens files for writing.
_CODE_WRITES = (
    r"open\([^)\n]*,\s*(?:mode=)?['\"][wax]|\.write_(?:text|bytes)\(|write_?[fF]ile|shutil\.|os\.re"
    r"|os\.unlink|\.rename\(|\.unlink\(|File\.write|Bun\.write|file_put_contents"
)


def _writes(simple: Simple) -> bool:
    """Whether one command changes files that are not temporary."""
    if any(not _temporary(path) for path in simple.writes):
        return True
    if not simple.words:
        return False
    name, rest = _program(simple.words)
    plain = [word for word in rest if not word.startswith("-")]
    kept = [word for word in plain if not _temporary(word)]
    if name in _CHANGERS:
        return bool(kept) or not plain
    if name == "tee":
        return bool(kept)
    if name == "git":
        idle = _told(rest, r"-b|-B|-c|drop|list|show|--abort") and "--" not in rest
        return bool(plain) and plain[0] in _GIT_CHANGERS and not idle
    if name in ("black", "isort", "docformatter"):
        return not _told(rest, r"--check(?:-only)?|--diff|-c|--version|-h|--help")
    if name == "ruff" and rest[:1] == ["format"]:
        return not _told(rest, r"--check|--diff")
    if name in _REWRITERS:
        return _told(rest, _REWRITERS[name]) and not _told(rest, r"--check|--dry-run|/dev/null")
    if name in ("python", "node", "ruby", "perl", "php", "bun", "deno"):
        return bool(re.search(_CODE_WRITES, "\n".join((*rest, simple.document))))
    if name in _TASKERS and any(re.search(_TIDIES, word) for word in plain):
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
    name, rest = _program(words)
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


def _entered(folder: str, word: str) -> str:
    """The folder after ``cd word``, relative to where the line began; '' when that is unknown."""
    if word.startswith("$WORKSPACE"):
        folder, word = "", word.removeprefix("$WORKSPACE").lstrip("/")
    elif not re.match(r"[\w.]", word):
        return ""
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
