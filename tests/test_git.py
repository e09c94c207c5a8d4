"""Finding the repository as git does, whatever the environment says."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from git_tmem.errors import RepositoryError, StoreError
from git_tmem.git import Git, discover, environment, nearby, run
from tests.conftest import run_git


def test_from_a_subfolder_the_whole_repository_is_found(repo: Path) -> None:
    (repo / "子" / "x").mkdir(parents=True)
    layout = discover(str(repo / "子" / "x"))
    assert layout.top == str(repo)
    assert layout.common_dir == layout.git_dir == str(repo / ".git")
    assert layout.own_dir == str(repo / ".git" / "tmem")


def test_a_linked_worktree_shares_the_common_directory(repo: Path, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    run_git(repo, "worktree", "add", "-q", "--detach", str(tree))
    layout = discover(str(tree))
    assert layout.top == str(tree)
    assert layout.common_dir == str(repo / ".git")
    assert layout.git_dir != layout.common_dir


def test_a_bare_repository_has_no_top(repo: Path, tmp_path: Path) -> None:
    run_git(tmp_path, "clone", "-q", "--bare", str(repo), "bare.git")
    assert discover(str(tmp_path / "bare.git")).top == ""


def test_a_submodule_is_a_repository_of_its_own(repo: Path, tmp_path: Path) -> None:
    outer = tmp_path / "outer"
    run_git(tmp_path, "init", "-q", str(outer))
    run_git(outer, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(repo), "in")
    assert discover(str(outer / "in")).top == str(outer / "in")


def test_no_repository_is_said(tmp_path: Path) -> None:
    with pytest.raises(RepositoryError, match="not a git repository"):
        discover(str(tmp_path))


def test_no_git_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RepositoryError, match="git is not installed"):
        discover(str(tmp_path))


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give away"
)
def test_a_repository_of_another_user_is_refused_as_git_does(repo: Path) -> None:
    for path in [repo, *repo.rglob("*")]:
        os.chown(path, 12345, 12345)
    with pytest.raises(RepositoryError, match="belongs to another user"):
        discover(str(repo))


def test_variables_of_a_hook_do_not_lead_astray(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    run_git(tmp_path, "init", "-q", str(other))
    layout = discover(str(repo))
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other / "index"))
    monkeypatch.setenv("GIT_AUTHOR_NAME", "Mallory")
    monkeypatch.setenv("GIT_SSH_COMMAND", "ssh -v")
    assert Git(layout).output("ls-files")[1] == b"README.md\n"
    kept = environment()
    assert "GIT_DIR" not in kept
    assert "GIT_AUTHOR_NAME" not in kept
    assert kept["GIT_SSH_COMMAND"] == "ssh -v"


def test_git_dir_of_the_user_is_honoured_as_git_honours_it(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_DIR", str(repo / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(repo))
    assert discover().top == str(repo)


def test_a_failing_call_says_gits_own_last_line(repo: Path) -> None:
    with pytest.raises(StoreError, match="git cat-file: fatal: Not a valid object name nothing"):
        run(["cat-file", "-p", "nothing"], folder=str(repo))
    with pytest.raises(StoreError, match=r"^git cat-file: fatal: Not a valid object name nothing"):
        Git(discover(str(repo))).run("cat-file", "-p", "nothing")


def test_blobs_come_in_one_batch_and_large_or_missing_ones_empty(repo: Path) -> None:
    (repo / "big").write_bytes(b"x" * 2000)
    big = run_git(repo, "hash-object", "-w", "big")
    small = run_git(repo, "rev-parse", "HEAD:README.md")
    tree = run_git(repo, "rev-parse", "HEAD^{tree}")
    entries = [("a", small), ("b", big), ("c", "0" * 40), ("d", tree), ("e", small)]
    found = dict(Git(discover(str(repo))).blobs(entries, 1000))
    assert found == {"a": b"# sample\n", "b": b"", "c": b"", "d": b"", "e": b"# sample\n"}


def test_pathspec_magic_is_only_a_name(repo: Path) -> None:
    assert Git(discover(str(repo))).output("ls-files", "--", ":(top)*")[1] == b""


def test_what_is_found_without_git_is_what_git_finds(repo: Path, tmp_path: Path) -> None:
    (repo / "a" / "b").mkdir(parents=True)
    run_git(repo, "worktree", "add", "-q", str(tmp_path / "tree"))
    run_git(tmp_path, "clone", "-q", "--bare", str(repo), "bare.git")
    (tmp_path / "link").symlink_to(repo / "a")
    places = [repo, repo / "a" / "b", repo / ".git", tmp_path / "tree", tmp_path / "bare.git"]
    for place in (*places, tmp_path / "link"):
        assert nearby(str(place)) == discover(str(place)), place
    run_git(repo, "config", "core.worktree", str(tmp_path / "tree"))
    assert nearby(str(repo)) == discover(str(repo))


def test_variables_that_lead_git_elsewhere_are_heeded(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_git(tmp_path, "init", "-q", "other")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "other" / ".git"))
    assert nearby(str(repo)) == discover(str(repo))
