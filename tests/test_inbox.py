"""The inbox: what ended sessions left waits there, unseen by agents, until it becomes a record."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from git_tmem import inbox
from git_tmem.git import discover
from git_tmem.inbox import MOST, USES
from git_tmem.index import Index
from git_tmem.repo import Repository
from git_tmem.store import INBOX, MAIN, Store
from git_tmem.worker import after_commit, after_session
from tests.conftest import run_git
from tests.samples import ERROR, Log, fix_price, playbook, project
from tests.test_hooks import claude

SESSION = "5f0c6f0e-0000-4000-8000-000000000007"
SECRET = "ghp_" + "a1B2" * 9


@pytest.fixture
def shop(repo: Path) -> Path:
    """A repository with the sample project, initialised."""
    project(repo)
    run_git(repo, "add", ".")
    run_git(repo, "commit", "-qm", "project")
    tmem(repo, "init", "--agents", "none")
    return repo


def tmem(folder: Path, *arguments: str, status: int = 0, given: str = "") -> str:
    done = subprocess.run(
        [sys.executable, "-m", "git_tmem", *arguments],
        cwd=folder,
        input=given,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == status, done.stderr
    return done.stdout + done.stderr


def ended(folder: Path, log: Log, name: str = "log.jsonl", session: str = SESSION) -> Path:
    """What the hook at a session's end does in the background."""
    path = log.save(folder.parent / name)
    with Repository.open(str(folder)) as repository:
        after_session(repository, "claude-code", session, str(path), os.environ)
    return path


def waiting(folder: Path) -> list[inbox.Candidate]:
    with Repository.open(str(folder)) as repository:
        return inbox.candidates(repository)


def records(folder: Path) -> list[str]:
    with Index(discover(str(folder))) as index:
        return [row.id for row in index.rows()]


def committed(folder: Path, message: str = "done") -> None:
    """A commit, and what its hook does in the background."""
    run_git(folder, "commit", "-qam", message)
    with Repository.open(str(folder)) as repository:
        after_commit(repository, repository.head(), os.environ)


def test_a_session_that_ends_before_its_commit_leaves_a_candidate_that_nobody_is_told(
    shop: Path,
) -> None:
    ended(shop, fix_price(Log(shop, SESSION)))
    (one,) = waiting(shop)
    assert one.playbook.title == "The price of an unknown article should be zero, please fix it"
    assert records(shop) == []
    assert claude(shop, "SessionStart", source="startup") == ""
    failed = {"tool_name": "Bash", "tool_input": {"command": "python -m pytest"}, "error": ERROR}
    assert claude(shop, "PostToolUseFailure", **failed) == ""
    tmem(shop, "lookup", "price of an unknown article", status=1)
    listed = tmem(shop, "inbox")
    assert one.id[:12] in listed
    assert "its work is not committed" in listed
    assert "1 candidate in the inbox" in tmem(shop, "status")
    (told,) = json.loads(tmem(shop, "inbox", "--json"))
    assert (told["id"], told["files"], told["repairs"]) == (one.id, ["src/cart.py"], 2)
    assert "src/cart.py" in tmem(shop, "inbox", "show", one.id[:8])


def test_accepted_it_is_a_record_like_any_other(shop: Path) -> None:
    ended(shop, fix_price(Log(shop, SESSION)))
    (one,) = waiting(shop)
    assert f"{one.id[:12]} accepted" in tmem(shop, "inbox", "accept", one.id[:6])
    assert records(shop) == [one.id]
    assert waiting(shop) == []
    assert "price of an unknown" in tmem(shop, "lookup", "price of an unknown article")
    assert "no candidate's id starts with" in tmem(shop, "inbox", "accept", one.id[:6], status=1)
    committed(shop)
    assert records(shop) == [one.id], "the commit makes no second one"
    assert one.id[:12] in run_git(shop, "log", "-1", "--notes=tmem", "--format=%N")


def test_dropped_it_is_gone_and_no_object_of_ours_holds_it(shop: Path) -> None:
    ended(shop, fix_price(Log(shop, SESSION)))
    (one,) = waiting(shop)
    tmem(shop, "inbox", "drop", one.id[:8])
    assert not waiting(shop)
    assert not records(shop)
    assert run_git(shop, "rev-list", "--count", INBOX) == "1"
    assert one.id not in run_git(shop, "rev-list", "--objects", INBOX)
    assert "empty" in tmem(shop, "inbox")
    assert "empty" in tmem(shop, "inbox", "accept", "--all")


def test_the_commit_makes_the_candidate_the_record_from_the_log(shop: Path, sealed: Path) -> None:
    slug = "".join(sign if sign.isalnum() else "-" for sign in str(shop))
    log = fix_price(Log(shop, SESSION))
    log.save(sealed / ".claude" / "projects" / slug / "session.jsonl")
    ended(shop, log)
    assert len(waiting(shop)) == 1
    committed(shop)
    assert waiting(shop) == []
    (record,) = records(shop)
    shown = json.loads(tmem(shop, "show", record, "--json"))
    assert shown["anchor"]["commit"] == run_git(shop, "rev-parse", "HEAD")


def test_the_commit_makes_the_candidate_the_record_though_the_log_is_gone(shop: Path) -> None:
    path = ended(shop, fix_price(Log(shop, SESSION)))
    path.unlink()
    (one,) = waiting(shop)
    run_git(shop, "commit", "-q", "--allow-empty", "-m", "something else")
    with Repository.open(str(shop)) as repository:
        after_commit(repository, repository.head(), os.environ)
    assert waiting(shop) == [one]
    committed(shop)
    assert waiting(shop) == []
    assert records(shop) == [one.id]
    assert one.id[:12] in run_git(shop, "log", "-1", "--notes=tmem", "--format=%N")


def test_a_session_that_ends_again_replaces_its_candidate_or_changes_nothing(shop: Path) -> None:
    log = fix_price(Log(shop, SESSION))
    ended(shop, log)
    before = run_git(shop, "rev-parse", INBOX)
    ended(shop, log)
    assert run_git(shop, "rev-parse", INBOX) == before
    log.edit("src/cart.py", '"""A cart."""', '"""A cart with prices."""')
    ended(shop, log.run("python -m pytest tests/test_cart.py", "1 passed in 0.01s"))
    (one,) = waiting(shop)
    assert run_git(shop, "rev-parse", INBOX) != before
    tmem(shop, "capture", "--session", str(shop.parent / "log.jsonl"))
    assert waiting(shop) == [], "captured by hand"
    ended(shop, log)
    assert waiting(shop) == []
    assert len(records(shop)) == 1
    assert one.session == f"claude-code {SESSION}"


def test_a_session_whose_work_is_committed_is_captured_at_its_end(shop: Path) -> None:
    log = fix_price(Log(shop, SESSION))
    run_git(shop, "commit", "-qam", "done")
    ended(shop, log)
    assert waiting(shop) == []
    assert len(records(shop)) == 1


MISSING = """Traceback (most recent call last):
  File "/somewhere/src/money.py", line 1, in <module>
    import babel
ModuleNotFoundError: No module named 'babel'
"""


def cure(log: Log) -> Log:
    """A failure that an install cures, without an edit."""
    log.prompt("Why do the tests fail here?").run("python -m pytest tests", MISSING, 1)
    log.run("pip install babel", "Successfully installed babel-2.14")
    return log.run("python -m pytest tests", "1 passed in 0.01s")


def test_a_cure_without_an_edit_becomes_a_record_by_use(shop: Path) -> None:
    ended(shop, cure(Log(shop, SESSION)))
    (one,) = waiting(shop)
    assert one.playbook.files == ()
    assert one.playbook.repairs[0].fix == ("run pip install babel",)
    assert "none of its edits" in tmem(shop, "inbox")
    for number in range(1, USES + 1):
        assert [(item.id, len(item.uses)) for item in waiting(shop)] == [(one.id, number - 1)]
        later = f"5f0c6f0e-0000-4000-8000-00000000010{number}"
        log = Log(shop, later).prompt("Run the tests").run("python -m pytest tests", MISSING, 1)
        ended(shop, log, f"{number}.jsonl", later)
        ended(shop, log, f"{number}.jsonl", later)
    assert waiting(shop) == []
    assert records(shop) == [one.id]


def test_a_session_that_was_forgotten_leaves_no_candidate(shop: Path) -> None:
    log = fix_price(Log(shop, SESSION))
    ended(shop, log)
    tmem(shop, "inbox", "accept", "--all")
    tmem(shop, "forget", records(shop)[0], "--reason", "wrong")
    ended(shop, log)
    assert not waiting(shop)
    assert not records(shop)


def test_secrets_do_not_get_into_the_inbox(shop: Path) -> None:
    log = Log(shop, SESSION).prompt(f"Use the token {SECRET} and make the price zero")
    fix_price(log)
    ended(shop, log)
    assert len(waiting(shop)) == 1
    for oid in run_git(shop, "rev-list", "--objects", INBOX).split("\n"):
        assert SECRET not in run_git(shop, "cat-file", "-p", oid.split()[0])
    assert "nothing" in tmem(shop, "scan")


def test_the_newest_stay_when_there_are_many(shop: Path) -> None:
    with Repository.open(str(shop)) as repository:
        store = Store(repository)
        for number in range(MOST + 3):
            made = playbook(f"n{number}", started=number, ended=number)
            assert inbox.propose(store, made).outcome == inbox.CANDIDATE
        left = inbox.candidates(repository)
    assert [one.playbook.ended for one in left] == list(range(MOST + 2, 2, -1))


def test_it_is_never_pushed_and_a_damaged_entry_is_none(shop: Path, tmp_path: Path) -> None:
    ended(shop, fix_price(Log(shop, SESSION)))
    remote = tmp_path / "remote.git"
    run_git(tmp_path, "init", "-q", "--bare", str(remote))
    run_git(shop, "remote", "add", "origin", str(remote))
    tmem(shop, "remember", "Totals are in cents")
    tmem(shop, "push")
    refs = run_git(remote, "for-each-ref", "--format=%(refname)").split()
    assert MAIN in refs
    assert INBOX not in refs
    with Repository.open(str(shop)) as repository:
        bad = {f"aa/{'a' * 64}/record.json": repository.write_blob(b'{"kind": "playbook"}')}
        Store(repository).publish(INBOX, lambda _: bad, "bad\n", root=False)
        assert len(inbox.candidates(repository)) == 1


def test_purge_takes_a_word_out_of_the_inbox_too(shop: Path) -> None:
    ended(shop, fix_price(Log(shop, SESSION)))
    tmem(shop, "purge", "--stdin", "--yes", given="unknown article\n")
    assert "unknown article" not in json.dumps([one.playbook for one in waiting(shop)])


def test_wrong_words_are_said_in_a_line(shop: Path) -> None:
    assert "give ids" in tmem(shop, "inbox", "accept", status=2)
    assert "give ids" in tmem(shop, "inbox", "drop", "abcd", "--all", status=2)
    assert "takes no ids" in tmem(shop, "inbox", "list", "abcd", status=2)
    assert "is no id" in tmem(shop, "inbox", "show", "x", status=3)
