"""What commits did to files, copied out of git: commits, patches, worktrees."""

from __future__ import annotations

import os
from collections.abc import Sequence

from git_tmem.changes import Commit, FileChange
from git_tmem.git import Git

#: Commits that are looked at when a session's work is searched for in history.
DEPTH = 100
#: Bytes of a session's patch that are kept.
PATCH_LIMIT = 1 << 20


def commits_touching(git: Git, revisions: Sequence[str], paths: Sequence[str]) -> list[Commit]:
    """Commits in ``revisions`` (ids or ranges of ids) that touch any of the paths, newest
    first, at most ``DEPTH``; merges are left out. No paths means every commit."""
    shape = ["log", "-z", "--raw", "--no-abbrev", "--no-renames", "--root", "--no-merges"]
    status, data = git.output(
        *shape, f"--max-count={DEPTH}", "--format=%x01%H%x00%T%x00%ct", *revisions, "--", *paths
    )
    return [_commit(block) for block in data.split(b"\x01") if block] if status == 0 else []


def _commit(block: bytes) -> Commit:
    oid, tree, time, *rest = block.split(b"\0")
    pairs = zip(rest[0::2], rest[1::2], strict=False)
    changes = tuple(_change(head, path) for head, path in pairs if b":" in head)
    return Commit(oid.decode(), tree.decode(), int(time.strip()), changes)


def _change(head: bytes, path: bytes) -> FileChange:
    _, _, old, new, _ = head.strip().decode("ascii").split()
    return FileChange(os.fsdecode(path), _blob(old), _blob(new))


def _blob(oid: str) -> str:
    return oid if oid.strip("0") else ""


def patch_id(git: Git, commit: str) -> str:
    """Git's stable patch id of a commit, '' for one without changes."""
    patch = git.run("diff-tree", "-p", "--root", "--no-commit-id", commit)
    words = git.run("patch-id", "--stable", data=b"commit " + commit.encode() + b"\n" + patch)
    return words.split()[0].decode("ascii") if words.split() else ""


def patch(git: Git, commit: str, paths: Sequence[str]) -> str:
    """The patch that a commit (or, for '', the uncommitted work) makes to the paths."""
    if commit:
        shape = ["diff-tree", "-p", "--root", "--no-commit-id", "-M", commit]
    else:
        shape = ["diff", "HEAD", "--no-ext-diff", "--no-textconv"]
    status, data = git.output(*shape, "--", *paths)
    return data[:PATCH_LIMIT].decode("utf-8", "replace") if status == 0 else ""


def changed_paths(git: Git) -> set[str]:
    """Paths with uncommitted changes, new files that are not ignored included."""
    _, data = git.output("diff", "--name-only", "--no-renames", "-z", "HEAD", "--")
    _, new = git.output("ls-files", "-o", "-z", "--exclude-standard")
    return {os.fsdecode(path) for path in (data + new).split(b"\0") if path}


def known_paths(git: Git, paths: Sequence[str]) -> set[str]:
    """Those of the paths that git tracks or would add."""
    if not paths:
        return set()
    _, data = git.output("ls-files", "-c", "-o", "-z", "--exclude-standard", "--", *paths)
    return {os.fsdecode(path) for path in data.split(b"\0") if path}


def worktrees(git: Git) -> list[str]:
    """The tops of all work trees of this repository, the current one first."""
    _, data = git.output("worktree", "list", "--porcelain")
    lines = os.fsdecode(data).splitlines()
    tops = [line.removeprefix("worktree ") for line in lines if line.startswith("worktree ")]
    return list(dict.fromkeys(filter(None, (git.layout.top, *tops))))
