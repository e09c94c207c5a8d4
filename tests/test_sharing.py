"""Sharing where something is in the way: no network, no answer, a push inside a push.

Numbers are those of the storage scenarios.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from git_tmem import remote
from git_tmem.errors import NothingFound, RemoteError
from git_tmem.git import discover
from git_tmem.install import hook_state, install, uninstall
from git_tmem.remote import Limits
from git_tmem.repo import Repository
from git_tmem.store import MAIN, NOTES
from tests.conftest import run_git
from tests.test_remote import clones, fetch, forget, plant, push, put, tip, titles

__all__ = ["clones"]

ROOT = Path(__file__).resolve().parent.parent


def tmem(folder: Path, *arguments: str, status: int = 0) -> str:
    """What a command says, on both streams."""
    done = subprocess.run(
        [sys.executable, "-m", "git_tmem", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == status, done.stderr
    return done.stdout + done.stderr


def program(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(["#!/bin/sh", *lines]) + "\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def refs(folder: Path) -> str:
    return run_git(folder, "for-each-ref", "--format=%(refname)")


def test_a_bundle_carries_records_notes_and_tombstones_without_a_network(
    clones: list[Path], tmp_path: Path
) -> None:
    ada, bob, _ = clones
    cart, _ = put(ada, "cart", "basket")
    put(bob, "shelf")
    file = tmp_path / "records.bundle"
    assert "holds 2 records" in tmem(ada, "bundle", "create", str(file))
    assert "2 new records from a bundle" in tmem(bob, "fetch", str(file))
    assert titles(bob) == {"cart", "basket", "shelf"}
    assert "from a bundle" in tmem(bob, "show", cart[:12])
    assert cart[:12] in run_git(bob, "notes", "--ref=tmem", "show", "HEAD")
    once = tip(bob)
    assert "0 new records" in tmem(bob, "fetch", str(file))
    assert tip(bob) == once
    assert "bundle" not in refs(bob)
    forget(ada, cart)
    tmem(ada, "bundle", "create", "again.bundle")
    assert "1 record forgotten" in tmem(bob, "fetch", str(ada / "again.bundle"))
    assert titles(bob) == {"basket", "shelf"}


def test_what_a_bundle_holds_is_checked_like_any_remotes(
    clones: list[Path], tmp_path: Path
) -> None:
    ada, bob, _ = clones
    forged = f"mem/ab/ab{'0' * 62}.json"
    plant(ada, {forged: ("100644", b"{}"), "evil.json": ("100644", b"{}")})
    tmem(ada, "bundle", "create", str(tmp_path / "b"))
    said = tmem(bob, "fetch", str(tmp_path / "b"))
    assert f"refused {forged}" in said
    assert "refused evil.json" in said
    assert titles(bob) == set()


def test_no_bundle_is_said_in_one_line_and_changes_nothing(
    clones: list[Path], tmp_path: Path
) -> None:
    ada, bob, _ = clones
    with Repository.open(str(ada)) as repository, pytest.raises(NothingFound, match="no records"):
        remote.create_bundle(repository, str(tmp_path / "b"))
    put(ada, "cart")
    whole = tmp_path / "whole"
    tmem(ada, "bundle", "create", str(whole))
    before = refs(bob)
    for name, data in (("text", b"hello"), ("cut", whole.read_bytes()[:-40]), ("empty", b"")):
        (tmp_path / name).write_bytes(data)
        assert "is no bundle that can be read" in tmem(bob, "fetch", str(tmp_path / name), status=6)
    assert refs(bob) == before
    assert "cannot be written" in tmem(ada, "bundle", "create", "nowhere/b", status=5)
    assert "no remote is called" in tmem(bob, "fetch", str(tmp_path), status=6)  # a folder


def test_scenario_42_both_merge_and_push_at_once_and_need_no_third_merge(
    clones: list[Path],
) -> None:
    ada, bob, ming = clones
    put(ada, "cart")
    put(bob, "basket")
    command = [sys.executable, "-m", "git_tmem", "sync"]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    running = [
        subprocess.Popen(command, cwd=folder, env=env, stdout=subprocess.PIPE, text=True)
        for folder in (ada, bob)
    ]
    assert all("has" in process.communicate()[0] for process in running)
    for folder in (ada, bob, ming, ada):
        tmem(folder, "sync")
    assert tip(ada) == tip(bob) == tip(ming)
    assert titles(ada) == {"cart", "basket"}
    merges = run_git(ada, "rev-list", "--count", "--min-parents=2", MAIN)
    assert merges == "1"


def test_scenario_47_a_remote_without_records_leaves_the_users_fetch_as_it_was(
    clones: list[Path],
) -> None:
    ada = clones[0]
    put(ada, "cart")
    tmem(ada, "init")
    assert fetch(ada) == remote.Merged(0, 0, ())
    run_git(ada, "fetch", "origin")  # fails the test when git does
    run_git(ada, "fetch", "--all", "--prune")
    assert titles(ada) == {"cart"}


@pytest.mark.parametrize("said", ["Permission denied (publickey).", "Could not resolve hostname"])
def test_scenario_48_who_is_refused_is_told_in_gits_own_words(
    clones: list[Path], tmp_path: Path, said: str
) -> None:
    ada = clones[0]
    put(ada, "cart")
    ssh = program(tmp_path / "ssh", f"echo 'fatal: {said}' >&2", "exit 255")
    run_git(ada, "config", "core.sshCommand", str(ssh))
    run_git(ada, "remote", "set-url", "origin", "ada@host.example:bare.git")
    told = tmem(ada, "push", status=6)
    assert said in told
    assert "1 records stay unpublished" in told
    assert said in tmem(ada, "fetch", status=6)
    assert titles(ada) == {"cart"}


@pytest.mark.parametrize("work", ["fetch", "push"])
def test_scenario_48_a_host_that_never_answers_is_given_up_in_time(
    clones: list[Path], tmp_path: Path, work: str
) -> None:
    ada = clones[0]
    put(ada, "cart")
    # What hangs holds git's own pipes open after git is gone, as a stuck ssh does.
    ssh = program(tmp_path / "ssh", f"echo $$ >> {tmp_path}/pids", "exec sleep 300")
    run_git(ada, "config", "core.sshCommand", str(ssh))
    run_git(ada, "remote", "set-url", "origin", "ada@host.example:bare.git")
    start = time.monotonic()
    with (
        Repository.open(str(ada)) as repository,
        pytest.raises(RemoteError, match="no answer within the time limit"),
    ):
        getattr(remote, work)(repository, "origin", Limits(seconds=0.5))
    assert time.monotonic() - start < 10
    for pid in (tmp_path / "pids").read_text(encoding="utf-8").split():
        subprocess.run(["kill", pid], capture_output=True, check=False)
    assert titles(ada) == {"cart"}


def test_scenario_48_nobody_is_asked_a_password_where_nobody_can_answer(
    clones: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = clones[0]
    put(ada, "cart")
    asked = program(tmp_path / "ask", f"echo asked >> {tmp_path}/asked", "echo secret")
    monkeypatch.setenv("GIT_ASKPASS", str(asked))
    monkeypatch.setenv("SSH_ASKPASS", str(asked))
    folder = tmp_path / "bin"
    folder.mkdir()
    program(folder / "ssh", f'echo "$@" >> {tmp_path}/ssh-arguments', "exit 255")
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    run_git(ada, "remote", "set-url", "origin", "ada@host.example:bare.git")
    with Repository.open(str(ada)) as repository, pytest.raises(RemoteError):
        remote.push(repository, "origin", Limits(seconds=20, prompts=False))
    assert "-oBatchMode=yes" in (tmp_path / "ssh-arguments").read_text(encoding="utf-8")
    # git asks its askpass program only over HTTP; here by the same question, on its own.
    env = {**os.environ, **remote._SILENT}
    given = b"protocol=https\nhost=host.example\n\n"
    done = subprocess.run(
        ["git", "credential", "fill"], input=given, env=env, capture_output=True, check=False
    )
    assert done.returncode != 0
    assert not (tmp_path / "asked").exists()


def test_scenario_49_records_that_a_mirror_push_wiped_out_come_back_from_any_clone(
    clones: list[Path], tmp_path: Path
) -> None:
    ada, bob, ming = clones
    put(ada, "cart")
    push(ada)
    fetch(bob)
    other = tmp_path / "other"
    run_git(tmp_path, "clone", "-q", f"file://{tmp_path}/bare.git", str(other))
    run_git(other, "push", "-q", "--mirror", "origin")
    assert "tmem" not in refs(tmp_path / "bare.git")
    assert fetch(ada) == remote.Merged(0, 0, ())
    with Repository.open(str(ada)) as repository:
        assert len(remote.unpublished(repository, "origin")) == 1  # seen, and said by status
    assert push(bob) == remote.Pushed(1, 1)
    assert fetch(ming).added == 1
    assert titles(ada) == titles(bob) == titles(ming) == {"cart"}


def waited(path: Path, text: str) -> str:
    """The content of a file once the background has written that text to it."""
    for _ in range(3000):
        if path.exists() and text in path.read_text(encoding="utf-8"):
            return path.read_text(encoding="utf-8")
        subprocess.run(["git", "--version"], capture_output=True, check=True)
    raise AssertionError(f"{text!r} never came to {path.name}")


def counted(on_path: Path, folder: Path) -> Path:
    """Make the program on PATH note each call; where."""
    calls = folder / "calls"
    lines = on_path.read_text(encoding="utf-8").splitlines()
    program(on_path, f'echo "$@" >> "{calls}"', *lines[1:])
    return calls


def test_scenario_50_a_push_that_pushes_records_does_so_once_and_never_itself(
    clones: list[Path], on_path: Path, tmp_path: Path
) -> None:
    ada, bob, _ = clones
    calls = counted(on_path, tmp_path)
    assert "installed pre-push hook" in tmem(ada, "init", "--pre-push")
    put(ada, "cart")
    run_git(ada, "commit", "-q", "--no-verify", "--allow-empty", "-m", "more")
    run_git(ada, "push", "-q", "origin", "main")
    waited(ada / ".git" / "tmem" / "hook.log", "push to origin: 1 new records")
    assert fetch(bob).added == 1
    assert tip(bob, NOTES) == tip(ada, NOTES)
    pushes = [line for line in calls.read_text(encoding="utf-8").splitlines() if "push" in line]
    assert pushes == ["hook git pre-push origin"]


def test_without_being_asked_no_push_publishes_anything(
    clones: list[Path], on_path: Path, tmp_path: Path
) -> None:
    ada = clones[0]
    calls = counted(on_path, tmp_path)
    install(discover(str(ada)))
    assert hook_state(discover(str(ada)), "pre-push") == "absent"
    run_git(ada, "config", "tmem.push", "auto")
    install(discover(str(ada)))
    assert hook_state(discover(str(ada)), "pre-push") == "installed"
    put(ada, "cart")
    run_git(ada, "config", "tmem.push", "off")
    run_git(ada, "push", "-q", "origin", "HEAD:refs/heads/other")
    waited(calls, "pre-push")
    tmem(ada, "hook", "git", "pre-push", "origin")
    assert "tmem" not in refs(tmp_path / "bare.git")
    uninstall(discover(str(ada)))
    assert hook_state(discover(str(ada)), "pre-push") == "absent"


def test_a_pre_push_hook_that_was_there_still_reads_its_input_and_may_refuse(
    clones: list[Path], on_path: Path, tmp_path: Path
) -> None:
    ada = clones[0]
    calls = counted(on_path, tmp_path)
    hook = ada / ".git" / "hooks" / "pre-push"
    program(hook, f'cat > "{tmp_path}/read"', f'[ ! -e "{tmp_path}/refuse" ]')
    install(discover(str(ada)), pre_push=True)
    run_git(ada, "push", "-q", "origin", "HEAD:refs/heads/one")
    assert "refs/heads/one" in (tmp_path / "read").read_text(encoding="utf-8")
    waited(calls, "pre-push origin")
    calls.unlink()
    (tmp_path / "refuse").touch()
    run_git(ada, "push", "-q", "origin", "HEAD:refs/heads/two", check=False)
    assert "two" not in refs(tmp_path / "bare.git")
    assert not calls.exists()


@pytest.mark.parametrize("broken", ["exit 70", "exec sleep 300", "kill -9 $$"])
def test_a_push_neither_waits_for_nor_fails_with_what_it_starts(
    clones: list[Path], on_path: Path, tmp_path: Path, broken: str
) -> None:
    ada = clones[0]
    program(on_path, f"echo $$ > {tmp_path}/pid.new; mv {tmp_path}/pid.new {tmp_path}/pid", broken)
    install(discover(str(ada)), pre_push=True)
    start = time.monotonic()
    done = subprocess.run(
        ["git", "push", "-q", "origin", "HEAD:refs/heads/new"],
        cwd=ada,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert time.monotonic() - start < 60  # the sleeper would take 300
    subprocess.run(["kill", waited(tmp_path / "pid", "\n").strip()], check=False)
    on_path.unlink()  # the program gone altogether
    run_git(ada, "push", "-q", "origin", "HEAD:refs/heads/newer")
    assert "refs/heads/newer" in refs(tmp_path / "bare.git")


def test_what_git_pruned_under_a_writer_is_repaired_by_the_push_that_meets_it(
    clones: list[Path],
) -> None:
    ada, bob, _ = clones
    (record,) = put(ada, "cart")
    oid = run_git(ada, "rev-parse", f"{MAIN}:mem/{record[:2]}/{record}.json")
    (ada / ".git" / "objects" / oid[:2] / oid[2:]).unlink()
    assert push(ada).records == 1
    assert fetch(bob).added == 1
    assert titles(bob) == {"cart"}


def test_what_tracks_a_remote_and_lost_objects_is_fetched_anew(clones: list[Path]) -> None:
    ada, bob, _ = clones
    (record,) = put(ada, "cart")
    push(ada)
    run_git(bob, "fetch", "-q", "origin", f"+{MAIN}:refs/tmem-remote/origin/main")
    oid = run_git(bob, "rev-parse", f"refs/tmem-remote/origin/main:mem/{record[:2]}")
    (bob / ".git" / "objects" / oid[:2] / oid[2:]).unlink()
    assert fetch(bob).added == 1
    assert titles(bob) == {"cart"}
    assert run_git(bob, "fsck", "--strict", "--no-dangling") == ""
