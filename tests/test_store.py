"""The store beside the real git: what is written can be read, raced for, and forgotten."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from git_tmem.errors import InputError, StoreError
from git_tmem.git import discover
from git_tmem.index import Index
from git_tmem.playbook import Anchor, canonical
from git_tmem.repo import Repository
from git_tmem.store import FORGOTTEN, KNOWN, MAIN, NOTES, RAW, STORED, Store, note_line
from tests.conftest import run_git
from tests.samples import document

WRITER = """
import sys
from git_tmem.repo import Repository
from git_tmem.store import Store
from tests.samples import document
folder, first, count, same = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
with Repository.open(folder) as repository:
    store = Store(repository)
    for number in range(first, first + count):
        store.put(document(same or f"part{number}"))
        store.annotate({"%040x" % number: [f"{number:012x} part"]})
"""


def writers(folders: list[Path], count: int, same: str = "") -> None:
    """Processes that append at the same moment; all must end well and say nothing."""
    running = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(folder), str(place * count), str(count), same],
            cwd=Path(__file__).resolve().parent.parent,
            stderr=subprocess.PIPE,
            text=True,
        )
        for place, folder in enumerate(folders)
    ]
    ended = [process.communicate()[1] for process in running]
    assert ended == [""] * len(folders)


def records(folder: Path, ref: str = MAIN) -> list[str]:
    return run_git(folder, "ls-tree", "-r", "--name-only", ref).splitlines()


def fsck(folder: Path) -> None:
    assert run_git(folder, "fsck", "--strict", "--no-dangling") == ""


def test_a_record_is_a_file_named_by_its_hash_that_git_can_read(repo: Path) -> None:
    with Repository.open(str(repo)) as repository:
        put = Store(repository).put(document())
    path = f"mem/{put.id[:2]}/{put.id}.json"
    assert put.outcome == STORED
    assert records(repo) == ["format.json", path]
    data = run_git(repo, "show", f"{MAIN}:{path}").encode()
    assert hashlib.sha256(data).hexdigest() == put.id
    assert json.loads(data)["title"] == document()["title"]
    fsck(repo)


def test_the_commit_has_the_users_identity_and_trailers(repo: Path) -> None:
    with Repository.open(str(repo)) as repository:
        anchored = document(anchor=Anchor(run_git(repo, "rev-parse", "HEAD")))
        put = Store(repository).put(anchored, keywords=["cart.py", "total"])
    shape = "%an <%ae>%n%s%n%(trailers:only,unfold)"
    lines = run_git(repo, "log", "-1", f"--format={shape}", MAIN).splitlines()
    assert lines == [
        "Ada <ada@example.org>",
        "capture: Fix the total of the cart",
        f"Tmem-Id: {put.id}",
        "Tmem-Kind: playbook",
        f"Tmem-Commit: {run_git(repo, 'rev-parse', 'HEAD')}",
        "Tmem-Keywords: cart.py, total",
    ]
    assert "tmem: capture" in run_git(repo, "reflog", "show", MAIN)


def test_the_same_record_is_stored_once_and_makes_no_commit(repo: Path) -> None:
    with Repository.open(str(repo)) as repository:
        store = Store(repository)
        first = store.put(document())
        tip = store.tip()
        assert store.put(document()) == (first.id, KNOWN)
        assert store.tip() == tip


def test_two_clones_start_from_the_same_first_commit(repo: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    run_git(tmp_path, "clone", "-q", str(repo), str(other))
    for folder, name in ((repo, "one"), (other, "two")):
        with Repository.open(str(folder)) as repository:
            Store(repository).put(document(name))
    roots = {run_git(folder, "rev-list", "--max-parents=0", MAIN) for folder in (repo, other)}
    assert len(roots) == 1


def test_a_forgotten_record_stays_forgotten(repo: Path) -> None:
    with Repository.open(str(repo)) as repository:
        store = Store(repository)
        put = store.put(document())
        store.keep_raw(put.id, "{}\n", "diff\n")
        store.annotate({"a" * 40: [note_line(put.id, "title")]})
        store.forget(put.id, "it was wrong", "title", "agent session")
        store.annotate({"a" * 40: []}, gone=[put.id])
        assert store.put(document()) == (put.id, FORGOTTEN)
        assert store.raw(put.id, "trace.jsonl") == ""
    assert records(repo) == ["format.json", f"gone/{put.id[:2]}/{put.id}.json"]
    assert records(repo, NOTES) == []
    assert records(repo, RAW) == []
    assert "it was wrong" in run_git(repo, "log", "-1", "--format=%B", MAIN)
    fsck(repo)


def test_an_empty_reason_or_a_wrong_shape_is_refused_and_nothing_is_written(repo: Path) -> None:
    with Repository.open(str(repo)) as repository:
        store = Store(repository)
        wrong = document()
        wrong["l0"]["steps"][0]["kind"] = "GUESS"
        with pytest.raises(InputError, match="l0/steps/0/kind"):
            store.put(wrong)
        assert store.tip() == ""


def test_a_record_of_a_newer_format_is_refused_in_one_clear_sentence(repo: Path) -> None:
    with Repository.open(str(repo)) as repository:
        newer = {**document(), "format": 2}
        with pytest.raises(InputError, match="has format 2, and this git-tmem reads up to 1"):
            Store(repository).put(newer)


def test_a_store_of_a_newer_format_is_read_with_a_warning_and_not_written(repo: Path) -> None:
    with Repository.open(str(repo)) as repository:
        store = Store(repository)
        put = store.put(document())
        newer = repository.write_blob(canonical({"format": 2, "kind": "store"}))
        later = repository.write_blob(canonical({"format": 3, "kind": "playbook"}))
        path = f"mem/ab/ab{'0' * 62}.json"
        store.publish(MAIN, lambda _: {"format.json": newer, path: later}, "newer\n")
        tip = store.tip()
        with pytest.raises(
            InputError, match="the store has format 2, and this git-tmem reads up to 1"
        ):
            store.put(document("other"))
        assert store.tip() == tip
    with Index(discover(str(repo))) as index:
        assert [row.id for row in index.rows()] == [put.id]
        assert [path for path, _ in index.damaged()] == ["format.json", path]
        assert "format 3, and this git-tmem reads up to 1" in index.damaged()[1][1]


def test_secrets_do_not_reach_any_object(repo: Path) -> None:
    secret = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
    with Repository.open(str(repo)) as repository:
        store = Store(repository)
        leaky = document(title=f"Use {secret}", intent=(f"with {secret}",))
        put = store.put(leaky, keywords=[secret])
        store.annotate({"a" * 40: [note_line(put.id, leaky["title"])]})
        store.keep_raw(put.id, f"token {secret}\n", f"+{secret}\n")
        store.forget(put.id, f"because of {secret}", leaky["title"], "s")
    listing = run_git(repo, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)")
    for name in listing.splitlines():
        assert secret not in run_git(repo, "cat-file", "-p", name)
    assert secret not in run_git(repo, "reflog", "show", MAIN)


def test_the_users_index_branch_and_files_are_untouched(repo: Path) -> None:
    before = (run_git(repo, "rev-parse", "HEAD"), (repo / ".git" / "index").read_bytes())
    with Repository.open(str(repo)) as repository:
        Store(repository).put(document())
    assert before == (run_git(repo, "rev-parse", "HEAD"), (repo / ".git" / "index").read_bytes())
    assert run_git(repo, "status", "--porcelain") == ""


def test_eight_writers_at_once_lose_nothing(repo: Path) -> None:
    writers([repo] * 8, 6)
    assert len(records(repo)) == 8 * 6 + 1
    assert len(records(repo, NOTES)) == 8 * 6
    assert int(run_git(repo, "rev-list", "--count", "--merges", MAIN)) == 0
    fsck(repo)


def test_writers_in_linked_worktrees_share_one_store(repo: Path, tmp_path: Path) -> None:
    trees = [tmp_path / f"tree{number}" for number in range(3)]
    for tree in trees:
        run_git(repo, "worktree", "add", "-q", "--detach", str(tree))
    writers([repo, *trees], 5)
    assert len(records(repo)) == 4 * 5 + 1
    fsck(repo)


def test_the_same_record_from_many_processes_is_one_entry(repo: Path) -> None:
    writers([repo] * 4, 3, same="twin")
    assert len(records(repo)) == 2
    assert run_git(repo, "rev-list", "--count", MAIN) == "2"


def test_a_ref_locked_by_a_dead_process_is_said_and_nothing_is_lost(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("git_tmem.store._TRIES", 3)
    with Repository.open(str(repo)) as repository:
        store = Store(repository)
        store.put(document())
        tip = store.tip()
        lock = repo / ".git" / "refs" / "tmem" / "main.lock"
        lock.touch()
        with pytest.raises(StoreError, match="locked"):
            store.put(document("other"))
        assert store.tip() == tip
        lock.unlink()
        assert store.put(document("other")).outcome == STORED


def test_notes_keep_the_lines_of_git_notes(repo: Path) -> None:
    head = run_git(repo, "rev-parse", "HEAD")
    run_git(repo, "notes", "--ref=tmem", "add", "-m", "0123456789ab by hand", head)
    with Repository.open(str(repo)) as repository:
        Store(repository).annotate({head: ["aaaaaaaaaaaa made here"]})
    note = run_git(repo, "notes", "--ref=tmem", "show", head)
    assert note == "0123456789ab by hand\naaaaaaaaaaaa made here"


@pytest.mark.parametrize(
    "name", ["Ada", "A<d>a", "Ada\nmallory", "爱达", "", ".", "Ada  ", "a" * 300, "\x01Ada"]
)
def test_any_identity_gives_commits_that_git_accepts(
    repo: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("GIT_CONFIG_COUNT", "2")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "user.name")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", name)
    monkeypatch.setenv("GIT_CONFIG_KEY_1", "user.email")
    monkeypatch.setenv("GIT_CONFIG_VALUE_1", "<a da@example>")
    with Repository.open(str(repo)) as repository:
        Store(repository).put(document())
    fsck(repo)


def test_without_any_identity_the_fallback_signs(
    repo: Path, sealed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (sealed / ".gitconfig").write_text("[user]\n\tuseConfigOnly = true\n", encoding="utf-8")
    with Repository.open(str(repo)) as repository:
        Store(repository).put(document())
    author = run_git(repo, "log", "-1", "--format=%an <%ae>", MAIN)
    assert author == "git-tmem <git-tmem@localhost>"


def test_a_store_tip_that_is_no_commit_is_an_error_and_stays(repo: Path) -> None:
    blob = run_git(repo, "hash-object", "-w", "README.md")
    (repo / ".git" / "refs" / "tmem").mkdir()
    (repo / ".git" / "refs" / "tmem" / "main").write_text(f"{blob}\n", encoding="utf-8")
    with Repository.open(str(repo)) as repository, pytest.raises(StoreError, match="not a commit"):
        Store(repository).put(document())
    assert run_git(repo, "rev-parse", MAIN) == blob


def test_one_batch_of_many_objects_becomes_a_pack(repo: Path) -> None:
    with Repository.open(str(repo)) as repository:
        store = Store(repository)
        data = {
            f"mem/{number:02x}/{number:064x}.json": repository.write_blob(
                canonical({"number": number})
            )
            for number in range(150)
        }
        store.publish(MAIN, lambda _: data, "many\n")
    assert list((repo / ".git" / "objects" / "pack").glob("*.pack"))
    fsck(repo)
    with Index(discover(str(repo))) as index:
        assert len(index.damaged()) == 150  # none of these is a record, and each is named
