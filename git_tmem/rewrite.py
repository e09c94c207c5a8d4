"""Rewriting the history of a ref of ours without some blobs, and removing objects for good.

A commit from which nothing is taken keeps its id; the others keep author, time and words.
Signatures do not survive, because they are of the old bytes.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Callable, Iterable, Mapping

from git_tmem import leak
from git_tmem.errors import StoreError
from git_tmem.git import Git
from git_tmem.repo import Repository

_FOLDER = 0o040000
_SIGNED = re.compile(rb"\ncommitter (.*) (\d+) ([+-])(\d\d)(\d\d)\n")
#: Files beside a pack that go with it; .idx goes last, as git does it.
_BESIDE = (".rev", ".bitmap", ".mtimes", ".promisor", ".pack", ".idx")


def history(
    repository: Repository,
    tip: str,
    blobs: Mapping[str, bytes],
    message: Callable[[bytes], bytes],
) -> str:
    """A tip with the same history, blobs replaced (by nothing, for b"") and messages passed
    through ``message``. The objects are remembered, not yet flushed."""
    git = repository.git
    listing = git.run("rev-list", "--topo-order", "--reverse", "--parents", tip).decode("ascii")
    rows = [line.split(" ") for line in listing.splitlines()]
    texts = {oid: data for oid, _, data in leak.contents(git, [row[0] for row in rows])}
    trees: dict[str, str] = {}
    new: dict[str, str] = {}
    for commit, *parents in rows:
        data = texts[commit]
        tree = data[5 : data.index(b"\n")].decode("ascii")
        wanted = _without(repository, tree, blobs, trees)
        now = [new.get(parent, parent) for parent in parents]
        head, _, words = data.partition(b"\n\n")
        clean_head, clean_words = message(head), message(words)
        if (wanted, now, clean_head, clean_words) == (tree, parents, head, words):
            continue
        signed = _SIGNED.search(clean_head + b"\n")
        if signed is None:
            raise StoreError(f"commit {commit[:12]} has no committer that can be read")
        zone = int(signed[3] + b"1") * (int(signed[4]) * 3600 + int(signed[5]) * 60)
        new[commit] = repository.write_raw_commit(
            wanted, now, signed[1], int(signed[2]), zone, clean_words
        )
    return new.get(tip, tip)


def _without(
    repository: Repository, tree: str, blobs: Mapping[str, bytes], known: dict[str, str]
) -> str:
    """A tree with blobs replaced or taken out at any depth; ``known`` remembers."""
    if tree in known:
        return known[tree]
    level = repository.level(tree)
    left = {}
    for name, (mode, oid) in level.items():
        if mode == _FOLDER:
            inner = _without(repository, oid, blobs, known)
            if inner != repository.empty_tree or inner == oid:
                left[name] = (mode, inner)
        elif oid not in blobs:
            left[name] = (mode, oid)
        elif blobs[oid]:
            left[name] = (mode, repository.write_blob(blobs[oid]))
    known[tree] = tree if left == level else repository.write_tree(left)
    return known[tree]


def reachable(git: Git, *what: str) -> set[str]:
    """Every object that the given tips (or ``--all`` and the like) reach."""
    asked = ("rev-list", "--objects", "--no-object-names", "--missing=allow-any")
    status, data, error = git.attempt(*asked, "--ignore-missing", *what)
    if status != 0:
        raise StoreError(f"git cannot say what is in use: {error.decode('utf-8', 'replace')}")
    return set(data.decode("ascii").split())


def remove(git: Git, ids: Iterable[str]) -> list[str]:
    """Remove objects that nothing needs from loose files and packs; packs left alone because
    of a .keep file. Raises StoreError when a pack cannot be written."""
    doomed = set(ids)
    folder = os.path.join(git.layout.common_dir, "objects")
    for oid in doomed:
        with contextlib.suppress(FileNotFoundError):
            path = os.path.join(folder, oid[:2], oid[2:])
            with contextlib.suppress(OSError):
                os.chmod(path, stat.S_IREAD | stat.S_IWRITE)  # Windows keeps read-only files
            os.unlink(path)
    kept = []
    packs = os.path.join(folder, "pack")
    names = sorted(os.listdir(packs)) if os.path.isdir(packs) else []
    for name in names:
        if name.endswith(".idx") and name.startswith("pack-"):
            kept += _repack(git, os.path.join(packs, name[:-4]), doomed)
    _renew_graph(git)
    return kept


def _repack(git: Git, pack: str, doomed: set[str]) -> list[str]:
    """Write a pack anew without the doomed objects in it, if there are any."""
    with open(f"{pack}.idx", "rb") as stream:
        listing = git.run("show-index", data=stream.read())
    there = [line.split(" ")[1] for line in listing.decode("ascii").splitlines()]
    left = [oid for oid in there if oid not in doomed]
    if len(left) == len(there):
        return []
    if os.path.exists(f"{pack}.keep"):
        return [os.path.basename(pack)]
    if left:
        asked = "".join(f"{oid}\n" for oid in left).encode()
        base = os.path.join(os.path.dirname(pack), "pack")
        name = git.run("-c", "core.fsync=committed", "pack-objects", "-q", base, data=asked)
        new = f"{base}-{name.decode('ascii').strip()}"
        if not os.path.exists(f"{new}.idx"):
            raise StoreError("git wrote no pack without what is to go; nothing was removed")
        if os.path.exists(f"{pack}.promisor"):
            with open(f"{new}.promisor", "wb"):
                pass
        if new == pack:
            return []
    with contextlib.suppress(OSError):  # it names the old pack; git makes it anew
        os.unlink(os.path.join(os.path.dirname(pack), "multi-pack-index"))
    for suffix in _BESIDE:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f"{pack}{suffix}")
    return []


def _renew_graph(git: Git) -> None:
    """Write the commit-graph anew where there is one: it may name commits that are gone."""
    info = os.path.join(git.layout.common_dir, "objects", "info")
    if os.path.exists(os.path.join(info, "commit-graph")):
        git.attempt("commit-graph", "write", "--reachable")
    elif os.path.exists(os.path.join(info, "commit-graphs")):
        git.attempt("commit-graph", "write", "--reachable", "--split=replace")
