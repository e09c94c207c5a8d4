"""Putting git-tmem in and taking it out, beside whatever else lives in a repository."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from git_tmem.errors import InputError
from git_tmem.git import discover
from git_tmem.install import hook_state, install, uninstall
from tests.conftest import run_git


def snapshot(folder: Path) -> dict[str, bytes]:
    """Every file of a repository but git's own logs and objects."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and "objects" not in path.parts
    }


def test_in_twice_is_once_and_out_leaves_no_trace(repo: Path) -> None:
    layout = discover(str(repo))
    before = snapshot(repo)
    install(layout)
    once = snapshot(repo)
    assert install(layout).done == ()
    assert snapshot(repo) == once
    assert hook_state(layout) == "installed"
    assert run_git(repo, "status", "--porcelain") == ""
    uninstall(layout)
    assert snapshot(repo) == before
    assert not (repo / ".tmem").exists()
    assert not (repo / ".git" / "tmem").exists()


def test_a_hook_that_was_there_runs_first_with_its_status_and_comes_back(repo: Path) -> None:
    hook = repo / ".git" / "hooks" / "post-commit"
    text = '#!/bin/sh\necho "theirs $0" >> "$(git rev-parse --show-toplevel)/ran"\n'
    hook.write_text(text, encoding="utf-8")
    hook.chmod(0o755)
    layout = discover(str(repo))
    assert "still runs first" in install(layout).done[0]
    run_git(repo, "commit", "-q", "--allow-empty", "-m", "second")
    assert (repo / "ran").read_text(encoding="utf-8").startswith("theirs")
    uninstall(layout)
    assert hook.read_text(encoding="utf-8") == text
    assert hook.stat().st_mode & stat.S_IXUSR
    assert not (repo / ".git" / "hooks" / "post-commit.tmem-chained").exists()


def test_core_hookspath_is_honoured(repo: Path) -> None:
    run_git(repo, "config", "core.hooksPath", "own-hooks")
    layout = discover(str(repo))
    install(layout)
    assert (repo / "own-hooks" / "post-commit").exists()
    assert not (repo / ".git" / "hooks" / "post-commit").exists()
    uninstall(layout)
    assert not (repo / "own-hooks" / "post-commit").exists()


def test_a_folder_another_tool_generates_is_left_alone(repo: Path) -> None:
    run_git(repo, "config", "core.hooksPath", ".husky/_")
    report = install(discover(str(repo)))
    assert "git-tmem hook git post-commit" in report.advice[0]
    assert not (repo / ".husky").exists()


def test_the_hook_is_shared_by_linked_worktrees(repo: Path, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    run_git(repo, "worktree", "add", "-q", "--detach", str(tree))
    install(discover(str(tree)))
    assert hook_state(discover(str(repo))) == "installed"
    assert run_git(tree, "status", "--porcelain") == ""


def test_a_replaced_hook_is_not_removed(repo: Path) -> None:
    layout = discover(str(repo))
    install(layout)
    hook = repo / ".git" / "hooks" / "post-commit"
    hook.write_text("#!/bin/sh\necho another tool\n", encoding="utf-8")
    assert "not ours any more" in uninstall(layout).advice[0]
    assert "another tool" in hook.read_text(encoding="utf-8")


def test_a_back_up_in_the_way_is_never_overwritten(repo: Path) -> None:
    hooks = repo / ".git" / "hooks"
    (hooks / "post-commit").write_text("#!/bin/sh\n", encoding="utf-8")
    (hooks / "post-commit.tmem-chained").write_text("precious", encoding="utf-8")
    with pytest.raises(InputError, match="in the way"):
        install(discover(str(repo)))
    assert (hooks / "post-commit.tmem-chained").read_text(encoding="utf-8") == "precious"


def test_a_link_called_tmem_is_refused_and_its_target_untouched(repo: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (repo / ".tmem").symlink_to(outside)
    with pytest.raises(InputError, match="not a folder of its own"):
        install(discover(str(repo)))
    assert list(outside.iterdir()) == []


def test_the_exclude_file_keeps_what_others_wrote(repo: Path) -> None:
    exclude = repo / ".git" / "info" / "exclude"
    exclude.parent.mkdir(exist_ok=True)
    exclude.write_text("# mine\n*.log\n", encoding="utf-8")
    layout = discover(str(repo))
    install(layout)
    assert exclude.read_text(encoding="utf-8").startswith("# mine\n*.log\n")
    assert not (repo / ".gitignore").exists()
    uninstall(layout)
    assert exclude.read_text(encoding="utf-8") == "# mine\n*.log\n"


def test_a_tracked_mirror_is_seen_by_git(repo: Path) -> None:
    layout = discover(str(repo))
    install(layout, track_mirror=True)
    (repo / ".tmem" / "MEMORIES.md").write_text("x\n", encoding="utf-8")
    assert ".tmem" in run_git(repo, "status", "--porcelain")
    run_git(repo, "add", ".tmem")
    run_git(repo, "commit", "-qm", "mirror")
    assert "tracked by git" in install(layout).advice[0]


def test_files_of_the_user_in_the_mirror_stay(repo: Path) -> None:
    layout = discover(str(repo))
    install(layout)
    (repo / ".tmem" / "notes.txt").write_text("mine\n", encoding="utf-8")
    assert "notes.txt" in uninstall(layout).advice[0]
    assert (repo / ".tmem" / "notes.txt").exists()


def test_a_bare_repository_gets_the_hook_alone(repo: Path, tmp_path: Path) -> None:
    run_git(tmp_path, "clone", "-q", "--bare", str(repo), "bare.git")
    layout = discover(str(tmp_path / "bare.git"))
    install(layout)
    assert hook_state(layout) == "installed"
    uninstall(layout)
    assert hook_state(layout) == "absent"
