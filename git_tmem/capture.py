"""The write path: a session becomes a playbook, and the playbook a record.

::

    session log ── adapters ──▶ actions ──┐
                                          ├── slicer ──▶ slice ── compiler ──▶ playbook
    commits ────── history ───▶ changes ──┘                probes.build(view)     │
                                                                                store
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from git_tmem import history, inbox, probes, rawcap, trust
from git_tmem.actions import EXEC, MUTATE, Session
from git_tmem.changes import Commit, Hunk, hunks_of
from git_tmem.compiler import compile_playbook
from git_tmem.errors import InputError
from git_tmem.git import Git
from git_tmem.index import Index, Row
from git_tmem.playbook import Anchor, Playbook, from_document, keywords, to_document
from git_tmem.repo import Repository
from git_tmem.signature import signature
from git_tmem.slicer import WINDOW, Slice, backward_slice
from git_tmem.store import FORGOTTEN, KNOWN, STORED, Store, note_line
from git_tmem.survival import Criterion, normal
from git_tmem.workspace import find_root, localise
from git_tmem.worktree import WorktreeView

NOTHING = "nothing"
COMPILED = "compiled"

#: Commits older than the session by more than this many seconds are not its work.
_CLOCK_SLACK = 300
#: Paths whose final lines are read for one session.
_PATHS = 2000
#: Paths that only commands edited whose changes are read for one session.
_DIFFS = 100
#: Characters of the raw trace that are kept for one session.
_TRACE_LIMIT = 4 << 20
#: Failing commands of one session, the latest ones, for which a candidate may be of use.
_FAILURES = 200


class Target(NamedTuple):
    """What the session's edits are held against: the work tree, or (for a commit id in
    ``commit``) that commit; ``since`` leaves out a range's start and what came before."""

    commit: str = ""
    since: str = ""


WORK_TREE = Target()


class Captured(NamedTuple):
    """What came of a session: stored, known, forgotten, compiled, candidate or nothing;
    ``missing`` says which condition was not met; ``replaced`` are the ids of its earlier
    records."""

    outcome: str
    session: Session
    slice: Slice
    id: str = ""
    playbook: Playbook | None = None
    missing: str = ""
    replaced: tuple[str, ...] = ()


def capture(
    repository: Repository, session: Session, target: Target = WORK_TREE, raw: bool = True
) -> Captured:
    """Compile a session and store it, once. Raises InputError for a log of another repository."""
    done = compiled(repository, session, target)
    if done.playbook is None:
        return done
    return _keep(repository, done.session, done.slice, done.playbook, raw)


def at_end(repository: Repository, session: Session) -> Captured:
    """What is done when a session ends. Work that a commit holds, or that has a record, is
    captured; other work, and a failure that was cured without any, becomes a candidate, see
    ``inbox``. Raises as above."""
    done = compiled(repository, session, repairs=True)
    if done.playbook is None:
        return done
    key = f"{done.playbook.agent} {done.playbook.session}"
    with Index(repository.layout) as index:
        rows = index.by_session(key)
        gone = [record for record, (session_, _) in index.gone().items() if session_ == key]
    if not done.missing and (done.playbook.anchor.commit or rows):
        return _keep(repository, done.session, done.slice, done.playbook, raw=True)
    if rows or gone:
        outcome = KNOWN if rows else FORGOTTEN
        return done._replace(outcome=outcome, id=rows[0].id if rows else gone[0])
    put = inbox.propose(Store(repository), done.playbook)
    return done._replace(outcome=put.outcome, id=put.id)


def failures(session: Session) -> set[str]:
    """The near signatures of what failed in a session."""
    failed = [one.output for one in session.actions if one.kind == EXEC and one.exit_code != 0]
    found = [signature(output) for output in failed[-_FAILURES:] if output]
    return {one.near for one in found if one and one.near}


def compiled(
    repository: Repository,
    session: Session,
    target: Target = WORK_TREE,
    repairs: bool = False,
) -> Captured:
    """What a capture of the session would store, COMPILED or NOTHING; nothing is written.

    With ``repairs``, a session is also compiled that only cured a failure; ``missing`` stays.
    """
    tops = history.worktrees(repository.git)
    view = repository.view(target.commit) if target.commit else WorktreeView(repository.layout)
    known = _Known(repository, view, target)
    root = find_root(session, tops, known)
    session = localise(session, root, tops)
    commits = _candidates(repository, session, target)
    changed = {change.path for commit in commits for change in commit.changes}
    if not target.commit:
        changed |= history.changed_paths(repository.git)
    criterion = _criterion(session, view, known, changed)
    criterion = criterion._replace(diffs=_diffs(repository, session, criterion, commits))
    sliced = backward_slice(session.actions, criterion, window(repository.git))
    if sliced.missing and not (repairs and sliced.pairs):
        return Captured(NOTHING, session, sliced, missing=sliced.missing)
    playbook = _compile(repository, session, sliced, view, commits, root)
    return Captured(COMPILED, session, sliced, playbook=playbook, missing=sliced.missing)


def window(git: Git) -> int:
    """Actions within which a cause and its effect must lie, by ``tmem.window``, else 36.

    Raises InputError for a value that is no positive number.
    """
    value = git.config("tmem.window")
    if not value:
        return WINDOW
    if not value.isdecimal() or not 0 < len(value) < 6 or int(value) == 0:
        raise InputError(
            f"tmem.window is {value!r}, and must be a number of actions",
            "git config tmem.window 36",
        )
    return int(value)


class _Known:
    """The paths in git's view: in the commit, or tracked or addable in the work tree."""

    def __init__(self, repository: Repository, view: Any, target: Target) -> None:
        self._git = repository.git
        self._view = view
        self._commit = target.commit
        self._answers: dict[str, bool] = {}

    def __call__(self, paths: Iterable[str]) -> set[str]:
        """Those of the paths that are in it, asked of git in one go."""
        wanted = dict.fromkeys(paths)
        new = [path for path in wanted if path not in self._answers and probes.safe_path(path)]
        self._view.prime(new)
        here = [path for path in new if self._view.blob(path) is not None]
        found = set(here) if self._commit else history.known_paths(self._git, here)
        self._answers.update({path: path in found for path in new})
        return {path for path in wanted if self._answers.get(path)}


def _candidates(repository: Repository, session: Session, target: Target) -> list[Commit]:
    """Commits that may hold the session's work, newest first."""
    head = target.commit or repository.head()
    if not head:
        return []
    revisions = [head, f"^{target.since}"] if target.since else [head]
    commits = history.commits_touching(repository.git, revisions, [])
    recent = [commit for commit in commits if commit.time >= session.started - _CLOCK_SLACK]
    return recent or commits[:1]


def _criterion(session: Session, view: Any, known: _Known, changed: set[str]) -> Criterion:
    """The final lines of every path the session may have changed, and what git saw change."""
    edited = [action.path for action in session.actions if action.kind == MUTATE and action.path]
    wanted = known([*edited, *sorted(changed)][:_PATHS])
    final = {path: lines for path in sorted(wanted) if (lines := _lines(view, path)) is not None}
    return Criterion(final, frozenset(changed))


def _diffs(
    repository: Repository,
    session: Session,
    criterion: Criterion,
    commits: Sequence[Commit],
) -> dict[str, tuple[Hunk, ...]]:
    """What git shows of each changed path that only commands can have edited: from before the
    oldest of the commits that changed it, or from HEAD, to the view."""
    edited = {action.path for action in session.actions if action.kind == MUTATE}
    before: dict[str, str] = {}
    for commit in commits:
        before.update({change.path: change.old_blob for change in commit.changes})
    head = repository.head()
    tree = repository.tree_of(head) if head else ""
    found = {}
    for path in sorted(criterion.changed - edited)[:_DIFFS]:
        if path in criterion.final:
            old = before[path] if path in before else tree and repository.entry(tree, path)
            text = repository.blob(old).decode("utf-8", "replace") if old else ""
            found[path] = hunks_of(text.splitlines(), criterion.final[path])
    return found


def _lines(view: Any, path: str) -> tuple[str, ...] | None:
    data = view.read(path)
    return None if data is None else tuple(data.decode("utf-8", "replace").splitlines())


def _compile(
    repository: Repository,
    session: Session,
    sliced: Slice,
    view: Any,
    commits: Sequence[Commit],
    root: str,
) -> Playbook:
    named = [*(kept.action.path for kept in sliced.kept), *(one.path for one in sliced.undone)]
    paths = list(dict.fromkeys(filter(None, named)))
    texts = {path: view.read(path) for path in paths if probes.safe_path(path)}
    sources = {path: data.decode("utf-8", "replace") for path, data in texts.items() if data}
    playbook = compile_playbook(session, sliced, sources)
    view.prime(playbook.files)
    return playbook._replace(
        author=repository.identity().line,
        branch=session.branch,
        anchor=_anchor(repository, sliced, playbook, view, commits),
        probes=probes.build(playbook.steps, view),
    )


def _anchor(
    repository: Repository, sliced: Slice, playbook: Playbook, view: Any, commits: Sequence[Commit]
) -> Anchor:
    """The commits that brought the surviving lines, matched by content, never by time alone."""
    blobs = {path: oid for path in playbook.files if (oid := view.blob(path))}
    added: dict[str, set[str]] = {}
    for kept in sliced.kept:
        if kept.role == MUTATE:
            lines = {normal(line) for hunk in kept.hunks for line in hunk.added} - {""}
            added.setdefault(kept.action.path, set()).update(lines)
    landed = [commit for commit in commits if _brought(repository, commit, added)]
    if not landed:
        return Anchor(blobs=blobs)
    newest = landed[0]
    return Anchor(
        commit=newest.id,
        tree=newest.tree,
        patch=history.patch_id(repository.git, newest.id),
        commits=tuple(commit.id for commit in landed[:50]),
        blobs=blobs,
    )


def _brought(repository: Repository, commit: Commit, added: Mapping[str, set[str]]) -> bool:
    """Whether a commit put at least one of the lines into its file (or changed a file whose
    lines the log does not tell)."""
    for change in commit.changes:
        if change.path in added:
            new = _line_set(repository, change.new_blob) - _line_set(repository, change.old_blob)
            lines = added[change.path]
            if new & lines or not lines:
                return True
    return False


def _line_set(repository: Repository, blob: str) -> set[str]:
    if not blob:
        return set()
    text = repository.blob(blob).decode("utf-8", "replace")
    return {normal(line) for line in text.splitlines()}


def _keep(
    repository: Repository, session: Session, sliced: Slice, playbook: Playbook, raw: bool
) -> Captured:
    """Store the playbook unless the session's record already says the same, or was forgotten."""
    store = Store(repository)
    # Whoever tells of this capture tells what is stored, and nothing else.
    playbook = from_document(store.clean(to_document(playbook)))
    key = f"{playbook.agent} {playbook.session}"
    with Index(repository.layout) as index:
        earlier = index.by_session(key)
        forgotten = [record for record, (session_, _) in index.gone().items() if session_ == key]
    inbox.settle(store, key)
    if forgotten:
        return Captured(FORGOTTEN, session, sliced, forgotten[0], playbook)
    same = [row for row in earlier if _same(store, row, playbook)]
    if same:
        # What this clone would say itself is trusted, also after a crash between the two refs.
        trust.mark_own(store, [same[0].id])
        return Captured(KNOWN, session, sliced, same[0].id, playbook)
    replaced = tuple(row.id for row in earlier)
    playbook = playbook._replace(supersedes=replaced)
    limits = rawcap.caps(repository.git)  # a mistake there stops before anything is stored
    put = store.put(to_document(playbook), keywords=keywords(playbook))
    if put.outcome in (STORED, KNOWN):
        trust.mark_own(store, [put.id])
    if put.outcome == STORED:
        line = note_line(put.id, playbook.title)
        before = (commit for row in earlier for commit in _commits(row))
        now = playbook.anchor.commits
        lines = {commit: [line] if commit in now else [] for commit in (*before, *now)}
        store.annotate(lines, gone=replaced)
        if raw and rawcap.wanted(repository.git):
            patch = history.patch(repository.git, playbook.anchor.commit, playbook.files)
            store.keep_raw(put.id, trace(session, sliced), patch, replaced)
            rawcap.prune(store, limits)
    return Captured(put.outcome, session, sliced, put.id, playbook, replaced=replaced)


def _commits(row: Row) -> tuple[str, ...]:
    return from_document(json.loads(row.document)).anchor.commits


def _same(store: Store, earlier: Row, new: Playbook) -> bool:
    """Whether two records of one session say the same; who captured it does not matter."""
    old = from_document(json.loads(earlier.document))
    blank: dict[str, Any] = {"supersedes": (), "author": ""}
    redacted = store.clean(to_document(new._replace(**blank)))
    return bool(to_document(old._replace(**blank)) == redacted)


def trace(session: Session, sliced: Slice) -> str:
    """The session's actions as JSON lines, each with ``kept`` and, for dropped ones, why not."""
    kept = {item.index: item.role for item in sliced.kept}
    lines = []
    size = 0
    for index, action in enumerate(session.actions):
        fields = {
            name: value for name, value in action._asdict().items() if value not in ("", (), None)
        }
        line = json.dumps({"n": index, "kept": kept.get(index, ""), **fields}, ensure_ascii=False)
        size += len(line)
        if size > _TRACE_LIMIT:
            break
        lines.append(line)
    return "\n".join(lines) + "\n"


def describe_missing(missing: str) -> str:
    """Which of the two conditions a session did not meet, as a sentence."""
    sentences = {
        "edit": "none of its edits is in git's files now",
        "check": "no check passed after the edits",
        "scratch": "only throw-away scripts passed after the edits, no check that git knows",
        "both": "none of its edits is in git's files now, and no check passed",
    }
    if missing not in sentences:
        raise InputError(f"unknown condition {missing!r}")
    return sentences[missing]
