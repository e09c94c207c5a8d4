"""What commits did to files, copied out of git: commits, patches, reach, worktrees."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from git_tmem.changes import Commit, FileChange
from git_tmem.git import Git

#: Commits that are looked at when a session's work is searched for in history.
DEPTH = 100
#: Bytes of a session's patch that are kept.
PATCH_LIMIT = 1 << 20


def commits_touching(git: Git, revisions: Sequence[str], paths: Sequence[str]) -> list[Commit]:
    """Commits in ``revisions`` (ids or ranges of ids) that touch any of the paths, newest
    first, at most ``DEPTH``; merges are left out. No paths means every commit."""
    return _log(git, [f"--max-count={DEPTH}", *revisions, "--", *paths])


def commits_since(git: Git, revisions: Sequence[str], moment: int, most: int) -> list[Commit]:
    """Commits in ``revisions`` (anything that ``git log`` takes) made since ``moment`` (seconds
    since the epoch), newest first, at most ``most``; merges are left out."""
    age = [f"--max-age={moment}"] if moment > 0 else []
    return _log(git, [f"--max-count={most}", *age, *revisions, "--"])


def exactly(git: Git, commits: Sequence[str]) -> list[Commit]:
    """These commits in this order, without merges."""
    return _log(git, ["--no-walk=unsorted", *commits, "--"])


def _log(git: Git, arguments: Sequence[str]) -> list[Commit]:
    shape = ["log", "-z", "--raw", "--no-abbrev", "--no-renames", "--root", "--no-merges"]
    status, data = git.output(*shape, "--format=%x01%H%x00%T%x00%ct", *arguments)
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


def empty_tree(git: Git) -> str:
    """The id of the tree without entries, in this repository's object format."""
    return git.run("hash-object", "-t", "tree", "--stdin").decode("ascii").strip()


def patch_id(git: Git, commit: str) -> str:
    """Git's stable patch id of a commit, '' for one without changes or, in a partial clone,
    without its blobs."""
    return patch_ids(git, [commit]).get(commit, "")


def patch_ids(git: Git, commits: Sequence[str]) -> dict[str, str]:
    """Git's stable patch ids of many commits, in two runs of git; those without one are left
    out, as are merges, and those whose blobs are not in this clone and all after them."""
    if not commits:
        return {}
    asked = "".join(f"{commit}\n" for commit in commits).encode()
    status, patches, _ = git.attempt("diff-tree", "--stdin", "-p", "--root", data=asked)
    if status != 0:  # the last one may be cut off
        patches = patches[: max(patches.rfind(b"\n" + commit.encode()) for commit in commits) + 1]
    lines = git.run("patch-id", "--stable", data=patches).decode("ascii").splitlines()
    return {commit: found for found, commit in (line.split() for line in lines)}


def joined_patch_id(git: Git, old: str, new: str) -> str:
    """The stable patch id of all that lies between two trees or commits, '' for nothing, and
    when this clone has not all of it."""
    status, patch, _ = git.attempt("diff-tree", "-p", old, new)
    words = git.run("patch-id", "--stable", data=patch).split() if status == 0 else []
    return words[0].decode("ascii") if words else ""


def added_lines(git: Git, commit: str) -> set[tuple[str, str]]:
    """The (path, line) pairs that a commit added, as far as this clone has its blobs; layout and
    lines without a word left out."""
    shape = ["diff-tree", "-p", "-U0", "--root", "--no-commit-id", "--no-renames"]
    _, text = git.output(*shape, commit)
    found = set()
    path = ""
    in_hunk = False
    for line in text.decode("utf-8", "replace").splitlines():
        if line.startswith("diff --git "):
            in_hunk = False
        elif line.startswith("@@"):
            in_hunk = True
        elif not in_hunk and line.startswith("+++ "):
            path = line[4:]
        elif in_hunk and line.startswith("+") and any(letter.isalnum() for letter in line):
            found.add((path, " ".join(line[1:].split())))
    return found


def commit_before(git: Git, moment: int) -> str:
    """The newest commit of any branch that was made by then (seconds since the epoch), '' for
    none."""
    status, data = git.output("rev-list", "-1", "--branches", f"--min-age={moment}")
    return data.decode("ascii").strip() if status == 0 else ""


def readable(git: Git, commits: Iterable[str]) -> list[str]:
    """Those of the ids that are commits in this clone."""
    asked = "".join(f"{commit}\n" for commit in commits).encode()
    if not asked:
        return []
    answers = git.run("cat-file", "--batch-check=%(objectname) %(objecttype)", data=asked)
    words = (line.split() for line in answers.decode("utf-8", "replace").splitlines())
    return [word[0] for word in words if word[1:] == ["commit"]]


def heads(git: Git) -> list[str]:
    """The commits that HEAD is at, here and in every other worktree."""
    _, data = git.output("worktree", "list", "--porcelain")
    lines = os.fsdecode(data).splitlines()
    found = [line.removeprefix("HEAD ") for line in lines if line.startswith("HEAD ")]
    return [head for head in found if head.strip("0")]


def off_branch(git: Git, starts: Sequence[str]) -> list[tuple[str, list[str]]]:
    """Commits reachable from ``starts`` (readable ids, or ``--reflog``) but from no branch, no
    tag and no HEAD: (id, parents), children before parents."""
    known = ["--not", "--branches", "--tags", *heads(git)]
    asked = "".join(f"{start}\n" for start in starts if start != "--reflog").encode()
    logs = ["--reflog"] if "--reflog" in starts else []
    data = git.run("rev-list", "--topo-order", "--parents", "--stdin", *logs, *known, data=asked)
    words = (line.split() for line in data.decode("ascii").splitlines())
    return [(word[0], word[1:]) for word in words]


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
