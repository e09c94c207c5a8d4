"""Storage scenarios by number, those that no other file has.

Not here, with the reason:

22 needs a git that makes reftable repositories; test_backends has it, skipped where git is older.
64 its list of modules is in test_layers; its ratio to the bare interpreter depends on what else
   the machine does, and is measured side by side by benchmarks/lookup.py.
65, 66, 67 what does not depend on the machine's load is here, the ratios are in
   benchmarks/store.py.
68 is a ratio of 5 %, which no test on a shared machine can tell from noise: benchmarks/store.py.
42, 47 to 50 are in test_sharing.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from git_tmem import remote
from git_tmem.errors import RemoteError
from git_tmem.git import discover
from git_tmem.index import Index
from git_tmem.install import install
from git_tmem.playbook import canonical, record_id
from git_tmem.repo import Repository
from git_tmem.store import MAIN, Store
from git_tmem.worktree import WorktreeView
from tests.conftest import run_git
from tests.samples import Log, document, fix_price, project
from tests.test_remote import clones, fetch, plant, push, tip, titles
from tests.test_sharing import program, tmem, waited

__all__ = ["clones"]

ROOT = Path(__file__).resolve().parent.parent


def filled(folder: Path, count: int) -> list[str]:
    """Many records in one commit; their ids."""
    with Repository.open(str(folder)) as repository:
        data = [canonical(document(f"part{number}")) for number in range(count)]
        blobs = {record_id(one): one for one in data}
        edits = {
            f"mem/{name[:2]}/{name}.json": repository.write_blob(one) for name, one in blobs.items()
        }
        Store(repository).publish(MAIN, lambda _: edits, "records\n")
    return list(blobs)


def held(folder: Path) -> set[str]:
    paths = run_git(folder, "ls-tree", "-r", "--name-only", MAIN).splitlines()
    return {path[7:71] for path in paths if path.startswith("mem/")}


def packed_size(folder: Path) -> int:
    """Bytes of all objects on the disk."""
    objects = folder / ".git" / "objects"
    return sum(path.stat().st_size for path in objects.rglob("*") if path.is_file())


@pytest.mark.parametrize("plumbing", [False, True])
def test_scenario_8_a_ref_deleted_between_the_read_and_the_swap_is_seen(
    repo: Path, plumbing: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Repository.open(str(repo), plumbing=plumbing) as repository:
        store = Store(repository)
        store.put(document("old"))
        move = repository.move_ref
        swaps: list[bool] = []

        def raced(name: str, *rest: str, **more: object) -> bool:
            if name == MAIN and not swaps:  # another process, just before ours
                run_git(repo, "update-ref", "-d", MAIN)
            swaps.append(move(name, *rest, **more))  # type: ignore[arg-type]
            return swaps[-1]

        monkeypatch.setattr(repository, "move_ref", raced)
        done = store.put(document("new"))
    assert swaps[0] is False
    assert done.outcome == "stored"
    assert held(repo) == {done.id}  # what somebody deleted is not brought back unsaid
    assert "tmem: capture" in run_git(repo, "reflog", "show", MAIN)
    assert run_git(repo, "fsck", "--strict", "--no-dangling") == ""


def test_scenario_10_two_that_rebuild_the_index_at_once_both_succeed(repo: Path) -> None:
    filled(repo, 300)
    code = (
        "import sys\n"
        "from git_tmem.git import discover\n"
        "from git_tmem.index import Index\n"
        "with Index(discover(sys.argv[1])) as index:\n"
        "    print(index.count(), index.is_sound())\n"
    )
    command = [sys.executable, "-c", code, str(repo)]
    running = [
        subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) for _ in range(4)
    ]
    assert [process.communicate()[0] for process in running] == ["300 True\n"] * 4
    assert [path.name for path in (repo / ".git/tmem").glob("index*.sqlite")] == ["index.sqlite"]


def test_scenario_13_a_lock_that_a_dead_process_left_on_an_object_stops_nobody(
    repo: Path,
) -> None:
    data = canonical(document("cart"))
    given = ["git", "-C", str(repo), "hash-object", "--stdin"]
    oid = subprocess.run(given, input=data, capture_output=True, check=True).stdout.decode().strip()
    lock = repo / ".git" / "objects" / oid[:2] / f"{oid[2:]}.lock"
    lock.parent.mkdir(exist_ok=True)
    lock.touch()
    with Repository.open(str(repo)) as repository:
        done = Store(repository).put(document("cart"))
    assert run_git(repo, "rev-parse", f"{MAIN}:mem/{done.id[:2]}/{done.id}.json") == oid


@pytest.mark.parametrize(
    ("attribute", "data"),
    [
        ("text eol=crlf", b"one\r\ntwo\r\n"),
        ("text=auto", b"one\r\ntwo\r\n"),
        ("filter=upper", b"loud\n"),
        ("filter=lfs", b"a large file\n"),
        ("ident", b"# $Id: 0123456789 $\n"),
        ("text working-tree-encoding=UTF-16LE-BOM", "\ufeffone\n".encode("utf-16-le")),
    ],
)
def test_scenario_29_a_file_is_hashed_as_git_would_store_it(
    repo: Path, attribute: str, data: bytes
) -> None:
    run_git(repo, "config", "core.autocrlf", "input")
    run_git(repo, "config", "filter.upper.clean", "tr a-z A-Z")
    pointer = "printf 'version https://git-lfs.example/spec/v1\\nsize %s\\n' $(wc -c)"
    run_git(repo, "config", "filter.lfs.clean", pointer)
    (repo / ".gitattributes").write_text(f"*.dat {attribute}\n", encoding="utf-8")
    (repo / "a.dat").write_bytes(data)
    run_git(repo, "add", ".")
    run_git(repo, "commit", "-qm", "filtered")
    view = WorktreeView(discover(str(repo)))
    assert view.blob("a.dat") == run_git(repo, "rev-parse", "HEAD:a.dat")
    assert view.blob("a.dat") == run_git(repo, "hash-object", "a.dat")


def test_scenario_35_a_commit_does_not_wait_for_what_its_hook_starts(
    repo: Path, on_path: Path, tmp_path: Path
) -> None:
    note = f"{tmp_path}/pid"
    program(on_path, f"echo $$ > {note}.new; mv {note}.new {note}", "exec sleep 300")
    install(discover(str(repo)))
    start = time.monotonic()
    command = ["git", "-C", str(repo), "commit", "-q", "--allow-empty", "-m", "more"]
    done = subprocess.run(command, capture_output=True, check=False)  # as an agent captures it
    pid = int(waited(tmp_path / "pid", "\n"))
    os.kill(pid, 15)  # raises if the worker had ended before the commit did
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert time.monotonic() - start < 60


def test_scenario_39_a_commit_in_a_linked_worktree_is_captured_to_the_shared_store(
    repo: Path, on_path: Path, sealed: Path, tmp_path: Path
) -> None:
    project(repo)
    run_git(repo, "add", ".")
    run_git(repo, "commit", "-qm", "a cart")
    tree = tmp_path / "tree"
    run_git(repo, "worktree", "add", "-q", "-b", "side", str(tree))
    install(discover(str(repo)))
    log = fix_price(Log(tree))
    for entry in log.records:
        entry["gitBranch"] = "side"
    slug = "".join(sign if sign.isalnum() else "-" for sign in str(tree))
    log.save(sealed / ".claude" / "projects" / slug / "session.jsonl")
    # Past the user's own date (1700000000), which git exports to its hooks.
    moment = "1700000500 +0000"
    run_git(tree, "add", ".")
    done = subprocess.run(
        ["git", "-C", str(tree), "commit", "-qm", "fix", f"--date={moment}"],
        env={**os.environ, "GIT_COMMITTER_DATE": moment},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    said = waited(repo / ".git" / "tmem" / "hook.log", "stored")
    commit = run_git(tree, "rev-parse", "HEAD")
    assert commit[:12] in said
    (record,) = held(repo)
    document = json.loads(run_git(repo, "show", f"{MAIN}:mem/{record[:2]}/{record}.json"))
    assert document["anchor"]["commit"] == commit
    assert document["branch"] == "side"
    author = int(run_git(repo, "log", "-1", "--format=%at", MAIN))
    assert author > time.time() - 3600


def test_scenario_55_a_blob_too_large_for_a_record_is_never_read(clones: list[Path]) -> None:
    ada, bob, _ = clones
    large = ada / "zeros"
    with open(large, "wb") as stream:
        stream.truncate(80 << 20)
    streamed = ("-c", "core.bigFileThreshold=1m", "-c", "core.compression=1")
    oid = run_git(ada, *streamed, "hash-object", "-w", "--no-filters", "zeros")
    name = f"mem/ab/ab{'0' * 62}.json"
    data = canonical(document("cart"))
    good = f"mem/{record_id(data)[:2]}/{record_id(data)}.json"
    plant(ada, {name: ("100644", b""), good: ("100644", data)})
    index = {**os.environ, "GIT_INDEX_FILE": str(ada / ".git" / "planted")}
    git = ["git", "-C", str(ada)]
    entry = f"100644,{oid},{name}"
    subprocess.run([*git, "update-index", "--add", "--cacheinfo", entry], env=index, check=True)
    wrote = subprocess.run([*git, "write-tree"], env=index, capture_output=True, check=True)
    commit = run_git(ada, "commit-tree", wrote.stdout.decode().strip(), "-m", "planted")
    run_git(ada, "update-ref", MAIN, commit)
    run_git(ada, *streamed, "push", "-q", "origin", f"{MAIN}:{MAIN}")
    code = (
        "import resource, sys\n"
        "from git_tmem import remote\n"
        "from git_tmem.repo import Repository\n"
        "def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "with Repository.open(sys.argv[1]) as repository:\n"
        "    repository.ref('refs/tmem/main')\n"
        "    before = peak()\n"
        "    merged = remote.fetch(repository, 'origin')\n"
        "print(merged.added, merged.refused, peak() - before)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(bob)], cwd=ROOT, capture_output=True, text=True
    )
    assert done.stdout.startswith("1 (("), done.stderr
    assert f"'{name}', 'missing, empty or larger than 262144 bytes'" in done.stdout
    unit = 1024 if sys.platform != "darwin" else 1
    assert int(done.stdout.split()[-1]) * unit < 64 << 20
    assert titles(bob) == {"cart"}


def test_scenario_59_more_records_than_one_fetch_takes_change_nothing(
    clones: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, bob, _ = clones
    filled(ada, 30)
    push(ada)
    monkeypatch.setattr(remote, "_MOST", 29)
    with pytest.raises(RemoteError, match="30 new records at once"):
        fetch(bob)
    assert tip(bob) == ""
    monkeypatch.undo()
    assert fetch(bob).added == 30


def test_scenario_59_a_tree_with_a_hundred_thousand_strange_entries_is_got_over(
    clones: list[Path],
) -> None:
    ada, bob, _ = clones
    blob = run_git(ada, "rev-parse", "HEAD:README.md")
    lines = "".join(f"100644 blob {blob}\t{number:06}.json\n" for number in range(100_000))
    made = ["git", "-C", str(ada), "mktree"]
    given = lines.encode()
    tree = subprocess.run(made, input=given, capture_output=True, check=True).stdout.decode()
    commit = run_git(ada, "commit-tree", tree.strip(), "-m", "planted")
    run_git(ada, "update-ref", MAIN, commit)
    run_git(ada, "push", "-q", "origin", f"{MAIN}:{MAIN}")
    start = time.monotonic()
    said = tmem(bob, "fetch")
    assert time.monotonic() - start < 60
    assert "0 new records" in said
    assert "refused 99900 more" in said
    assert said.count("\n") < 110


@pytest.mark.parametrize("records", [100, 5_000])
def test_scenario_65_an_append_grows_the_repository_by_little(repo: Path, records: int) -> None:
    filled(repo, records)
    before = packed_size(repo)
    with Repository.open(str(repo)) as repository:
        assert Store(repository).put(document("one more")).outcome == "stored"
    assert packed_size(repo) - before <= 64 * 1024


def test_scenario_66_many_records_are_one_commit_and_one_pack(repo: Path) -> None:
    loose = len(list((repo / ".git" / "objects").glob("??/*")))
    filled(repo, 1_000)
    packs = list((repo / ".git" / "objects" / "pack").glob("*.pack"))
    assert len(packs) == 1
    assert len(list((repo / ".git" / "objects").glob("??/*"))) == loose
    assert run_git(repo, "rev-list", "--count", MAIN) == "2"  # the constant root is the first


def test_scenario_67_an_index_that_is_behind_reads_only_what_changed(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(repo, 500)
    with Index(discover(str(repo))) as index:
        assert index.count() == 500
    with Repository.open(str(repo)) as repository:
        for number in range(10):
            Store(repository).put(document(f"new{number}"))
    trace = repo / ".git" / "trace"
    monkeypatch.setenv("GIT_TRACE", str(trace))
    with Index(discover(str(repo))) as index:
        assert index.count() == 510
    calls = trace.read_text(encoding="utf-8")
    assert "diff-tree" in calls
    assert "ls-tree" not in calls
