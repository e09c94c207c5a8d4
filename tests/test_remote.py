"""Sharing between real clones, by the user's own git."""

from __future__ import annotations

import json
import os
import random
import subprocess
from pathlib import Path

import pytest

from git_tmem import remote
from git_tmem.errors import NewerFormat, RemoteError
from git_tmem.index import Index
from git_tmem.playbook import canonical, record_id
from git_tmem.repo import Repository
from git_tmem.store import MAIN, NOTES, Store, note_line
from tests.conftest import run_git
from tests.samples import document


@pytest.fixture
def clones(repo: Path, tmp_path: Path) -> list[Path]:
    """A bare repository between three clones."""
    bare = tmp_path / "bare.git"
    run_git(tmp_path, "clone", "-q", "--bare", str(repo), str(bare))
    folders = [tmp_path / name for name in ("ada", "bob", "小明")]
    for folder in folders:
        run_git(tmp_path, "clone", "-q", f"file://{bare}", str(folder))
    return folders


def put(folder: Path, *names: str) -> list[str]:
    head = run_git(folder, "rev-parse", "HEAD")
    ids = []
    with Repository.open(str(folder)) as repository:
        store = Store(repository)
        for name in names:
            done = store.put(document(name))
            store.annotate({head: [note_line(done.id, name)]})
            ids.append(done.id)
    return ids


def forget(folder: Path, record: str) -> None:
    head = run_git(folder, "rev-parse", "HEAD")
    with Repository.open(str(folder)) as repository:
        store = Store(repository)
        store.forget(record, "wrong", "title", "session")
        store.annotate({head: []}, gone=[record])


def push(folder: Path) -> remote.Pushed:
    with Repository.open(str(folder)) as repository:
        return remote.push(repository, "origin")


def fetch(folder: Path) -> remote.Merged:
    with Repository.open(str(folder)) as repository:
        return remote.fetch(repository, "origin")


def titles(folder: Path) -> set[str]:
    with Repository.open(str(folder)) as repository, Index(repository.layout) as index:
        return {row.session.partition("session-")[2] for row in index.rows()}


def tip(folder: Path, ref: str = MAIN) -> str:
    return run_git(folder, "rev-parse", "--verify", "-q", ref, check=False)


def test_what_one_pushes_another_fetches(clones: list[Path]) -> None:
    ada, bob, _ = clones
    put(ada, "cart", "basket")
    assert push(ada) == remote.Pushed(2, 2)
    assert fetch(bob) == remote.Merged(2, 0, ())
    assert titles(bob) == {"cart", "basket"}
    assert tip(ada) == tip(bob)
    head = run_git(bob, "rev-parse", "HEAD")
    assert "cart" in run_git(bob, "notes", "--ref=tmem", "show", head)


def test_two_that_both_captured_pushed_and_fetched_hold_the_same_tip(clones: list[Path]) -> None:
    ada, bob, _ = clones
    put(ada, "cart")
    put(bob, "basket")
    push(ada)
    push(bob)  # rejected, fetched, merged, tried again
    fetch(ada)
    assert tip(ada) == tip(bob)
    assert tip(ada, NOTES) == tip(bob, NOTES)
    assert titles(ada) == titles(bob) == {"cart", "basket"}
    before = tip(ada)
    push(ada)
    fetch(bob)
    assert tip(ada) == tip(bob) == before


def test_both_merging_at_once_make_the_same_commit(clones: list[Path]) -> None:
    ada, bob, _ming = clones
    put(ada, "cart")
    put(bob, "basket")
    push(ada)
    run_git(bob, "push", "-q", "origin", f"{MAIN}:refs/tmem/other")
    ours, theirs = tip(ada), tip(bob)
    for folder, other in ((ada, theirs), (bob, ours)):
        run_git(folder, "fetch", "-q", "origin", "+refs/tmem/*:refs/seen/*")
        run_git(folder, "update-ref", "refs/tmem-remote/origin/main", other)
        with Repository.open(str(folder)) as repository:
            remote.merge_from(repository, "origin")
    assert tip(ada) == tip(bob) not in (ours, theirs)


def test_forgotten_on_one_side_is_forgotten_on_all(clones: list[Path]) -> None:
    ada, bob, ming = clones
    (record,) = put(ada, "cart")
    push(ada)
    for folder in (bob, ming):
        fetch(folder)
    forget(bob, record)
    put(ming, "basket")
    push(bob)
    push(ming)
    assert fetch(ada).removed == 1
    for folder in (ada, ming):
        assert titles(folder) == {"basket"}
        with Repository.open(str(folder)) as repository:
            assert Store(repository).put(document("cart")).outcome == "forgotten"
    head = run_git(ada, "rev-parse", "HEAD")
    assert record[:12] not in run_git(ada, "notes", "--ref=tmem", "show", head)


def test_random_schedules_of_three_clones_end_in_one_tip(clones: list[Path]) -> None:
    chance = random.Random(11)
    known: list[str] = []
    for step in range(15):
        folder = chance.choice(clones)
        deed = chance.choice(["put", "put", "push", "fetch", "forget"])
        if deed == "put":
            known += put(folder, f"part{step}")
        elif deed == "push":
            push(folder)
        elif deed == "fetch":
            fetch(folder)
        elif known:
            with Repository.open(str(folder)) as repository, Index(repository.layout) as index:
                mine = [row.id for row in index.rows()]
            if mine:
                forget(folder, chance.choice(mine))
    for _ in range(2):
        for folder in clones:
            push(folder)
            fetch(folder)
    assert len({tip(folder) for folder in clones}) == 1
    assert len({tip(folder, NOTES) for folder in clones}) == 1
    assert run_git(clones[0], "fsck", "--strict", "--no-dangling") == ""


def test_the_users_own_push_pull_and_branches_are_as_before(clones: list[Path]) -> None:
    ada, bob, _ = clones
    configuration = (ada / ".git" / "config").read_bytes()
    put(ada, "cart")
    push(ada)
    assert (ada / ".git" / "config").read_bytes() == configuration
    (ada / "README.md").write_text("more\n", encoding="utf-8")
    run_git(ada, "commit", "-qam", "more")
    run_git(ada, "push", "-q")
    run_git(bob, "pull", "-q", "--prune")
    assert (bob / "README.md").read_text(encoding="utf-8") == "more\n"
    run_git(ada, "fetch", "-q", "--prune")
    assert titles(ada) == {"cart"}
    assert run_git(ada, "branch", "-a").count("tmem") == 0


def test_an_emptied_remote_loses_nothing_here_and_is_filled_again(clones: list[Path]) -> None:
    ada, bob, _ = clones
    put(ada, "cart")
    push(ada)
    run_git(bob, "push", "-q", "origin", f":{MAIN}", f":{NOTES}")
    assert fetch(ada) == remote.Merged(0, 0, ())
    assert titles(ada) == {"cart"}
    assert push(ada) == remote.Pushed(1, 1)
    assert fetch(bob).added == 1


def test_a_record_taken_out_without_a_tombstone_stays_here_and_goes_back(
    clones: list[Path],
) -> None:
    ada, bob, _ = clones
    (record,) = put(ada, "cart")
    push(ada)
    fetch(bob)
    tree = run_git(bob, "mktree", "--missing", check=False)  # nothing at all in it
    parent = tip(bob)
    commit = run_git(bob, "commit-tree", tree, "-p", parent, "-m", "all out")
    run_git(bob, "push", "-q", "origin", f"{commit}:{MAIN}")
    assert fetch(ada) == remote.Merged(0, 0, ())
    assert titles(ada) == {"cart"}
    assert push(ada).records == 1
    run_git(bob, "update-ref", "-d", MAIN)
    assert fetch(bob).added == 1
    with Repository.open(str(bob)) as repository:
        assert Store(repository).put(document("cart")).id == record


def test_unrelated_stores_are_united(clones: list[Path]) -> None:
    ada, bob, _ = clones
    put(ada, "cart")
    push(ada)
    put(bob, "basket")
    tree = run_git(bob, "rev-parse", f"{MAIN}^{{tree}}")
    orphan = run_git(bob, "commit-tree", tree, "-m", "a store with another first commit")
    run_git(bob, "update-ref", MAIN, orphan)
    fetch(bob)
    push(bob)
    fetch(ada)
    assert titles(ada) == titles(bob) == {"cart", "basket"}
    assert tip(ada) == tip(bob)


def test_a_missing_remote_is_said(repo: Path) -> None:
    put(repo, "cart")
    with pytest.raises(RemoteError, match="no remote"):
        push(repo)
    run_git(repo, "remote", "add", "origin", str(repo / "nowhere"))
    with pytest.raises(RemoteError, match="1 records stay unpublished"):
        push(repo)
    with (
        pytest.raises(RemoteError, match="no remote is called 'up'"),
        Repository.open(str(repo)) as repository,
    ):
        remote.push(repository, "up")


def test_a_push_that_stays_rejected_says_so(clones: list[Path], tmp_path: Path) -> None:
    ada = clones[0]
    put(ada, "cart")
    hook = tmp_path / "bare.git" / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho no records here >&2\nexit 1\n", encoding="utf-8")
    hook.chmod(0o755)
    with pytest.raises(RemoteError, match="unpublished"):
        push(ada)
    assert titles(ada) == {"cart"}
    with Repository.open(str(ada)) as repository:
        assert len(remote.unpublished(repository, "origin")) == 1


def test_an_ssh_remote_is_reached_by_the_users_own_command(
    clones: list[Path], tmp_path: Path
) -> None:
    ada, bob, _ = clones
    ssh = tmp_path / "ssh"  # stands for the network: runs what ssh would run on the host
    ssh.write_text('#!/bin/sh\nwhile [ $# -gt 1 ]; do shift; done\nexec sh -c "$1"\n')
    ssh.chmod(0o755)
    for folder in (ada, bob):
        run_git(folder, "config", "core.sshCommand", str(ssh))
        run_git(folder, "remote", "set-url", "origin", f"ada@host.example:{tmp_path}/bare.git")
    put(ada, "cart")
    push(ada)
    fetch(bob)
    assert titles(bob) == {"cart"}


def plant(folder: Path, entries: dict[str, tuple[str, bytes]]) -> None:
    """A store tip with entries that no git-tmem wrote: path -> (mode, content)."""
    index = {**os.environ, "GIT_INDEX_FILE": str(folder / ".git" / "planted")}
    lines = b""
    for path, (mode, data) in entries.items():
        blob = subprocess.run(
            ["git", "-C", str(folder), "hash-object", "-w", "--stdin"],
            input=data,
            capture_output=True,
            check=True,
        ).stdout.strip()
        lines += f"{mode} ".encode() + blob + b"\t" + path.encode() + b"\0"
    git = ["git", "-C", str(folder)]
    subprocess.run([*git, "update-index", "-z", "--index-info"], input=lines, env=index, check=True)
    tree = subprocess.run([*git, "write-tree"], capture_output=True, env=index, check=True).stdout
    commit = run_git(folder, "commit-tree", tree.decode().strip(), "-m", "planted")
    run_git(folder, "update-ref", MAIN, commit)


def test_a_remote_store_of_a_newer_format_is_not_merged(clones: list[Path]) -> None:
    ada, bob, _ = clones
    put(bob, "cart")
    plant(ada, {"format.json": ("100644", b'{"format": 2, "kind": "store"}')})
    run_git(ada, "push", "-q", "origin", f"{MAIN}:{MAIN}")
    before = tip(bob)
    with pytest.raises(NewerFormat, match="the store has format 2"):
        fetch(bob)
    assert tip(bob) == before


def test_hostile_entries_are_refused_one_by_one_and_the_good_ones_come(clones: list[Path]) -> None:
    ada, bob, _ = clones
    good = canonical(document("cart"))
    name = record_id(good)
    other = "ab" + "0" * 62
    deep = b"[" * 100_000
    forged = canonical({**document("basket"), "title": "\x1b[31mred"})
    wrong_shape = json.dumps({"format": 1, "kind": "playbook", "title": 3}).encode()
    entries = {
        f"mem/{name[:2]}/{name}.json": ("100644", good),
        f"mem/ab/{other}.json": ("100644", forged),
        f"mem/ac/ac{'0' * 62}.json": ("120000", b"/etc/passwd"),
        f"mem/ad/ad{'0' * 62}.json": ("100755", good),
        "mem/ae/short.json": ("100644", good),
        "evil.json": ("100644", good),
        f"mem/{record_id(deep)[:2]}/{record_id(deep)}.json": ("100644", deep),
        f"mem/{record_id(wrong_shape)[:2]}/{record_id(wrong_shape)}.json": ("100644", wrong_shape),
        f"gone/af/af{'0' * 62}.json": ("100644", b'{"format": 1}'),
    }
    plant(ada, entries)
    run_git(ada, "push", "-q", "origin", f"{MAIN}:{MAIN}")
    merged = fetch(bob)
    assert merged.added == 1
    assert {path for path, _ in merged.refused} == set(entries) - {f"mem/{name[:2]}/{name}.json"}
    assert titles(bob) == {"cart"}
    push(bob)  # the cleaned store goes back, with theirs as a parent: no force needed
    assert run_git(bob, "ls-tree", "-r", "--name-only", MAIN).splitlines() == [
        "format.json",
        f"mem/{name[:2]}/{name}.json",
    ]
