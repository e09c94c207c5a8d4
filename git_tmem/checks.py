"""What a shell command checks, and whether it passed.

Nothing is run, and nothing here raises: ``shell`` reads the line, this module knows what the
programs in it prove.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from git_tmem.shell import SHELLS, Simple, commands, program, temporary, told

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
    if exit_code == 0 and _shows_diff(simples, output):
        return False
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


# What a program does.

_TESTERS = {
    "pytest", "py.test", "nosetests", "nose2", "tox", "nox", "trial", "behave", "robot", "ward",
    "jest", "vitest", "mocha", "ava", "tap", "karma", "c8", "nyc",
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
    "playwright": {"test": TEST},  # and not its install of browsers
    "cypress": {"run": TEST},
}  # fmt: skip
#: Programs that run a project's own tasks: the task's name says what it does.
TASKERS = {
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
    name, rest = program(words)
    if name in _TESTERS:
        return TEST
    if name in _LINTERS or (
        name == "ruff" and rest[:1] == ["format"] and told(rest, r"--check|--diff")
    ):
        return LINT
    if name in _FORMATTERS:
        return LINT if told(rest, _FORMATTERS[name]) else 0
    if name == "cargo" and rest[:1] == ["fmt"]:
        return LINT if "--check" in rest else 0
    if name in _BUILDERS:
        return BUILD
    plain = [word for word in rest if not word.startswith("-")]
    known = _SUBCOMMANDS.get(name, {}).get(plain[0] if plain else "", 0)
    return known or _task(name, rest) or _script(words[0] if "/" in words[0] else name, rest)


def _task(name: str, words: Sequence[str]) -> int:
    """What a task runner's tasks prove, by their names; the strongest counts."""
    if name not in TASKERS:
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
        if told(words, r"--test|--check|-n"):  # node, bun, shells
            return {"--test": TEST, "--check": BUILD}.get(words[0], LINT if name in SHELLS else 0)
        if not plain or told(words, r"-c|-e|-p|--eval|--print|-"):
            return 0
        program, plain = plain[0], plain[1:]
    elif "/" not in program and not re.search(r"\.\w+$|^run", name):
        return 0
    base = program.rsplit("/", 1)[-1]
    if base in ("manage.py", "setup.py", "django-admin"):
        return {"test": TEST, "check": BUILD, "build": BUILD}.get(plain[0] if plain else "", 0)
    return 0 if temporary(program) else _by_words(base.rsplit(".", 1)[0])


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


def _shows_diff(simples: Sequence[Simple], output: str) -> bool:
    """Whether a formatter, asked what it would change, shows it; some exit 0 all the same."""
    asked = any(
        program(simple.words or ("",))[0] in (*_FORMATTERS, "gofmt", "ruff") for simple in simples
    )
    return asked and bool(re.search(r"(?m)^--- \S.*\n\+\+\+ \S", output))


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
            name, rest = program(simple.words)
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
