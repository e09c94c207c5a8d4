"""What git's hooks set going in the background, in real commits, amends and rebases."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from git_tmem.git import discover
from git_tmem.install import install, uninstall
from tests.conftest import run_git
from tests.test_anchors import branch, commit, head, noted, remember, worked

__all__ = ["branch"]


def settled(repo: Path) -> str:
    """The hook log once no worker has anything left to do."""
    import fcntl

    folder = repo / ".git" / "tmem"
    for _ in range(3000):
        with open(folder / "worker.lock", "ab") as stream:
            fcntl.flock(stream.fileno(), fcntl.LOCK_EX)
            if not (folder / "spool").exists() and not list((repo / ".git").glob("running*")):
                break
        subprocess.run(["git", "--version"], capture_output=True, check=True)
    log = folder / "hook.log"
    return log.read_text(encoding="utf-8") if log.exists() else ""


@pytest.fixture
def installed(branch: Path, on_path: Path) -> Path:
    """The branch in a repository with our hooks, whose calls of git-tmem are counted."""
    text = on_path.read_text(encoding="utf-8").replace("exec ", "")
    marks = f"{branch}/.git/running"
    lines = text.splitlines()
    lines[1:1] = [f'echo "$@" >> "{branch}/.git/calls"; : > "{marks}.$$"']
    on_path.write_text("\n".join([*lines, f'rm -f "{marks}.$$"']) + "\n", encoding="utf-8")
    install(discover(str(branch)))
    return branch


def calls(repo: Path) -> list[str]:
    path = repo / ".git" / "calls"
    found = path.read_text(encoding="utf-8").split("\n") if path.exists() else []
    path.unlink(missing_ok=True)
    return list(filter(None, found))


def started(repo: Path, event: str) -> None:
    """Wait until the hook's background process has begun."""
    path = repo / ".git" / "calls"
    for _ in range(3000):
        if path.exists() and event in path.read_text(encoding="utf-8"):
            return
        subprocess.run(["git", "--version"], capture_output=True, check=True)
    raise AssertionError(f"{event} was never called")


def test_after_an_amend_the_record_is_found_by_itself(installed: Path) -> None:
    old = worked(installed, "a", 3, "three")
    started(installed, "post-commit")
    settled(installed)
    record = remember(installed, "cart", old)
    run_git(installed, "commit", "-q", "--amend", "-m", "a better message")
    started(installed, "post-rewrite")
    log = settled(installed)
    assert noted(installed) == {record[:12]}
    assert f"{head(installed)[:12]} {record[:12]} found again by patch id" in log


def test_a_rebase_of_fifty_commits_runs_one_worker_and_takes_no_lock_of_git(
    installed: Path,
) -> None:
    hook = installed / ".git" / "hooks" / "post-commit"
    text = hook.read_text(encoding="utf-8")
    hook.unlink()  # the commits themselves are not what is tried here
    old = [worked(installed, "a", 1 + number % 25, f"new {number}") for number in range(50)]
    records = [remember(installed, f"r{number}", old[number]) for number in (0, 24, 49)]
    hook.write_text(text, encoding="utf-8")
    hook.chmod(0o755)
    run_git(installed, "checkout", "-q", "main")
    (installed / "d.txt").write_text("d\n", encoding="utf-8")
    commit(installed, "moved on")
    started(installed, "post-commit")
    settled(installed)
    calls(installed)
    done = subprocess.run(
        ["git", "-C", str(installed), "rebase", "-q", "main", "topic"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert "index.lock" not in done.stderr
    assert run_git(installed, "status", "--porcelain") == ""
    started(installed, "post-rewrite")
    settled(installed)
    assert calls(installed) == ["hook git post-rewrite rebase"]
    assert noted(installed, "HEAD") == {records[2][:12]}
    assert noted(installed, "HEAD~25") == {records[1][:12]}
    assert noted(installed, "HEAD~49") == {records[0][:12]}


def test_a_post_rewrite_hook_that_was_there_gets_the_same_and_its_status_counts(
    branch: Path, on_path: Path
) -> None:
    hook = branch / ".git" / "hooks" / "post-rewrite"
    text = '#!/bin/sh\ncat > "$(git rev-parse --show-toplevel)/given.$1"\nexit 3\n'
    hook.write_text(text, encoding="utf-8")
    hook.chmod(0o755)
    layout = discover(str(branch))
    install(layout)
    old = worked(branch, "a", 3, "three")
    run_git(branch, "commit", "-q", "--amend", "-m", "again")
    given = (branch / "given.amend").read_text(encoding="utf-8")
    assert given.split() == [old, head(branch)]
    done = subprocess.run([str(hook), "amend"], cwd=branch, input=b"", check=False)
    assert done.returncode == 3
    settled(branch)
    uninstall(layout)
    assert hook.read_text(encoding="utf-8") == text
    assert not hook.with_name("post-rewrite.tmem-chained").exists()


def test_nonsense_on_the_hooks_input_is_no_error(branch: Path, on_path: Path) -> None:
    done = subprocess.run(
        [str(on_path), "hook", "git", "post-rewrite", "rebase"],
        cwd=branch,
        input=b"\xff\xfe not a pair\n--all HEAD\n\n" + b"0" * 40 + b" " + b"1" * 40 + b"\n",
        capture_output=True,
        env=os.environ,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
