"""Both ways to git, dulwich and the git binary, in every kind of repository git makes."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from git_tmem import remote
from git_tmem.errors import StoreError
from git_tmem.git import discover
from git_tmem.index import Index
from git_tmem.plumbing import Plumbing
from git_tmem.probes.base import Unknowable
from git_tmem.repo import Identity, Repository
from git_tmem.store import FORGOTTEN, KNOWN, MAIN, NOTES, STORED, Store, note_line
from git_tmem.worktree import WorktreeView
from tests.conftest import run_git
from tests.samples import document

BOTH = pytest.mark.parametrize("plumbing", [False, True], ids=["dulwich", "git"])
ADA = Identity("Ada", "ada@example.org")


def made(folder: Path, *arguments: str) -> Path:
    """A new repository with one commit."""
    run_git(folder.parent, "init", "-q", *arguments, str(folder))
    (folder / "src").mkdir()
    (folder / "src" / "a.py").write_text("x = 1\n", encoding="utf-8")
    run_git(folder, "add", ".")
    run_git(folder, "commit", "-qm", "first")
    return folder


def fsck(folder: Path) -> None:
    done = subprocess.run(
        ["git", "-C", str(folder), "fsck", "--strict", "--no-dangling"],
        capture_output=True,
        text=True,
        check=False,
    )
    noise = [line for line in done.stderr.splitlines() if "notice:" not in line]
    assert (done.returncode, done.stdout, noise) == (0, "", [])


def appends_and_answers(folder: Path, plumbing: bool = False) -> None:
    """A record goes in, is found by its title, and git reads it and its note."""
    with Repository.open(str(folder), plumbing) as repository:
        store = Store(repository)
        put = store.put(document())
        assert put.outcome == STORED
        assert store.put(document()) == (put.id, KNOWN)
        head = repository.head() or "a" * len(repository.empty_tree)
        store.annotate({head: [note_line(put.id, "title")]})
        with Index(repository.layout) as index:
            assert [row.id for row in index.rows()] == [put.id]
    assert put.id in run_git(folder, "ls-tree", "-r", "--name-only", MAIN)
    assert run_git(folder, "log", "-1", "--format=%an", MAIN) == "Ada"
    assert "tmem: capture" in run_git(folder, "reflog", "show", MAIN)
    assert head in run_git(folder, "notes", "--ref", NOTES, "list")
    if run_git(folder, "rev-parse", "-q", "--verify", "HEAD", check=False):
        note = run_git(folder, "notes", "--ref", NOTES, "show", head)
        assert note == f"{put.id[:12]} title"


@pytest.fixture(params=[False, True], ids=["dulwich", "git"])
def opened(repo: Path, request: pytest.FixtureRequest) -> Iterator[Repository]:
    with Repository.open(str(repo), request.param) as repository:
        yield repository


def test_what_is_written_is_read_before_and_after_it_is_on_the_disk(opened: Repository) -> None:
    blob = opened.write_blob(b"data\n")
    tree = opened.edit_tree("", {"mem/aa/x": blob, "mem.d": blob, "mem-d": blob})
    commit = opened.write_commit(tree, (), "message\n", ADA, 1700000000, -(3 * 3600 + 1800))
    for _ in range(2):
        assert opened.tree_of(commit) == tree
        assert opened.time_of(commit) == 1700000000
        assert opened.blob(blob) == b"data\n"
        assert sorted(opened.level(tree)) == [b"mem", b"mem-d", b"mem.d"]
        opened.flush()
    assert opened.entry(tree, "mem/aa/x") == blob
    assert opened.files(tree) == dict.fromkeys(("mem-d", "mem.d", "mem/aa/x"), (0o100644, blob))
    for path in ("mem/aa/y", "mem/bb/x", "mem.d/x", "nothing"):
        assert opened.entry(tree, path) == ""
    assert opened.edit_tree(tree, {"mem/aa/x": "", "mem.d": "", "mem-d": ""}) == opened.empty_tree
    shown = run_git(Path(opened.layout.top), "log", "-1", "--format=%an %ad", "--date=raw", commit)
    assert shown == "Ada 1700000000 -0330"


def test_a_ref_moves_from_what_it_was_or_not_at_all(opened: Repository) -> None:
    folder = Path(opened.layout.top)
    ref = "refs/tmem/x"
    one, two = (opened.write_commit(opened.edit_tree("", {}), (), text) for text in "ab")
    opened.flush()
    assert opened.ref(ref) == ""
    assert not opened.move_ref(ref, two, one, "no")
    assert opened.move_ref(ref, "", one, "new\nline", ADA)
    assert opened.ref(ref) == one
    assert opened.ref("refs/tmem") == ""
    assert not opened.move_ref(ref, "", two, "no")
    assert not opened.move_ref(ref, two, one, "no")
    assert opened.move_ref(ref, one, two, "moved", ADA)
    log = run_git(folder, "reflog", "show", "--format=%gn %gs", ref).splitlines()
    assert log == ["Ada moved", "Ada new line"]
    assert not opened.drop_ref(ref, one)
    assert opened.drop_ref(ref, two)
    assert opened.ref(ref) == run_git(folder, "for-each-ref", ref) == ""


def test_a_locked_ref_is_not_moved_and_not_an_error(opened: Repository) -> None:
    commit = opened.write_commit(opened.edit_tree("", {}), (), "a")
    opened.flush()
    lock = Path(opened.layout.common_dir) / "refs" / "tmem" / "main.lock"
    lock.parent.mkdir(parents=True)
    lock.touch()
    assert not opened.move_ref(MAIN, "", commit, "no")
    lock.unlink()
    assert opened.move_ref(MAIN, "", commit, "yes")


def test_what_is_missing_or_of_another_kind_is_said(opened: Repository) -> None:
    blob = opened.write_blob(b"data\n")
    opened.flush()
    for ask in (opened.tree_of, opened.time_of, opened.level):
        with pytest.raises(StoreError, match="is not a"):
            ask(blob)
        with pytest.raises(StoreError, match="cannot be read"):
            ask("1" * 40)
    with pytest.raises(StoreError, match="cannot be read"):
        opened.blob("1" * 40)
    with pytest.raises(StoreError, match="is not a blob"):
        opened.blob(opened.tree_of(opened.head()))


@BOTH
def test_a_store_works_and_git_finds_no_fault(repo: Path, plumbing: bool) -> None:
    appends_and_answers(repo, plumbing)
    with Repository.open(str(repo), plumbing) as repository:
        store = Store(repository)
        put = store.put(document("other"))
        store.keep_raw(put.id, "{}\n", "diff\n")
        store.forget(put.id, "wrong", "title", "session")
        assert store.put(document("other")) == (put.id, FORGOTTEN)
        assert store.raw(put.id, "patch.diff") == ""
    fsck(repo)


def test_both_make_the_same_trees_root_and_merges(tmp_path: Path) -> None:
    seen = set()
    for plumbing in (False, True):
        folder = made(tmp_path / f"way{plumbing}")
        with Repository.open(str(folder), plumbing) as repository:
            store = Store(repository)
            for name in ("cart", "basket", "till"):
                store.put(document(name))
            store.forget(store.put(document("gone")).id, "wrong", "title", "session")
            tree = repository.tree_of(store.tip())
            root = store.root()
            other = repository.write_commit(tree, (root,), "fork\n", ADA, 1700000000, 3600)
            repository.flush()
            assert repository.move_ref("refs/tmem-local/x", "", other, "fork")
            assert store.publish_merge("refs/tmem-local/x", other, root, tree, other)
            seen.add((tree, root, repository.ref("refs/tmem-local/x")))
        fsck(folder)
    assert len(seen) == 1


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    names=st.sets(st.text("ab.-0/é", min_size=1, max_size=6), max_size=12),
    data=st.binary(max_size=5000),
    zone=st.integers(-14 * 60, 14 * 60),
    name=st.text(max_size=8),
)
def test_both_give_any_object_the_same_id(
    repo: Path, names: set[str], data: bytes, zone: int, name: str
) -> None:
    ids = []
    paths = {text for text in names if all(text.split("/"))}
    files = {path for path in paths if not any(other.startswith(f"{path}/") for other in paths)}
    for plumbing in (False, True):
        with Repository.open(str(repo), plumbing) as repository:
            blob = repository.write_blob(data)
            tree = repository.edit_tree("", dict.fromkeys(files, blob))
            by = Identity(name, "a@b")
            ids.append((blob, tree, repository.write_commit(tree, (), name, by, 5, zone * 60)))
    assert ids[0] == ids[1]


def test_many_objects_of_any_size_become_one_pack_and_few_stay_loose(repo: Path) -> None:
    with Repository.open(str(repo), plumbing=True) as repository:
        few = [repository.write_blob(b"x" * size) for size in (0, 15, 16, 2047, 2048, 70000)]
        repository.flush()
        packs = Path(repository.layout.common_dir, "objects", "pack")
        assert list(packs.glob("*.pack")) == []
        many = [repository.write_blob(b"%d" % number) for number in range(150)]
        repository.flush()
        assert len(list(packs.glob("*.pack"))) == 1
        assert [len(repository.blob(blob)) for blob in few] == [0, 15, 16, 2047, 2048, 70000]
        assert repository.blob(many[7]) == b"7"


def test_writers_of_both_kinds_lose_nothing_to_each_other(repo: Path) -> None:
    code = (
        "import sys\n"
        "from git_tmem.repo import Repository\n"
        "from git_tmem.store import Store\n"
        "from tests.samples import document\n"
        "with Repository.open(sys.argv[1], plumbing=sys.argv[2] == '1') as repository:\n"
        "    for number in range(6):\n"
        "        Store(repository).put(document(f'{sys.argv[3]}-{number}'))\n"
    )
    running = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(repo), str(number % 2), str(number)],
            cwd=Path(__file__).resolve().parent.parent,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(4)
    ]
    assert [process.communicate()[1] for process in running] == [""] * 4
    assert len(run_git(repo, "ls-tree", "-r", "--name-only", f"{MAIN}:mem").splitlines()) == 24
    fsck(repo)


def chosen(folder: Path) -> bool:
    """Whether git was chosen over dulwich."""
    with Repository.open(str(folder)) as repository:
        return isinstance(repository._back, Plumbing)


def test_dulwich_is_chosen_where_it_can_be(repo: Path) -> None:
    assert not chosen(repo)


def test_a_sha256_repository_works_and_git_finds_no_fault(tmp_path: Path) -> None:
    folder = made(tmp_path / "long", "--object-format=sha256")
    assert chosen(folder)
    appends_and_answers(folder)
    assert len(run_git(folder, "rev-parse", MAIN)) == 64
    with Repository.open(str(folder)) as repository:
        before = repository.ref(NOTES)
        Store(repository).annotate({})
        assert repository.ref(NOTES) == before
        view = repository.view(repository.head())
        assert view.blob("src/a.py") == run_git(folder, "rev-parse", "HEAD:src/a.py")
        assert view.read("src/a.py") == b"x = 1\n"
        assert WorktreeView(repository.layout).blob("src/a.py") == view.blob("src/a.py")
    fsck(folder)


def test_a_repository_with_reftable_works(tmp_path: Path) -> None:
    folder = tmp_path / "table"
    run_git(tmp_path, "init", "-q", "--ref-format=reftable", str(folder), check=False)
    if not folder.exists():
        pytest.skip("this git has no reftable")
    (folder / "a.py").write_text("x = 1\n", encoding="utf-8")
    run_git(folder, "add", ".")
    run_git(folder, "commit", "-qm", "first")
    assert chosen(folder)
    appends_and_answers(folder)
    fsck(folder)


@pytest.mark.parametrize("name", ["preciousObjects", "noop", "partialClone"])
def test_extensions_that_dulwich_does_not_know_are_no_obstacle(repo: Path, name: str) -> None:
    run_git(repo, "config", "core.repositoryFormatVersion", "1")
    run_git(repo, "config", f"extensions.{name}", "origin" if name == "partialClone" else "true")
    assert chosen(repo)
    appends_and_answers(repo)


KINDS = ("shallow", "borrowing", "bare", "unborn", "detached", "rebase", "merge")


def kind_of(origin: Path, kind: str) -> Path:
    """A repository of the named kind or in the named state, made from another."""
    folder = origin.parent / kind
    if kind == "unborn":
        run_git(origin.parent, "init", "-q", str(folder))
        return folder
    how = {"shallow": ("--depth=1",), "borrowing": ("-s",), "bare": ("--bare",)}.get(kind, ())
    source = f"file://{origin}" if kind == "shallow" else str(origin)
    run_git(origin.parent, "clone", "-q", *how, source, str(folder))
    if kind == "detached":
        run_git(folder, "checkout", "-q", "--detach")
    if kind in ("rebase", "merge"):
        run_git(folder, "checkout", "-qb", "side", "HEAD~1")
        (folder / "src" / "a.py").write_text("x = 3\n", encoding="utf-8")
        run_git(folder, "commit", "-qam", "side")
        run_git(folder, kind, "main", check=False)
        assert "UU" in run_git(folder, "status", "--porcelain")
    return folder


@BOTH
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_and_state_of_repository_works(
    tmp_path: Path, kind: str, plumbing: bool
) -> None:
    origin = made(tmp_path / "origin")
    (origin / "src" / "a.py").write_text("x = 2\n", encoding="utf-8")
    run_git(origin, "commit", "-qam", "second")
    folder = kind_of(origin, kind)
    before = run_git(folder, "status", "--porcelain", check=False)
    appends_and_answers(folder, plumbing)
    assert run_git(folder, "status", "--porcelain", check=False) == before
    assert run_git(origin, "for-each-ref", "refs/tmem") == ""
    fsck(folder)


@BOTH
@pytest.mark.parametrize("kept", ["blob:none", "tree:0"])
def test_a_partial_clone_answers_without_asking_its_remote(
    tmp_path: Path, kept: str, plumbing: bool
) -> None:
    origin = made(tmp_path / "origin")
    run_git(origin, "config", "uploadpack.allowFilter", "true")
    blob = run_git(origin, "rev-parse", "HEAD:src/a.py")
    folder = tmp_path / "part"
    run_git(tmp_path, "clone", "-q", "-n", f"--filter={kept}", f"file://{origin}", str(folder))
    seen = tmp_path / "asked"
    helper = tmp_path / "asks"
    helper.write_text(f"#!/bin/sh\necho asked >> '{seen}'\nexit 1\n", encoding="utf-8")
    helper.chmod(helper.stat().st_mode | stat.S_IXUSR)
    run_git(folder, "config", "remote.origin.uploadpack", str(helper))
    appends_and_answers(folder, plumbing)
    with Repository.open(str(folder), plumbing) as repository:
        if kept == "tree:0":
            with pytest.raises(Unknowable):
                repository.view(repository.head()).blob("src/a.py")
        else:
            view = repository.view(repository.head())
            assert view.blob("src/a.py") == blob
            assert view.find(blob) == ["src/a.py"]
            with pytest.raises(Unknowable):
                view.read("src/a.py")
    assert not seen.exists()
    run_git(folder, "cat-file", "-e", blob, check=False)
    assert seen.exists()  # so an attempt would have been seen


def test_a_partial_clone_fetches_records_whole(tmp_path: Path) -> None:
    origin = made(tmp_path / "origin")
    run_git(origin, "config", "uploadpack.allowFilter", "true")
    appends_and_answers(origin)
    folder = tmp_path / "part"
    run_git(tmp_path, "clone", "-q", "--filter=blob:none", f"file://{origin}", str(folder))
    with Repository.open(str(folder)) as repository:
        assert remote.fetch(repository, "origin") == remote.Merged(1, 0, ())
        with Index(repository.layout) as index:
            assert len(index.rows()) == 1
    missing = run_git(folder, "rev-list", "--objects", "--missing=print", MAIN)
    assert "?" not in missing


NAMES = ("é\nx", "-rf", ":(glob)**", 'q"u\\ote', "tab\there", "*", os.fsdecode(b"\xff\xfe.py"))


@pytest.mark.parametrize("where", ["work tree", "dulwich", "git"])
def test_odd_names_are_only_names(repo: Path, where: str) -> None:
    for number, name in enumerate(NAMES):
        (repo / name).write_text(f"content {number}\n", encoding="utf-8")
    run_git(repo, "add", "-A")
    run_git(repo, "commit", "-qm", "odd")
    with Repository.open(str(repo), where == "git") as repository:
        view = (
            WorktreeView(repository.layout)
            if where == "work tree"
            else repository.view(repository.head())
        )
        view.prime(NAMES)
        for number, name in enumerate(NAMES):
            content = f"content {number}\n".encode()
            blob = repository.write_blob(content)
            assert view.blob(name) == blob
            assert view.find(blob) == [name]
        for name in (":(top)README.md", "x" * 4096, "--help", "README*"):
            assert view.blob(name) is None


@BOTH
def test_a_folder_with_spaces_reached_by_a_link_works(tmp_path: Path, plumbing: bool) -> None:
    folder = made(tmp_path / "a b 子 'q'")
    (tmp_path / "way in").symlink_to(folder)
    appends_and_answers(tmp_path / "way in", plumbing)
    fsck(folder)


@BOTH
def test_stale_variables_of_a_hook_do_not_reach_the_store(
    repo: Path, tmp_path: Path, plumbing: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    layout = discover(str(repo))
    nowhere = str(tmp_path / "nowhere")
    with monkeypatch.context() as patch:
        for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"):
            patch.setenv(name, nowhere)
        patch.setenv("GIT_COMMITTER_NAME", "Mallory")
        with Repository(layout, plumbing) as repository:
            put = Store(repository).put(document())
    assert put.id in run_git(repo, "ls-tree", "-r", "--name-only", MAIN)
    assert "Mallory" not in run_git(repo, "log", "-1", "-g", "--format=%cn %gn", MAIN)
    fsck(repo)
