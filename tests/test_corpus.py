"""Every real log is captured or refused with a reason, in a repository rebuilt from it."""

from __future__ import annotations

import contextlib
import json
import re
from pathlib import Path

import pytest

from git_tmem import adapters
from git_tmem.capture import NOTHING, Captured, capture, describe_missing
from git_tmem.errors import InputError
from git_tmem.index import Index
from git_tmem.lookup import lookup
from git_tmem.playbook import to_document
from git_tmem.query import Query
from git_tmem.repo import Repository
from git_tmem.store import STORED
from git_tmem.worktree import WorktreeView
from tests.conftest import CORPUS, run_git
from tests.replay import rebuild

KINDS = ("claude-code", "dsh-v0", "dsh-v3", "dsh-v4")
LOGS = sorted(path for kind in KINDS for path in (CORPUS / kind).glob("*.*"))

#: Sessions that edit, fail and pass: each must give a playbook.
WORKED = {
    "settings-parsing-fix",
    "reset-command-test-fix",
    "redaction-tests",
    "trailer-refactor",
    "pty-interactive-tests",
    "subagent-redaction",
    "long-compaction",
}


def captured(log: Path, folder: Path) -> Captured:
    rebuild(log, folder)
    with open(log, "rb") as stream:
        session = adapters.parse(stream)
    with Repository.open(str(folder)) as repository:
        return capture(repository, session)


@pytest.mark.skipif(not LOGS, reason="the corpus of real session logs is not beside this checkout")
@pytest.mark.parametrize("log", LOGS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_real_log_is_captured_or_refused_with_a_reason(log: Path, tmp_path: Path) -> None:
    if log.stem.split(".")[0] not in WORKED and log.parent.name != "claude-code":
        with contextlib.suppress(InputError):  # refused: its files are not told by the log
            captured(log, tmp_path / "repo")
        return
    done = captured(log, tmp_path / "repo")
    if log.name.split(".")[0] in WORKED:
        assert done.outcome == STORED, done.missing
    if done.outcome == NOTHING:
        assert describe_missing(done.missing)
        return
    assert done.playbook is not None
    text = json.dumps(to_document(done.playbook), ensure_ascii=False)
    assert not re.search(r"/(?:Users|home)/\w+/", text), re.findall(r"/(?:Users|home)/\S+", text)
    assert done.playbook.steps
    assert done.playbook.checks
    assert done.playbook.anchor.commit == run_git(tmp_path / "repo", "rev-parse", "HEAD")


@pytest.mark.parametrize("name", ["settings-parsing-fix", "trailer-refactor"])
def test_a_rebuilt_session_is_found_by_its_error_before_and_after_a_rename(
    corpus: Path, tmp_path: Path, name: str
) -> None:
    folder = tmp_path / "repo"
    log = corpus / "claude-code" / f"{name}.jsonl"
    done = captured(log, folder)
    assert done.playbook is not None
    assert done.playbook.repairs
    assert done.id[:12] in run_git(folder, "log", "-1", "--notes=tmem")
    failing = next(
        action.output
        for action in done.session.actions
        if action.command
        and action.exit_code
        and done.playbook.repairs[0].error[:40] in action.output
    )
    with Repository.open(str(folder)) as repository, Index(repository.layout) as index:
        query = Query(error=failing)
        before = lookup(index, query, WorktreeView(repository.layout))
        assert [memory.grade.name for memory in before.shown] == ["L0_FULL"]
        path = next(step.path for step in done.playbook.steps if step.kind == "MUTATE")
        run_git(folder, "mv", path, "renamed.go")
        after = lookup(index, query, WorktreeView(repository.layout))
        assert [memory.grade.name for memory in after.shown] == ["L0_FULL"]
        assert f"{path} moved to renamed.go" in " ".join(after.shown[0].grade.reasons)
        assert "renamed.go" in after.text
