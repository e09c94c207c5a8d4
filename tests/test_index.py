"""The search index follows the ref, and is rebuilt whenever it cannot be trusted."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from git_tmem import trust
from git_tmem.errors import InputError
from git_tmem.git import discover
from git_tmem.index import Index
from git_tmem.repo import Repository
from git_tmem.store import MAIN, Store
from tests.conftest import run_git
from tests.samples import document


def put(folder: Path, *names: str, **changes: object) -> list[str]:
    with Repository.open(str(folder)) as repository:
        store = Store(repository)
        ids = [store.put(document(name, **changes)).id for name in names]
        trust.mark_own(store, ids)
    return ids


def listed(folder: Path) -> list[str]:
    with Index(discover(str(folder))) as index:
        return sorted(row.id for row in index.rows())


def file_of(folder: Path) -> Path:
    return folder / ".git" / "tmem" / "index.sqlite"


def test_it_follows_the_ref(repo: Path) -> None:
    assert listed(repo) == []
    first = put(repo, "cart", "basket")
    assert listed(repo) == sorted(first)
    more = put(repo, "invoice")
    assert listed(repo) == sorted([*first, *more])
    with Repository.open(str(repo)) as repository:
        Store(repository).forget(first[0], "wrong", "t", "s")
    assert listed(repo) == sorted([first[1], *more])
    with Index(discover(str(repo))) as index:
        assert index.gone() == {first[0]: ("s", "wrong")}


def test_following_gives_what_a_rebuild_gives(repo: Path) -> None:
    ids = put(repo, "cart", "basket", "invoice")
    listed(repo)
    with Repository.open(str(repo)) as repository:
        Store(repository).forget(ids[1], "wrong", "t", "s")
    put(repo, "order", supersedes=(ids[0],))
    with Index(discover(str(repo))) as index:
        followed = [row._replace(number=0) for row in index.rows("1 = 1")]
        words = {match.number for match in index.matches(["total"])}
        assert len(words) == 2  # the order and the invoice
    file_of(repo).unlink()
    with Index(discover(str(repo))) as index:
        assert [row._replace(number=0) for row in index.rows("1 = 1")] == followed


def test_a_superseded_record_is_kept_and_not_live(repo: Path) -> None:
    (old,) = put(repo, "cart")
    (new,) = put(repo, "basket", supersedes=(old,))
    assert listed(repo) == [new]
    with Index(discover(str(repo))) as index:
        assert index.resolve(old[:12]).live == 0


@pytest.mark.parametrize("damage", ["empty", "random", "truncated", "newer", "no table", "folder"])
def test_a_damaged_index_is_rebuilt_silently(repo: Path, damage: str) -> None:
    ids = put(repo, "cart", "basket")
    assert listed(repo) == sorted(ids)
    path = file_of(repo)
    for suffix in ("-wal", "-shm"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)
    if damage == "empty":
        path.write_bytes(b"")
    elif damage == "random":
        path.write_bytes(bytes(range(256)) * 64)
    elif damage == "truncated":
        path.write_bytes(path.read_bytes()[:5000])
    elif damage == "folder":
        path.unlink()
        path.mkdir()
    else:
        statement = "drop table record" if damage == "no table" else "pragma user_version = 999999"
        connection = sqlite3.connect(path)
        connection.execute(statement)
        connection.commit()
        connection.close()
    assert listed(repo) == sorted(ids)


def test_a_read_only_git_directory_is_served_from_memory(repo: Path) -> None:
    ids = put(repo, "cart")
    blocked = repo / ".git" / "tmem"
    shutil.rmtree(blocked)
    blocked.write_text("in the way of the folder", encoding="utf-8")
    assert listed(repo) == ids


def test_an_unknown_old_tree_means_starting_over(repo: Path) -> None:
    put(repo, "cart")
    listed(repo)
    connection = sqlite3.connect(file_of(repo))
    connection.execute("update meta set value = ? where name = 'tree'", ("ab" * 20,))
    connection.execute("update meta set value = 'x' where name = 'tip'")
    connection.commit()
    connection.close()
    assert len(listed(repo)) == 1


def test_entries_that_are_no_records_are_named_and_hide_nothing(repo: Path) -> None:
    (good,) = put(repo, "cart")
    blob = run_git(repo, "hash-object", "-w", "README.md")
    with Repository.open(str(repo)) as repository:
        bad = f"mem/ab/ab{'0' * 62}.json"
        Store(repository).publish(MAIN, lambda _: {bad: blob, "x.txt": blob}, "odd\n")
    with Index(discover(str(repo))) as index:
        assert [row.id for row in index.rows()] == [good]
        assert [path for path, _ in index.damaged()] == [bad, "x.txt"]


@pytest.mark.parametrize("name", ["", "abc", "zzzz", "../x", "0" * 65, "HEAD", "a b"])
def test_what_is_no_id_is_said(repo: Path, name: str) -> None:
    with Index(discover(str(repo))) as index, pytest.raises(InputError, match="no id of a record"):
        index.resolve(name)


def test_unknown_ambiguous_and_forgotten_ids_are_said(repo: Path) -> None:
    ids = put(repo, *(f"part{number}" for number in range(300)))
    starts: dict[str, int] = {}
    for one in ids:
        starts[one[:4]] = starts.get(one[:4], 0) + 1
    with Index(discover(str(repo))) as index:
        with pytest.raises(InputError, match="no record is called"):
            index.resolve("f" * 64)
        assert index.resolve(ids[0].upper()[:20]).id == ids[0]
        assert index.by_prefix(ids[0][:4])[0].id.startswith(ids[0][:4])
        for start, number in starts.items():
            if number > 1:
                with pytest.raises(InputError, match=f"start of {number} records"):
                    index.resolve(start)
    with Repository.open(str(repo)) as repository:
        Store(repository).forget(ids[0], "out of date", "t", "s")
    with Index(discover(str(repo))) as index, pytest.raises(InputError, match="out of date"):
        index.resolve(ids[0][:16])


def test_readers_and_writers_at_once_never_fail(repo: Path) -> None:
    code = (
        "import sys\n"
        "from git_tmem.git import discover\n"
        "from git_tmem.index import Index\n"
        "from git_tmem.repo import Repository\n"
        "from git_tmem.store import Store\n"
        "from tests.samples import document\n"
        "folder, name = sys.argv[1:]\n"
        "for number in range(8):\n"
        "    with Repository.open(folder) as repository:\n"
        "        Store(repository).put(document(f'{name}{number}'))\n"
        "    with Index(discover(folder)) as index:\n"
        "        assert index.count() > number\n"
        "        index.matches(['total', 'cart'])\n"
    )
    running = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(repo), name],
            cwd=Path(__file__).resolve().parent.parent,
            stderr=subprocess.PIPE,
            text=True,
        )
        for name in ("a", "b", "c", "d")
    ]
    assert [process.communicate()[1] for process in running] == [""] * 4
    assert len(listed(repo)) == 32
