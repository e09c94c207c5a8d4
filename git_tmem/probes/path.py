"""Guard: something is still at this path."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from git_tmem.playbook import FRESH, GONE, MUTATE, READ, Outcome, Step
from git_tmem.probes.base import CachedView, safe_path

KIND = "path"
NEEDS = ("path",)


def build(step: Step, view: CachedView) -> Iterator[dict[str, str]]:
    """``{path}`` for what was read or changed and is there."""
    if step.kind in (READ, MUTATE) and safe_path(step.path) and view.exists(step.path):
        yield {"path": step.path}


def check(args: Mapping[str, str], view: CachedView) -> Outcome:
    """Fresh when a file, a link or a folder is there."""
    path = args["path"]
    return Outcome(FRESH, path=path) if view.exists(path) else Outcome(GONE, f"{path} is gone")
