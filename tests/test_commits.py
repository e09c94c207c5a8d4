"""Sessions and commits in all their numbers: records are on the commits that hold the work."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from git_tmem.store import NOTES
from tests.conftest import run_git
from tests.samples import Log, project
from tests.test_commands import Tmem, tmem, wait_for_worker

__all__ = ["tmem"]

PYTEST = "python -m pytest tests"
PASSED = "1 passed in 0.01s"
FIRST, SECOND = "11111111-0000-4000-8000-000000000001", "22222222-0000-4000-8000-000000000002"


@pytest.fixture
def shop(repo: Path) -> Path:
    """The sample project, committed."""
    project(repo)
    run_git(repo, "add", ".")
    run_git(repo, "commit", "-qm", "project")
    return repo


def cart(shop: Path, session: str = FIRST) -> Log:
    """A session that changes the cart."""
    log = Log(shop, session).prompt("Unknown articles must cost nothing")
    log.edit("src/cart.py", "return self.lines[name]", "return self.lines.get(name, 0)")
    return log.run(PYTEST, PASSED)


def members(log: Log) -> Log:
    """More work, on a new file."""
    log.prompt("And add a discount for members")
    log.write("src/members.py", "RATE = 0.9\n\n\ndef discount(price):\n    return price * RATE\n")
    return log.run(PYTEST, PASSED)


def save(log: Log, sealed: Path) -> Path:
    slug = "".join(sign if sign.isalnum() else "-" for sign in str(log.folder))
    name = str(log.records[0]["sessionId"])
    return log.save(sealed / ".claude" / "projects" / slug / f"{name}.jsonl")


def commit(repo: Path, message: str, *paths: str) -> str:
    run_git(repo, "add", *(paths or ("-A",)))
    run_git(repo, "commit", "-qm", message)
    return run_git(repo, "rev-parse", "HEAD")


def noted(repo: Path, revision: str) -> list[str]:
    """Titles in a commit's note."""
    text = run_git(repo, "notes", "--ref", NOTES, "show", revision, check=False)
    return sorted(line.partition(" ")[2] for line in text.splitlines())


CART, MEMBERS = "Unknown articles must cost nothing", "And add a discount for members"


def test_one_session_over_two_commits_is_on_both(shop: Path, sealed: Path, tmem: Tmem) -> None:
    log = cart(shop)
    first = commit(shop, "cart")
    save(members(log), sealed)
    second = commit(shop, "members")
    (done,) = json.loads(tmem("capture", "--json").stdout)
    assert done["outcome"] == "stored"
    assert noted(shop, first) == noted(shop, second) == [CART]
    assert noted(shop, "HEAD~2") == []
    anchor = json.loads(tmem("show", done["id"], "--json").stdout)["anchor"]
    assert anchor["commits"] == [second, first]


def test_a_commit_of_somebody_else_between_them_gets_no_note(
    shop: Path, sealed: Path, tmem: Tmem
) -> None:
    log = cart(shop)
    commit(shop, "cart")
    (shop / "by_hand.py").write_text("x = 1\n", encoding="utf-8")
    (shop / "src/cart.py").write_text(
        (shop / "src/cart.py").read_text(encoding="utf-8") + "\n# by hand\n", encoding="utf-8"
    )
    between = commit(shop, f"by hand\n\nCo-authored-by: Agent <a@example.org>\nSession: {FIRST}")
    save(members(log), sealed)
    commit(shop, "members")
    assert tmem("capture").returncode == 0
    assert noted(shop, "HEAD") == noted(shop, "HEAD~2") == [CART]
    assert noted(shop, between) == []


def test_two_sessions_in_one_commit_are_both_on_it_each_with_its_own_files(
    shop: Path, sealed: Path, tmem: Tmem
) -> None:
    save(cart(shop), sealed)
    save(members(Log(shop, SECOND)), sealed)
    commit(shop, "both")
    done = json.loads(tmem("capture", "--since", "1 hour ago", "--json").stdout)
    assert sorted(one["session"] for one in done) == [FIRST, SECOND]
    assert noted(shop, "HEAD") == [MEMBERS, CART]
    files = {
        one["session"]: json.loads(tmem("show", one["id"], "--json").stdout)["l1"]["files"]
        for one in done
    }
    assert files == {FIRST: ["src/cart.py"], SECOND: ["src/members.py"]}


def test_two_sessions_committed_apart_are_each_on_their_own(
    shop: Path, sealed: Path, tmem: Tmem
) -> None:
    save(cart(shop), sealed)
    save(members(Log(shop, SECOND)), sealed)
    one = commit(shop, "cart", "src/cart.py")
    other = commit(shop, "members", "src/members.py")
    assert tmem("capture", "--since", "1 hour ago").returncode == 0
    assert (noted(shop, one), noted(shop, other)) == ([CART], [MEMBERS])


def test_a_session_that_ended_uncommitted_is_anchored_by_the_hook_when_the_commit_appears(
    shop: Path, sealed: Path, tmem: Tmem, on_path: Path
) -> None:
    path = save(cart(shop), sealed)
    (early,) = json.loads(tmem("capture", "--json").stdout)
    anchor = json.loads(tmem("show", early["id"], "--json").stdout)["anchor"]
    assert "commit" not in anchor
    assert tmem("init").returncode == 0
    path.unlink()  # also when the log is gone by then, what was recorded is enough
    made = commit(shop, "cart, at last")
    wait_for_worker(shop)
    assert noted(shop, made) == [CART]


def test_a_session_captured_again_after_the_commit_has_it_in_its_record(
    shop: Path, sealed: Path, tmem: Tmem
) -> None:
    save(cart(shop), sealed)
    (early,) = json.loads(tmem("capture", "--json").stdout)
    made = commit(shop, "cart")
    (late,) = json.loads(tmem("capture", "--json").stdout)
    assert late["replaced"] == [early["id"]]
    assert json.loads(tmem("show", late["id"], "--json").stdout)["anchor"]["commit"] == made
    assert noted(shop, made) == [CART]


def test_relink_tells_what_was_not_committed_once_it_is_and_never_calls_it_lost(
    shop: Path, sealed: Path, tmem: Tmem
) -> None:
    save(cart(shop), sealed)
    (early,) = json.loads(tmem("capture", "--json").stdout)
    assert json.loads(tmem("relink", "--json").stdout) == {"links": [], "lost": []}
    made = commit(shop, "cart")
    (link,) = json.loads(tmem("relink", "--json").stdout)["links"]
    assert (link["record"], link["rule"], link["old"], link["new"]) == (
        early["id"],
        "blobs",
        "",
        made,
    )
    assert tmem("relink").stdout == ""


def test_the_log_of_a_file_and_of_a_symbol_tells_which_sessions_touched_it(
    shop: Path, sealed: Path, tmem: Tmem
) -> None:
    save(cart(shop), sealed)
    save(members(Log(shop, SECOND)), sealed)
    commit(shop, "both")
    assert tmem("capture", "--since", "1 hour ago").returncode == 0

    def titles(name: str) -> list[str]:
        return [one["title"] for one in json.loads(tmem("log", "--json", "--", name).stdout)]

    assert titles("src/cart.py") == titles("src/cart.py:Cart.price") == [CART]
    assert titles("src/members.py") == titles("src/members.py:discount") == [MEMBERS]
    assert titles("src/cart.py:Cart.total") == titles("README.md") == []
