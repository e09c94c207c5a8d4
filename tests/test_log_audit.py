"""The store's own history for people, and which commits have a record."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from git_tmem import hooklog
from git_tmem.commands.group import group
from git_tmem.errors import InputError
from git_tmem.git import discover
from git_tmem.repo import Repository
from git_tmem.store import NOTES, Store
from tests.conftest import run_git
from tests.samples import document
from tests.test_anchors import branch, commit, remember, worked

__all__ = ["branch"]


@pytest.fixture
def tmem(branch: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs a command in the repository, in this process."""
    monkeypatch.chdir(branch)

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(group, list(arguments), standalone_mode=False)

    return run


def put(repo: Path, name: str, **changes: Any) -> str:
    with Repository.open(str(repo)) as repository:
        return Store(repository).put(document(name, **changes)).id


def test_the_log_tells_what_happened_newest_first_with_reason_and_by_whom(
    branch: Path, tmem: Any
) -> None:
    first, second = put(branch, "cart"), put(branch, "shop")
    third = put(branch, "cart", title="Fix it better", supersedes=(first,))
    assert tmem("forget", second, "--reason", "no longer needed").exception is None
    told = json.loads(tmem("log", "--json").stdout)
    assert [(event["what"], event["record"]) for event in told] == [
        ("forgotten", second),
        ("captured", third),
        ("superseded", first),
        ("captured", second),
        ("captured", first),
    ]
    assert told[0]["reason"] == "no longer needed"
    assert told[0]["title"] == "Fix the total of the shop"
    assert {event["by"] for event in told} == {"Ada <ada@example.org>"}
    text = tmem("log").stdout
    assert f"forgotten  {second[:12]} Fix the total of the shop (no longer needed)" in text
    assert len(tmem("log", "-n", "2").stdout.splitlines()) == 2


def test_the_log_of_a_file_has_its_records_alone_even_forgotten_ones(
    branch: Path, tmem: Any
) -> None:
    cart, shop = put(branch, "cart"), put(branch, "shop")
    tmem("forget", shop, "--reason", "wrong")
    told = json.loads(tmem("log", "--json", "--", "src/shop.py").stdout)
    assert [(event["what"], event["record"]) for event in told] == [
        ("forgotten", shop),
        ("captured", shop),
    ]
    assert cart[:12] in tmem("log", "--", "src/cart.py").stdout
    assert tmem("log", "--", "README.md").stdout == ""


def test_the_log_of_an_empty_store_is_empty(tmem: Any) -> None:
    assert tmem("log").stdout == ""
    assert json.loads(tmem("log", "--json").stdout) == []


def test_the_log_shows_a_merge_and_what_the_others_captured(
    branch: Path, tmem: Any, tmp_path: Path
) -> None:
    put(branch, "cart")
    run_git(tmp_path, "clone", "-q", "--bare", str(branch), "server.git")
    run_git(branch, "remote", "add", "origin", str(tmp_path / "server.git"))
    other = tmp_path / "other"
    run_git(tmp_path, "clone", "-q", str(tmp_path / "server.git"), str(other))
    run_git(other, "config", "user.name", "Grace")
    theirs = put(other, "shop")
    run_git(other, "push", "-q", "origin", "refs/tmem/main")
    assert tmem("fetch").exception is None
    told = json.loads(tmem("log", "--json").stdout)
    assert told[0]["what"] == "merged"
    assert ("captured", theirs, "Grace <ada@example.org>") in [
        (event["what"], event["record"], event["by"]) for event in told
    ]


def test_an_audit_lists_commits_with_their_records_and_the_hooks_reason_for_the_others(
    branch: Path, tmem: Any
) -> None:
    with_record = worked(branch, "a", 3, "three")
    silent = worked(branch, "b", 5, "five")
    tried = worked(branch, "c", 9, "nine")
    record = remember(branch, "cart", with_record)
    hooklog.write(discover(str(branch)), f"{tried[:12]} claude: nothing to keep, no check passed")
    done = tmem("audit", "--json", "main..HEAD")
    told = {finding["commit"]: finding for finding in json.loads(done.stdout)}
    assert list(told) == [tried, silent, with_record]
    assert [one["id"] for one in told[with_record]["records"]] == [record]
    assert told[with_record]["reason"] == ""
    assert told[silent]["reason"] == "no session was captured"
    assert told[tried]["reason"] == "claude: nothing to keep, no check passed"
    assert "2 of 3 commits without a record" in tmem("audit", "main..HEAD").stdout


def test_an_audit_fails_when_it_is_told_to_and_something_is_missing(
    branch: Path, tmem: Any
) -> None:
    remember(branch, "cart", worked(branch, "a", 3, "three"))
    assert tmem("audit", "--fail", "main..HEAD").return_value == 0
    worked(branch, "b", 5, "five")
    assert tmem("audit", "--fail", "main..HEAD").return_value == 1
    assert tmem("audit", "main..HEAD").return_value == 0
    for wrong in ("no-such", "--", "main..no-such"):
        assert isinstance(tmem("audit", "--", wrong).exception, InputError)


def test_an_audit_believes_the_records_when_the_notes_are_gone(branch: Path, tmem: Any) -> None:
    old = worked(branch, "a", 3, "three")
    record = remember(branch, "cart", old)
    run_git(branch, "update-ref", "-d", NOTES)
    assert record[:12] in tmem("audit", "main..HEAD").stdout
    tmem("forget", record, "--reason", "wrong")
    assert "1 of 1 commit without a record" in tmem("audit", "main..HEAD").stdout


def test_an_audit_without_a_range_looks_at_what_the_upstream_has_not(
    branch: Path, tmem: Any
) -> None:
    worked(branch, "a", 3, "three")
    assert "3 of 3 commits" in tmem("audit").stdout
    run_git(branch, "branch", "-q", "--set-upstream-to=main")
    assert "1 of 1 commit " in tmem("audit").stdout


def test_a_fetch_links_the_records_it_brought(branch: Path, tmem: Any, tmp_path: Path) -> None:
    old = worked(branch, "a", 3, "three")
    record = remember(branch, "cart", old)
    run_git(tmp_path, "clone", "-q", "--bare", str(branch), "server.git")
    run_git(branch, "push", "-q", str(tmp_path / "server.git"), "refs/tmem/main", NOTES)
    run_git(branch, "update-ref", "-d", "refs/tmem/main")
    run_git(branch, "update-ref", "-d", NOTES)
    run_git(branch, "remote", "add", "origin", str(tmp_path / "server.git"))
    run_git(branch, "reset", "-q", "--soft", "main")
    new = commit(branch, "the same, committed anew")
    assert new != old
    assert tmem("fetch").exception is None
    assert record[:12] in run_git(branch, "notes", "--ref", NOTES, "show", new)


def test_the_log_of_a_symbol_tells_which_sessions_edited_it_or_a_part_of_it(
    branch: Path, tmem: Any
) -> None:
    edited = [{"kind": "MUTATE", "path": "src/cart.py", "symbols": ["Cart.total", "price"]}]
    read = [{"kind": "READ", "path": "src/cart.py", "symbols": ["Cart.total"]}]
    files = {"files": ["src/cart.py"], "checks": ["pytest"]}
    sample = document("cart")
    ids = []
    with Repository.open(str(branch)) as repository:
        for steps in (edited, read):
            changed = {**sample, "l0": {"steps": steps}, "l1": files, "probes": []}
            changed.update(session=steps[0]["kind"], l2={"repairs": []}, graph={"edges": []})
            ids.append(Store(repository).put(changed).id)

    def told(name: str) -> list[str]:
        return [event["record"] for event in json.loads(tmem("log", "--json", "--", name).stdout)]

    assert told("src/cart.py") == ids[::-1]
    for name in ("Cart.total", "total", "Cart", "price"):
        assert told(f"src/cart.py:{name}") == ids[:1]
    assert told("src/cart.py:cart") == told("src/cart.py:Cart.tot") == told("src/b.py:price") == []
