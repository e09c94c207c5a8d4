"""Records find their commits again, in real repositories whose history was rewritten."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from git_tmem import history
from git_tmem.anchors import Link, Relinked, follow, relink
from git_tmem.git import Git, discover
from git_tmem.playbook import Anchor
from git_tmem.repo import Repository
from git_tmem.store import NOTES, Store, note_line
from tests.conftest import run_git
from tests.samples import document

BASE = "".join(f"line {number}\n" for number in range(1, 31))


@pytest.fixture
def branch(repo: Path) -> Path:
    """``main`` with three files, and a branch ``topic`` that is checked out."""
    for name in "abc":
        (repo / f"{name}.txt").write_text(BASE, encoding="utf-8")
    commit(repo, "base")
    run_git(repo, "checkout", "-qb", "topic")
    return repo


def commit(repo: Path, message: str, *options: str) -> str:
    run_git(repo, "add", "-A")
    run_git(repo, "commit", "-qm", message, *options)
    return head(repo)


def head(repo: Path) -> str:
    return run_git(repo, "rev-parse", "HEAD")


def change(repo: Path, name: str, number: int, text: str) -> None:
    path = repo / f"{name}.txt"
    lines = path.read_text(encoding="utf-8").splitlines()
    lines[number - 1] = text
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def worked(repo: Path, name: str, number: int, text: str) -> str:
    change(repo, name, number, text)
    return commit(repo, text)


def remember(repo: Path, name: str, *commits: str) -> str:
    """Store a record made for commits (newest first), as a capture would; its id."""
    git = Git(discover(str(repo)))
    made = history.exactly(git, commits)
    blobs = {c.path: c.new_blob for one in reversed(made) for c in one.changes if c.new_blob}
    anchor = Anchor(commits[0], made[0].tree, history.patch_id(git, commits[0]), commits, blobs)
    with Repository.open(str(repo)) as repository:
        store = Store(repository)
        put = store.put(document(name, anchor=anchor, files=tuple(blobs)))
        line = note_line(put.id, f"Fix the total of the {name}")
        store.annotate({commit: [line] for commit in commits})
    return put.id


def relinked(repo: Path, *revisions: str) -> Relinked:
    with Repository.open(str(repo)) as repository:
        return relink(repository, revisions)


def followed(repo: Path, *pairs: tuple[str, str]) -> tuple[Link, ...]:
    with Repository.open(str(repo)) as repository:
        return follow(repository, pairs)


def noted(repo: Path, revision: str = "HEAD") -> set[str]:
    text = run_git(repo, "notes", "--ref", NOTES, "show", revision, check=False)
    return {line.split(" ", 1)[0] for line in text.splitlines()}


def the_link(done: Relinked) -> tuple[str, str, str]:
    assert len(done.links) == 1, done
    assert not done.lost
    return done.links[0].rule, done.links[0].old, done.links[0].new


def gone_for_good(repo: Path) -> None:
    """Vanished commits leave this clone, as they never were in a colleague's."""
    run_git(repo, "reflog", "expire", "--expire=now", "--all")
    run_git(repo, "gc", "-q", "--prune=now")


def test_an_amended_message_is_found_by_its_patch_and_running_again_does_nothing(
    branch: Path,
) -> None:
    old = worked(branch, "a", 3, "three")
    record = remember(branch, "cart", old)
    assert relinked(branch) == Relinked((), ())
    run_git(branch, "commit", "-q", "--amend", "-m", "a better message")
    assert the_link(relinked(branch)) == ("patch", old, head(branch))
    assert noted(branch) == noted(branch, old) == {record[:12]}
    tip = run_git(branch, "rev-parse", NOTES)
    assert relinked(branch) == Relinked((), ())
    assert run_git(branch, "rev-parse", NOTES) == tip
    shown = run_git(branch, "notes", "--ref", NOTES, "show", "HEAD")
    assert shown == f"{record[:12]} Fix the total of the cart"


def test_a_rebase_onto_a_main_that_moved_is_found_by_its_patch(branch: Path) -> None:
    old = worked(branch, "a", 3, "three")
    remember(branch, "cart", old)
    run_git(branch, "checkout", "-q", "main")
    worked(branch, "a", 28, "elsewhere")
    run_git(branch, "rebase", "-q", "main", "topic")
    assert the_link(relinked(branch)) == ("patch", old, head(branch))


def test_a_cherry_pick_whose_branch_is_deleted_is_found_in_a_clone_without_the_old_commit(
    branch: Path,
) -> None:
    old = worked(branch, "a", 3, "three")
    record = remember(branch, "cart", old)
    run_git(branch, "checkout", "-q", "main")
    worked(branch, "b", 5, "five")
    run_git(branch, "cherry-pick", old)
    assert relinked(branch).links == ()  # the branch still has it
    run_git(branch, "branch", "-qD", "topic")
    gone_for_good(branch)
    assert the_link(relinked(branch)) == ("patch", old, head(branch))
    assert record[:12] in noted(branch)


def test_a_servers_squash_of_three_gets_the_lines_of_all_three_and_only_that_commit(
    branch: Path,
) -> None:
    first = worked(branch, "a", 3, "three")
    second = worked(branch, "a", 20, "twenty")  # the same file: the first's blob is gone
    third = worked(branch, "b", 5, "five")
    records = {
        remember(branch, "one", first),
        remember(branch, "two", second),
        remember(branch, "three", third),
    }
    run_git(branch, "checkout", "-q", "main")
    other = worked(branch, "c", 9, "nine")
    run_git(branch, "merge", "-q", "--squash", "topic")
    squash = commit(branch, "Topic (#1)")
    after = worked(branch, "c", 12, "twelve")
    run_git(branch, "branch", "-qD", "topic")
    done = relinked(branch)
    assert {link.rule for link in done.links} == {"squash", "blobs"}
    assert done.lost == ()
    assert noted(branch, squash) == {record[:12] for record in records}
    assert not noted(branch, other) | noted(branch, after)


def test_a_squash_in_a_clone_without_the_old_commits_is_found_by_blobs_where_it_can(
    branch: Path,
) -> None:
    first = worked(branch, "a", 3, "three")
    second = worked(branch, "b", 5, "five")
    third = worked(branch, "b", 20, "twenty")
    lost = remember(branch, "two", second)
    found = {remember(branch, "one", first), remember(branch, "three", third)}
    run_git(branch, "checkout", "-q", "main")
    worked(branch, "c", 9, "nine")
    run_git(branch, "merge", "-q", "--squash", "topic")
    squash = commit(branch, "Topic (#1)")
    run_git(branch, "branch", "-qD", "topic")
    gone_for_good(branch)
    done = relinked(branch)
    assert {(link.rule, link.new) for link in done.links} == {("blobs", squash)}
    assert noted(branch, squash) == {record[:12] for record in found}
    assert done.lost == ((lost, "Fix the total of the two"),)


def test_a_squash_inside_an_outer_merge_is_found(branch: Path) -> None:
    old = worked(branch, "a", 3, "three")
    worked(branch, "b", 5, "five")
    remember(branch, "cart", old)
    run_git(branch, "checkout", "-qb", "server", "main")
    run_git(branch, "merge", "-q", "--squash", "topic")
    squash = commit(branch, "Topic (#1)")
    run_git(branch, "checkout", "-q", "main")
    worked(branch, "c", 9, "nine")
    run_git(branch, "merge", "-q", "--no-ff", "-m", "outer", "server")
    run_git(branch, "branch", "-qD", "topic", "server")
    rule, _, new = the_link(relinked(branch))
    assert new == squash
    assert rule == "blobs"


def test_a_revert_never_gets_the_reverted_work(branch: Path) -> None:
    old = worked(branch, "a", 3, "three")
    remember(branch, "cart", old)
    run_git(branch, "revert", "--no-edit", old)
    assert relinked(branch) == Relinked((), ())
    run_git(branch, "checkout", "-q", "main")
    worked(branch, "b", 5, "five")
    run_git(branch, "cherry-pick", old)
    landed = head(branch)
    run_git(branch, "revert", "--no-edit", landed)
    run_git(branch, "branch", "-qD", "topic")
    assert the_link(relinked(branch)) == ("patch", old, landed)
    assert not noted(branch)


def test_a_revert_on_its_own_gets_nothing_though_it_touches_the_same_lines(branch: Path) -> None:
    old = worked(branch, "a", 3, "three")
    record = remember(branch, "cart", old)
    run_git(branch, "revert", "--no-edit", old)
    revert = head(branch)
    run_git(branch, "checkout", "-q", "--detach", "main~")  # before the files were there
    (branch / "a.txt").write_text(BASE.replace("line 3\n", "three\n").replace("30", "31"))
    commit(branch, "another way to the same line")
    run_git(branch, "cherry-pick", revert)
    run_git(branch, "branch", "-qD", "topic")
    assert relinked(branch) == Relinked((), ((record, "Fix the total of the cart"),))
    assert followed(branch, (old, head(branch))) == ()
    assert not noted(branch)


def test_of_two_commits_the_squash_and_not_the_revert_gets_what_was_taken_back(
    branch: Path,
) -> None:
    worked(branch, "a", 3, "three")
    second = worked(branch, "a", 20, "twenty")
    remember(branch, "cart", second)
    run_git(branch, "checkout", "-q", "main")
    run_git(branch, "merge", "-q", "--squash", "topic")
    squash = commit(branch, "Topic (#1)")
    worked(branch, "a", 20, "line 20")
    run_git(branch, "branch", "-qD", "topic")
    rule, old, new = the_link(relinked(branch))
    assert (old, new) == (second, squash)
    assert rule == "tree"


def test_work_that_is_in_no_commit_is_said_and_linked_to_none(branch: Path) -> None:
    old = worked(branch, "a", 3, "three")
    record = remember(branch, "cart", old)
    run_git(branch, "reset", "-q", "--hard", "main")
    worked(branch, "a", 3, "another three")
    assert relinked(branch) == Relinked((), ((record, "Fix the total of the cart"),))
    assert noted(branch) == set()


def test_a_rewrite_of_the_whole_history_is_found(branch: Path) -> None:
    old = worked(branch, "a", 3, "three")
    remember(branch, "cart", old)
    worked(branch, "b", 5, "five")
    stream = subprocess.run(
        ["git", "-C", str(branch), "fast-export", "--branches"], capture_output=True, check=True
    ).stdout.replace(b"Ada <ada@", b"Ada L <ada.l@")
    subprocess.run(
        ["git", "-C", str(branch), "fast-import", "--force", "--quiet"], input=stream, check=True
    )
    gone_for_good(branch)
    assert the_link(relinked(branch)) == ("patch", old, run_git(branch, "rev-parse", "HEAD~"))


def test_what_filter_branch_keeps_for_itself_does_not_count_as_a_branch(
    branch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FILTER_BRANCH_SQUELCH_WARNING", "1")  # it waits ten seconds otherwise
    old = worked(branch, "a", 3, "three")
    remember(branch, "cart", old)
    script = 'GIT_AUTHOR_NAME="Ada L"; export GIT_AUTHOR_NAME'
    span = ["--env-filter", script, "main..topic"]
    run_git(branch, "filter-branch", "-f", *span)
    assert run_git(branch, "rev-parse", "refs/original/refs/heads/topic") == old
    assert the_link(relinked(branch)) == ("patch", old, head(branch))


def test_a_clone_without_blobs_finds_what_trees_and_ids_tell(branch: Path, tmp_path: Path) -> None:
    old = worked(branch, "a", 3, "three")
    record = remember(branch, "cart", old)
    run_git(branch, "commit", "-q", "--amend", "-m", "again")
    run_git(branch, "config", "uploadpack.allowFilter", "true")
    source = f"file://{branch}"
    run_git(tmp_path, "clone", "-q", "--no-checkout", "--filter=blob:none", source, "part")
    part = tmp_path / "part"
    run_git(part, "config", "remote.origin.promisor", "true")
    run_git(part, "fetch", "-q", "origin", "refs/tmem/main:refs/tmem/main")
    run_git(part, "ls-tree", "-r", "refs/tmem/main")
    run_git(part, "cat-file", "-p", f"refs/tmem/main:mem/{record[:2]}/{record}.json")
    run_git(part, "cat-file", "-p", "refs/tmem/main:format.json")
    rule, _, new = the_link(relinked(part))
    assert (rule, new) == ("tree", head(branch))


def test_lines_that_git_copied_already_are_not_doubled(branch: Path) -> None:
    run_git(branch, "config", "notes.rewriteRef", NOTES)
    old = worked(branch, "a", 3, "three")
    record = remember(branch, "cart", old)
    run_git(branch, "commit", "-q", "--amend", "-m", "again")
    assert noted(branch) == {record[:12]}
    assert followed(branch, (old, head(branch))) == ()
    assert relinked(branch) == Relinked((), ())
    shown = run_git(branch, "notes", "--ref", NOTES, "show", "HEAD")
    assert shown == f"{record[:12]} Fix the total of the cart"


def test_only_the_range_that_is_asked_for_is_searched(branch: Path) -> None:
    remember(branch, "cart", worked(branch, "a", 3, "three"))
    run_git(branch, "commit", "-q", "--amend", "-m", "again")
    worked(branch, "b", 5, "five")
    assert relinked(branch, "HEAD~..HEAD").links == ()
    assert len(relinked(branch, "main..HEAD").links) == 1


def test_a_pair_by_place_alone_takes_no_notes_with_it(branch: Path) -> None:
    """A squash that is told as if it were a rebase, commit by commit."""
    first = worked(branch, "a", 3, "three")
    second = worked(branch, "b", 5, "five")
    remember(branch, "one", first)
    remember(branch, "two", second)
    run_git(branch, "checkout", "-q", "main")
    other = worked(branch, "c", 9, "nine")
    assert followed(branch, (first, other), (second, other)) == ()
    assert followed(branch, (first, second), (second, first)) == ()
    assert followed(branch, (first, "1" * 40), ("2" * 40, other)) == ()
    assert not noted(branch, other)


def rewrite(repo: Path, command: list[str], editor: str = "true") -> list[tuple[str, str]]:
    """Run a rewriting git command; what it gave its post-rewrite hook."""
    hook = repo / ".git" / "hooks" / "post-rewrite"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text('#!/bin/sh\n[ "$1" = rebase ] && cat > "$(git rev-parse --git-dir)/pairs"\n')
    hook.chmod(0o755)
    env = {**os.environ, "GIT_SEQUENCE_EDITOR": editor, "GIT_EDITOR": "true"}
    subprocess.run(["git", "-C", str(repo), *command], env=env, capture_output=True, check=False)
    pairs = repo / ".git" / "pairs"
    lines = pairs.read_text(encoding="utf-8").splitlines() if pairs.exists() else []
    return [(line.split()[0], line.split()[1]) for line in lines]


def test_notes_follow_a_rebase_through_autosquash(branch: Path) -> None:
    first = worked(branch, "a", 3, "three")
    second = worked(branch, "b", 5, "five")
    records = remember(branch, "one", first), remember(branch, "two", second)
    change(branch, "a", 20, "twenty")
    commit(branch, "fixup", f"--fixup={first}")
    pairs = rewrite(branch, ["rebase", "-q", "-i", "--autosquash", "main"])
    links = followed(branch, *pairs)
    assert [link.rule for link in links] == ["blobs", "patch"]
    assert noted(branch, "HEAD~") == {records[0][:12]}
    assert noted(branch, "HEAD") == {records[1][:12]}
    assert followed(branch, *pairs) == ()


def test_notes_follow_through_a_conflict_by_the_lines_that_were_kept(branch: Path) -> None:
    old = worked(branch, "a", 3, "three")
    record = remember(branch, "cart", old)
    run_git(branch, "checkout", "-q", "main")
    worked(branch, "a", 4, "four")
    run_git(branch, "checkout", "-q", "topic")
    assert rewrite(branch, ["rebase", "-q", "main"]) == []
    (branch / "a.txt").write_text(BASE.replace("line 3\n", "three\n").replace("line 4\n", "four\n"))
    run_git(branch, "add", "a.txt")
    pairs = rewrite(branch, ["rebase", "--continue"])
    assert pairs == [(old, head(branch))]
    assert [link.rule for link in followed(branch, *pairs)] == ["lines"]
    assert noted(branch) == {record[:12]}
    assert relinked(branch) == Relinked((), ())  # its note says where it is


def test_a_squash_of_three_has_the_lines_of_all_three(branch: Path) -> None:
    commits = [worked(branch, "a", number, f"new {number}") for number in (3, 12, 20)]
    records = {remember(branch, f"r{number}", one)[:12] for number, one in enumerate(commits)}
    pairs = rewrite(branch, ["rebase", "-q", "-i", "main"], "sed -i -e '2,3s/^pick/squash/'")
    assert len(pairs) == 3
    followed(branch, *pairs)
    assert noted(branch) == records


def test_a_forgotten_or_superseded_record_follows_nobody(branch: Path) -> None:
    old = worked(branch, "a", 3, "three")
    record = remember(branch, "cart", old)
    with Repository.open(str(branch)) as repository:
        Store(repository).forget(record, "wrong", "x", "claude-code session-cart")
    run_git(branch, "commit", "-q", "--amend", "-m", "again")
    assert followed(branch, (old, head(branch))) == ()
    assert relinked(branch) == Relinked((), ())


def test_what_is_printed_as_json_has_the_proof(branch: Path, on_path: Path) -> None:
    old = worked(branch, "a", 3, "three")
    record = remember(branch, "cart", old)
    run_git(branch, "commit", "-q", "--amend", "-m", "again")
    done = subprocess.run(
        [str(on_path), "relink", "--json"], cwd=branch, capture_output=True, check=True
    )
    (link,) = json.loads(done.stdout)["links"]
    assert (link["record"], link["old"], link["new"]) == (record, old, head(branch))
    assert link["proof"].startswith("patch id ")
    done = subprocess.run([str(on_path), "relink"], cwd=branch, capture_output=True, check=True)
    assert done.stdout == b""
    bad = subprocess.run([str(on_path), "relink", "nowhere"], cwd=branch, capture_output=True)
    assert bad.returncode == 3
