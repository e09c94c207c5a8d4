"""The tree that guards are checked against: the work tree, or a revision the user names."""

from __future__ import annotations

from typing import Any

from git_tmem.repo import Repository
from git_tmem.worktree import WorktreeView


def open_view(repository: Repository, at: str) -> Any:
    """The work tree, or for ``at`` (in a bare repository: HEAD) that revision's tree."""
    if repository.layout.top and not at:
        return WorktreeView(repository.layout)
    return repository.view(repository.resolve(at or "HEAD"))
