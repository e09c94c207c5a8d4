"""Looking a repository's memory over: each check finds all well, mends, or says what to do.

Nothing of the user's is changed: of git's own files only the stale locks of our refs go, and
those only while this process holds the store's own lock.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

from git_tmem import agents, journal, mirror
from git_tmem.adapters import glance, was_seen
from git_tmem.errors import InputError, StoreError, TmemError
from git_tmem.git import Layout, through_shell
from git_tmem.history import worktrees
from git_tmem.index import Index
from git_tmem.install import HOOKS, hook_state, hooks_folder
from git_tmem.repair import is_whole, repair
from git_tmem.repo import Repository
from git_tmem.sessions import find_sessions
from git_tmem.store import INBOX, MAIN, NOTES, RAW, Store

OK = "ok"
FIXED = "fixed"
NEEDS_YOU = "needs you"

#: Seconds after which a lock of our refs or a temporary file of ours is nobody's any more.
STALE = 600
#: The oldest git that says all that is asked of it.
_OLDEST = (2, 31)
#: Seconds within which a hook must have answered, start of the interpreter included.
_HOOK_SECONDS = 10
_MISLEADING = ("GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY")
_OWN_LOCKS = ("refs/tmem", "refs/tmem-local", "refs/notes/tmem.lock")

#: Sessions whose agents' versions are looked at, the newest ones.
_NEWEST = 20


class Check(NamedTuple):
    """One finding: a name, ok, fixed or needs you, and a sentence."""

    name: str
    state: str
    text: str


def examine(repository: Repository) -> Iterator[Check]:
    """Every check in turn, mending as it goes; a check that fails is a finding, not an end."""
    checks: tuple[tuple[str, Callable[[Repository], Iterator[Check]]], ...] = (
        ("repository", _repository),
        ("git", _git),
        ("path", _on_path),
        ("hook", _hook),
        ("agents", _agents),
        ("locks", _locks),
        ("leftovers", _leftovers),
        ("store", _store),
        ("journal", _journal),
        ("index", _index),
        ("mirror", _mirror),
        ("sessions", _sessions),
    )
    for name, check in checks:
        try:
            yield from check(repository)
        except TmemError as error:
            hint = f"; {error.hint}" if error.hint and error.hint != "git tmem doctor" else ""
            yield Check(name, NEEDS_YOU, f"{error.message}{hint}")
        except OSError as error:
            yield Check(name, NEEDS_YOU, f"{error.filename or 'a file'}: {error.strerror}")


def _repository(repository: Repository) -> Iterator[Check]:
    layout = repository.layout
    where = layout.top or f"{layout.git_dir} (bare)"
    set_here = [name for name in _MISLEADING if os.environ.get(name)]
    because = f", because {', '.join(set_here)} is set" if set_here else ""
    yield Check("repository", OK, f"{where}{because}")
    beside = os.path.basename(layout.common_dir) == ".git" and not layout.top
    if beside and repository.git.config("core.bare") == "true":
        yield Check(
            "core.bare",
            NEEDS_YOU,
            "core.bare is true in a repository with a work tree; if that was not meant:"
            " git config core.bare false",
        )


def _git(repository: Repository) -> Iterator[Check]:
    _, data = repository.git.output("version")
    text = data.decode("utf-8", "replace").strip()
    found = re.search(r"(\d+)\.(\d+)", text)
    version = (int(found[1]), int(found[2])) if found else (0, 0)
    if version >= _OLDEST:
        yield Check("git", OK, text)
    else:
        yield Check("git", NEEDS_YOU, f"{text or 'no version'}; install git 2.31 or newer")


def _on_path(_: Repository) -> Iterator[Check]:
    if shutil.which("git-tmem"):
        yield Check("path", OK, "git-tmem is on PATH")
    else:
        text = "git-tmem is not on PATH, so hooks find nothing to run; pipx install puts it there"
        yield Check("path", NEEDS_YOU, text)


def _hook(repository: Repository) -> Iterator[Check]:
    folder = repository.git.config("core.hooksPath")
    where = f" in {hooks_folder(repository.layout)} (core.hooksPath)" if folder else ""
    for name in HOOKS:
        state = hook_state(repository.layout, name)
        if state == "installed":
            yield Check("hook", OK, f"{name} is installed{where}")
        elif state == "absent":
            yield Check("hook", NEEDS_YOU, f"{name} is not installed{where}; git tmem init")
        else:
            text = f"{name} belongs to something else{where}; git tmem init keeps it and adds ours"
            yield Check("hook", NEEDS_YOU, text)


def _agents(repository: Repository) -> Iterator[Check]:
    """Every hook of every agent is called as the agent would: by the line in its settings."""
    for name in agents.known():
        for path, lines in agents.commands_of(repository.layout, name):
            wrong = next(filter(None, (_dry_run(repository.layout, line) for line in lines)), "")
            if wrong:
                yield Check(name, NEEDS_YOU, f"{path}: {wrong}")
            else:
                yield Check(name, OK, f"{path}: {len(lines)} hooks answer")


def _dry_run(layout: Layout, line: str) -> str:
    """What is wrong with a hook's command line, '' if nothing is."""
    status, out, err = through_shell(line, layout.top, b"{}", _HOOK_SECONDS)
    if status != 0:
        last = err.decode("utf-8", "replace").strip().splitlines() or ["no reason given"]
        return f"{line} exits {status}: {last[0][:120]}"
    said = out.strip()
    if said and not (said.startswith(b"{") and said.endswith(b"}")):
        return f"{line} prints what no agent can read"
    return ""


def _locks(repository: Repository) -> Iterator[Check]:
    """Locks that a killed writer left on our refs, and on no others."""
    fresh = 0
    with Store(repository).lock():
        for path in _lock_files(repository.layout):
            name = os.path.relpath(path, repository.layout.common_dir)
            with contextlib.suppress(FileNotFoundError):
                if time.time() - os.stat(path).st_mtime > STALE:
                    os.unlink(path)
                    yield Check("locks", FIXED, f"removed {name}, left by a killed process")
                else:
                    fresh += 1
                    text = f"{name} is in use, or was left less than {STALE // 60} minutes ago;"
                    yield Check("locks", NEEDS_YOU, f"{text} run git tmem doctor again later")
    if not fresh:
        yield Check("locks", OK, "no lock of ours is held")


def _lock_files(layout: Layout) -> Iterator[str]:
    for root in _OWN_LOCKS:
        path = os.path.join(layout.common_dir, *root.split("/"))
        if os.path.isfile(path):
            yield path
        for folder, _, names in os.walk(path):
            yield from (os.path.join(folder, name) for name in names if name.endswith(".lock"))


def _leftovers(repository: Repository) -> Iterator[Check]:
    """Temporary object files that a killed writer of ours left; git's own have other names."""
    removed = 0
    objects = os.path.join(repository.layout.common_dir, "objects")
    for fan in sorted(os.listdir(objects)):
        for name in os.listdir(os.path.join(objects, fan)) if len(fan) == 2 else ():
            path = os.path.join(objects, fan, name)
            if re.fullmatch(r"tmp_obj_\d+_[0-9a-f]{8}", name):
                with contextlib.suppress(FileNotFoundError):
                    if time.time() - os.stat(path).st_mtime > STALE:
                        os.unlink(path)
                        removed += 1
    if removed:
        yield Check("leftovers", FIXED, f"removed {removed} temporary object files")
    else:
        yield Check("leftovers", OK, "no temporary object files")


def _store(repository: Repository) -> Iterator[Check]:
    """The refs with content: readable, whole, of a format that is known."""
    store = Store(repository)
    for ref in (MAIN, NOTES, RAW, INBOX):
        yield from _ref(store, ref)
    tip = store.tip()
    if tip:
        store.refuse_newer(repository.tree_of(tip))


def _ref(store: Store, ref: str) -> Iterator[Check]:
    repository = store.repository
    try:
        tip = repository.ref(ref)
        if not tip:
            yield Check("store", OK, f"{ref} does not exist yet")
            return
        if is_whole(repository.git, tip):
            repository.tree_of(tip)
            yield Check("store", OK, f"{ref} is whole, at {tip[:12]}")
            return
    except InputError:
        raise
    except StoreError as error:
        if "is not a commit" in error.message:
            text = f"{ref}: {error.message}; see: git reflog show {ref}"
            yield Check("store", NEEDS_YOU, text)
            return
    with store.lock():
        done = repair(store, ref)
    state = NEEDS_YOU if done.lost else FIXED
    yield Check("store", state, done.describe())


def _journal(repository: Repository) -> Iterator[Check]:
    stored: set[str] = set()
    replayed = Store(repository).replay(stored)
    folder = journal.folder_of(repository.layout)
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    for name in names:
        if name.endswith(".damaged"):
            text = f"{name} has lines that cannot be read; the others were stored; delete it then"
            yield Check("journal", NEEDS_YOU, text)
    if replayed:
        yield Check("journal", FIXED, f"{replayed} pending entries, {len(stored)} new, stored now")
    else:
        yield Check("journal", OK, "nothing is pending")


def _index(repository: Repository) -> Iterator[Check]:
    """The index is built anew when anything about it is odd; then damaged records are named."""
    with Index(repository.layout) as index:
        sound = index.is_sound()
    if not sound:
        Index.drop(repository.layout)
    with Index(repository.layout) as index:
        damaged, number = index.damaged(), index.count("record")
    if sound:
        yield Check("index", OK, f"{number} records")
    else:
        yield Check("index", FIXED, f"built anew: {number} records")
    for path, reason in damaged:
        yield Check("records", NEEDS_YOU, f"{path} is not usable: {reason}")


def _mirror(repository: Repository) -> Iterator[Check]:
    folder = mirror.folder_of(repository.layout)
    if not folder:
        yield Check("mirror", OK, "there is none here")
        return
    edited = mirror.edited_files(folder)
    for name in edited:
        text = f"{mirror.FOLDER}/{name} was edited by hand; delete it to get the record's own back"
        yield Check("mirror", NEEDS_YOU, text)
    with Index(repository.layout) as index:
        done = mirror.refresh(repository.layout, index)
    if done.written or done.removed:
        yield Check("mirror", FIXED, f"{done.written} files written, {done.removed} removed")
    elif not edited:
        yield Check("mirror", OK, "it says what the store says")


def _sessions(repository: Repository) -> Iterator[Check]:
    """Agents of the newest sessions here whose versions nobody has read a log of: what they
    write may have changed, which is no fault as long as captures understand it."""
    tops = worktrees(repository.git) if repository.layout.top else []
    strange: dict[tuple[str, str], None] = {}
    found = find_sessions(tops, os.environ, most=_NEWEST) if tops else []
    for log in found:
        with contextlib.suppress(OSError, InputError):
            session = glance(log.path)
            if session and not was_seen(session.agent, session.version):
                strange[session.agent, session.version] = None
    for agent, version in strange:
        text = f"{agent} {version} is a version never seen before;"
        hint = "git tmem capture --verbose says what of its log is not understood"
        yield Check("sessions", OK, f"{text} {hint}")
    if found and not strange:
        yield Check(
            "sessions", OK, f"newest sessions looked at: {len(found)}, all of known versions"
        )
