"""The work tree and a revision answer the same questions, and agree with git."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from git_tmem.git import discover
from git_tmem.probes.base import Unknowable
from git_tmem.repo import Repository
from git_tmem.worktree import WorktreeView
from tests.conftest import run_git

NAMES = ["a.py", "目录/文件.py", "with space/x y.py", "deep/er/b.txt", 'q"uote.txt']


@pytest.fixture
def tree(repo: Path) -> Path:
    for number, name in enumerate(NAMES):
        (repo / name).parent.mkdir(parents=True, exist_ok=True)
        (repo / name).write_text(f"content {number}\n", encoding="utf-8")
    (repo / "link").symlink_to("a.py")
    run_git(repo, "add", ".")
    run_git(repo, "commit", "-qm", "files")
    return repo


def views(folder: Path) -> list[Any]:
    repository = Repository.open(str(folder))
    return [WorktreeView(repository.layout), repository.view(repository.head())]


@pytest.mark.parametrize("which", [0, 1], ids=["work tree", "revision"])
def test_ids_and_contents_are_gits(tree: Path, which: int) -> None:
    view = views(tree)[which]
    view.prime([*NAMES, "link"])
    for name in (*NAMES, "link"):
        assert view.blob(name) == run_git(tree, "rev-parse", f"HEAD:{name}")
    assert view.read("a.py") == b"content 0\n"
    assert view.read("link") is None
    assert view.find(run_git(tree, "rev-parse", "HEAD:deep/er/b.txt")) == ["deep/er/b.txt"]
    assert view.is_dir("deep/er")
    assert not view.is_dir("a.py")
    for name in ("nothing", "deep", "a.py/below", "deep/er/none"):
        assert view.blob(name) is None
        assert view.read(name) is None


def test_an_uncommitted_edit_is_seen_by_the_work_tree_alone(tree: Path) -> None:
    (tree / "a.py").write_text("changed\n", encoding="utf-8")
    work, commit = views(tree)
    assert work.blob("a.py") != commit.blob("a.py")
    assert work.read("a.py") == b"changed\n"


def test_a_file_moved_without_git_is_found(tree: Path) -> None:
    blob = run_git(tree, "rev-parse", "HEAD:a.py")
    (tree / "a.py").rename(tree / "moved.py")
    assert views(tree)[0].find(blob) == ["moved.py"]
    run_git(tree, "add", "-A")
    assert views(tree)[0].find(blob) == ["moved.py"]


def test_line_ends_and_filters_are_no_edits(tree: Path) -> None:
    (tree / ".gitattributes").write_text("*.txt text eol=crlf\n", encoding="utf-8")
    (tree / "deep/er/b.txt").write_bytes(b"content 3\r\n")
    work, commit = views(tree)
    assert work.blob("deep/er/b.txt") == commit.blob("deep/er/b.txt")


def test_links_are_not_followed_out_of_the_tree(tree: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.py").write_text("x\n", encoding="utf-8")
    (tree / "way").symlink_to(outside)
    work = views(tree)[0]
    assert work.blob("way/secret.py") is None
    assert work.read("way/secret.py") is None


def test_a_work_tree_reached_by_a_link_is_the_same(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(tree)
    view = WorktreeView(discover(str(tmp_path / "alias")))
    assert view.blob("a.py") == run_git(tree, "rev-parse", "HEAD:a.py")


def test_unreadable_and_special_files_do_not_stop_the_others(tree: Path) -> None:
    os.mkfifo(tree / "pipe")
    work = views(tree)[0]
    work.prime(["pipe", "a.py", "nothing"])
    assert work.blob("pipe") is None
    assert work.blob("a.py") == run_git(tree, "rev-parse", "HEAD:a.py")


def test_below_a_submodule_nobody_can_look(tree: Path, tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    run_git(tmp_path, "clone", "-q", str(tree), str(inner))
    run_git(tree, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner), "sub")
    run_git(tree, "commit", "-qm", "submodule")
    with pytest.raises(Unknowable):
        views(tree)[1].blob("sub/a.py")


def test_a_bare_repository_answers_by_its_trees(tree: Path, tmp_path: Path) -> None:
    run_git(tmp_path, "clone", "-q", "--bare", str(tree), "bare.git")
    with Repository.open(str(tmp_path / "bare.git")) as repository:
        view = repository.view(repository.head())
        assert view.read("目录/文件.py") == b"content 1\n"
