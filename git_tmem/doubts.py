"""What makes a passing check prove less than it seems, and a repair less than it claims."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Sequence

from git_tmem import checks, effects
from git_tmem.changes import Hunk

LINT = "a lint or a format check: it runs no code"
CACHED = "from a cache: nothing was run again"
NARROW = "it names none of the edited files"

#: How runners say that all they show was run earlier: go, turbo, nx, gradle.
_CACHED = re.compile(
    r"\(cached\)|FULL TURBO|existing outputs match the cache|(\d+) cached, \1 total"
)
_RAN = re.compile(r"^(?:ok|---|FAIL)\s(?!.*\(cached\))", re.M)

#: Stems of file names that tell too little to tie a check to an edit.
_COMMON = re.compile(r"__\w+|index|main|tests?|lib|mod|init|setup|config|utils?|types|\w{0,2}")

_TEST_FILE = re.compile(
    r"(?:^|/)(?:tests?|specs?|__tests__|testing)/|(?:^|/)test_|[._-](?:test|spec)s?\.\w+$|_test\.\w+$"
    r"|Tests?\.\w+$"
)
_ASSERTION = re.compile(
    r"\bassert\w*\b|\bexpect\s*\(|\bshould\b|\bt\.(?:Error|Fatal|Fail)|\brequire\.\w+\(|\braises\b|EXPECT_"
)
_SKIPS = re.compile(
    r"\bskip(?:if|unless|test)?\b|\bxfail\b|\b(?:it|test|describe)\.(?:skip|todo)|#\[ignore|\bxit\(",
    re.I,
)


def of_check(command: str, output: str, edited: Iterable[str]) -> str:
    """Why a check that passed proves little of the edits to these paths, '' for no reason."""
    if checks.strength(command) == checks.LINT:
        return LINT
    if is_cached(output):
        return CACHED
    return NARROW if _is_narrow(command, edited) else ""


def is_cached(output: str) -> bool:
    """Whether all that a check's output shows was run earlier."""
    return bool(_CACHED.search(output)) and not _RAN.search(output)


def _is_narrow(command: str, edited: Iterable[str]) -> bool:
    """Whether a test run chooses files, and no edited one, nor one named after it, is among
    them. Whoever names no file, or only folders, runs the whole."""
    named = [path for path in effects.targets(command) if "." in posixpath.basename(path)]
    own = {path for path in named if _TEST_FILE.search(path)}
    if not own or checks.strength(command) != checks.TEST:
        return False
    stems = {posixpath.basename(path).partition(".")[0].lower() for path in edited}
    telling = [stem for stem in stems if not _COMMON.fullmatch(stem)]
    return not (
        own & set(edited) or any(stem in command.lower() for stem in telling) or not telling
    )


def of_test(path: str, hunks: Sequence[Hunk]) -> str:
    """How the hunks make the test file prove less, '' when they do not or it is no test."""
    if not _TEST_FILE.search(path):
        return ""
    removed = "\n".join(line for hunk in hunks for line in hunk.removed)
    added = "\n".join(line for hunk in hunks for line in hunk.added)
    lost = len(_ASSERTION.findall(removed)) - len(_ASSERTION.findall(added))
    if lost > 0:
        return f"takes {lost} assertion{'s' * (lost > 1)} out of the test"
    skipped = len(_SKIPS.findall(added)) - len(_SKIPS.findall(removed))
    return "skips a test" if skipped > 0 else ""
