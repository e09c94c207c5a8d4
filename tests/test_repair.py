"""Crashes and damage: what was acknowledged comes back, what was forgotten does not."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from git_tmem import journal, trust
from git_tmem.commands.group import run as tmem
from git_tmem.errors import StoreError
from git_tmem.git import discover
from git_tmem.index import Index
from git_tmem.repo import Repository
from git_tmem.store import FORGOTTEN, KNOWN, MAIN, STORED, Store
from tests.conftest import run_git
from tests.samples import document

ROOT = Path(__file__).resolve().parent.parent

#: Puts records until it is killed; a line on standard output acknowledges one.
WRITER = """
import sys
from git_tmem.repo import Repository
from git_tmem.store import Store
from tests.samples import document
folder, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
with Repository.open(folder) as repository:
    for number in range(count):
        print(Store(repository).put(document(f"{name}-{number}")).id, flush=True)
"""


def put(folder: Path, *names: str) -> list[str]:
    with Repository.open(str(folder)) as repository:
        store = Store(repository)
        ids = [store.put(document(name)).id for name in names]
        trust.mark_own(store, ids)
    return ids


def stored(folder: Path, room: str = "mem") -> set[str]:
    paths = run_git(folder, "ls-tree", "-r", "--name-only", MAIN).splitlines()
    return {path[-69:-5] for path in paths if path.startswith(f"{room}/")}


def pending(folder: Path) -> list[str]:
    return [path.name for path in (folder / ".git/tmem/journal").glob("[0-9]*.log")]


def fsck(folder: Path) -> None:
    assert run_git(folder, "fsck", "--full", "--strict", "--no-dangling") == ""


def loose(folder: Path, oid: str) -> Path:
    return folder / ".git/objects" / oid[:2] / oid[2:]


def spoil(path: Path, data: bytes) -> None:
    path.chmod(0o644)
    path.write_bytes(data)


def writer(folder: Path, name: str, count: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, str(folder), name, str(count)]
    return subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_a_writer_killed_at_any_moment_loses_nothing_it_acknowledged(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repo)
    acknowledged: set[str] = set()
    for number in range(8):
        process = writer(repo, f"w{number}", 1000)
        assert process.stdout is not None
        acknowledged.add(process.stdout.readline().strip())
        deadline = time.monotonic() + number * 0.0067
        while time.monotonic() < deadline:
            pass
        process.send_signal(signal.SIGKILL)
        acknowledged |= set(process.communicate()[0].split("\n")[:-1])
        for lock in (repo / ".git/refs/tmem").glob("*.lock"):
            os.utime(lock, (1, 1))
            tmem(["doctor", "--json"])
    put(repo, "afterwards")
    assert acknowledged <= stored(repo)
    assert pending(repo) == []
    fsck(repo)


def test_what_a_full_disk_stopped_is_kept_and_written_next_time(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(repo, "first")
    real, left = os.fsync, [0]

    def full(descriptor: int) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(descriptor)

    for room in range(6):
        left[0] = room
        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(StoreError, match="No space left") as caught:
            put(repo, f"room{room}")
        monkeypatch.setattr(os, "fsync", real)
        kept = room >= 2  # the journal's file and its folder are the first two
        assert ("it is kept in the journal" in caught.value.message) == kept
        assert ("nothing was kept" in caught.value.message) != kept
        assert len(pending(repo)) == kept
        fsck(repo)
        before = stored(repo)
        put(repo, f"next{room}")
        assert len(stored(repo)) == len(before) + 1 + kept
        assert pending(repo) == []


def test_a_put_that_failed_and_is_tried_again_is_stored_and_not_known(repo: Path) -> None:
    put(repo, "first")
    lock = repo / ".git/refs/tmem/main.lock"
    lock.touch()
    with pytest.raises(StoreError, match="kept in the journal"):
        put(repo, "second")
    lock.unlink()
    with Repository.open(str(repo)) as repository:
        assert Store(repository).put(document("second")).outcome == STORED
        assert Store(repository).put(document("second")).outcome == KNOWN


def test_a_lock_is_waited_for_a_short_time_and_cleared_only_when_old(
    repo: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(repo)
    put(repo, "first")
    locks = [repo / ".git/refs/tmem/main.lock", repo / ".git/refs/heads/main.lock"]
    for lock in locks:
        lock.touch()
    start = time.monotonic()
    with pytest.raises(StoreError, match="or locked; it is kept in the journal"):
        put(repo, "second")
    assert time.monotonic() - start < 20
    monkeypatch.setattr("git_tmem.store._TRIES", 3)
    assert tmem(["doctor"]) == 1
    assert "needs you  locks: refs/tmem/main.lock is in use" in capsys.readouterr().out
    assert all(lock.exists() for lock in locks)
    for lock in locks:
        os.utime(lock, (1, 1))
    tmem(["doctor"])
    out = capsys.readouterr().out
    assert "fixed      locks: removed refs/tmem/main.lock" in out
    assert "fixed      journal: 1 pending entries, 1 new, stored now" in out
    assert [lock.exists() for lock in locks] == [False, True]
    assert len(stored(repo)) == 2


@pytest.mark.parametrize("damage", ["missing", "empty", "random", "garbage", "empty ref", "tree"])
def test_a_tip_that_cannot_be_read_is_repaired_by_the_next_write(repo: Path, damage: str) -> None:
    ids = put(repo, "one", "two", "three")
    with Repository.open(str(repo)) as repository:
        Store(repository).forget(ids[1], "wrong", "t", "s")
    put(repo, "four")
    tip = run_git(repo, "rev-parse", MAIN)
    victim = loose(
        repo, run_git(repo, "rev-parse", f"{MAIN}^{{tree}}") if damage == "tree" else tip
    )
    ref = repo / ".git" / MAIN
    if damage in ("missing", "tree"):
        victim.unlink()
    elif damage in ("empty", "random"):
        spoil(victim, b"" if damage == "empty" else b"\x78\x9c\x00\x01" * 9)
    else:
        ref.write_bytes(b"\xffnot an id\n" if damage == "garbage" else b"")
    with Repository.open(str(repo)) as repository:
        store = Store(repository)
        assert store.put(document("five")).outcome == STORED
        assert store.put(document("two")).outcome == FORGOTTEN
    fsck(repo)
    assert len(stored(repo)) == 4
    assert stored(repo, "gone") == {ids[1]}
    said = (repo / ".git/tmem/hook.log").read_text(encoding="utf-8")
    assert f"repaired {MAIN}" in said
    assert "none is known to be lost" in said
    assert (repo / ".git/tmem/rescue.log").exists()


def test_without_a_reflog_all_comes_back_from_journal_index_and_mirror(repo: Path) -> None:
    ids = put(repo, "one", "two", "three", "four")
    with Repository.open(str(repo)) as repository:
        Store(repository).forget(ids[0], "wrong", "t", "s")
    with Index(discover(str(repo))):
        pass
    done = sorted((repo / ".git/tmem/journal/done").glob("*.log"))
    for path in (done[0], done[1], done[4]):  # one, two, and the tombstone: the index has them
        path.unlink()
    (repo / ".git/logs" / MAIN).unlink()
    (repo / ".git" / MAIN).write_text("ab" * 20 + "\n", encoding="ascii")
    with Index(discover(str(repo))) as index:
        assert index.count() == 3  # reading goes on
    put(repo, "five")
    assert ids[0] in stored(repo, "gone")
    assert {*ids[1:]} < stored(repo)
    assert ids[0] not in stored(repo)
    fsck(repo)


def test_a_record_that_is_nowhere_any_more_is_named_as_lost(
    repo: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(repo)
    ids = put(repo, "one", "two")
    for path in (repo / ".git/tmem/journal/done").glob("*.log"):
        path.unlink()
    loose(repo, run_git(repo, "rev-parse", f"{MAIN}:mem/{ids[1][:2]}/{ids[1]}.json")).unlink()
    assert tmem(["doctor"]) == 1
    assert f"1 known to be lost: {ids[1][:12]}" in " ".join(capsys.readouterr().out.split())
    assert stored(repo) == {ids[0]}
    fsck(repo)


def test_a_missing_or_empty_record_object_is_written_again(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repo)
    ids = put(repo, "one", "two")
    tip = run_git(repo, "rev-parse", MAIN)
    blobs = [run_git(repo, "rev-parse", f"{MAIN}:mem/{one[:2]}/{one}.json") for one in ids]
    loose(repo, blobs[0]).unlink()
    spoil(loose(repo, blobs[1]), b"")
    tmem(["doctor"])
    assert run_git(repo, "rev-parse", MAIN) == tip
    fsck(repo)


@pytest.mark.parametrize("kind", ["blob", "tag", "branch"])
def test_a_ref_that_points_at_something_else_is_said_and_left(repo: Path, kind: str) -> None:
    run_git(repo, "tag", "-a", "-m", "x", "v1")
    named = {"blob": "HEAD:README.md", "tag": "v1", "branch": "HEAD"}[kind]
    run_git(repo, "update-ref", MAIN, named)
    before = run_git(repo, "rev-parse", MAIN)
    message = "holds no store" if kind == "branch" else "is not a commit"
    with pytest.raises(StoreError, match=message):
        put(repo, "one")
    assert run_git(repo, "rev-parse", MAIN) == before


def test_a_journal_cut_in_the_middle_gives_what_is_whole_and_says_the_rest(
    repo: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(repo)
    put(repo, "one", "two")
    done = sorted((repo / ".git/tmem/journal/done").glob("*.log"))
    run_git(repo, "update-ref", "-d", MAIN)
    lines = b"".join(path.read_bytes() for path in done)
    for path in done:
        path.unlink()
    (repo / ".git/tmem/journal/0-1.log").write_bytes(lines[:-20])
    assert tmem(["doctor"]) == 1
    out = capsys.readouterr().out
    assert "needs you  journal: 0-1.log.damaged has lines that cannot be read" in out
    assert "fixed      journal: 1 pending entries, 1 new" in out
    assert len(stored(repo)) == 1


def test_the_journal_of_a_living_writer_is_left_to_it(repo: Path) -> None:
    layout = discover(str(repo))
    held = journal.write(layout, [journal.Entry("mem", "a" * 64, "{}")])
    assert list(journal.pending(layout)) == []
    held.leave()
    assert [batch.entries[0].name for batch in journal.pending(layout)] == ["a" * 64]


def test_stored_batches_are_swept_after_two_weeks(repo: Path) -> None:
    put(repo, "one")
    done = repo / ".git/tmem/journal/done"
    (old,) = done.glob("*.log")
    for path in (old, done / ".swept"):
        os.utime(path, (1, 1))
    put(repo, "two")
    assert not old.exists()
    assert len(list(done.glob("*.log"))) == 1


@pytest.mark.parametrize(
    "command", [["gc", "-q"], ["pack-refs", "--all"], ["gc", "-q", "--prune=now"]], ids=" ".join
)
def test_git_tidying_up_during_writes_loses_nothing(
    repo: Path, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    monkeypatch.chdir(repo)
    running = [writer(repo, name, 12) for name in ("a", "b")]
    while any(process.poll() is None for process in running):
        run_git(repo, *command, check=False)
    answers = [process.communicate() for process in running]
    acknowledged = {name for out, _ in answers for name in out.split()}
    if "--prune=now" in command:
        tmem(["doctor", "--json"])
    else:
        assert [error for _, error in answers] == ["", ""]
        assert len(acknowledged) == 24
    put(repo, "afterwards")
    assert acknowledged <= stored(repo)
    fsck(repo)


def loose_files(folder: Path) -> set[Path]:
    return set((folder / ".git" / "objects").glob("[0-9a-f][0-9a-f]/*"))


@pytest.mark.parametrize("plumbing", [False, True], ids=["dulwich", "git"])
@pytest.mark.parametrize("count", [1, 150])
def test_what_a_running_gc_is_about_to_prune_is_written_where_it_does_not_look(
    repo: Path, plumbing: bool, count: int
) -> None:
    """``git gc --prune=now`` looks for what is reachable first, and deletes all else later."""
    objects = repo / ".git" / "objects"
    before = loose_files(repo)
    (repo / ".git" / "gc.pid").write_text(f"{os.getpid()} {os.uname().nodename}", encoding="utf-8")
    with Repository.open(str(repo), plumbing) as repository:
        store = Store(repository)
        move = repository.move_ref
        packs = set[Path]()

        def seen(*arguments: Any) -> bool:
            packs.update((objects / "pack").glob("*"))  # those that the gc knows of
            return move(*arguments)

        repository.move_ref = seen  # type: ignore[method-assign, assignment]
        blobs = [repository.write_blob(b"%d" % number) for number in range(count)]
        edits = {f"mem/{number:02x}": blob for number, blob in enumerate(blobs)}
        store.publish(MAIN, lambda _: edits, "records\n")
    for path in packs | (loose_files(repo) - before):
        path.unlink()
    fsck(repo)
    assert len(run_git(repo, "ls-tree", "-r", MAIN).splitlines()) == count + 1


@pytest.mark.parametrize("plumbing", [False, True], ids=["dulwich", "git"])
def test_what_a_gc_pruned_before_the_ref_moved_is_written_again(repo: Path, plumbing: bool) -> None:
    before = loose_files(repo)
    with Repository.open(str(repo), plumbing) as repository:
        move = repository.move_ref
        times = iter([True])

        def late(*arguments: Any) -> bool:
            for path in loose_files(repo) - before if next(times, False) else ():
                path.unlink()
            return move(*arguments)

        repository.move_ref = late  # type: ignore[method-assign, assignment]
        assert Store(repository).put(document("cart")).outcome == STORED
    fsck(repo)


@pytest.mark.parametrize("note", ["", "nonsense", "999999999 {host}", "1 elsewhere"])
def test_the_note_of_a_gc_that_died_makes_no_packs(repo: Path, note: str) -> None:
    pid = repo / ".git" / "gc.pid"
    pid.write_text(note.format(host=os.uname().nodename), encoding="utf-8")
    if "host" not in note:
        os.utime(pid, (1, 1))
    put(repo, "cart")
    assert list((repo / ".git" / "objects" / "pack").glob("*")) == []


def test_ids_do_not_depend_on_the_clock(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (first,) = put(repo, "one")
    now = time.time()
    monkeypatch.setenv("TZ", "Pacific/Kiritimati")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1")
    time.tzset()
    try:
        monkeypatch.setattr(time, "time", lambda: now - 365 * 86_400)
        monkeypatch.setattr(time, "time_ns", lambda: int(now - 365 * 86_400) * 10**9)
        assert put(repo, "one", "two")[0] == first
    finally:
        monkeypatch.undo()
        time.tzset()
    assert len(stored(repo)) == 2
    assert pending(repo) == []
    fsck(repo)


def test_the_doctor_finds_a_sound_repository_sound_and_names_what_is_not(
    repo: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.chdir(repo)
    program = tmp_path / "git-tmem"
    program.write_text("#!/bin/sh\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    tmem(["init"])
    put(repo, "one")
    assert tmem(["doctor"]) == 0
    assert "needs you" not in capsys.readouterr().out
    (file,) = (repo / ".tmem").glob("*.json")
    file.write_text("{}\n", encoding="utf-8")
    (repo / ".git/tmem/index.sqlite").write_bytes(b"no database" * 999)
    assert tmem(["doctor"]) == 1
    assert f"{file.name} was edited by hand" in capsys.readouterr().out
    file.unlink()
    run_git(repo, "config", "core.bare", "true")
    assert tmem(["doctor"]) == 1
    assert "git config core.bare false" in capsys.readouterr().out
    assert run_git(repo, "config", "core.bare") == "true"


def test_what_the_journal_brings_back_was_made_here_and_needs_no_review(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(repo, "one")
    lock = repo / ".git" / "refs" / "tmem" / "main.lock"
    lock.touch()
    monkeypatch.setattr("git_tmem.store._TRIES", 2)
    with Repository.open(str(repo)) as repository:
        with pytest.raises(StoreError, match="kept in the journal"):
            Store(repository).put(document("two"))
        lock.unlink()
        assert Store(repository).put(document("three")).outcome == STORED
    with Index(discover(str(repo))) as index:
        waiting = {row.title for row in index.rows() if not row.trusted}
        assert len(index.rows()) == 3
    assert waiting == {document("three")["title"]}  # which nobody marked here
