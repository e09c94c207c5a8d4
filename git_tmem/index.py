"""The search index: an SQLite shadow of ``refs/tmem/main``, rebuilt whenever in doubt.

Beside the records it mirrors the marks of ``refs/tmem-local/trust``: what is asked for is
answered from trusted records alone, and words are counted among them alone, so that others
cannot crowd them out.

It lives in the common git directory, so all worktrees share it, and holds each record's
own bytes, so a lookup reads no git object. It follows the ref by tree difference. Deleting
it loses nothing; another version, a damaged file or an unknown tip means building it anew.
Only the standard library is used here, because hooks come this way.

Errors are indexed by their exact and near signature, paths by full and base name, symbols
by full and last name, and words in full-text tables whose text is already split by
``tokens``; that one tokeniser serves both sides.
"""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from git_tmem import tokens, trust
from git_tmem.errors import InputError
from git_tmem.git import Git, Layout
from git_tmem.merge import SIZE_LIMIT
from git_tmem.query import FIELDS, Match

if TYPE_CHECKING:
    from git_tmem.playbook import Playbook

_VERSION = 3
_SCHEMA = """
create table meta (name text primary key, value text) without rowid;
create table record (
    number integer primary key,
    id text not null unique,
    session text not null,     -- agent and session id, joined by a space
    title text not null,
    ended integer not null,    -- seconds since the epoch, from the log
    live integer not null,     -- 0 once another record that counts supersedes it
    trusted integer not null,  -- 1 when made or accepted in this clone
    document blob not null     -- the record's canonical bytes
);
create index record_session on record (session);
create index record_ended on record (live, ended desc, id);
create index record_asked on record (live, trusted);
create index record_waiting on record (id) where trusted = 0;
create table mark (id text, room text, text text, primary key (id, room)) without rowid;
create table gone (id text primary key, session text, reason text) without rowid;
create table supersedes (old text, new text, primary key (old, new)) without rowid;
create table damaged (path text primary key, reason text not null) without rowid;
create table error (signature text not null, near text not null, number integer not null);
create index error_signature on error (signature);
create index error_near on error (near);
create table path (path text not null, base text not null, number integer not null);
create index path_path on path (path);
create index path_base on path (base);
create table symbol (name text not null, number integer not null);
create index symbol_name on symbol (name);
create virtual table words using fts5 (
    title, intent, paths, symbols, diff, reasons, errors, tokenize = "ascii tokenchars '_'"
);
create virtual table vocabulary using fts5vocab (words, 'row');
create virtual table fields using fts5vocab (words, 'col');
create virtual table waiting_words using fts5 (
    title, intent, paths, symbols, diff, reasons, errors, tokenize = "ascii tokenchars '_'"
);
create virtual table waiting_vocabulary using fts5vocab (waiting_words, 'row');
create virtual table waiting_fields using fts5vocab (waiting_words, 'col');
"""
#: Seconds a reader or writer waits for another before it goes its own way.
_BUSY = 2.0
#: A name or error that more records share says nothing about any one of them.
SHARED = 200
#: Records whose words are looked at closely for one query.
CANDIDATES = 100

MAIN = "refs/tmem/main"
#: Whether a record was made or accepted here, as an expression on the table of records.
_TRUSTED = "exists (select 1 from mark where mark.id = record.id and room in ('own', 'accepted'))"


class Row(NamedTuple):
    """A record as listed: ``trusted`` is whether it may be shown to an agent, ``document`` its
    canonical JSON."""

    number: int
    id: str
    session: str
    title: str
    ended: int
    live: bool
    trusted: bool
    document: bytes


class Index:
    """The open index of one repository, up to date with the ref when it was opened."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self._git = Git(layout)
        self._path = os.path.join(layout.own_dir, "index.sqlite")
        self.tip = read_tip(layout)
        self._trust_tip = read_tip(layout, trust.TRUST)
        self.policy = trust.OWN
        self._waiting = False
        self._db = self._open()

    def __enter__(self) -> Index:
        return self

    def __exit__(self, *_: object) -> None:
        self._db.close()

    @staticmethod
    def drop(layout: Layout) -> None:
        """Delete the index file; the next one who opens it builds it anew."""
        for suffix in ("", "-wal", "-shm"):
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(layout.own_dir, "index.sqlite") + suffix)

    # Asking.

    def _ask(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        """Rows of a query; damage that shows only now means building anew, once."""
        try:
            return self._db.execute(query, values).fetchall()
        except sqlite3.DatabaseError as error:
            self._db.close()
            if not _is_refusal(error):  # busy or read-only is no damage
                self.drop(self.layout)
            self._db = self._open()
            return self._db.execute(query, values).fetchall()

    def rows(
        self, where: str = "live = 1", values: Sequence[Any] = (), tail: str = ""
    ) -> list[Row]:
        """Records, newest session first; ``where`` and ``tail`` are our own SQL, never data."""
        trusted = "1" if self.policy == trust.ALL else "trusted"
        columns = f"number, id, session, title, ended, live, {trusted}, document"
        order = "order by ended desc, id"
        query = f"select {columns} from record where {where} {order} {tail}"  # noqa: S608
        return [Row(*row) for row in self._ask(query, values)]

    def by_number(self, number: int) -> Row:
        """One record by its row number."""
        return self.rows("number = ?", (number,))[0]

    def by_prefix(self, prefix: str) -> list[Row]:
        """Records whose id starts with ``prefix`` (hex), superseded ones too."""
        return self.rows("id >= ? and id < ?", (prefix, prefix + "g"), "limit 20")

    def resolve(self, name: str) -> Row:
        """The record an id or unique prefix of at least four hex digits names.

        Raises InputError for one that is unknown, ambiguous or no id at all.
        """
        name = name.lower()
        if not re.fullmatch(r"[0-9a-f]{4,64}", name):
            raise InputError(f"{name!r} is no id of a record", "see the ids with: git tmem list")
        rows = self.by_prefix(name)
        if len(rows) > 1:
            ids = ", ".join(row.id[:12] for row in rows[:5])
            raise InputError(f"{name} is the start of {len(rows)} records", f"write more of: {ids}")
        if rows:
            return rows[0]
        gone = [(other, why) for other, (_, why) in self.gone().items() if other.startswith(name)]
        if gone:
            raise InputError(f"{gone[0][0][:12]} was forgotten: {gone[0][1]}")
        raise InputError(f"no record is called {name}", "see the ids with: git tmem list")

    def naming(self, text: str) -> list[Row]:
        """Live records in whose JSON a text stands, such as a commit's id."""
        return self.rows("live = 1 and instr(document, ?) > 0", (text.encode(),))

    def by_session(self, session: str) -> list[Row]:
        """Live records of one session, by agent and session id joined by a space."""
        return self.rows("live = 1 and session = ?", (session,))

    def superseding(self, record: str) -> list[Row]:
        """Records that say they take the place of one, those in force first."""
        rows = self.rows("id in (select new from supersedes where old = ?)", (record,))
        return sorted(rows, key=lambda row: not row.live)

    def count(self, table: str = "record where live = 1") -> int:
        """Rows of one of our tables."""
        return int(self._ask(f"select count(*) from {table}")[0][0])  # noqa: S608

    def is_sound(self) -> bool:
        """Whether SQLite finds nothing wrong with the file."""
        return bool(self._ask("pragma quick_check") == [("ok",)])

    def gone(self) -> dict[str, tuple[str, str]]:
        """Forgotten records: id -> (session, reason)."""
        rows = self._ask("select id, session, reason from gone")
        return {record: (session, reason) for record, session, reason in rows}

    def size(self) -> int:
        """How many records questions are about."""
        return self.count(f"record where {self._asked}")

    def waiting(self) -> int:
        """How many live records wait for review."""
        if self.policy == trust.ALL:
            return 0
        return self.count("record where trusted = 0 and live = 1")

    def marks(self, record: str) -> dict[str, str]:
        """What this clone knows of a record's origin: room -> text."""
        return dict(self._ask("select room, text from mark where id = ?", (record,)))

    @contextlib.contextmanager
    def among_waiting(self) -> Iterator[None]:
        """Ask about the records that wait for review, instead of those that may be shown."""
        self._waiting = True
        try:
            yield
        finally:
            self._waiting = False

    @property
    def _asked(self) -> str:
        """Which records questions are about, as a condition on the table of records."""
        if self._waiting:
            return "live = 1 and trusted = 0"
        return "live = 1" if self.policy == trust.ALL else "live = 1 and trusted = 1"

    def damaged(self) -> list[tuple[str, str]]:
        """Entries of the store that are no usable record: (path, reason)."""
        return self._ask("select path, reason from damaged order by path")

    def with_error(self, column: str, value: str) -> list[int]:
        """Numbers of live records with an error's ``signature`` or ``near``, newest first."""
        query = (
            "select distinct error.number from error join record using (number)"  # noqa: S608
            f" where error.{column} = ? and {self._asked} order by ended desc, id limit {SHARED}"
        )
        return [number for (number,) in self._ask(query, (value,))]

    def with_names(self, table: str, column: str, names: Iterable[str]) -> dict[int, set[str]]:
        """Live records that hold any of the names: number -> names found. A name that more
        than ``SHARED`` records hold tells nothing about any of them, and is left out."""
        found: dict[int, set[str]] = {}
        query = (
            f"select number from {table} join record using (number)"  # noqa: S608
            f" where {table}.{column} = ? and {self._asked} limit {SHARED + 1}"
        )
        for name in dict.fromkeys(names):
            rows = self._ask(query, (name,))
            for (number,) in rows if len(rows) <= SHARED else ():
                found.setdefault(number, set()).add(name)
        return found

    def touching(self, paths: Iterable[str]) -> dict[int, str]:
        """Live records that touched any of the files: number -> path. A name without a folder
        stands for every file of that name."""
        found: dict[int, str] = {}
        for path in dict.fromkeys(paths):
            column = "path" if "/" in path else "base"
            query = (
                "select number from path join record using (number)"  # noqa: S608
                f" where path.{column} = ? and {self._asked}"
            )
            found.update((number, path) for (number,) in self._ask(query, (path,)))
        return found

    def order(self, numbers: Iterable[int]) -> dict[int, tuple[int, str]]:
        """What decides between equal scores, and does not depend on how the index was built:
        number -> (minus the end of its session, id)."""
        query = "select ended, id from record where number = ?"
        rows = {number: self._ask(query, (number,))[0] for number in numbers}
        return {number: (-ended, record) for number, (ended, record) in rows.items()}

    def matches(self, words: Iterable[str]) -> list[Match]:
        """Live records with any of the words, the best by FTS5's own rank first."""
        query = " OR ".join(f'"{word}"' for word in words)
        if not query:
            return []
        table = "waiting_words" if self._waiting else "words"
        columns = ", ".join(FIELDS)
        found = self._ask(
            f"select number, {', '.join(f'found.{name}' for name in FIELDS)}"  # noqa: S608
            f" from (select rowid as number, {columns} from {table}"
            f" where {table} match ? order by rank limit ?) as found"
            f" join record using (number) where {self._asked} limit ?",
            (query, 2 * CANDIDATES, CANDIDATES),
        )
        return [Match(row[0], tuple(field.split() for field in row[1:])) for row in found]

    def frequencies(self, words: Iterable[str]) -> dict[str, tuple[int, ...]]:
        """In how many of the records asked about each word stands: in any field, then in each
        of ``FIELDS``. Words that none has are left out."""
        prefix = "waiting_" if self._waiting else ""
        found = {}
        for word in words:
            rows = self._ask(f"select doc from {prefix}vocabulary where term = ?", (word,))  # noqa: S608
            if rows:
                query = f"select col, doc from {prefix}fields where term = ?"  # noqa: S608
                each = dict(self._ask(query, (word,)))
                found[word] = (rows[0][0], *(each.get(name, 0) for name in FIELDS))
        return found

    # Following the ref.

    def _open(self) -> sqlite3.Connection:
        """The index file, or one in memory where no file can be written."""
        try:
            os.makedirs(self.layout.own_dir, exist_ok=True)
            return self._follow(self._path)
        except sqlite3.DatabaseError as error:
            if _is_refusal(error):
                return self._follow(":memory:")
            self.drop(self.layout)
            return self._follow(self._path)
        except OSError:
            return self._follow(":memory:")

    def _follow(self, path: str) -> sqlite3.Connection:
        db = sqlite3.connect(path, timeout=_BUSY, isolation_level=None)
        try:
            version = _VERSION * 1000 + tokens.VERSION
            found = db.execute("pragma user_version").fetchone()[0]
            if found != version or not self._is_current(db):
                db.execute("pragma journal_mode = wal")
                db.execute("pragma synchronous = off")  # a lost index is built anew
                with _transaction(db):
                    found = db.execute("pragma user_version").fetchone()[0]
                    if found != version:
                        _reset(db, version)
                    self._catch_up(db)
            self._apply_policy(db)
        except BaseException:
            db.close()
            raise
        return db

    def _is_current(self, db: sqlite3.Connection) -> bool:
        known = (self._known(db, "tip"), self._known(db, "trust tip"))
        return known == (self.tip, self._trust_tip)

    def _known(self, db: sqlite3.Connection, name: str) -> str:
        row = db.execute("select value from meta where name = ?", (name,)).fetchone()
        return row[0] if row else ""

    def _catch_up(self, db: sqlite3.Connection) -> None:
        """Apply what changed between the tree the index knows and the tip's."""
        tree = self._tree(self.tip)
        known = self._known(db, "tree")
        if known and not tree and (self.tip or _ref_exists(self.layout)):
            return  # the store is damaged: what is known is the best there is
        changes = self._changes(known, tree) if known != tree else []
        if changes is None:  # the old tree is gone: start over, if the new one is whole
            if known and tree and not self._is_listed(tree):
                return
            _reset(db, db.execute("pragma user_version").fetchone()[0])
            changes = self._changes("", tree) or []
        self._follow_trust(db)
        taken = [path for path, blob in changes if not blob]
        added = [(path, blob) for path, blob in changes if blob]
        for path in taken:
            _take_out(db, path)
        for path, data in self._git.blobs(added, SIZE_LIMIT):
            _put_in(db, path, data)
        _mark_superseded(db, self._known(db, "policy"))
        rows = (("tip", self.tip), ("tree", tree), ("trust tip", self._trust_tip))
        db.executemany("insert or replace into meta values (?, ?)", rows)

    def _follow_trust(self, db: sqlite3.Connection) -> None:
        """Apply what changed between the marks the index knows and the trust ref's."""
        if self._known(db, "trust tip") == self._trust_tip:
            return
        tree = self._tree(self._trust_tip)
        if tree and trust.overwritten(self._git):
            tree = ""
        changes = self._changes(self._known(db, "trust tree"), tree)
        if changes is None:
            db.execute("delete from mark")
            db.execute("update record set trusted = 0 where trusted = 1")
            _sort_words(db, self._known(db, "policy"), "1 = 1", [()])
            changes = self._changes("", tree) or []
        for path, blob in changes:
            if not blob and (match := trust.MARK_PATH.fullmatch(path)):
                db.execute("delete from mark where id = ? and room = ?", match.group("id", "room"))
        added = [(path, blob) for path, blob in changes if blob]
        for path, data in self._git.blobs(added, trust.MARK_LIMIT):
            if match := trust.MARK_PATH.fullmatch(path):
                values = (*match.group("id", "room"), _text(data).strip())
                db.execute("insert or replace into mark values (?, ?, ?)", values)
        touched = {path.rpartition("/")[2] for path, _ in changes}
        ids = [(record,) for record in touched]
        db.executemany(f"update record set trusted = {_TRUSTED} where id = ?", ids)  # noqa: S608
        _sort_words(db, self._known(db, "policy"), "id = ?", ids)
        db.execute("insert or replace into meta values ('trust tree', ?)", (tree,))

    def _apply_policy(self, db: sqlite3.Connection) -> None:
        """Ask for the user's policy, but only where there is a record that it matters for."""
        if db.execute("select 1 from record where trusted = 0 limit 1").fetchone() is None:
            return
        self.policy = trust.policy(self._git)
        if (self.policy == trust.ALL) != (self._known(db, "policy") == trust.ALL):
            with _transaction(db):
                _mark_superseded(db, self.policy)
                _sort_words(db, self.policy, "trusted = 0", [()])
                db.execute("insert or replace into meta values ('policy', ?)", (self.policy,))

    def _tree(self, commit: str) -> str:
        if not commit:
            return ""
        status, data = self._git.output("rev-parse", "--verify", "--quiet", f"{commit}^{{tree}}")
        return data.decode("ascii").strip() if status == 0 else ""

    def _is_listed(self, tree: str) -> bool:
        return self._git.output("ls-tree", "-r", "-z", "--full-tree", tree)[0] == 0

    def _changes(self, old: str, new: str) -> list[tuple[str, str]] | None:
        """Changed paths with their new blob id ('' when gone); None when git cannot tell."""
        if not new:
            return None if old else []
        if not old:
            _, data = self._git.output("ls-tree", "-r", "-z", "--full-tree", new)
            entries = [entry.partition(b"\t") for entry in data.split(b"\0") if entry]
            return [(_text(path), _text(head.split()[2])) for head, _, path in entries]
        status, data = self._git.output("diff-tree", "-r", "-z", "--no-renames", old, new)
        if status != 0:
            return None
        fields = data.split(b"\0")
        pairs = zip(fields[0::2], fields[1::2], strict=False)
        return [
            (_text(path), "" if head.endswith(b" D") else _text(head.split()[3]))
            for head, path in pairs
        ]


def _ref_exists(layout: Layout) -> bool:
    """Whether there is a file of the ref, whatever it holds."""
    return os.path.isfile(os.path.join(layout.common_dir, *MAIN.split("/")))


def read_tip(layout: Layout, ref: str = MAIN) -> str:
    """The commit one of our refs is at: read from the files that git keeps refs in, or asked of
    git where it keeps them otherwise."""
    try:
        with open(os.path.join(layout.common_dir, *ref.split("/")), encoding="ascii") as stream:
            tip = stream.read(128).strip()
        if len(tip) in (40, 64):
            return tip
    except FileNotFoundError:
        if not os.path.isdir(os.path.join(layout.common_dir, "reftable")):
            return _packed_tip(layout, ref)
    except (OSError, ValueError):
        pass
    status, data = Git(layout).output("rev-parse", "--verify", "--quiet", ref)
    return data.decode("ascii").strip() if status == 0 else ""


def _packed_tip(layout: Layout, ref: str) -> str:
    try:
        with open(os.path.join(layout.common_dir, "packed-refs"), "rb") as stream:
            data = stream.read()
    except OSError:
        return ""
    end = data.find(f" {ref}\n".encode("ascii"))
    return data[data.rfind(b"\n", 0, end) + 1 : end].decode("ascii") if end > 0 else ""


@contextlib.contextmanager
def _transaction(db: sqlite3.Connection) -> Iterator[None]:
    db.execute("begin immediate")
    try:
        yield
    except BaseException:
        db.execute("rollback")
        raise
    db.execute("commit")


def _reset(db: sqlite3.Connection, version: int) -> None:
    """An empty index of this version. ``executescript`` would commit, so one by one."""
    names = db.execute(
        "select type, name from sqlite_master where type = 'table' and name in"
        " ('meta', 'record', 'mark', 'gone', 'supersedes', 'damaged', 'error', 'path', 'symbol',"
        "  'words', 'vocabulary', 'fields',"
        "  'waiting_words', 'waiting_vocabulary', 'waiting_fields')"
        " order by name like '%words'"
    ).fetchall()
    for _, name in names:
        db.execute(f"drop table {name}")
    statement = ""
    for line in _SCHEMA.splitlines():
        statement += line + "\n"
        if sqlite3.complete_statement(statement):
            db.execute(statement)
            statement = ""
    db.execute(f"pragma user_version = {version}")


def _is_refusal(error: sqlite3.DatabaseError) -> bool:
    """Whether SQLite could not use the file at all, as opposed to finding it damaged."""
    refused = isinstance(error, sqlite3.OperationalError)
    return refused and any(
        word in str(error) for word in ("readonly", "unable to open", "locked", "full")
    )


def _put_in(db: sqlite3.Connection, path: str, data: bytes) -> None:
    """One entry of the store: a record, a tombstone, or something that is reported."""
    from git_tmem import merge, schema
    from git_tmem.errors import TmemError
    from git_tmem.playbook import record_id

    match = merge.RECORD_PATH.fullmatch(path)
    if merge.PURGED_PATH.fullmatch(path) or merge.TASK_PATH.fullmatch(path):
        return
    try:
        if match is None and path != merge.FORMAT_PATH:
            raise TmemError("no name of a record")
        document = schema.parse(data, "it")
        schema.refuse_newer(document, "it")
        if match is None:
            return
        if match["room"] == "gone":
            values = (
                match["id"],
                str(document.get("session", "")),
                str(document.get("reason", "")),
            )
            db.execute("insert or replace into gone values (?, ?, ?)", values)
            return
        if record_id(data) != match["id"]:
            raise TmemError("its content is not what its name says")
        _insert(db, match["id"], document, data)
    except (TmemError, KeyError, TypeError, AttributeError, ValueError) as error:
        reason = error.message if isinstance(error, TmemError) else "not the shape of a record"
        db.execute("insert or replace into damaged values (?, ?)", (path, reason))


def _insert(db: sqlite3.Connection, name: str, document: dict[str, Any], data: bytes) -> None:
    """A record and all its keys. Raises KeyError, TypeError or ValueError for a wrong shape."""
    from git_tmem.playbook import from_document

    playbook = from_document(document)
    session = f"{playbook.agent} {playbook.session}"
    values = (name, session, playbook.title, int(playbook.ended), data)
    number = db.execute(
        "insert into record (id, session, title, ended, live, trusted, document)"
        " values (?, ?, ?, ?, 1, 0, ?)",
        values,
    ).lastrowid
    db.execute(f"update record set trusted = {_TRUSTED} where number = ?", (number,))  # noqa: S608
    old = [(other, name) for other in playbook.supersedes]
    db.executemany("insert or ignore into supersedes values (?, ?)", old)
    errors = [(repair.signature, repair.near, number) for repair in playbook.repairs]
    db.executemany("insert into error values (?, ?, ?)", errors)
    paths, symbols = _named(playbook)
    rows = [(path, path.rpartition("/")[2], number) for path in paths]
    db.executemany("insert into path values (?, ?, ?)", rows)
    names = {part for name in symbols for part in (name, name.rpartition(".")[2])}
    db.executemany("insert into symbol values (?, ?)", [(name, number) for name in sorted(names)])
    shown = "select trusted or exists (select 1 from meta where name = 'policy' and value = ?)"
    row = db.execute(f"{shown} from record where number = ?", (trust.ALL, number)).fetchone()
    table = "words" if row[0] else "waiting_words"
    columns = ", ".join(FIELDS)
    places = ", ".join("?" * len(FIELDS))
    query = f"insert into {table} (rowid, {columns}) values (?, {places})"  # noqa: S608
    db.execute(query, (number, *(" ".join(field) for field in fields_of(playbook))))


def fields_of(playbook: Playbook) -> list[list[str]]:
    """The tokens of each of ``FIELDS``."""
    steps = playbook.steps
    paths, symbols = _named(playbook)
    texts: tuple[Iterable[str], ...] = (
        (playbook.title,),
        playbook.intent,
        paths,
        symbols,
        (line for step in steps for line in step.diff),
        (*(step.reason for step in steps), *playbook.checks),
        (repair.error for repair in playbook.repairs),
    )
    return [tokens.tokens("\n".join(text)) for text in texts]


def _named(playbook: Playbook) -> tuple[dict[str, None], dict[str, None]]:
    """The paths and the symbols that a record names, each once, in order."""
    steps = playbook.steps
    paths = (*playbook.files, *(step.path for step in steps if step.path))
    return dict.fromkeys(paths), dict.fromkeys(name for step in steps for name in step.symbols)


def _take_out(db: sqlite3.Connection, path: str) -> None:
    db.execute("delete from damaged where path = ?", (path,))
    room, _, rest = path.partition("/")
    name = rest.rpartition("/")[2].removesuffix(".json")
    if room == "gone":
        db.execute("delete from gone where id = ?", (name,))
        return
    row = db.execute("select number from record where id = ?", (name,)).fetchone()
    if row is None:
        return
    db.execute("delete from supersedes where new = ?", (name,))
    for table in ("record", "error", "path", "symbol"):
        db.execute(f"delete from {table} where number = ?", row)  # noqa: S608
    db.execute("delete from words where rowid = ?", row)
    db.execute("delete from waiting_words where rowid = ?", row)


def _sort_words(
    db: sqlite3.Connection, policy: str, where: str, values: Iterable[Sequence[Any]]
) -> None:
    """Put the words of the records that ``where`` names into the table of those that are
    shown, or of those that wait."""
    fields = f"rowid, {', '.join(FIELDS)}"
    shown = "1" if policy == trust.ALL else "trusted"
    for value in values:
        for there, here, side in (
            ("waiting_words", "words", shown),
            ("words", "waiting_words", f"not {shown}"),
        ):
            wanted = f"where rowid in (select number from record where {side} and {where})"  # noqa: S608
            copied = f"insert into {here} ({fields}) select {fields} from {there} {wanted}"  # noqa: S608
            db.execute(copied, value)
            db.execute(f"delete from {there} {wanted}", value)  # noqa: S608


def _mark_superseded(db: sqlite3.Connection, policy: str) -> None:
    """A record that waits for review takes the place of none that is trusted."""
    db.execute(
        "update record set live = not exists (select 1 from supersedes join record as newer"
        " on newer.id = supersedes.new where supersedes.old = record.id"
        " and (newer.trusted or not record.trusted or ?))"
        " where live = 0 or id in (select old from supersedes)",
        (policy == trust.ALL,),
    )


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
