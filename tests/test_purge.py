"""What leaked leaves everything that is ours, and does not come back."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

from git_tmem import purge, rewrite, trust
from git_tmem.errors import InputError, StoreError
from git_tmem.index import Index
from git_tmem.journal import Entry, write
from git_tmem.repo import Repository
from git_tmem.store import FORGOTTEN, MAIN, NOTES, Store, note_line
from tests.conftest import run_git
from tests.samples import document
from tests.test_repair import WRITER, fsck, stored

ROOT = Path(__file__).resolve().parent.parent
#: Nothing that redaction would know, with what JSON, shells and URLs write in their own ways.
LEAKED = 'Blaue "Tür" \\ 44'


def fill(folder: Path, backend: str = "") -> dict[str, str]:
    """Records with notes, raw traces, marks and a mirror; name -> id. One of them leaks."""
    (folder / ".tmem").mkdir(exist_ok=True)
    head = run_git(folder, "rev-parse", "HEAD")
    ids = {}
    with Repository.open(str(folder), plumbing=backend == "plumbing") as repository:
        store = Store(repository)
        for name in ("first", "leaky", "last"):
            title = f"Fix {LEAKED}" if name == "leaky" else f"Fix the {name}"
            made = document(name, title=title)
            ids[name] = store.put(made, keywords=[title]).id
            trust.mark_own(store, [ids[name]])
            store.keep_raw(ids[name], json.dumps({"said": json.dumps(title)}) + "\n", "+x\n")
            store.annotate({head: [note_line(ids[name], title)]})
        held = write(repository.layout, [Entry("mem", ids["leaky"], LEAKED)])
        held.leave()
        (Path(repository.layout.own_dir) / "hook.log").write_text(
            f"{ids['leaky'][:12]} {LEAKED}\nb\n"
        )
        purge._refresh(repository)
    return ids


def holders(folder: Path) -> list[str]:
    """Everything below .git and .tmem that holds the string, loose objects unpacked, and every
    object git can read."""
    forms = [form.encode() for form in (LEAKED, json.dumps(LEAKED)[1:-1], "T\\u00fcr", "Blaue")]
    found = []
    for path in [*(folder / ".git").rglob("*"), *(folder / ".tmem").rglob("*")]:
        if path.is_file():
            data = path.read_bytes()
            if data[:1] == b"\x78":
                data = zlib.decompress(data)
            if any(form in data for form in forms):
                found.append(str(path))
    listing = run_git(folder, "cat-file", "--batch-all-objects", "--batch-check")
    for line in listing.splitlines():
        oid, kind, _ = line.split()
        if kind != "tree" and "Blaue" in run_git(folder, "cat-file", "-p", oid):
            found.append(oid)
    return found


def tmem(folder: Path, *arguments: str, given: str = "", status: int = 0) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "git_tmem", *arguments],
        cwd=folder,
        input=given,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == status, done.stderr
    assert "Blaue" not in done.stdout + done.stderr
    return done.stdout + done.stderr


def purged(folder: Path, backend: str = "") -> purge.Purged:
    with Repository.open(str(folder), plumbing=backend == "plumbing") as repository:
        return purge.apply(Store(repository), purge.plan(repository, LEAKED, ()))


@pytest.mark.parametrize("how", ["loose", "packed", "plumbing", "sha256"])
def test_a_leaked_string_leaves_everything_of_ours(tmp_path: Path, how: str) -> None:
    folder = tmp_path / "repo"
    kind = "sha256" if how == "sha256" else "sha1"
    run_git(tmp_path, "init", "-q", f"--object-format={kind}", str(folder))
    (folder / "a.py").write_text("a\n")
    run_git(folder, "add", "a.py")
    run_git(folder, "commit", "-qm", "first")
    ids = fill(folder, how)
    dangling = run_git(folder, "hash-object", "-w", "a.py")
    if how == "packed":
        run_git(folder, "gc", "-q")
        assert list((folder / ".git/objects/info").glob("commit-graph*"))
    assert len(holders(folder)) >= 6
    before = run_git(folder, "for-each-ref", "refs/heads")

    told = tmem(folder, "purge", "--stdin", given=f"{LEAKED}\n")
    assert f"record {ids['leaky'][:12]}" in told
    assert "nothing was changed" in told
    assert ids["leaky"] in stored(folder)

    told = tmem(folder, "purge", "--stdin", "--yes", given=f"{LEAKED}\n")
    assert "no object, ref, reflog or file of git-tmem's here holds it" in told
    assert holders(folder) == []
    assert stored(folder) == {ids["first"], ids["last"]}
    assert stored(folder, "gone") == {ids["leaky"]}
    assert run_git(folder, "notes", "--ref=tmem", "show").count("\n") == 1
    assert run_git(folder, "for-each-ref", "refs/heads") == before
    assert run_git(folder, "cat-file", "-p", dangling) == "a"
    fsck(folder)
    with Repository.open(str(folder)) as repository:
        store = Store(repository)
        assert "said" in store.raw(ids["last"], "trace.jsonl")
        assert store.put(document("leaky", title=f"Fix {LEAKED}")).outcome == FORGOTTEN
        with Index(repository.layout) as index:
            assert {row.id for row in index.rows()} == {ids["first"], ids["last"]}
            assert not index.damaged()
    assert "nothing of git-tmem's holds it" not in told


def test_a_purge_by_id_takes_the_record_and_its_history(repo: Path) -> None:
    ids = fill(repo)
    told = tmem(repo, "purge", "--id", ids["leaky"][:10], "--yes")
    assert "searched again" in told
    assert "not git-tmem's hold it" not in told
    assert holders(repo) == []
    assert stored(repo) == {ids["first"], ids["last"]}
    fsck(repo)


def test_what_was_written_around_it_keeps_its_author_time_and_order(repo: Path) -> None:
    fill(repo)
    shape = "--format=%an %ae %at %cn %ct %s"
    old = run_git(repo, "log", shape, MAIN).splitlines()
    purged(repo)
    new = run_git(repo, "log", shape, MAIN).splitlines()[1:]
    assert [line for line in new if "purge:" not in line] == [o for o in old if "Blaue" not in o]
    assert len(new) == len(old)


def test_a_tombstone_whose_reason_leaks_stays_without_it(repo: Path) -> None:
    with Repository.open(str(repo)) as repository:
        store = Store(repository)
        record = store.put(document()).id
        store.forget(record, f"it was {LEAKED}", "cart", "claude-code s")
    done = purged(repo)
    assert done.left == ()
    assert stored(repo, "gone") == {record}
    assert holders(repo) == []
    fsck(repo)


def test_what_the_users_own_branches_hold_is_named_and_not_touched(repo: Path) -> None:
    fill(repo)
    (repo / "mine.txt").write_text(f"{LEAKED}\n")
    run_git(repo, "add", "mine.txt")
    run_git(repo, "commit", "-qm", "mine")
    head, blob = run_git(repo, "rev-parse", "HEAD"), run_git(repo, "rev-parse", "HEAD:mine.txt")
    told = tmem(repo, "purge", "--stdin", "--yes", given=LEAKED)
    assert f"--find-object={blob}" in told
    assert run_git(repo, "rev-parse", "HEAD") == head
    assert holders(repo) == [str(repo / ".git/objects" / blob[:2] / blob[2:]), blob]
    fsck(repo)


def test_an_interrupted_purge_is_finished_by_the_next(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(repo)

    def cut(*_: object) -> list[str]:
        raise StoreError("the power went")

    with monkeypatch.context() as patched:
        patched.setattr(rewrite, "remove", cut)
        with pytest.raises(StoreError):
            purged(repo)
    assert holders(repo)
    assert purged(repo).left == ()
    assert holders(repo) == []
    fsck(repo)
    assert not (repo / ".git/tmem/purging").exists()


def test_what_is_still_at_a_ref_of_ours_is_said_to_be_left(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(repo)
    with monkeypatch.context() as patched:
        patched.setattr(rewrite, "history", lambda _, tip, *__: tip)
        left = purged(repo).left
    assert any(line.startswith("object ") for line in left)
    assert purged(repo).left == ()
    assert holders(repo) == []


def test_writers_beside_a_purge_lose_nothing(repo: Path) -> None:
    fill(repo)
    command = [sys.executable, "-c", WRITER, str(repo), "beside", "25"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        acknowledged = {child.stdout.readline().strip()}
        assert purged(repo).left == ()
        acknowledged |= set(child.stdout.read().split())
    assert child.returncode == 0
    assert len(acknowledged) == 25
    assert acknowledged <= stored(repo)
    assert holders(repo) == []
    fsck(repo)


def test_it_does_not_come_back_from_a_remote_nor_from_a_clone_that_still_has_it(
    repo: Path, tmp_path: Path
) -> None:
    ids = fill(repo)
    run_git(tmp_path, "init", "-q", "--bare", "hub.git")
    run_git(repo, "remote", "add", "origin", str(tmp_path / "hub.git"))
    tmem(repo, "push")
    run_git(tmp_path, "clone", "-q", "hub.git", "other")
    other = tmp_path / "other"
    tmem(other, "fetch")
    with Repository.open(str(other)) as repository:
        theirs = Store(repository).put(document("theirs")).id
    told = tmem(repo, "purge", "--stdin", "--yes", given=LEAKED)
    assert f"--force-with-lease={MAIN}:" in told

    told = tmem(repo, "fetch")
    assert "still holds what was purged" in told
    assert holders(repo) == []
    fsck(repo)
    assert f"git push --force origin {MAIN} {NOTES}" in tmem(repo, "push", status=6)
    assert holders(repo) == []

    run_git(repo, "push", "-q", "--force", "origin", MAIN, NOTES)
    tmem(other, "sync")  # brings a record and takes the purge, its old history stays behind
    assert stored(other) == {ids["first"], ids["last"], theirs}
    assert "Blaue" not in run_git(other, "log", "-p", MAIN)
    assert "Blaue" not in run_git(other, "log", "-p", NOTES)
    tmem(other, "purge", "--stdin", "--yes", given=LEAKED)
    assert holders(other) == []
    tmem(other, "push")
    tmem(repo, "fetch")
    assert stored(repo) == {ids["first"], ids["last"], theirs}
    assert holders(repo) == []
    assert run_git(repo, "rev-parse", MAIN) == run_git(other, "rev-parse", MAIN)
    fsck(repo)
    fsck(other)


def test_a_string_too_short_to_look_for_is_refused(repo: Path) -> None:
    with Repository.open(str(repo)) as repository, pytest.raises(InputError, match="less than"):
        purge.plan(repository, "abc", ())
