"""The commands as a user meets them: real processes in real repositories."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from git_tmem.store import MAIN
from git_tmem.trust import TRUST
from tests.conftest import run_git
from tests.samples import ERROR, Log, fix_price, project

Tmem = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def tmem(repo: Path) -> Tmem:
    """Runs ``git tmem`` in the repository (or ``cwd``) and gives what it printed."""

    def run(*arguments: str, cwd: Path | None = None, given: str = "", **more: str) -> Any:
        return subprocess.run(
            [sys.executable, "-m", "git_tmem", *arguments],
            cwd=cwd or repo,
            input=given,
            capture_output=True,
            text=True,
            encoding="utf-8",
            env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parent.parent), **more},
            check=False,
        )

    return run


@pytest.fixture
def worked(repo: Path, sealed: Path) -> Path:
    """A repository in which an agent's session was worked and committed; the log's path."""
    project(repo)
    run_git(repo, "add", ".")
    run_git(repo, "commit", "-qm", "project")
    log = fix_price(Log(repo))
    slug = "".join(sign if sign.isalnum() else "-" for sign in str(repo))
    path = log.save(sealed / ".claude" / "projects" / slug / "session.jsonl")
    run_git(repo, "commit", "-qam", "Unknown articles cost nothing")
    return path


def one_line(text: str) -> str:
    assert text.count("\n") == 1, text
    return text.strip()


def test_capture_finds_the_newest_session_and_says_in_one_line_what_it_kept(
    repo: Path, worked: Path, tmem: Tmem
) -> None:
    done = tmem("capture")
    assert done.returncode == 0, done.stderr
    line = one_line(done.stdout)
    assert " kept: " in line
    assert "2 repairs" in line  # the KeyError, and the failure of the first try
    assert "dead edit" in line
    (record,) = run_git(repo, "ls-tree", "-r", "--name-only", MAIN, "mem").splitlines()
    playbook = json.loads(run_git(repo, "show", f"{MAIN}:{record}"))
    kinds = [(step["kind"], step.get("path", "")) for step in playbook["l0"]["steps"]]
    assert kinds == [
        ("READ", "src/cart.py"),
        ("MUTATE", "src/cart.py"),
        ("VERIFY", ""),
    ]
    edit = playbook["l0"]["steps"][1]
    assert edit["symbols"] == ["Cart.price"]
    assert "+" in edit["diff"][-1]
    assert edit["reason"] == "An unknown article costs nothing, so the default is zero."
    assert playbook["intent"] == ["The price of an unknown article should be zero, please fix it"]
    assert playbook["anchor"]["commit"] == run_git(repo, "rev-parse", "HEAD")
    assert playbook["l1"]["files"] == ["src/cart.py"]
    assert str(repo) not in json.dumps(playbook)


def test_capturing_again_stores_nothing_and_a_session_that_went_on_replaces(
    repo: Path, worked: Path, tmem: Tmem
) -> None:
    tmem("capture")
    tip = run_git(repo, "rev-parse", MAIN)
    assert "already kept" in tmem("capture").stdout
    assert run_git(repo, "rev-parse", MAIN) == tip
    log = fix_price_again(repo, worked)
    run_git(repo, "commit", "-qam", "Total too")
    done = tmem("capture", "--session", str(log))
    assert "replaced: the same session, earlier" in done.stdout
    listed = json.loads(tmem("list", "--json").stdout)
    assert len(listed) == 1
    note = run_git(repo, "notes", "--ref=tmem", "show", "HEAD")
    assert note.startswith(listed[0]["id"][:12])
    assert run_git(repo, "notes", "--ref=tmem", "show", "HEAD~") == note


def test_a_capture_cut_off_before_its_record_counts_as_made_here_is_made_up_for(
    repo: Path, worked: Path, tmem: Tmem
) -> None:
    tmem("capture")
    assert json.loads(tmem("list", "--json").stdout)[0]["origin"] == "made here"
    run_git(repo, "update-ref", "-d", TRUST)
    assert tmem("lookup", "price of unknown article").returncode == 1
    assert "already kept" in tmem("capture").stdout
    assert tmem("lookup", "price of unknown article").returncode == 0


def fix_price_again(repo: Path, path: Path) -> Path:
    """The same session, with one more edit and check."""
    log = Log(repo)
    log.records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    log.prompt("Also make the total of an empty cart zero explicitly")
    log.edit("src/cart.py", "sum(self.lines.values())", "sum(self.lines.values(), start=0)")
    log.run("python -m pytest tests/test_cart.py", "1 passed in 0.01s")
    return log.save(path)


@pytest.mark.parametrize(
    ("change", "grade", "reason"),
    [
        ("nothing", "L0_FULL", ""),
        ("reformat", "L0_FULL", ""),
        ("edit", "L1_TOPOLOGY", "was changed"),
        ("move", "L0_FULL", "moved to lib/basket.py"),
        ("delete", "L2_INVARIANT", "gone"),
    ],
)
def test_a_lookup_says_what_still_holds(
    repo: Path, worked: Path, tmem: Tmem, change: str, grade: str, reason: str
) -> None:
    tmem("capture")
    cart = repo / "src" / "cart.py"
    text = cart.read_text(encoding="utf-8")
    if change == "reformat":
        cart.write_text(
            text.replace(
                "return self.lines.get(name, 0)",
                "# free\n        return self.lines.get(\n            name, 0\n        )",
            ),
            encoding="utf-8",
        )
    elif change == "edit":
        cart.write_text(text.replace("get(name, 0)", "get(name.lower(), 1)"), encoding="utf-8")
    elif change == "move":
        (repo / "lib").mkdir()
        run_git(repo, "mv", "src/cart.py", "lib/basket.py")
    elif change == "delete":
        run_git(repo, "rm", "-q", "-r", "src", "tests")
    done = tmem("lookup", "--json", "--error", "-", given=ERROR)
    assert done.returncode == 0, done.stderr
    (memory,) = json.loads(done.stdout)["memories"]
    assert {"id", "title", "grade", "reasons", "text"} <= set(memory)
    assert memory["grade"] == grade
    assert reason in " ".join(memory["reasons"])
    assert memory["text"].startswith("<tmem-memory ")


def test_words_paths_symbols_and_chinese_find_it_and_other_words_do_not(
    repo: Path, worked: Path, tmem: Tmem
) -> None:
    tmem("capture")
    for words in ("price of unknown article", "Cart.price()", "look at src/cart.py"):
        assert "unknown article" in tmem("lookup", words).stdout, words
    for words in ("deploy the kubernetes cluster", "the", "配置数据库"):
        done = tmem("lookup", words)
        assert (done.returncode, done.stdout) == (1, ""), words
    log = Log(repo, "11111111-0000-4000-8000-000000000002")
    log.prompt("修复购物车的总价：空购物车应该返回零")
    log.edit("src/cart.py", "def total(self) -> int:", "def total(self) -> int:  # 总价")
    log.run("python -m pytest", "1 passed in 0.01s")
    run_git(repo, "commit", "-qam", "总价")
    tmem("capture", "--session", str(log.save(repo.parent / "zh.jsonl")))
    found = json.loads(tmem("lookup", "--json", "购物车 总价不对").stdout)["memories"]
    assert found[0]["title"].startswith("修复购物车的总价")


def test_at_a_revision_without_a_checkout(repo: Path, worked: Path, tmem: Tmem) -> None:
    tmem("capture")
    run_git(repo, "rm", "-q", "-r", "src", "tests")
    run_git(repo, "commit", "-qm", "all gone")
    now = json.loads(tmem("lookup", "--json", "unknown article price").stdout)
    then = json.loads(tmem("lookup", "--json", "--at", "HEAD~", "unknown article price").stdout)
    assert [memory["grade"] for memory in now["memories"]] == ["L2_INVARIANT"]
    assert [memory["grade"] for memory in then["memories"]] == ["L0_FULL"]
    bare = repo.parent / "bare.git"
    run_git(repo.parent, "clone", "-q", "--mirror", str(repo), str(bare))
    ask = ("lookup", "--json", "--at", "HEAD~", "unknown article price")
    assert tmem(*ask, cwd=bare).returncode == 1  # a mirror holds what others say, and no more
    run_git(bare, "config", "tmem.trust", "all")
    (found,) = json.loads(tmem(*ask, cwd=bare).stdout)["memories"]
    assert found["origin"] == "from elsewhere"
    ours = {name: value for name, value in found.items() if name not in ("origin", "text")}
    assert ours.items() <= then["memories"][0].items()
    assert (
        found["text"].replace("  recorded by others: from elsewhere\n", "")
        == (then["memories"][0]["text"])
    )


def test_equal_question_tree_and_tip_give_equal_bytes(repo: Path, worked: Path, tmem: Tmem) -> None:
    tmem("capture")
    first = tmem("lookup", "price of unknown article").stdout
    (repo / ".git" / "tmem" / "index.sqlite").unlink()
    assert tmem("lookup", "price of unknown article").stdout == first != ""


def test_from_a_subfolder_paths_are_meant_from_there(repo: Path, worked: Path, tmem: Tmem) -> None:
    tmem("capture", cwd=repo / "src")
    assert tmem("lookup", "--file", "cart.py", cwd=repo / "src").returncode == 0
    assert tmem("lookup", "--file", "src/cart.py").returncode == 0
    assert tmem("lookup", "price", "--file", "../README.md", cwd=repo / "src").returncode == 1


def test_show_replay_diff_check_status_agree(repo: Path, worked: Path, tmem: Tmem) -> None:
    tmem("capture")
    (record,) = json.loads(tmem("list", "--json").stdout)
    short = record["id"][:8]
    assert record["id"] in tmem("show", short).stdout
    assert one_line(tmem("inspect", short, "--level", "index").stdout).startswith(record["id"][:12])
    assert json.loads(tmem("show", short, "--json").stdout)["title"] == record["title"]
    raw = [json.loads(line) for line in tmem("show", short, "--level", "raw").stdout.splitlines()]
    replay = tmem("replay", short).stdout.splitlines()
    assert len(replay) == len(raw) + 1
    assert sum(line.startswith("CRITICAL PATH") for line in replay) == sum(
        bool(action["kept"]) for action in raw
    )
    assert sum(line.startswith("NOISE PRUNED") for line in replay) > 0
    critical = tmem("replay", short, "--critical").stdout.splitlines()
    assert critical == [line for line in replay if not line.startswith("NOISE PRUNED")]
    patch = tmem("diff", short).stdout
    assert patch == tmem("show", short, "--level", "diff").stdout
    run_git(repo, "revert", "--no-edit", "HEAD")
    applied = subprocess.run(["git", "apply"], cwd=repo, input=patch, text=True, check=True)
    assert applied.returncode == 0
    assert "L0_FULL" in tmem("check").stdout
    assert json.loads(tmem("status", "--json").stdout)["records"] == 1
    assert "1 record" in tmem("status").stdout


def test_forget_hides_it_everywhere_for_good(repo: Path, worked: Path, tmem: Tmem) -> None:
    tmem("init")
    tmem("capture")
    (record,) = json.loads(tmem("list", "--json").stdout)
    mirrored = repo / ".tmem" / f"{record['id'][:12]}.json"
    assert mirrored.exists()
    assert tmem("forget", record["id"][:8]).returncode == 2
    assert "forgotten" in tmem("forget", record["id"][:8], "--reason", "not true").stdout
    assert not mirrored.exists()
    assert record["title"] not in (repo / ".tmem" / "MEMORIES.md").read_text(encoding="utf-8")
    assert tmem("lookup", "price of unknown article").returncode == 1
    assert "stays so" in tmem("capture").stdout
    assert "forgotten: not true" in tmem("show", record["id"][:8]).stdout


def test_the_mirror_is_readable_and_an_edited_file_is_left_alone(
    repo: Path, worked: Path, tmem: Tmem
) -> None:
    tmem("init")
    tmem("capture")
    assert run_git(repo, "status", "--porcelain") == ""
    (path,) = (repo / ".tmem").glob("*.json")
    memories = (repo / ".tmem" / "MEMORIES.md").read_text(encoding="utf-8")
    assert path.name[:12] in memories
    assert (repo / ".tmem" / "MEM.md").read_text(encoding="utf-8") == memories
    before = path.read_bytes()
    path.write_text("{broken by hand", encoding="utf-8")
    done = tmem("sync", "--local")
    assert done.returncode == 0
    assert "edited by hand" in done.stdout
    assert path.read_text(encoding="utf-8") == "{broken by hand"
    assert tmem("lookup", "price of unknown article").returncode == 0
    path.unlink()
    tmem("sync", "--local")
    assert path.read_bytes() == before


def wait_for_worker(repo: Path) -> str:
    """The log once the detached worker has written it and let go of its lock."""
    import fcntl

    log = repo / ".git" / "tmem" / "hook.log"
    for _ in range(3000):
        if log.exists() and log.read_text(encoding="utf-8").strip():
            break
        subprocess.run(["git", "--version"], capture_output=True, check=True)
    with open(repo / ".git" / "tmem" / "worker.lock", "ab") as stream:
        fcntl.flock(stream.fileno(), fcntl.LOCK_EX)
    return log.read_text(encoding="utf-8")


def test_a_commit_is_captured_in_the_background_and_quietly(
    repo: Path, sealed: Path, tmem: Tmem, on_path: Path
) -> None:
    assert tmem("init").returncode == 0
    project(repo)
    run_git(repo, "add", ".")
    run_git(repo, "commit", "-qm", "project")
    wait_for_worker(repo)
    (repo / ".git" / "tmem" / "hook.log").unlink()
    slug = "".join(sign if sign.isalnum() else "-" for sign in str(repo))
    fix_price(Log(repo)).save(sealed / ".claude" / "projects" / slug / "session.jsonl")
    done = subprocess.run(
        ["git", "commit", "-qam", "fix"], cwd=repo, capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("", "")
    assert " stored " in wait_for_worker(repo)
    assert "unknown article" in run_git(repo, "log", "-1", "--notes=tmem")
    assert run_git(repo, "status", "--porcelain") == ""
    assert (repo / ".tmem" / "MEMORIES.md").read_text(encoding="utf-8").count("\n- ") == 1


def test_a_rebase_a_cherry_pick_and_a_bisect_capture_nothing(
    repo: Path, tmem: Tmem, on_path: Path
) -> None:
    for number in range(3):
        (repo / f"file{number}").write_text("x\n", encoding="utf-8")
        run_git(repo, "add", ".")
        run_git(repo, "commit", "-qm", f"commit {number}")
    run_git(repo, "branch", "side", "HEAD~2")
    tmem("init")
    run_git(repo, "rebase", "-q", "--force-rebase", "HEAD~2")
    run_git(repo, "checkout", "-q", "side")
    run_git(repo, "cherry-pick", "main")
    run_git(repo, "bisect", "start")
    run_git(repo, "commit", "-q", "--allow-empty", "-m", "while bisecting")
    run_git(repo, "bisect", "reset")
    run_git(repo, "commit", "-q", "--allow-empty", "-m", "by hand")
    log = wait_for_worker(repo)
    assert len(log.splitlines()) == 1, log
    assert run_git(repo, "rev-parse", "--short=12", "HEAD") in log


def test_commits_go_on_without_git_tmem_on_the_path(repo: Path, tmem: Tmem) -> None:
    tmem("init")
    place = subprocess.run(["which", "git"], capture_output=True, text=True, check=True).stdout
    done = subprocess.run(
        ["git", "commit", "-q", "--allow-empty", "-m", "x"],
        cwd=repo,
        capture_output=True,
        text=True,
        env={**os.environ, "PATH": f"{Path(place.strip()).parent}:/bin"},
        check=False,
    )
    assert done.returncode == 0


def test_two_captures_at_once_store_one_record(repo: Path, worked: Path) -> None:
    command = [sys.executable, "-m", "git_tmem", "capture"]
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parent.parent)}
    running = [
        subprocess.Popen(command, cwd=repo, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)
        for _ in range(4)
    ]
    ended = [process.communicate() for process in running]
    assert [error for _, error in ended] == [b""] * 4
    assert len(run_git(repo, "ls-tree", "-r", "--name-only", MAIN, "mem").splitlines()) == 1


def test_capture_takes_a_log_from_standard_input(repo: Path, worked: Path, tmem: Tmem) -> None:
    text = worked.read_text(encoding="utf-8")
    worked.unlink()
    done = json.loads(tmem("capture", "--session", "-", "--json", given=text).stdout)
    assert [one["outcome"] for one in done] == ["stored"]
    assert {"id", "title", "agent", "session", "missing", "actions", "steps", "dropped"} <= set(
        done[0]
    )


def test_a_log_that_tells_replaced_text_alone_is_understood(
    repo: Path, tmem: Tmem, tmp_path: Path
) -> None:
    project(repo)
    run_git(repo, "add", ".")
    run_git(repo, "commit", "-qm", "project")
    cart = repo / "src" / "cart.py"
    cart.write_text(cart.read_text().replace("self.lines[name]", "self.lines.get(name, 0)"))
    lines = [
        {"type": "session", "cwd": str(repo), "id": "g1"},
        {"type": "user", "text": "Unknown articles should cost nothing"},
        {"type": "edit", "path": "src/cart.py", "old": "lines[name]", "new": "lines.pop(name)"},
        {"type": "edit", "path": "src/cart.py", "old": "pop(name)", "new": "get(name, 0)"},
        {"type": "run", "command": "pytest -q", "exit_code": 0, "output": "1 passed"},
    ]
    log = tmp_path / "log.jsonl"
    log.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    done = tmem("capture", "--agent", "generic", "--session", str(log))
    assert "2 steps of 4 actions" in done.stdout
    assert "1 dead edit" in done.stdout
    (record,) = json.loads(tmem("list", "--json").stdout)
    assert "edit src/cart.py Cart.price" in tmem("lookup", "articles cost nothing").stdout, record


def test_capture_since_takes_every_session_and_no_raw_keeps_no_trace(
    repo: Path, worked: Path, tmem: Tmem
) -> None:
    log = Log(repo, "22222222-0000-4000-8000-000000000003").prompt("Say what a cart is")
    log.edit("src/cart.py", '"""A cart."""', '"""A cart of articles."""')
    log.run("python -m pytest", "1 passed in 0.01s").save(worked.with_name("second.jsonl"))
    done = json.loads(tmem("capture", "--since", "1 hour ago", "--no-raw", "--json").stdout)
    assert [one["outcome"] for one in done] == ["stored", "stored"]
    fails(tmem("replay", done[0]["id"]), 1, "keeps no trace.jsonl")
    fails(tmem("diff", done[0]["id"]), 1, "keeps no patch.diff")
    os.utime(worked, (1, 1))
    done = json.loads(tmem("capture", "--since", "1 hour ago", "--json").stdout)
    assert len(done) == 1


def test_a_commit_or_a_range_judges_the_edits(repo: Path, worked: Path, tmem: Tmem) -> None:
    run_git(repo, "revert", "--no-edit", "HEAD")
    assert "none of its edits" in tmem("capture").stdout
    assert " kept: " in tmem("capture", "--commit", "HEAD~").stdout
    done = json.loads(tmem("capture", "--range", "HEAD~2..HEAD~", "--json").stdout)
    assert done[0]["outcome"] == "known"
    fails(tmem("capture", "--range", "HEAD"), 2, "a range is written A..B")
    assert tmem("capture", "--range", "HEAD~..HEAD", "--commit", "HEAD").returncode == 2


def test_sessions_of_worktrees_and_subfolders_are_found(
    repo: Path, sealed: Path, tmem: Tmem, tmp_path: Path
) -> None:
    project(repo)
    run_git(repo, "add", ".")
    run_git(repo, "commit", "-qm", "project")
    tree = tmp_path / "工作树"
    run_git(repo, "worktree", "add", "-q", "-b", "side", str(tree))
    log = fix_price(Log(tree))
    for record in log.records:
        record["cwd"] = str(tree / "src")
    slug = "".join(sign if sign.isalnum() and sign.isascii() else "-" for sign in str(tree / "src"))
    log.save(sealed / ".claude" / "projects" / slug / "session.jsonl")
    run_git(tree, "commit", "-qam", "fixed")
    assert " kept: " in tmem("capture", cwd=tree).stdout
    stored = run_git(repo, "ls-tree", "-r", "--name-only", MAIN, "mem")
    playbook = json.loads(run_git(repo, "show", f"{MAIN}:{stored}"))
    assert playbook["l1"]["files"] == ["src/cart.py"]
    assert playbook["anchor"]["commit"] == run_git(repo, "rev-parse", "side")


def test_a_log_of_a_moved_folder_is_matched_by_the_files_it_edited(
    repo: Path, worked: Path, tmem: Tmem, tmp_path: Path
) -> None:
    text = worked.read_text(encoding="utf-8").replace(str(repo), "/home/bob/shop")
    log = tmp_path / "bob.jsonl"
    log.write_text(text, encoding="utf-8")
    assert " kept: " in tmem("capture", "--session", str(log)).stdout
    assert (
        "/home/bob" not in tmem("show", json.loads(tmem("list", "--json").stdout)[0]["id"]).stdout
    )


def test_push_fetch_and_sync_say_what_they_did(
    repo: Path, worked: Path, tmem: Tmem, tmp_path: Path
) -> None:
    fails(tmem("push"), 6, "has no remote")
    run_git(tmp_path, "init", "-q", "--bare", "shared.git")
    run_git(repo, "remote", "add", "origin", f"file://{tmp_path}/shared.git")
    assert "no records to push" in tmem("push").stdout
    tmem("capture")
    assert "1 not published to origin" in tmem("status").stdout
    assert "origin now has 1 record, 1 new" in tmem("push").stdout
    assert "has all 1 record already" in tmem("push").stdout
    assert "0 not published to origin" in tmem("status").stdout
    other = tmp_path / "other"
    run_git(tmp_path, "clone", "-q", str(repo), str(other))
    run_git(other, "remote", "set-url", "origin", f"file://{tmp_path}/shared.git")
    done = tmem("fetch", cwd=other)
    assert "1 new record from origin\n1 record waiting for review" in done.stdout
    assert "0 new records" in tmem("fetch", cwd=other).stdout
    done = tmem("sync", cwd=other)
    assert "index rebuilt: 1 record" in done.stdout, done.stderr
    assert tmem("lookup", "price of unknown article", cwd=other).returncode == 1
    assert "1 record accepted" in tmem("accept", "--all", cwd=other).stdout
    assert tmem("lookup", "price of unknown article", cwd=other).returncode == 0
    run_git(repo, "remote", "set-url", "origin", f"file://{tmp_path}/gone.git")
    fails(tmem("fetch"), 6, "fetch from origin")
    fails(tmem("push", "nowhere"), 6, "no remote is called 'nowhere'")


def test_an_extension_of_git_that_nobody_knows_is_no_obstacle(
    repo: Path, worked: Path, tmem: Tmem
) -> None:
    run_git(repo, "config", "core.repositoryFormatVersion", "1")
    run_git(repo, "config", "extensions.preciousObjects", "true")
    done = tmem("capture", "--session", str(worked))
    assert done.returncode == 0, done.stderr
    assert tmem("lookup", "price of unknown article").returncode == 0


def test_repositories_with_sha256_names_work_from_end_to_end(tmp_path: Path, tmem: Tmem) -> None:
    ada, bare, bob = (tmp_path / name for name in ("ada", "shared.git", "bob"))
    run_git(tmp_path, "init", "-q", "--object-format=sha256", str(ada))
    project(ada)
    run_git(ada, "add", ".")
    run_git(ada, "commit", "-qm", "project")
    log = fix_price(Log(ada)).save(tmp_path / "session.jsonl")
    run_git(ada, "commit", "-qam", "Unknown articles cost nothing")
    run_git(tmp_path, "clone", "-q", "--bare", str(ada), str(bare))
    run_git(ada, "remote", "add", "origin", f"file://{bare}")
    run_git(tmp_path, "clone", "-q", f"file://{bare}", str(bob))
    done = tmem("capture", "--session", str(log), cwd=ada)
    assert done.returncode == 0, done.stderr
    record = json.loads(tmem("list", "--json", cwd=ada).stdout)[0]["id"]
    assert tmem("lookup", "price of unknown article", cwd=ada).returncode == 0
    assert "1 record, 1 new" in tmem("push", cwd=ada).stdout
    assert "1 new record from origin" in tmem("fetch", cwd=bob).stdout
    assert tmem("accept", record, cwd=bob).returncode == 0
    found = tmem("lookup", "price of unknown article", cwd=bob)
    assert (found.returncode, record[:8] in found.stdout) == (0, True), found.stderr
    done = tmem("forget", record, "--reason", "wrong", cwd=bob)
    assert done.returncode == 0, done.stderr
    assert tmem("push", cwd=bob).returncode == tmem("fetch", cwd=ada).returncode == 0
    assert tmem("lookup", "price of unknown article", cwd=ada).returncode == 1
    for folder in (ada, bob):
        assert run_git(folder, "fsck", "--strict", "--no-dangling") == ""


def test_a_session_of_the_deepseek_harness_is_captured_too(
    repo: Path, sealed: Path, tmem: Tmem
) -> None:
    project(repo)
    run_git(repo, "add", ".")
    run_git(repo, "commit", "-qm", "project")
    path = str(repo / "src" / "cart.py")
    old, new = "        return self.lines[name]", "        return self.lines.get(name, 0)"
    check = "python -m pytest tests/test_cart.py"
    lines: list[dict[str, Any]] = [
        {"type": "session", "version": 4, "id": "d1", "createdAt": 1700000000000, "cwd": str(repo)},
        harness(0, "user/message", role="user", source={"kind": "user"},
                content=[{"type": "text", "text": "未知商品的价格应该是零"}]),
        *call(1, "read", {"file_path": path}, "<path>"),
        *call(3, "bash", {"command": check}, f"{ERROR}\n[exit code: 1]"),
        *call(5, "edit", {"file_path": path, "old_string": old, "new_string": new}, "Updated file",
              {"diffs": [{"path": path, "oldText": old, "newText": new}]}),
        *call(7, "bash", {"command": check}, "1 passed in 0.01s"),
    ]  # fmt: skip
    cart = repo / "src" / "cart.py"
    cart.write_text(cart.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    run_git(repo, "commit", "-qam", "零")
    place = sealed / ".dsh" / "sessions" / "--repo--" / "d1" / "session.v4.jsonl"
    place.parent.mkdir(parents=True)
    place.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    done = tmem("capture", "--agent", "dsh")
    assert " kept: 未知商品的价格应该是零" in done.stdout, done.stderr
    assert "L0_FULL" in tmem("lookup", "商品价格").stdout


def harness(number: int, kind: str, **data: Any) -> dict[str, Any]:
    """One event of the harness's log."""
    return {"type": kind, "seq": number, "time": 1700000000000 + number * 1000, "data": data}


def call(
    number: int, tool: str, given: dict[str, str], text: str, meta: Any = None
) -> list[dict[str, Any]]:
    """A tool call and its flat result."""
    name = f"call_{number}"
    message = {"role": "tool", "toolCallId": name, "content": [{"type": "text", "text": text}]}
    more = {"meta": meta} if meta else {}
    return [
        harness(number, "tool/call", callId=name, name=tool, arguments=json.dumps(given)),
        harness(number + 1, "tool/result", message=message, **more),
    ]


# Bad input: one clear line, a documented status, nothing half written.


def fails(done: subprocess.CompletedProcess[str], status: int, words: str) -> None:
    assert done.returncode == status, (done.stdout, done.stderr)
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) <= 2, done.stderr


def test_outside_a_repository(tmem: Tmem, tmp_path: Path) -> None:
    for command in (["list"], ["lookup", "x"], ["capture"], ["status"], ["init"], ["push"]):
        fails(tmem(*command, cwd=tmp_path), 4, "not a git repository")
    done = tmem("hook", "git", "post-commit", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_before_the_first_commit(tmp_path: Path, tmem: Tmem) -> None:
    empty = tmp_path / "empty"
    run_git(tmp_path, "init", "-q", str(empty))
    project(empty)
    log = fix_price(Log(empty)).save(tmp_path / "log.jsonl")
    assert tmem("list", cwd=empty).returncode == 0
    assert tmem("lookup", "price", cwd=empty).returncode == 1
    done = tmem("capture", "--session", str(log), cwd=empty)
    assert " kept: " in done.stdout, done.stderr
    fails(tmem("lookup", "x", "--at", "HEAD", cwd=empty), 3, "names no commit")


def test_detached_head_and_no_identity(repo: Path, worked: Path, sealed: Path, tmem: Tmem) -> None:
    run_git(repo, "checkout", "-q", "--detach")
    (sealed / ".gitconfig").write_text("", encoding="utf-8")
    assert " kept: " in tmem("capture").stdout


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "empty"),
        (b"\x00\x01\x02" * 1000, ""),
        (b"not a log\n" * 20, ""),
        ("{'nearly': json}\n".encode("utf-16"), ""),
        (b'{"a": 1}\n', ""),
        (b"\x28\xb5\x2f\xfd" + b"broken zstd", ""),
    ],
)
def test_logs_that_are_none(
    repo: Path, tmem: Tmem, tmp_path: Path, data: bytes, words: str
) -> None:
    path = tmp_path / "log"
    path.write_bytes(data)
    fails(tmem("capture", "--session", str(path)), 3, words)
    assert run_git(repo, "for-each-ref", "refs/tmem*") == ""


def test_a_log_cut_off_in_the_middle_still_gives_what_is_whole(
    repo: Path, worked: Path, tmem: Tmem
) -> None:
    data = worked.read_bytes()
    worked.write_bytes(data + data[: len(data) // 9])
    assert " kept: " in tmem("capture").stdout


def test_a_log_that_is_not_utf8_is_read_as_far_as_it_can_be(
    repo: Path, worked: Path, tmem: Tmem
) -> None:
    worked.write_bytes(worked.read_bytes().replace(b"please", b"pl\xe9\xffase"))
    assert " kept: " in tmem("capture").stdout


def test_a_log_of_another_repository(repo: Path, tmem: Tmem, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    project(other)
    log = fix_price(Log(other)).save(tmp_path / "log.jsonl")
    fails(tmem("capture", "--session", str(log)), 3, "none of the 1 file it edited")


def test_no_session_missing_file_unknown_agent(repo: Path, tmem: Tmem) -> None:
    fails(tmem("capture"), 1, "no agent session")
    fails(tmem("capture", "--session", "nowhere.jsonl"), 3, "nowhere.jsonl: No such file")
    fails(tmem("capture", "--agent", "hal"), 3, "unknown agent 'hal'")
    fails(tmem("capture", "--agent", "hal", "--session", "x"), 3, "unknown agent 'hal'")
    fails(tmem("capture", "--commit", "nope"), 3, "'nope' names no commit")


@pytest.mark.parametrize("command", ["show", "diff", "replay", "check"])
def test_ids_that_name_nothing(repo: Path, tmem: Tmem, command: str) -> None:
    fails(tmem(command, "abcd1234"), 3, "no record is called abcd1234")
    fails(tmem(command, "../../x"), 3, "no id of a record")


def test_nothing_to_keep_says_which_condition_was_missing(
    repo: Path, tmem: Tmem, tmp_path: Path
) -> None:
    project(repo)
    run_git(repo, "add", ".")
    run_git(repo, "commit", "-qm", "project")
    talk = Log(repo).prompt("What does this do?").read("src/cart.py")
    done = tmem("capture", "--session", str(talk.save(tmp_path / "talk.jsonl")))
    assert done.returncode == 0
    assert "no check passed" in one_line(done.stdout)
    undone = Log(repo).prompt("Try").edit("src/cart.py", "lines[name]", "lines.pop(name)")
    undone.edit("src/cart.py", "lines.pop(name)", "lines[name]").run("pytest -q", "1 passed")
    done = tmem("capture", "--session", str(undone.save(tmp_path / "undone.jsonl")))
    assert "none of its edits" in one_line(done.stdout)
    unchecked = Log(repo).prompt("Try").edit("src/cart.py", "lines[name]", "lines.pop(name)")
    done = tmem("capture", "--session", str(unchecked.save(tmp_path / "unchecked.jsonl")))
    assert "no check passed after the edits" in one_line(done.stdout)
    assert run_git(repo, "for-each-ref", "refs/tmem*") == ""


def as_mere_user(*command: str) -> list[str]:
    """A command that permissions hold back, for root too."""
    if os.geteuid() != 0:
        return list(command)
    if shutil.which("setpriv") is None:
        pytest.skip("root may write everywhere, and there is no setpriv to give that up")
    powers = "-dac_override,-dac_read_search"
    return ["setpriv", f"--bounding-set={powers}", f"--inh-caps={powers}", *command]


def test_a_read_only_git_directory(repo: Path, worked: Path, tmem: Tmem) -> None:
    tmem("capture")
    folders = [repo / ".git", *(path for path in (repo / ".git").rglob("*") if path.is_dir())]
    for folder in folders:
        folder.chmod(0o555)
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parent.parent)}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = as_mere_user(sys.executable, "-m", "git_tmem", *arguments)
        return subprocess.run(
            command, cwd=repo, capture_output=True, text=True, env=env, check=False
        )

    try:
        fix_price_again(repo, worked)
        fails(run("capture"), 5, "Permission denied")
        fails(run("init"), 5, "Permission denied")
        record = json.loads(run("list", "--json").stdout)[0]["id"]
        fails(run("forget", record, "--reason", "x"), 5, "Permission denied")
        assert run("lookup", "price of unknown article").returncode == 0
        done = run("hook", "git", "post-commit")
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    finally:
        for folder in folders:
            folder.chmod(0o755)
    assert run_git(repo, "fsck", "--strict", "--no-dangling") == ""


def test_a_full_disk_in_the_middle_of_a_write(repo: Path, worked: Path, tmem: Tmem) -> None:
    code = (
        "import errno, os, sys\n"
        "from git_tmem import cli\n"
        "real, left = os.fsync, [int(sys.argv[1])]\n"
        "def full(descriptor):\n"
        "    left[0] -= 1\n"
        "    if left[0] < 0:\n"
        "        raise OSError(errno.ENOSPC, 'No space left on device')\n"
        "    return real(descriptor)\n"
        "os.fsync = full\n"
        "sys.exit(cli.guarded(lambda: cli.run(['capture'])))\n"
    )
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parent.parent)}
    for room in range(4):
        done = subprocess.run(
            [sys.executable, "-c", code, str(room)],
            cwd=repo,
            capture_output=True,
            text=True,
            env=env,
            check=False,
        )
        fails(done, 5, "No space left on device")
        assert run_git(repo, "for-each-ref", "refs/tmem*") == ""
    assert run_git(repo, "fsck", "--strict", "--no-dangling") == ""
    assert not list((repo / ".git" / "objects").rglob("tmp_obj*"))
    assert " kept: " in tmem("capture").stdout


def test_secrets_of_a_session_reach_no_file_and_no_object(
    repo: Path, sealed: Path, tmem: Tmem
) -> None:
    secret = "ghp_" + "Zx9Yw8Vu7T" * 3 + "s6R5q4"
    project(repo)
    run_git(repo, "add", ".")
    run_git(repo, "commit", "-qm", "project")
    log = Log(repo).prompt(f"Fix the price, the token is {secret}").read("src/cart.py")
    log.run(f"GITHUB_TOKEN={secret} pytest -q", f"{ERROR}\n{secret}", 1)
    log.say(f"I use {secret}").edit("src/cart.py", "self.lines[name]", "self.lines.get(name, 0)")
    log.run(f"GITHUB_TOKEN={secret} pytest -q", f"1 passed {secret}")
    path = log.save(sealed / "log.jsonl")
    tmem("init")
    for command in (
        ["capture", "--session", str(path)], ["list"], ["lookup", f"price {secret}"],
        ["sync", "--local"], ["hook", "git", "post-commit", secret], ["hook", secret, secret],
    ):  # fmt: skip
        tmem(*command)
    for file in (repo / ".git").rglob("*"):
        assert not file.is_file() or secret.encode() not in file.read_bytes(), file
    for file in (repo / ".tmem").rglob("*"):
        assert secret.encode() not in file.read_bytes(), file
    listing = run_git(repo, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)")
    for name in listing.splitlines():
        assert secret not in run_git(repo, "cat-file", "-p", name)
    assert run_git(repo, "ls-tree", "-r", MAIN, "mem") != ""


def test_output_is_utf8_whatever_the_locale(repo: Path, worked: Path, tmem: Tmem) -> None:
    tmem("capture")
    done = tmem("list", LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    assert done.returncode == 0


def test_a_pipe_that_closes_early_is_no_error(repo: Path, worked: Path, tmem: Tmem) -> None:
    tmem("capture")
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parent.parent)}
    line = f"'{sys.executable}' -m git_tmem check --json | head -c 1"
    done = subprocess.run(["sh", "-c", line], cwd=repo, capture_output=True, env=env, check=False)
    assert done.stderr == b""


def test_the_demo_shows_every_grade_and_cleans_up(
    tmem: Tmem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    done = tmem("demo", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for words in ("L0_FULL", "L0_PARTIAL", "L2_INVARIANT", "CRITICAL PATH", "NOISE PRUNED",
                  "moved to shop/basket.py", "Notes (tmem)", "git tmem init"):  # fmt: skip
        assert words in done.stdout, done.stdout
    assert not list(tmp_path.glob("git-tmem-demo-*"))


def test_the_window_is_configurable_and_a_bad_value_is_told(
    repo: Path, worked: Path, tmem: Tmem
) -> None:
    run_git(repo, "config", "tmem.window", "1")
    assert "0 repairs" in tmem("capture").stdout
    for value in ("wide", "0", "-3"):
        run_git(repo, "config", "tmem.window", value)
        done = tmem("capture")
        assert done.returncode == 3
        assert done.stderr.startswith(f"git tmem: tmem.window is {value!r}")


def test_what_tmem_redact_names_is_written_nowhere(repo: Path, worked: Path, tmem: Tmem) -> None:
    run_git(repo, "config", "--add", "tmem.redact", "article")
    run_git(repo, "config", "--add", "tmem.redact", "KeyError")
    assert tmem("capture").returncode == 0
    assert "already kept" in tmem("capture").stdout
    objects = run_git(repo, "cat-file", "--batch-all-objects", "--batch-check").splitlines()
    ours = run_git(repo, "rev-list", "--objects", "--glob=refs/tmem*", "--glob=refs/notes/tmem")
    named = {line.split()[0] for line in ours.splitlines()}
    texts = [run_git(repo, "cat-file", "-p", line.split()[0]) for line in objects]
    kept = [text for line, text in zip(objects, texts, strict=True) if line.split()[0] in named]
    files = [path for path in (repo / ".tmem").rglob("*") if path.is_file()]
    kept += [path.read_text(encoding="utf-8") for path in files]
    assert any("[REDACTED:own]" in text for text in kept)
    assert not [text for text in kept if "KeyError" in text or "unknown article" in text]
    run_git(repo, "config", "--add", "tmem.redact", "(")
    done = tmem("capture")
    assert done.returncode == 3
    assert done.stderr.startswith("git tmem: tmem.redact holds '('")
