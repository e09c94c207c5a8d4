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
from tests.replay import rebuild, rebuild_edits

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

HELLO = "terminus_2-hello-world"

#: Sessions of agents whose repositories are rebuilt from the edits alone: the last check of
#: what is kept, or which condition is not met (most edit texts and check nothing), or why the
#: log is refused.
OUTCOMES = {
    "aider/chat-history-1.md": "check",
    "aider/chat-history-2.md": "check",
    "aider/chat-history-3.md": "no session log",  # it begins in the middle of a session
    "antigravity/fixture-brain.transcript_full.jsonl": "both",
    "antigravity/fixture-cli-small.transcript.jsonl": "check",
    "atif/fixture-openagents-login-trace.trajectory.json": "both",
    "atif/openhands-hello-world.trajectory.json": "check",
    "atif/openhands-hello-world.trajectory.no_function_calling.json": "both",
    f"atif/{HELLO}-context-summarization-linear-history.trajectory.cont-1.json": "both",
    f"atif/{HELLO}-context-summarization-linear-history.trajectory.json": "both",
    f"atif/{HELLO}-context-summarization.trajectory.json": "both",
    f"atif/{HELLO}-context-summarization.trajectory.summarization-1-summary.json": "no action",
    f"atif/{HELLO}-invalid-json.trajectory.json": "both",
    f"atif/{HELLO}-timeout.trajectory.json": "both",
    "codex/fixture-branch.jsonl": "both",
    "codex/fixture-legacy-050.jsonl": "holds no action",
    "codex/fixture-raw-052.jsonl": "holds no action",
    "codex/fixture-shell-legacy.jsonl": "check",
    "codex/fixture-stage0-small.jsonl": "both",
    "codex/fixture-usage-051.jsonl": "holds no action",
    "codex/v0.121-aborted.rollout.jsonl": "both",
    "codex/v0.125-skill-discovery-fix.rollout.jsonl": "check",
    "codex/v0.140-release-hardening.rollout.jsonl": "bun run typecheck",
    "codex/v0.142-test-fail-then-pass.rollout.jsonl": "check",
    "codex/v0.142-two-compactions.rollout.jsonl": "check",
    "codex/v0.142-workspace-materialization.rollout.jsonl": "bun test apps/cli/test/",
    "copilot-cli/conflict-free-sync.events.jsonl": "check",
    "copilot-cli/fixture-events.jsonl": "check",
    "copilot-cli/hook-debugging.events.jsonl": "check",
    "copilot-cli/sdk-epipe.events.jsonl": "both",
    "cursor/fixture-agent-transcript.jsonl": "check",
    "cursor/fixture-large.jsonl": "both",
    "gemini-cli/fixture-jsonl-v040.jsonl": "both",
    "gemini-cli/fixture-large.session.json": "both",
    "gemini-cli/read-write.session.json": "check",
    "gemini-cli/shell-and-write.session.json": "check",
    "gemini-cli/shell-read-write.session.json": "check",
    "mini-swe-agent/astropy__astropy-14182.traj.json": "edit",
    "mini-swe-agent/django__django-13569.traj.json": "both",
    "mini-swe-agent/django__django-14672.traj.json": "both",
    "mini-swe-agent/pytest-dev__pytest-5840.traj.json": "edit",
    "mini-swe-agent/pytest-dev__pytest-7236.traj.json": "edit",
    "mini-swe-agent/pytest-dev__pytest-7432.traj.json": "both",
    "mini-swe-agent/sphinx-doc__sphinx-8475.traj.json": "edit",
    "mini-swe-agent/sphinx-doc__sphinx-9673.traj.json": "edit",
    "mini-swe-agent/upstream-github_issue.traj.json": "both",
    "opencode/exploration-and-patches.export.json": "check",
    "opencode/fixture-sqlite/opencode.db": "none of the 1 file it edited",
    "opencode/fixture-storage_v2/session/proj_test/ses_s_stage0_large.json": "both",
    "opencode/fixture-storage_v2/session/proj_test/ses_s_stage0_small.json": "both",
    "opencode/review-child-apply-patch.export.json": "check",
    "opencode/security-hardening.export.json": "pnpm --filter @dayhaysoos/nimbus-worker test",
    "openhands/v0-multi-swe-bench.output.jsonl": "results of several tasks",
    "openhands/v0-rfc-sample.trajectory.json": "both",
    "openhands/v0-tls-scanner.trajectory.json": "check",
    "openhands/v1-goal-events.jsonl": "both",
    "pi/fixture-v3-small.jsonl": "both",
    "pi/fixture-v3-tool.jsonl": "check",
    "pi/v1-before-compaction.jsonl": "npm run check",
    "pi/v1-large-session.jsonl": "npm run check",
    "swe-agent/marshmallow-1867-function-calling.traj": "check",
    "swe-agent/marshmallow-1867-replace-from-source.traj": "check",
    "swe-agent/pydicom-1458.traj": "check",
    "swe-agent/test-repo-i1.traj": "check",
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
    check_record(done, tmp_path / "repo")


def check_record(done: Captured, folder: Path) -> None:
    """What is stored is whole, portable, and anchored at the commit of the work."""
    assert done.playbook is not None
    text = json.dumps(to_document(done.playbook), ensure_ascii=False)
    assert not re.search(r"/(?:Users|home)/\w+/", text), re.findall(r"/(?:Users|home)/\S+", text)
    assert done.playbook.steps
    assert done.playbook.checks
    assert done.playbook.anchor.commit == run_git(folder, "rev-parse", "HEAD")


@pytest.mark.parametrize("name", OUTCOMES)
def test_a_real_session_gives_what_it_holds_or_is_refused_for_the_stated_reason(
    corpus: Path, tmp_path: Path, name: str
) -> None:
    expected = OUTCOMES[name]
    done = outcome(str(corpus / name), tmp_path / "repo")
    if isinstance(done, str):
        assert expected in done
    elif done.outcome == NOTHING:
        assert done.missing == expected
        assert describe_missing(done.missing)
    else:
        assert expected not in ("both", "check", "edit")
        check_record(done, tmp_path / "repo")
        assert done.playbook is not None
        assert expected in "\n".join(done.playbook.checks)


def outcome(location: str, folder: Path) -> Captured | str:
    """What comes of the session at a location, or why it is refused."""
    try:
        with adapters.open_log(location) as stream:
            session = adapters.parse(stream)
        rebuild_edits(session, folder)
        with Repository.open(str(folder)) as repository:
            return capture(repository, session)
    except InputError as error:
        return error.message


def test_the_outcome_of_every_real_session_is_stated(corpus: Path) -> None:
    agents = {name.split("/")[0] for name in OUTCOMES}
    files = (path for agent in agents for path in (corpus / agent).rglob("*.*"))
    parts = ("message", "part")  # a storage's files that make up the sessions beside them
    found = {
        path.relative_to(corpus).as_posix()
        for path in files
        if path.is_file() and path.parent.parent.name not in parts
    }
    assert found == set(OUTCOMES)


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
