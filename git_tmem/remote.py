"""Sharing: fetch into tracking refs, merge as set union, push, all by the user's own git.

Never a forced push, never a refspec in the user's configuration, never a branch. A fetch
fills ``refs/tmem-remote/<remote>/``; merging is a second, offline step. A bundle, git's own
file for where there is no network, comes in by the same road through ``refs/tmem-bundle/``,
which is emptied afterwards.
"""

from __future__ import annotations

import os
import random
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from git_tmem import hooklog, merge, repair, rewrite, schema, trust
from git_tmem.errors import InputError, NothingFound, RemoteError, StoreError, TmemError
from git_tmem.git import Git, environment
from git_tmem.playbook import record_id
from git_tmem.render import plain
from git_tmem.repo import NOBODY, Repository
from git_tmem.store import MAIN, NOTES, RAW, Store

T = TypeVar("T")
TRACKING = "refs/tmem-remote"
_UNPACKED = "refs/tmem-bundle"
#: What origins say of records that came in a bundle; no remote can have a space in its name.
BUNDLE = "a bundle"
#: Fetch, merge and push again at most this often when others keep pushing.
_ROUNDS = 5
#: Records accepted in one fetch, so that a hostile remote cannot fill the disk unseen.
_MOST = 100_000
_NOTE_LINE = re.compile(r"[0-9a-f]{12} [^\x00-\x1f\x7f]{0,400}")
_NAME = re.compile(r"[^\s\-:][^\s:]*")


#: Tells git and its helpers that nobody is there to answer; see git(1) and gitcredentials(7).
#: An askpass program that is set and empty is one that is never run.
_SILENT = {"GIT_TERMINAL_PROMPT": "0", "GIT_ASKPASS": "", "GCM_INTERACTIVE": "never"}


class Limits(NamedTuple):
    """How long one fetch or push may take, and whether the user may be asked a password."""

    seconds: float = 120.0
    prompts: bool = True


_PATIENT = Limits()


class Merged(NamedTuple):
    """What a merge brought: records added, records taken out by tombstones, entries refused
    as (path, reason), whether the other side still has what was purged, and events of tasks
    added."""

    added: int
    removed: int
    refused: tuple[tuple[str, str], ...]
    tainted: bool = False
    events: int = 0


class Pushed(NamedTuple):
    """What a push did: how many records the remote now has, how many of these (and of their
    tombstones) were new to it, and how many events of tasks were."""

    records: int
    published: int
    events: int = 0


def check_remote(git: Git, remote: str) -> str:
    """A configured remote's name. Raises RemoteError when there is none of that name."""
    _, data = git.output("remote")
    names = data.decode("utf-8", "replace").split()
    if remote in names and _NAME.fullmatch(remote):
        return remote
    if not names:
        raise RemoteError("this repository has no remote", "git remote add origin URL")
    raise RemoteError(f"no remote is called {remote!r}", f"there is: {', '.join(names)}")


def default_remote(git: Git) -> str:
    """The remote of the current branch, else the only one, else origin."""
    _, data = git.output("symbolic-ref", "--short", "--quiet", "HEAD")
    branch = data.decode("utf-8", "replace").strip()
    configured = git.config(f"branch.{branch}.remote") if branch else ""
    if configured and configured != ".":
        return configured
    _, data = git.output("remote")
    names = data.decode("utf-8", "replace").split()
    return names[0] if len(names) == 1 else "origin"


def fetch(repository: Repository, remote: str, limits: Limits = _PATIENT) -> Merged:
    """Fetch a remote's records and merge them. Raises RemoteError when it does not answer."""
    check_remote(repository.git, remote)
    return _repairing(repository, lambda: _fetch(repository, remote, limits))


def _repairing(repository: Repository, work: Callable[[], T]) -> T:
    """Do it; when it fails and something of ours here is damaged, repair that and do it again."""
    try:
        return work()
    except (StoreError, RemoteError):
        if not _repaired(Store(repository)):
            raise
    return work()


def _repaired(store: Store) -> bool:
    """Repair what is damaged of ours; what tracks a remote is let go of, for it has it."""
    repository = store.repository
    done = []
    with store.lock():
        for ref in (MAIN, NOTES, RAW, trust.TRUST):
            tip = repository.ref(ref)
            if tip and not repair.is_whole(repository.git, tip):
                done.append(repair.repair(store, ref).describe())
        data = repository.git.run("for-each-ref", "--format=%(objectname) %(refname)", TRACKING)
        for line in data.decode("utf-8", "replace").splitlines():
            tip, _, ref = line.partition(" ")
            if not repair.is_whole(repository.git, tip):
                repository.git.attempt("update-ref", "-d", ref, tip)
                done.append(f"let go of {ref}, which could not be read; a fetch brings it back")
    for line in done:
        hooklog.write(repository.layout, line)
    return bool(done)


def _fetch(repository: Repository, remote: str, limits: Limits) -> Merged:
    asked = _fetching(remote, f"{TRACKING}/{remote}")
    status, _, error = _online(repository.git, asked, limits)
    if status != 0:
        raise RemoteError(f"fetch from {remote}: {_reason(error)}", "nothing was changed here")
    return merge_from(repository, remote)


def fetch_bundle(repository: Repository, path: str) -> Merged:
    """Merge the records in a bundle, checked as those of any remote.

    Raises RemoteError when git cannot read it.
    """
    path = os.path.abspath(path)
    env = {**environment(), "GIT_ALLOW_PROTOCOL": "file"}
    status, _, error = repository.git.attempt(*_fetching(path, _UNPACKED), env=env)
    if status != 0:
        reason = f"{path} is no bundle that can be read: {_reason(error)}"
        raise RemoteError(reason, "one is made with: git tmem bundle create FILE")
    try:
        return merge_from(repository, BUNDLE, _UNPACKED)
    finally:
        for ref in (f"{_UNPACKED}/main", f"{_UNPACKED}/notes/tmem"):
            if tip := repository.ref(ref):
                repository.drop_ref(ref, tip)


def create_bundle(repository: Repository, path: str) -> int:
    """Write all records and notes to a file for ``fetch_bundle``; how many records there are.

    Raises NothingFound when there are none, StoreError when the file cannot be written.
    """
    refs = [ref for ref in (MAIN, NOTES) if repository.ref(ref)]
    if MAIN not in refs:
        raise NothingFound("there are no records to bundle yet", "git tmem capture")
    asked = ("bundle", "create", "--quiet", os.path.abspath(path), *refs)
    status, _, error = repository.git.attempt(*asked)
    if status != 0:
        raise StoreError(f"{path} cannot be written: {_reason(error)}")
    return _count(repository, repository.ref(MAIN))


def _fetching(source: str, place: str) -> list[str]:
    return [
        "-c",
        "fetch.fsckObjects=true",
        "fetch",
        "--no-tags",
        "--no-write-fetch-head",
        "--prune",
        "--quiet",
        "--no-auto-gc",
        "--no-filter",  # a partial clone wants records whole
        source,
        f"+refs/tmem/*:{place}/*",
        f"+refs/notes/tmem*:{place}/notes/tmem*",
    ]


def _online(git: Git, asked: list[str], limits: Limits) -> tuple[int, bytes, bytes]:
    env = environment(online=True)
    if not limits.prompts:
        env |= _SILENT
        if not ({"GIT_SSH", "GIT_SSH_COMMAND"} & set(env) or git.config("core.sshCommand")):
            env["GIT_SSH_COMMAND"] = "ssh -oBatchMode=yes"
    return git.attempt(*asked, timeout=limits.seconds, env=env)


def merge_from(repository: Repository, remote: str, place: str = "") -> Merged:
    """Merge what was last fetched from a remote (to refs below ``place``); offline. Merging
    twice changes nothing."""
    place = place or f"{TRACKING}/{remote}"
    theirs = repository.ref(f"{place}/main")
    merged = Merged(0, 0, ())
    if theirs:
        merged = _merge_main(repository, theirs)
        _learn_origins(repository, remote, theirs)
    notes = repository.ref(f"{place}/notes/tmem")
    if notes:
        _merge_notes(repository, notes)
    return merged._replace(tainted=_drop_purged(repository, place))


def _drop_purged(repository: Repository, place: str) -> bool:
    """Let go of fetched refs that reach what was purged, and of those objects; whether any did."""
    denied = _denied(_ids(repository, repository.ref(MAIN)))
    found: set[str] = set()
    for ref in (f"{place}/main", f"{place}/notes/tmem") if denied else ():
        tip = repository.ref(ref)
        if tip and _reaches(repository.git, denied, tip, repository.ref(MAIN)):
            found |= rewrite.reachable(repository.git, tip)
            repository.git.attempt("update-ref", "-d", ref, tip)
    if found:
        found -= rewrite.reachable(repository.git, "--all", "--reflog", "--indexed-objects")
        rewrite.remove(repository.git, found)
    return bool(found)


def _denied(paths: Iterable[str]) -> set[str]:
    """The marks of purged objects among the paths of a store."""
    return {path for path in paths if merge.PURGED_PATH.fullmatch(path)}


def _reaches(git: Git, denied: set[str], tip: str, other: str) -> bool:
    """Whether a history has, besides what ``other`` reaches, something that was purged."""
    if not denied or not tip:
        return False
    new = rewrite.reachable(git, tip, *([f"^{other}"] if other else []))
    return any(merge.purged_path(oid) in denied for oid in new)


def _learn_origins(repository: Repository, remote: str, theirs: str) -> None:
    """Mark what came from a remote, and accept what an allowed signer signed. Done at every
    fetch for all that is here, so what a crash left undone is made up for."""
    store = Store(repository)
    ours = _ids(repository, store.tip())
    here = [path for path in _ids(repository, theirs) if path in ours]
    matches = (merge.RECORD_PATH.fullmatch(path) for path in here)
    records = [match["id"] for match in matches if match and match["room"] == "mem"]
    trust.mark_seen(store, remote, records)
    trust.accept_signed(store, store.tip())


def _merge_main(repository: Repository, theirs: str) -> Merged:
    store = Store(repository)
    their_tree = repository.tree_of(theirs)
    store.refuse_newer(their_tree)
    their_files = repository.files(their_tree)
    with store.lock():
        for _ in range(_ROUNDS * 4):
            old = store.tip()
            if old and _is_ancestor(repository.git, theirs, old):
                return Merged(0, 0, ())
            ours = _ids(repository, old)
            usable, refused = _usable(repository.git, their_files, ours)
            union = merge.merge_trees(ours, usable)
            whole = not refused and union.keys() <= their_files.keys()
            if _advance(store, old, theirs, ours, union, clean=whole):
                added = [path for path in union if path.startswith("mem/") and path not in ours]
                taken = [path for path in ours if path not in union]
                events = sum(path.startswith("tasks/") for path in union if path not in ours)
                return Merged(len(added), len(taken), refused, events=events)
            time.sleep(random.uniform(0.002, 0.05))  # noqa: S311
    raise RemoteError("the local records are being changed by others", "try again")


def _advance(
    store: Store, old: str, theirs: str, ours: dict[str, str], union: dict[str, str], clean: bool
) -> bool:
    """Move the ref to the merged state: by fast-forward when theirs has all that is ours."""
    repository = store.repository
    denied = _denied(union)
    if _reaches(repository.git, denied, theirs, old):  # their records come, their history not
        return _take_over(store, old, old or store.root(), union)
    if _reaches(repository.git, denied, old, theirs):
        return _take_over(store, old, theirs, union)
    if clean and (not old or _is_ancestor(repository.git, old, theirs)):
        return repository.move_ref(MAIN, old, theirs, "tmem: fetch")
    start = old or store.root()
    edits = {path: oid for path, oid in union.items() if ours.get(path) != oid}
    edits.update({path: "" for path in ours if path not in union})
    tree = repository.edit_tree(repository.tree_of(start), edits)
    return store.publish_merge(MAIN, old, start, tree, theirs)


def _take_over(store: Store, old: str, start: str, union: Mapping[str, str]) -> bool:
    """Move the ref to ``union`` on top of ``start`` alone; the other history stays behind."""
    repository = store.repository
    there = _ids(repository, start)
    edits = {path: oid for path, oid in union.items() if there.get(path) != oid}
    edits.update({path: "" for path in there if path not in union})
    tree = repository.edit_tree(repository.tree_of(start), edits)
    return _move_alone(store, MAIN, old, start, tree)


def _move_alone(store: Store, ref: str, old: str, start: str, tree: str) -> bool:
    """Move a ref to a tree whose history is that of ``start`` ('' for none) and no other."""
    repository = store.repository
    commit = start
    if tree != (repository.tree_of(start) if start else repository.empty_tree):
        moment = repository.time_of(start) if start else 0
        parents = (start,) if start else ()
        message = "merge: union without what was purged\n"
        commit = repository.write_commit(tree, parents, message, NOBODY, moment)
    repository.flush()
    return commit == old or repository.move_ref(ref, old, commit, "tmem: fetch")


def _usable(
    git: Git, theirs: Mapping[str, tuple[int, str]], ours: Mapping[str, str]
) -> tuple[dict[str, str], tuple[tuple[str, str], ...]]:
    """Entries of a fetched tree that may be taken over, and the refused ones with reasons.

    Only a plain file of a record's name, whose content has that id and passes the schema,
    is taken; one bad entry never hides the rest.
    """
    usable = {path: oid for path, (_, oid) in theirs.items() if ours.get(path) == oid}
    refused = []
    empty = git.run("hash-object", "-t", "blob", "--stdin").decode("ascii").strip()
    fresh: list[tuple[str, str]] = []
    for path, (mode, oid) in theirs.items():
        if path in usable or path == merge.FORMAT_PATH:
            continue
        if merge.PURGED_PATH.fullmatch(path) and (mode, oid) == (0o100644, empty):
            usable[path] = oid
        elif merge.content_name(path) and mode == 0o100644:
            fresh.append((path, oid))
        else:
            refused.append((path, "no name or mode of a record"))
    if len(fresh) > _MOST:  # to take a part would take the rest out for everybody
        raise RemoteError(
            f"{len(fresh)} new records at once, more than the {_MOST} that are taken",
            "nothing was changed here; ask whoever pushed them",
        )
    for path, data in git.blobs(fresh, merge.SIZE_LIMIT):
        try:
            check_entry(path, data)
        except TmemError as error:
            refused.append((path, error.message))
        else:
            usable[path] = theirs[path][1]
    return usable, tuple(sorted(refused))


def check_entry(path: str, data: bytes) -> None:
    """Raise InputError unless ``data`` is the record, tombstone or event that ``path`` names."""
    match = merge.RECORD_PATH.fullmatch(path) or merge.TASK_PATH.fullmatch(path)
    if match is None:
        raise InputError("no name of a record")
    if not data:
        raise InputError(f"missing, empty or larger than {merge.SIZE_LIMIT} bytes")
    document = schema.parse(data, "it")
    if path.startswith("gone/"):
        schema.validate(document, "tombstone", "it")
        if document["id"] != match["id"]:
            raise InputError("it names another record")
        return
    if record_id(data) != match["id"]:
        raise InputError("its content is not what its name says")
    schema.refuse_newer(document, "it")
    if path.startswith("tasks/"):
        schema.validate(document, "task", "it")
        if document.get("task", match["id"]) != match["task"]:
            raise InputError("it is an event of another task")
        return
    schema.validate(document, schema.kind_of(document, "it"), "it")


def _merge_notes(repository: Repository, theirs: str) -> None:
    """Take over notes. Where one side has all of the other's, what must not be there (lines of
    forgotten records) is taken out on top of that side alone: the same commit in every clone."""
    store = Store(repository)
    paths = _ids(repository, store.tip())
    denied = _denied(paths)
    gone = [path for path in paths if path.startswith("gone/")]
    dead = [path.rpartition("/")[2].removesuffix(".json") for path in gone]
    with store.lock():
        for _ in range(_ROUNDS * 4):
            old = repository.ref(NOTES)
            base, other, alone = _sides(repository.git, denied, old, theirs)
            before = repository.tree_of(base) if base else repository.empty_tree
            tree = repository.edit_tree(before, _note_edits(repository, old, base, other, dead))
            if alone:
                moved = _move_alone(store, NOTES, old, base, tree)
            elif other or tree != before:
                moved = store.publish_merge(NOTES, old, base, tree, other)
            else:
                moved = base == old or repository.move_ref(NOTES, old, base, "tmem: fetch")
            if moved:
                return
            time.sleep(random.uniform(0.002, 0.05))  # noqa: S311
    raise RemoteError("the local notes are being changed by others", "try again")


def _sides(git: Git, denied: set[str], old: str, theirs: str) -> tuple[str, str, bool]:
    """Which commit of notes to build on, which to add ('' for none), and whether the history of
    the latter must stay behind, because something in it was purged."""
    if _reaches(git, denied, theirs, old):
        return old, theirs, True
    if _reaches(git, denied, old, theirs):
        return theirs, old, True
    if not old or _is_ancestor(git, old, theirs):
        return theirs, "", False
    return old, "" if _is_ancestor(git, theirs, old) else theirs, False


def _note_edits(
    repository: Repository, old: str, base: str, other: str, dead: Sequence[str]
) -> dict[str, str]:
    """Edits of the tree of ``base``: every note gets the lines of ``other``, none has lines of
    the dead, and what ``old`` does not have is checked, for it comes from others."""
    known, ours, more = (_notes_of(repository, commit) for commit in (old, base, other))
    theirs = {name: oid for name, (_, oid) in more.items() if ours.get(name, ("", ""))[1] != oid}
    mine = {name: oid for name, (_, oid) in ours.items()}
    fresh = {name for name in mine if known.get(name, ("", ""))[1] != mine[name]}
    looked = sorted(set(mine) if dead else fresh | (set(mine) & set(theirs)))
    read = repository.git.blobs
    texts = dict(read([(name, mine[name]) for name in looked], merge.SIZE_LIMIT))
    added = dict(read(list(theirs.items()), merge.SIZE_LIMIT))
    junk = set(_ids(repository, base)) - {path for path, _ in ours.values()}
    edits = dict.fromkeys(junk, "")
    for name in sorted({*looked, *theirs}):
        lines = _lines(texts.get(name, b""))
        lines = _good(lines) if name in fresh else lines
        merged = merge.merge_lines(lines, _good(_lines(added.get(name, b""))), dead)
        text = "".join(f"{line}\n" for line in merged).encode()
        if text != texts.get(name, b""):
            path = ours[name][0] if name in ours else f"{name[:2]}/{name[2:]}"
            edits[path] = repository.write_blob(text) if text else ""
    return edits


def _notes_of(repository: Repository, commit: str) -> dict[str, tuple[str, str]]:
    """The notes of a commit of notes: annotated commit -> (path, blob id)."""
    files = repository.files(repository.tree_of(commit)) if commit else {}
    named = ((path.replace("/", ""), path, mode, oid) for path, (mode, oid) in files.items())
    return {
        name: (path, oid)
        for name, path, mode, oid in named
        if mode == 0o100644 and re.fullmatch(r"[0-9a-f]{40,64}", name)
    }


def _good(lines: Iterable[str]) -> list[str]:
    return [line for line in lines if _NOTE_LINE.fullmatch(line)]


def push(repository: Repository, remote: str, limits: Limits = _PATIENT) -> Pushed:
    """Publish records and notes; when others were faster, fetch, merge and try again.

    Raises RemoteError, naming how many records stay unpublished, when that does not succeed.
    """
    check_remote(repository.git, remote)
    return _repairing(repository, lambda: _push(repository, remote, limits))


def _push(repository: Repository, remote: str, limits: Limits) -> Pushed:
    for attempt in range(_ROUNDS):
        tips = {ref: tip for ref in (MAIN, NOTES) if (tip := repository.ref(ref))}
        if MAIN not in tips:
            return Pushed(0, 0)
        new = unpublished(repository, remote)
        events = sum(path.startswith("tasks/") for path in new)
        waiting = len(new) - events
        status, out, error = _push_once(repository.git, remote, list(tips), limits)
        if status == 0:
            _remember(repository, remote, tips)
            held = _count(repository, tips[MAIN])
            # A remote that was emptied since it was last seen has all of it anew.
            emptied = any(line.startswith(f"*\t{MAIN}:".encode()) for line in out.splitlines())
            return Pushed(held, held if emptied else waiting, events)
        if not any(line.startswith(b"!") for line in out.splitlines()):
            break
        time.sleep(random.uniform(0, 0.1 * attempt))  # noqa: S311
        if fetch(repository, remote, limits).tainted:
            raise RemoteError(
                f"push to {remote}: it still holds what was purged here",
                f"to replace it there: git push --force {remote} {MAIN} {NOTES}",
            )
    raise RemoteError(
        f"push to {remote}: {_reason(error, out)}; {waiting} records stay unpublished",
        "they are safe in this clone; run git tmem push again later",
    )


def unpublished(repository: Repository, remote: str) -> list[str]:
    """Store paths that the remote, as last seen, does not have."""
    theirs = _ids(repository, repository.ref(f"{TRACKING}/{remote}/main"))
    ours = _ids(repository, repository.ref(MAIN))
    return [path for path in ours if path not in theirs and path != merge.FORMAT_PATH]


def _push_once(git: Git, remote: str, refs: list[str], limits: Limits) -> tuple[int, bytes, bytes]:
    specs = [f"{ref}:{ref}" for ref in refs]
    asked = ["push", "--porcelain", "--no-verify", remote, *specs]
    return _online(git, asked, limits)


def _remember(repository: Repository, remote: str, tips: Mapping[str, str]) -> None:
    """Note in the tracking refs what the remote has now, as a fetch would."""
    names = {MAIN: f"{TRACKING}/{remote}/main", NOTES: f"{TRACKING}/{remote}/notes/tmem"}
    for ref, tip in tips.items():
        name = names[ref]
        repository.move_ref(name, repository.ref(name), tip, "tmem: push")


def _count(repository: Repository, tip: str) -> int:
    return sum(path.startswith("mem/") for path in _ids(repository, tip))


def _ids(repository: Repository, commit: str) -> dict[str, str]:
    tree = repository.tree_of(commit) if commit else ""
    return {path: oid for path, (_, oid) in repository.files(tree).items()}


def _is_ancestor(git: Git, old: str, new: str) -> bool:
    return git.output("merge-base", "--is-ancestor", old, new)[0] == 0


def _lines(data: bytes) -> list[str]:
    return data.decode("utf-8", "replace").splitlines()


def _reason(error: bytes, out: bytes = b"") -> str:
    """Git's own words for a failure, on one line."""
    refused = [line for line in _lines(out) if line.startswith("!")]
    said = [line for line in _lines(error) if line.strip() and not line.startswith("hint:")]
    lines = [line.partition("fatal: ")[2] or line.partition("error: ")[2] for line in said]
    line = next(filter(None, lines), "") or (said or refused or ["no reason given"])[-1]
    return plain(" ".join(line.split()))[:300]
