"""Formats of the store: the way to the next, and what an older program does with a newer one."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from git_tmem import migrate
from git_tmem.commands.group import run as tmem
from git_tmem.errors import NewerFormat, StoreError
from git_tmem.merge import FORMAT_PATH
from git_tmem.migrate import Step
from git_tmem.playbook import canonical
from git_tmem.repo import Repository
from git_tmem.store import MAIN, Store
from tests.conftest import run_git
from tests.samples import document
from tests.test_repair import fsck, put, stored

BACKUP = "refs/tmem-local/backup-format-1"


def named(repository: Repository, _: str) -> Mapping[str, str]:
    return {"name.txt": repository.write_blob(b"a later store\n")}


STEPS = {1: Step("the store gets a name", named)}


def format_of(folder: Path) -> str:
    return run_git(folder, "show", f"{MAIN}:{FORMAT_PATH}")


def test_there_is_nothing_to_do_today(
    repo: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(repo)
    put(repo, "cart")
    tip = run_git(repo, "rev-parse", MAIN)
    tmem(["migrate"])
    tmem(["migrate", "--yes"])
    assert capsys.readouterr().out == "the store has format 1, the newest there is\n" * 2
    assert run_git(repo, "rev-parse", MAIN) == tip


def test_a_migration_is_shown_first_and_keeps_what_was(repo: Path) -> None:
    records = set(put(repo, "cart", "basket"))
    tip = run_git(repo, "rev-parse", MAIN)
    with Repository.open(str(repo)) as repository:
        store = Store(repository)
        assert migrate.plan(store, STEPS, 2) == (1, 2, ("the store gets a name",))
        assert store.tip() == tip
        assert migrate.apply(store, STEPS, 2)[1] == BACKUP
        assert migrate.plan(store, STEPS, 2).words == ()
        assert migrate.apply(store, STEPS, 2)[1] == ""
    assert '"format":2' in format_of(repo)
    assert run_git(repo, "show", f"{MAIN}:name.txt") == "a later store"
    assert stored(repo) == records
    assert run_git(repo, "rev-parse", BACKUP) == tip
    fsck(repo)


def test_one_that_was_interrupted_is_run_again(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(repo, "cart")
    with Repository.open(str(repo)) as repository, monkeypatch.context() as patched:
        move = repository.move_ref

        def cut(name: str, *arguments: Any) -> bool:
            if name == MAIN:
                raise StoreError("the power went")
            return move(name, *arguments)

        patched.setattr(repository, "move_ref", cut)
        with pytest.raises(StoreError, match="the power"):
            migrate.apply(Store(repository), STEPS, 2)
    assert '"format":1' in format_of(repo)
    put(repo, "basket")
    tip = run_git(repo, "rev-parse", MAIN)
    with Repository.open(str(repo)) as repository:
        migrate.apply(Store(repository), STEPS, 2)
    assert '"format":2' in format_of(repo)
    assert run_git(repo, "rev-parse", BACKUP) == tip
    fsck(repo)


def test_a_missing_step_is_said(repo: Path) -> None:
    put(repo, "cart")
    with Repository.open(str(repo)) as repository, pytest.raises(StoreError, match="from format 2"):
        migrate.apply(Store(repository), STEPS, 3)
    assert '"format":1' in format_of(repo)


def test_an_older_program_reads_a_newer_store_and_does_not_write(
    repo: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(repo)
    (known,) = put(repo, "cart")
    later = canonical({**document("basket"), "format": 2, "unheard": [1]})
    with Repository.open(str(repo)) as repository:
        store = Store(repository)
        name = hashlib.sha256(later).hexdigest()
        path = f"mem/{name[:2]}/{name}.json"
        add = {1: Step("a later record", lambda r, _: {path: r.write_blob(later)})}
        migrate.apply(store, add, 2)
    tip = run_git(repo, "rev-parse", MAIN)
    assert tmem(["list"]) == 0
    assert known[:12] in capsys.readouterr().out
    with Repository.open(str(repo)) as repository:
        store = Store(repository)
        said = "the store has format 2, and this git-tmem reads up to 1"
        with pytest.raises(NewerFormat, match=said):
            store.put(document("other"))
        with pytest.raises(NewerFormat, match=said):
            store.forget(known, "no more", "cart", "s")
        with pytest.raises(NewerFormat, match=said):
            migrate.apply(store)
    assert run_git(repo, "rev-parse", MAIN) == tip
    assert not list((repo / ".git/tmem/journal").glob("*.log"))
