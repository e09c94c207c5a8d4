"""Records under ``refs/tmem/main``, the notes that point at them, and local raw traces.

Format of the tree of ``refs/tmem/main`` (history: 1 is the first)::

    format.json                  {"format": 1, "kind": "store"}
    mem/<xx>/<id>.json           a record, canonical JSON; <id> is its SHA-256
    gone/<xx>/<id>.json          a tombstone: forgotten, with the reason
    tasks/<xx>/<id>/<event>.json an event of a task; both ids are SHA-256; see ``tasks``
    purged/<xx>/<hash>           an object that must not come back; see ``purge``

``refs/notes/tmem`` has, on each commit a record was made for, one line a record:
``<12 hex of the id> <title>``. It is derived from the records and can be rebuilt.
With ``tmem.sign`` true, git signs the commits of records by its own configuration.
``refs/tmem-local/raw`` has ``<xx>/<id>/trace.jsonl`` and ``patch.diff``; it never leaves
this clone by itself. ``refs/tmem-local/inbox`` is explained in ``inbox``.

Every write is: a line in the journal, new objects, then one compare-and-swap of the ref,
tried again from the new tip when somebody else was faster. The kernel lock around it is for
fairness alone. What fails after the journal stays there for the next writer; a tip that
cannot be read is repaired first. Nothing is written that has not passed ``redact``.
"""

from __future__ import annotations

import contextlib
import os
import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from git_tmem import hooklog, journal, schema
from git_tmem.errors import InputError, StoreError, Unreadable
from git_tmem.journal import NOTE, RECORD, TASK, TOMBSTONE, Entry
from git_tmem.merge import FORMAT_PATH, NOTE_ABBREV, SIZE_LIMIT, record_path, task_path
from git_tmem.playbook import FORMAT, PLAYBOOK, canonical, record_id
from git_tmem.redact import Own, own_patterns, redact_value
from git_tmem.repo import NOBODY, Repository

MAIN = "refs/tmem/main"
NOTES = "refs/notes/tmem"
RAW = "refs/tmem-local/raw"
INBOX = "refs/tmem-local/inbox"

STORED = "stored"
KNOWN = "known"
FORGOTTEN = "forgotten"

#: Tries before a busy ref is reported, and the longest pause between two, in seconds.
_TRIES = 60
_PAUSE = 0.05
#: Commits that are looked at after a writer died.
_LATEST = 50
#: Seconds to wait for the lock; past that the compare-and-swap alone decides.
_LOCK_TIME = 2.0

Edits = Mapping[str, str]


class Put(NamedTuple):
    """What became of a record: its id, and stored, known or forgotten."""

    id: str
    outcome: str


class Store:
    """The records of one repository, shared by all its worktrees."""

    def __init__(self, repository: Repository) -> None:
        self.repository = repository
        self._locked = False
        self._own: Own | None = None

    def clean(self, value: Any) -> Any:
        """A text or a JSON value without secrets, also those that ``tmem.redact`` tells.

        Raises InputError for a pattern there that is none.
        """
        if self._own is None:
            self._own = own_patterns(self.repository.git.configs("tmem.redact"))
        return redact_value(value, self._own)

    def tip(self) -> str:
        """The commit ``refs/tmem/main`` is at, '' while there is none."""
        return self.repository.ref(MAIN)

    def put(self, document: Mapping[str, Any], keywords: Iterable[str] = ()) -> Put:
        """Store one record, once: the same content is known, a forgotten one stays so.

        Raises InputError for a document that is no valid record, StoreError when git or
        the disk refuses.
        """
        document = self.clean(document)
        data = canonical(document)
        schema.validate(document, document["kind"], "the record")
        if len(data) > SIZE_LIMIT:
            raise StoreError(f"the record has {len(data)} bytes, more than {SIZE_LIMIT}")
        name = record_id(data)
        message = self.clean(_message(document, name, keywords))
        outcome = STORED
        with self._journaled(Entry(RECORD, name, data.decode(), message)) as replayed:
            outcome = self._put(name, data, message)
        # A try that failed before is this same put: it is new to whoever asked for it.
        return Put(name, STORED if name in replayed else outcome)

    def _put(self, name: str, data: bytes, message: str) -> str:
        """Put a record's bytes in the tree, unless it is there or forgotten; the outcome."""
        outcome = STORED

        def edits(tree: str) -> Edits:
            nonlocal outcome
            if self.repository.entry(tree, record_path("gone", name)):
                outcome = FORGOTTEN
            elif self.repository.entry(tree, record_path("mem", name)):
                outcome = KNOWN
            else:
                outcome = STORED
                return {record_path("mem", name): self.repository.write_blob(data)}
            return {}

        self.publish(MAIN, edits, message)
        return outcome

    def put_event(self, document: Mapping[str, Any], message: str) -> str:
        """Store an event of a task, once; its id. Raises as :meth:`put` does."""
        document = self.clean(document)
        data = canonical(document)
        schema.validate(document, "task", "the task")
        name = record_id(data)
        message = self.clean(message)
        with self._journaled(Entry(TASK, name, data.decode(), message)):
            self._put_event(name, data, message)
        return name

    def _put_event(self, name: str, data: bytes, message: str) -> None:
        path = event_path(name, data)
        self.publish(MAIN, lambda _: {path: self.repository.write_blob(data)}, message)

    def forget(self, record: str, reason: str, title: str, session: str) -> None:
        """Replace a record by a tombstone that wins every merge; its raw trace goes too."""
        tombstone = self.clean(
            {
                "format": FORMAT,
                "kind": "tombstone",
                "id": record,
                "reason": reason,
                "author": self.repository.identity().line,
                "session": session,
            }
        )
        schema.validate(tombstone, "tombstone", "the tombstone")
        data = canonical(tombstone)
        subject = f"forget: {title}\n\n{reason}\n\nTmem-Id: {record}\nTmem-Kind: tombstone\n"
        message = self.clean(subject)
        with self._journaled(Entry(TOMBSTONE, record, data.decode(), message)):
            self._bury(record, data, message)

    def _bury(self, record: str, data: bytes, message: str) -> None:
        """Put a tombstone's bytes in the place of its record."""

        def edits(_: str) -> Edits:
            blob = self.repository.write_blob(data)
            return {record_path("mem", record): "", record_path("gone", record): blob}

        self.publish(MAIN, edits, message)
        self.drop_raw(record)

    @contextlib.contextmanager
    def _journaled(self, *entries: Entry) -> Iterator[set[str]]:
        """Write entries to the journal, let the caller store them, and account for them.

        What an earlier writer left there is stored first, and the ids of what was new come
        out. A StoreError leaves the entries
        for the next writer, and says so; a document that is refused is not kept.
        """
        held = journal.write(self.repository.layout, entries)
        try:
            with self.lock():
                replayed: set[str] = set()
                with contextlib.suppress(StoreError, InputError):
                    self.replay(replayed)
                yield replayed
        except StoreError as error:
            held.leave()
            raise type(error)(
                f"{error.message}; it is kept in the journal",
                "; ".join(
                    filter(None, (error.hint, "the next capture stores it, or: git tmem doctor"))
                ),
            ) from error
        except InputError:
            held.drop()
            raise
        held.done()

    def replay(self, stored: set[str]) -> int:
        """Store what writers that failed or died left in the journal; how many entries.

        The ids of records that were new are added to ``stored``. A batch with damaged lines
        is set aside after its good ones are stored. Raises StoreError or NewerFormat when
        the store still cannot be written.
        """
        replayed = 0
        with self.lock():
            for batch in journal.pending(self.repository.layout):
                for entry in batch.entries:
                    if self._replay_one(entry) == STORED:
                        stored.add(entry.name)
                replayed += len(batch.entries)
                if batch.bad:
                    path = os.path.basename(journal.set_aside(batch.path))
                    lost = f"{batch.bad} lines cannot be read, {len(batch.entries)} were stored"
                    hooklog.write(self.repository.layout, f"journal {path}: {lost}")
                else:
                    journal.finish(batch.path)
            if stored:
                from git_tmem import trust  # it stands on this module

                trust.mark_own(self, stored)  # the journal holds nothing that others made
            if replayed:
                self._look_again()
        return replayed

    def _look_again(self) -> None:
        """After a writer died: whether git gc took, before it could look, what it wrote."""
        from git_tmem import repair

        for ref in (MAIN, NOTES):
            tip = self.repository.ref(ref)
            if tip and not repair.is_connected(self.repository.git, tip, _LATEST):
                hooklog.write(self.repository.layout, repair.repair(self, ref).describe())

    def _replay_one(self, entry: Entry) -> str:
        """Store one entry; what became of it."""
        if entry.room == TOMBSTONE:
            self._bury(entry.name, entry.text.encode(), entry.message)
            return FORGOTTEN
        if entry.room == TASK:
            self._put_event(entry.name, entry.text.encode(), entry.message)
            return KNOWN
        if entry.room == NOTE:
            self._note_lines({entry.name: entry.text.splitlines()}, self.gone())
            return KNOWN
        outcome = self._put(entry.name, entry.text.encode(), entry.message)
        document = schema.parse(entry.text.encode(), "the record")
        commits = document.get("anchor", {}).get("commits", ())
        if outcome == STORED and commits:  # whoever failed came no further than this
            lines = {key: [note_line(entry.name, document["title"])] for key in commits}
            self._note_lines(lines, [*self.gone(), *document.get("supersedes", ())])
        return outcome

    def gone(self) -> list[str]:
        """Ids of the records that were forgotten."""
        tip = self.tip()
        paths = self.repository.salvage(tip) if tip else {}
        return [path[-69:-5] for path in paths if path.startswith("gone/")]

    def annotate(self, lines: Mapping[str, Iterable[str]], gone: Iterable[str] = ()) -> None:
        """Add note lines to commits (commit id -> lines), and take those of ``gone`` away."""
        lines = {commit: [self.clean(line) for line in new] for commit, new in lines.items()}
        entries = [Entry(NOTE, commit, "\n".join(new)) for commit, new in lines.items() if new]
        with self._journaled(*entries):
            self._note_lines(lines, gone)

    def _note_lines(self, lines: Mapping[str, Iterable[str]], gone: Iterable[str]) -> None:
        gone = list(gone)

        def edits(tree: str) -> Edits:
            return dict(self.note_edits(tree, lines, gone))

        self.publish(NOTES, edits, "notes: point commits at their records\n", root=False)

    def notes(self, commits: Iterable[str]) -> dict[str, list[str]]:
        """The note lines of those of the commits that have some."""
        tip = self.repository.ref(NOTES)
        tree = self.repository.tree_of(tip) if tip else ""
        found = {}
        for commit in commits:
            _, blob = self._note(tree, commit)
            text = self.repository.blob(blob).decode("utf-8", "replace") if blob else ""
            if text.strip():
                found[commit] = [line for line in text.splitlines() if line.strip()]
        return found

    def note_edits(
        self, tree: str, lines: Mapping[str, Iterable[str]], gone: Iterable[str] = ()
    ) -> Iterator[tuple[str, str]]:
        """Edits of a tree of notes that add lines, and take those of ``gone`` away."""
        dead = {record[:NOTE_ABBREV] for record in gone}
        for commit, new in lines.items():
            path, blob = self._note(tree, commit)
            old = self.repository.blob(blob).decode("utf-8", "replace") if blob else ""
            wanted = {line for line in (*old.splitlines(), *new) if line.strip()}
            kept = sorted(line for line in wanted if line.split(" ", 1)[0] not in dead)
            text = "".join(f"{line}\n" for line in kept)
            if text != old:
                yield path, self.repository.write_blob(text.encode()) if text else ""

    def _note(self, tree: str, commit: str) -> tuple[str, str]:
        """Where a commit's note is, at whatever depth git keeps it, and its blob id."""
        paths = (f"{commit[:2]}/{commit[2:]}", commit, f"{commit[:2]}/{commit[2:4]}/{commit[4:]}")
        found = ((path, self.repository.entry(tree, path)) for path in paths)
        return next(((path, blob) for path, blob in found if blob), (paths[0], ""))

    def mark(self, ref: str, texts: Mapping[str, str | None], subject: str) -> None:
        """Put one-line texts at (or, for None, take them from) paths of a ref of this clone."""

        def edits(_: str) -> Edits:
            return {
                path: "" if text is None else self.repository.write_blob(f"{text}\n".encode())
                for path, text in texts.items()
            }

        if texts:
            self.publish(ref, edits, f"{subject}\n", root=False)

    def keep_raw(self, record: str, trace: str, patch: str, replaces: Iterable[str] = ()) -> None:
        """Keep a redacted trace and patch beside a record, in this clone only."""
        files = {"trace.jsonl": self.clean(trace), "patch.diff": self.clean(patch)}

        def edits(tree: str) -> Edits:
            old = [path for other in replaces for path in self._raw_paths(tree, other)]
            new = {
                f"{record[:2]}/{record}/{name}": self.repository.write_blob(text.encode())
                for name, text in files.items()
                if text
            }
            return {**dict.fromkeys(old, ""), **new}

        self.publish(RAW, edits, f"raw: {record[:12]}\n", root=False)

    def drop_raw(self, record: str) -> None:
        """Forget the raw trace of a record; without one, nothing happens."""
        if self.repository.ref(RAW):
            self.publish(
                RAW,
                lambda tree: dict.fromkeys(self._raw_paths(tree, record), ""),
                f"raw: drop {record[:12]}\n",
                root=False,
            )

    def raw(self, record: str, name: str) -> str:
        """The text of ``trace.jsonl`` or ``patch.diff`` of a record, '' when not kept."""
        tip = self.repository.ref(RAW)
        tree = self.repository.tree_of(tip) if tip else ""
        blob = self.repository.entry(tree, f"{record[:2]}/{record}/{name}")
        return self.repository.blob(blob).decode("utf-8", "replace") if blob else ""

    def _raw_paths(self, tree: str, record: str) -> list[str]:
        paths = (f"{record[:2]}/{record}/{name}" for name in ("trace.jsonl", "patch.diff"))
        return [path for path in paths if self.repository.entry(tree, path)]

    def root(self) -> str:
        """The constant first commit: the same id in every clone, so histories share a root."""
        blob = self.repository.write_blob(canonical({"format": FORMAT, "kind": "store"}))
        tree = self.repository.edit_tree("", {FORMAT_PATH: blob})
        return self.repository.write_commit(tree, (), "tmem: empty store\n")

    def publish_merge(self, ref: str, old: str, start: str, tree: str, other: str) -> bool:
        """Move a ref from ``old`` to a merge of ``start`` and ``other`` with the given tree.

        The commit is the same in every clone that merges the same two: parents sorted,
        fixed identity and message, the later of the two times.
        """
        parents = sorted(filter(None, (start, other)))
        moment = max(self.repository.time_of(parent) for parent in parents)
        commit = self.repository.write_commit(tree, parents, "merge: union\n", NOBODY, moment)
        self.repository.flush()
        return self.repository.move_ref(ref, old, commit, "tmem: merge")

    def publish(
        self,
        ref: str,
        edits: Callable[[str], Edits],
        message: str,
        root: bool = True,
        history: bool = True,
    ) -> None:
        """Apply ``edits``, called with the tree to change, on a ref; no change, no commit.

        Without ``history`` the new commit has no parent, so that git may free what was taken
        out. A ref that cannot be read is repaired, once, and tried again.
        """
        try:
            self._try_publish(ref, edits, message, root, history)
        except Unreadable:
            from git_tmem import repair

            self.repository.discard()
            with self.lock():
                done = repair.repair(self, ref)
            hooklog.write(self.repository.layout, done.describe())
            self._try_publish(ref, edits, message, root, history)

    def _try_publish(
        self, ref: str, edits: Callable[[str], Edits], message: str, root: bool, history: bool
    ) -> None:
        by = self.repository.identity()
        with self.lock():
            for attempt in range(_TRIES):
                old = self.repository.ref(ref)
                start = old or (self.root() if root else "")
                tree = self.repository.tree_of(start) if start else self.repository.empty_tree
                self.refuse_newer(tree)
                if root:
                    self._refuse_foreign(tree)
                new_tree = self.repository.edit_tree(tree, edits(tree))
                if new_tree == tree:
                    self.repository.discard()
                    return
                moment, zone = _now()
                parents = (start,) if start and history else ()
                write = self._writer(ref)
                commit = write(new_tree, parents, message, by, moment, zone)
                self.repository.flush()
                subject = message.partition("\n")[0]
                if self.repository.move_ref(ref, old, commit, f"tmem: {subject}", by):
                    return
                time.sleep(random.uniform(0.002, _PAUSE * min(attempt + 1, 4)))  # noqa: S311
        self.repository.discard()
        raise StoreError(f"{ref} is being changed by others, or locked", "try again")

    def _writer(self, ref: str) -> Callable[..., str]:
        """What makes the commits of a ref: for records, git itself if they are to be signed."""
        if ref == MAIN and self.repository.signs():
            return self.repository.sign_commit
        return self.repository.write_commit

    def _refuse_foreign(self, tree: str) -> None:
        """Raise StoreError for the tree of something else, such as a branch: it is not ours."""
        names = set(self.repository.names(tree))
        if names and not names & {FORMAT_PATH, "mem", "gone", "tasks"}:
            raise StoreError(f"{MAIN} is at a commit that holds no store", f"see: git log {MAIN}")

    def refuse_newer(self, tree: str) -> None:
        """Raise NewerFormat when a later git-tmem made this store: what it means is not known."""
        blob = self.repository.entry(tree, FORMAT_PATH)
        if blob:
            document = schema.parse(self.repository.blob(blob), "the store's format.json")
            schema.refuse_newer(document, "the store")

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the kernel lock of this store while its refs move; gone with the process."""
        if self._locked:
            yield
            return
        try:
            os.makedirs(self.repository.layout.own_dir, exist_ok=True)
            stream = open(os.path.join(self.repository.layout.own_dir, "lock"), "ab")  # noqa: SIM115
        except OSError as error:
            raise StoreError(
                f"{self.repository.layout.own_dir} cannot be written: {error.strerror}"
            ) from error
        with stream:
            _wait_for(stream.fileno())
            self._locked = True
            try:
                yield
            finally:
                self._locked = False


def event_path(name: str, data: bytes) -> str:
    """Where an event lies in the tree; one that names no task opens its own."""
    return task_path(schema.parse(data, "the task").get("task", name), name)


def note_line(record: str, title: str) -> str:
    """The line of a record in a note."""
    return f"{record[:NOTE_ABBREV]} {title}"


def _wait_for(descriptor: int) -> None:
    try:
        import fcntl
    except ImportError:  # Windows: the compare-and-swap alone decides
        return
    deadline = time.monotonic() + _LOCK_TIME
    while time.monotonic() < deadline:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            time.sleep(0.005)
        else:
            return


def _now() -> tuple[int, int]:
    """This moment in seconds, and the local offset east of UTC in seconds."""
    moment = int(time.time())
    return moment, int(time.localtime(moment).tm_gmtoff or 0)


def _message(document: Mapping[str, Any], name: str, keywords: Iterable[str]) -> str:
    trailers = [f"Tmem-Id: {name}", f"Tmem-Kind: {document['kind']}"]
    commit = document.get("anchor", {}).get("commit", "")
    trailers += [f"Tmem-Commit: {commit}"] if commit else []
    words = ", ".join(keywords)
    trailers += [f"Tmem-Keywords: {words}"] if words else []
    trailers += [f"Tmem-Replaces: {old}" for old in document.get("supersedes", ())]
    subject = " ".join(str(document["title"]).split())
    verb = _verb(document)
    return f"{verb}: {subject}\n\n" + "\n".join(trailers) + "\n"


def _verb(document: Mapping[str, Any]) -> str:
    """How the subject of a record's commit begins."""
    if document["kind"] == PLAYBOOK:
        return "capture"
    return "replace" if document.get("supersedes") else "remember"
