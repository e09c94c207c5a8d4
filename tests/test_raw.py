"""Raw traces stay small, and nothing secret is in them nor anywhere else."""

from __future__ import annotations

import json
import subprocess
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from git_tmem import rawcap
from git_tmem.commands.group import COMMANDS
from git_tmem.commands.group import run as command
from git_tmem.errors import InputError
from git_tmem.merge import record_path
from git_tmem.playbook import canonical, record_id
from git_tmem.rawcap import Caps
from git_tmem.repo import Repository
from git_tmem.scan import scan
from git_tmem.store import MAIN, RAW, Store
from tests.conftest import run_git
from tests.samples import ERROR, Log, document, project
from tests.test_commands import Tmem, tmem, worked
from tests.test_repair import fsck

__all__ = ["tmem", "worked"]
DAY = 86_400
#: Two of known shapes, one known by its name, one by its place.
SECRETS = (
    "ghp_" + "Zx9Yw8Vu7T" * 3 + "s6R5q4",
    "AKIA" + "Z7QK3M2XWP5RN4TB",
    "v9Lr2mXq7Kp4Wz8Tb3Nc",
    "hJ7wQ2rT9xLm4Vb6",
)


def kept(folder: Path) -> set[str]:
    paths = run_git(folder, "ls-tree", "-r", "--name-only", RAW).splitlines()
    return {path.split("/")[1] for path in paths}


def test_the_oldest_traces_go_when_there_is_too_much_or_they_are_too_old(repo: Path) -> None:
    with Repository.open(str(repo)) as repository:
        store = Store(repository)
        ids = []
        for number in range(4):
            made = document(f"n{number}", ended=1_700_000_000 + number * DAY)
            ids.append(store.put(made).id)
            store.keep_raw(ids[-1], f"{number}" * 1000, "")
        now = 1_700_000_000 + 4 * DAY
        assert rawcap.prune(store, Caps(0, 0), now) == 0
        assert rawcap.prune(store, Caps(4000, 90), now) == 0
        assert rawcap.prune(store, Caps(0, 3), now) == 1
        assert kept(repo) == set(ids[1:])
        assert rawcap.prune(store, Caps(2500, 0), now) == 1
        assert kept(repo) == set(ids[2:])
        assert store.raw(ids[3], "trace.jsonl") == "3" * 1000
        assert store.raw(ids[0], "trace.jsonl") == ""
    assert run_git(repo, "rev-list", "--count", RAW) == "1"
    run_git(repo, "gc", "-q", "--prune=now")
    objects = run_git(repo, "cat-file", "--batch-all-objects", "--batch-check=%(objectsize)")
    assert objects.splitlines().count("1000") == 2
    fsck(repo)


def test_capture_keeps_no_raw_trace_when_told_so(repo: Path, worked: Path, tmem: Tmem) -> None:
    run_git(repo, "config", "tmem.raw", "false")
    assert tmem("capture").returncode == 0
    assert run_git(repo, "rev-parse", "-q", "--verify", RAW, check=False) == ""


def test_capture_keeps_to_the_caps(repo: Path, worked: Path, tmem: Tmem) -> None:
    run_git(repo, "config", "tmem.rawSize", "many")
    done = tmem("capture")
    assert done.returncode == 3
    assert "tmem.rawSize must be a number" in done.stderr
    assert run_git(repo, "rev-parse", "-q", "--verify", MAIN, check=False) == ""
    run_git(repo, "config", "tmem.rawSize", "1")
    assert tmem("capture").returncode == 0
    assert run_git(repo, "ls-tree", RAW) == ""
    run_git(repo, "config", "tmem.rawSize", "1k")
    with Repository.open(str(repo)) as repository:
        assert rawcap.caps(repository.git) == Caps(1024, 0)


def test_a_negative_cap_is_refused(repo: Path) -> None:
    run_git(repo, "config", "tmem.rawDays", "-1")
    with Repository.open(str(repo)) as repository, pytest.raises(InputError, match="rawDays"):
        rawcap.caps(repository.git)


def plant(folder: Path, ref: str, files: Callable[[Repository], dict[str, str]]) -> None:
    """Put blobs at a ref as somebody would who does not redact."""
    with Repository.open(str(folder)) as repository:
        tree = repository.edit_tree(Store(repository).root() and "", files(repository))
        commit = repository.write_commit(tree, (), "planted\n")
        repository.flush()
        assert repository.move_ref(ref, "", commit, "planted")


def test_scan_tells_where_secrets_are_and_not_what(
    repo: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(repo)
    assert command(["scan"]) == 0
    data = canonical(document("cart", title=f"Use {SECRETS[0]}"))
    record = record_id(data)
    plant(repo, MAIN, lambda r: {record_path("mem", record): r.write_blob(data)})
    raw = f"{record[:2]}/{record}/trace.jsonl"
    plant(repo, RAW, lambda r: {raw: r.write_blob(json.dumps({"a": SECRETS[1]}).encode())})
    (repo / ".tmem").mkdir()
    (repo / ".tmem" / "MEMORIES.md").write_text(f"mine: {SECRETS[0]} ACME-7\n")
    with Repository.open(str(repo)) as repository:
        found = {(item.place, item.path, item.kind) for item in scan(Store(repository))}
    assert found == {
        (MAIN, record_path("mem", record), "github-token"),
        (RAW, raw, "aws-access-key"),
        (".tmem", "MEMORIES.md", "github-token"),
    }
    run_git(repo, "config", "tmem.redact", "ACME-[0-9]+")
    assert command(["scan"]) == 1
    told = capsys.readouterr().out
    assert ".tmem MEMORIES.md: 1 x own" in told
    assert f"git tmem purge --id {record[:12]} --yes" in told
    assert not [secret for secret in SECRETS if secret in told]


def test_planted_secrets_are_in_no_file_and_no_output_whatever_is_run(
    repo: Path, sealed: Path, tmem: Tmem
) -> None:
    github, aws, named, placed = SECRETS
    project(repo)
    run_git(repo, "add", ".")
    run_git(repo, "commit", "-qm", "project")
    check = f"GITHUB_TOKEN={github} DB_PASSWORD={named} pytest -q"
    log = Log(repo).prompt(f"Fix the price, AWS has {aws}").read("src/cart.py")
    log.run(check, f"{ERROR}\npostgres://me:{placed}@db/x", 1)
    log.run(f"curl -H 'Authorization: Bearer {placed}' https://x.example/{github}", aws)
    log.say(f"password: {named}").edit("src/cart.py", "self.lines[name]", "self.lines.get(name, 0)")
    log.run(check, f"1 passed {github} {aws}")
    path = log.save(sealed / "log.jsonl")
    tmem("init")
    outputs = [tmem("capture", "--session", str(path), "--verbose")]
    (record,) = run_git(repo, "ls-tree", "-r", "--name-only", MAIN, "mem").splitlines()
    name = record[7:-5]
    arguments = {
        "capture": ["--session", str(path), "--json"],
        "evaluate": ["--session", str(path)],
        "lookup": ["price", "--explain"],
        "show": [name, "--level", "raw"],
        "inspect": [name, "--json"],
        "replay": [name],
        "diff": [name],
        "accept": [name],
        "hook": ["git", "post-commit"],
        "bundle": ["create", str(sealed / "out.bundle")],
        "forget": [name, "--reason", "done"],
        "purge": ["--id", name],
        "demo": ["--help"],
    }
    last = ("purge", "forget", "uninstall")
    for word in sorted(COMMANDS, key=lambda word: last.index(word) if word in last else -1):
        outputs.append(tmem(word, *arguments.get(word, ())))
        assert "Traceback" not in outputs[-1].stderr, word
        for secret in SECRETS:
            assert secret not in outputs[-1].stdout + outputs[-1].stderr, word
            assert secret.encode() not in everything(repo), word


def everything(folder: Path) -> bytes:
    """The bytes of every file below .git and .tmem and of every object."""
    parts = []
    for path in [*(folder / ".git").rglob("*"), *(folder / ".tmem").rglob("*")]:
        if path.is_file():
            data = path.read_bytes()
            parts.append(zlib.decompress(data) if data[:1] == b"\x78" else data)
    listing = subprocess.run(
        ["git", "-C", str(folder), "cat-file", "--batch-all-objects", "--batch"],
        capture_output=True,
        check=True,
    )
    return b"\n".join([*parts, listing.stdout])
