"""Memories that people write: remembered, found, guarded, replaced, and readable for ever."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_tmem import schema
from git_tmem.playbook import (
    INSIGHT,
    NOTE,
    Anchor,
    Playbook,
    Probe,
    Step,
    canonical,
    from_document,
    record_id,
)
from git_tmem.playbook import to_document as document_of
from git_tmem.remote import check_entry
from git_tmem.repo import Repository
from git_tmem.store import Store
from git_tmem.trust import mark_own
from tests.conftest import run_git
from tests.samples import document

Tmem = Callable[..., subprocess.CompletedProcess[str]]
TEXT = "Totals are kept in cents; never use floats for them"


@pytest.fixture
def shop(repo: Path) -> Path:
    """A repository with a file that has something to say about."""
    (repo / "src").mkdir()
    source = "class Cart:\n    def total(self):\n        return sum(self.lines)\n"
    (repo / "src" / "cart.py").write_text(source, encoding="utf-8")
    run_git(repo, "add", ".")
    run_git(repo, "commit", "-qm", "cart")
    return repo


@pytest.fixture
def tmem(shop: Path) -> Tmem:
    """Runs ``git tmem`` in the repository, or a folder of it."""

    def run(*arguments: str, folder: str = "", data: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "git_tmem", *arguments],
            cwd=shop / folder,
            input=data,
            capture_output=True,
            text=True,
            encoding="utf-8",
            env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parent.parent)},
            timeout=60,
        )

    return run


def remembered(tmem: Tmem, *arguments: str) -> str:
    done = tmem("remember", *arguments, "--json")
    assert done.returncode == 0, done.stderr
    return str(json.loads(done.stdout)["id"])


def test_what_was_remembered_comes_back_while_what_it_is_about_is_there(
    shop: Path, tmem: Tmem
) -> None:
    record = remembered(tmem, TEXT, "--about", "src/cart.py:Cart.total")
    found = tmem("lookup", "should the totals be floats or cents")
    assert found.returncode == 0
    assert record[:12] in found.stdout
    assert "never use floats" in found.stdout
    assert "about: Cart.total" in found.stdout

    cart = shop / "src" / "cart.py"
    cart.write_text(cart.read_text().replace("sum(self.lines)", "sum(self.lines, 0)"))
    assert tmem("lookup", "totals floats cents").returncode == 0  # a change does not refute it
    cart.write_text("class Cart:\n    pass\n")
    assert tmem("lookup", "totals floats cents").returncode == 1
    assert "Cart.total is gone" in tmem("check").stdout


def test_a_note_follows_its_file(shop: Path, tmem: Tmem) -> None:
    remembered(tmem, TEXT, "--about", "src/cart.py")
    run_git(shop, "mv", "src/cart.py", "src/basket.py")
    found = tmem("lookup", "totals floats cents").stdout
    assert "src/cart.py moved to src/basket.py" in found
    (shop / "src" / "basket.py").unlink()
    assert tmem("lookup", "totals floats cents").returncode == 1


def test_one_of_several_files_is_enough(shop: Path, tmem: Tmem) -> None:
    remembered(tmem, TEXT, "--about", "src/cart.py", "--about", "README.md")
    (shop / "README.md").unlink()
    found = tmem("lookup", "totals floats cents").stdout
    assert "files: src/cart.py" in found
    assert "README" not in found


def test_about_nothing_in_particular_in_chinese_and_from_standard_input(tmem: Tmem) -> None:
    text = "发布前先跑 make dist\n\n否则安装包里没有手册。\n"
    assert tmem("remember", "-", data=text).returncode == 0
    found = tmem("lookup", "发布前要先跑什么")
    assert found.returncode == 0
    assert "否则安装包里没有手册" in found.stdout


def test_only_text_is_remembered(tmem: Tmem, shop: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "git_tmem", "remember", "-"],
        cwd=shop,
        input=b"\xff\xfe\x00 no text of any kind",
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parent.parent)},
        timeout=60,
    )
    assert done.returncode == 3
    assert b"standard input is no UTF-8 text" in done.stderr
    assert not run_git(shop, "for-each-ref", "refs/tmem")
    assert tmem("remember", "-", data="\0\x1b\x07").returncode == 3  # nothing to read in it
    record = json.loads(tmem("remember", "-", "--json", data="a\x1b[31m\0 b\nc\n").stdout)["id"]
    assert json.loads(tmem("show", record, "--json").stdout)["text"] == "a[31m b\nc"


def test_a_title_of_ones_own(tmem: Tmem) -> None:
    record = remembered(tmem, TEXT, "--title", "Money is counted in cents")
    assert json.loads(tmem("show", record, "--json").stdout)["title"] == "Money is counted in cents"
    done = tmem("replace", record, "They are Decimal", "--title", "Money is Decimal", "--json")
    new = json.loads(done.stdout)["id"]
    assert json.loads(tmem("show", new, "--json").stdout)["title"] == "Money is Decimal"


def test_paths_are_spelled_from_where_the_user_stands(tmem: Tmem) -> None:
    done = tmem("remember", TEXT, "--about", "cart.py", folder="src")
    assert done.returncode == 0, done.stderr
    assert "src/cart.py" in tmem("show", done.stdout.split()[0]).stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((" ",), "the text is empty"),
        (("word " * 900,), "may have 4000"),
        ((TEXT, "--about", "src/none.py"), "src/none.py is not in this repository"),
        ((TEXT, "--about", "src/cart.py:Cart.sum"), "src/cart.py defines no Cart.sum"),
        ((TEXT, "--about", "../other"), "../other is not in this repository"),
    ],
)
def test_what_cannot_be_remembered_is_said_and_nothing_is_stored(
    tmem: Tmem, shop: Path, arguments: tuple[str, ...], said: str
) -> None:
    done = tmem("remember", *arguments)
    assert done.returncode == 3
    assert said in done.stderr
    assert not run_git(shop, "for-each-ref", "refs/tmem")


def test_secrets_are_replaced_first(shop: Path, tmem: Tmem) -> None:
    token = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
    record = remembered(tmem, f"The deploy key is {token}, ask for a new one")
    shown = tmem("show", record).stdout
    assert "[REDACTED:" in shown
    assert token not in shown
    assert token not in run_git(shop, "log", "-p", "refs/tmem/main")


def test_a_replaced_record_is_shown_no_more_and_stays_readable(shop: Path, tmem: Tmem) -> None:
    old = remembered(tmem, TEXT, "--about", "src/cart.py")
    before = int(run_git(shop, "rev-list", "--count", "refs/tmem/main"))
    done = tmem("replace", old[:8], "Totals are Decimal since 2.0, no longer cents", "--json")
    assert done.returncode == 0, done.stderr
    middle = json.loads(done.stdout)["id"]
    assert int(run_git(shop, "rev-list", "--count", "refs/tmem/main")) == before + 1
    new = json.loads(tmem("replace", middle, "Totals are integers again", "--json").stdout)["id"]

    found = tmem("lookup", "are totals cents or Decimal or integers").stdout
    assert new[:12] in found
    assert old[:12] not in found
    assert middle[:12] not in found
    shown = json.loads(tmem("show", old, "--json").stdout)
    assert (shown["fate"], shown["by"]) == ("superseded", new)
    assert f"superseded by: {new}" in tmem("show", middle).stdout
    assert "src/cart.py" in tmem("show", new).stdout  # it is about what the old one was about

    again = tmem("replace", old, "once more")
    assert again.returncode == 3
    assert "was superseded before" in again.stderr
    events = {
        (event["what"], event["record"]) for event in json.loads(tmem("log", "--json").stdout)
    }
    assert {("remembered", old), ("remembered", new), ("superseded", middle)} <= events


def test_an_insight_takes_the_place_of_a_playbook_on_its_commits(shop: Path, tmem: Tmem) -> None:
    head = run_git(shop, "rev-parse", "HEAD").strip()
    with Repository.open(str(shop)) as repository:
        store = Store(repository)
        made = document(files=("src/cart.py",), anchor=Anchor(commit=head, commits=(head,)))
        record = store.put(made).id
        mark_own(store, [record])
        store.annotate({head: [f"{record[:12]} {made['title']}"]})
    done = json.loads(tmem("replace", record, "Sum them with a loop", "--json").stdout)
    assert run_git(shop, "notes", "--ref=tmem", "show", head).split()[0] == done["id"][:12]
    assert json.loads(tmem("show", "HEAD", "--json").stdout)["id"] == done["id"]


def test_a_forgotten_record_is_readable_by_id_and_by_the_commit_that_wrote_it(
    shop: Path, tmem: Tmem
) -> None:
    record = remembered(tmem, TEXT)
    wrote = run_git(shop, "rev-parse", "refs/tmem/main").strip()
    assert json.loads(tmem("show", wrote, "--json").stdout)["fate"] == "live"
    assert tmem("forget", record, "--reason", "not true").returncode == 0
    for name in (record, record[:10], wrote):
        shown = tmem("show", name)
        assert shown.returncode == 0, shown.stderr
        assert TEXT in shown.stdout
        assert "forgotten: not true" in shown.stdout
    assert tmem("lookup", "totals floats cents").returncode == 1


def test_what_names_nothing_is_said(shop: Path, tmem: Tmem) -> None:
    remembered(tmem, TEXT)
    none = tmem("show", "HEAD")
    assert none.returncode == 1
    assert "no record was made for HEAD" in none.stderr
    unknown = tmem("show", "nothing-of-the-kind")
    assert unknown.returncode == 3
    assert "names no commit here" in unknown.stderr


def test_others_insights_wait_for_review(shop: Path, tmem: Tmem, tmp_path: Path) -> None:
    remembered(tmem, TEXT)
    run_git(tmp_path, "init", "-q", "--bare", "shared.git")
    run_git(shop, "remote", "add", "origin", str(tmp_path / "shared.git"))
    assert tmem("push").returncode == 0
    run_git(shop, "update-ref", "-d", "refs/tmem/main")
    run_git(shop, "update-ref", "-d", "refs/tmem-local/trust")
    assert tmem("fetch").returncode == 0
    assert tmem("lookup", "totals floats cents").returncode == 1
    assert TEXT in tmem("list", "--untrusted").stdout


texts = st.text(st.characters(codec="utf-8"), min_size=1, max_size=40)
paths = st.lists(st.from_regex(r"[a-z]{1,8}(/[a-z]{1,8}){0,2}", fullmatch=True), max_size=3)


@given(texts, texts, paths, st.lists(texts, max_size=2))
def test_an_insight_survives_its_json_and_the_check_of_what_is_fetched(
    title: str, text: str, files: list[str], symbols: list[str]
) -> None:
    made = Playbook(
        title=title,
        agent="",
        session="",
        started=7,
        ended=7,
        steps=(Step(NOTE, symbols=tuple(symbols), reason=text),),
        files=tuple(files),
        probes=tuple(Probe("path", {"path": path}, (0,)) for path in files),
        kind=INSIGHT,
    )
    stored = json.loads(json.dumps(document_of(made)))
    schema.validate(stored, INSIGHT, "it")
    assert from_document(stored) == made
    data = canonical(stored)
    name = record_id(data)
    check_entry(f"mem/{name[:2]}/{name}.json", data)
