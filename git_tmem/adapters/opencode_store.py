"""Where opencode keeps its sessions, and how one of them becomes JSON lines.

Up to about 1.1 each session, message and part was a file below ``storage``; since then all
are rows of ``opencode.db``. The first give locations that are the session's file, the others
``opencode.db#ID``. Neither is ever held as a whole, locked or changed.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import quote

from git_tmem.adapters.base import epoch, mapping, string
from git_tmem.adapters.places import entries, folder, spellings
from git_tmem.adapters.records import LINE_LIMIT
from git_tmem.errors import InputError
from git_tmem.workspace import is_below

#: How a SQLite database begins (https://www.sqlite.org/fileformat.html, section 1.3).
_MAGIC = b"SQLite format 3\0"
_TABLES = ("message", "part", "session")
#: Stands for what is too long to be read, and is counted as damaged.
_TOO_LONG = b"\0\n"
#: Bytes of a file that describes a session; it holds no more than names and counts.
_INFO_BYTES = 1 << 20


def find_logs(roots: Sequence[str], env: Mapping[str, str]) -> Iterator[str]:
    """Sessions of the databases that worked below the roots, and those of the older storage
    that were not moved into a database; the folder that their file names decides."""
    home = folder(env, "XDG_DATA_HOME", ".local", "share")
    if not home:
        return
    moved: set[str] = set()
    tops = spellings(roots)
    for path in entries(os.path.join(home, "opencode")):
        with contextlib.suppress(InputError, OSError):
            if path.endswith(".db") and _is_database(path):
                for session, place in _sessions(path):
                    moved.add(session)
                    if any(is_below(place, top) for top in tops):
                        yield f"{path}#{session}"
    for project in entries(os.path.join(home, "opencode", "storage", "session")):
        for path in entries(project):
            if path.endswith(".json") and os.path.basename(path)[: -len(".json")] not in moved:
                yield path


def _sessions(path: str) -> list[tuple[str, str]]:
    """Id and folder of every session in a database."""
    with _reading(path) as database:
        rows = database.execute("SELECT id, directory FROM session").fetchall()
    return [(str(session), str(place)) for session, place in rows if str(session).isprintable()]


def lines(location: str) -> Iterator[bytes] | None:
    """The records of the session at a location, None for what is no place of opencode's."""
    path, session = _split(location)
    if path:
        return _database_lines(path, session)
    return _folder_lines(location) if _is_session_file(location) else None


def measure(location: str) -> tuple[float, int] | None:
    """Last change and size of the session in a database, None for everything else; a location
    that names no session is not opened."""
    path, session = _split(location) if "#" in location else ("", "")
    if not path:
        return None
    with _reading(path) as database:
        name = _named(database, path, session)
        (changed,) = database.execute("SELECT time_updated FROM session WHERE id = ?", (name,))
        (size,) = database.execute(
            "SELECT coalesce(sum(length(data)), 0) FROM part WHERE session_id = ?", (name,)
        )
        return epoch(changed[0]), int(size[0])


def _split(location: str) -> tuple[str, str]:
    """The database and the session's id in a location; without a database both are empty."""
    for path, _, session in ((location, "", ""), location.rpartition("#")):
        if path and _is_database(path):
            return path, session.encode("utf-8", "replace").decode()
    return "", ""


def _is_database(path: str) -> bool:
    """Whether a file is a SQLite database with opencode's tables. Raises InputError for one
    that SQLite cannot read."""
    if not os.path.isfile(path):
        return False  # a pipe, of which nothing must be taken, or nothing at all
    with open(path, "rb") as stream:
        if stream.read(len(_MAGIC)) != _MAGIC:
            return False
    with _reading(path) as database:
        query = "SELECT name FROM sqlite_master WHERE type = 'table' AND name IN (?, ?, ?)"
        return len(database.execute(query, _TABLES).fetchall()) == len(_TABLES)


@contextlib.contextmanager
def _reading(path: str) -> Iterator[sqlite3.Connection]:
    """A database for reading. A write-ahead log beside it is read too, which blocks no writer;
    without one nothing is pending, and the file is read as it is, without any lock. What
    SQLite cannot read is an InputError."""
    pending = os.path.exists(f"{path}-wal") and os.path.getsize(f"{path}-wal") > 0
    mode = "mode=ro" if pending else "mode=ro&immutable=1"
    name = quote(os.fsencode(os.path.abspath(path)))
    try:
        with contextlib.closing(sqlite3.connect(f"file:{name}?{mode}", uri=True)) as database:
            database.text_factory = lambda data: data.decode("utf-8", "replace")
            database.execute("PRAGMA query_only = 1")
            database.execute("PRAGMA temp_store = MEMORY")
            database.execute("PRAGMA trusted_schema = 0")
            yield database
    except sqlite3.Error as error:
        raise InputError(
            f"{path}: the database cannot be read: {error}",
            "opencode can write a session to a file: opencode export ID",
        ) from error


def _named(database: sqlite3.Connection, path: str, session: str) -> str:
    """The id of the session that is meant: the one given, or the only one there is."""
    query = "SELECT id FROM session WHERE ? IN ('', id) ORDER BY time_updated DESC LIMIT 2"
    found = [str(name) for (name,) in database.execute(query, (session,))]
    if len(found) == 1:
        return found[0]
    name = os.path.basename(path)
    if session or not found:
        raise InputError(
            f"{name} holds no session {session or 'at all'}", "see: git tmem capture -h"
        )
    newest = found[0] if found[0].isprintable() else "ID"
    raise InputError(f"{name} holds several sessions", f"name one, such as {name}#{newest}")


def _database_lines(path: str, session: str) -> Iterator[bytes]:
    with _reading(path) as database:
        name = _named(database, path, session)
        yield _line({"info": _session_info(database, name)})
        # Ids first, so that no sorting ever holds what the rows hold.
        query = "SELECT id FROM message WHERE session_id = ? ORDER BY time_created, id"
        for (message,) in database.execute(query, (name,)).fetchall():
            data = _data(database, "SELECT data FROM message", message)
            yield _spliced('{"messages": {"info": ', message, data, "}}\n")
            query = "SELECT id FROM part WHERE message_id = ? ORDER BY id"
            for (part,) in database.execute(query, (message,)).fetchall():
                data = _data(database, "SELECT data FROM part", part)
                yield _spliced('{"messages": {"parts": [', part, data, "]}}\n")


def _data(database: sqlite3.Connection, query: str, name: object) -> str:
    """A row's JSON text, '' when it is too long."""
    query = f"{query} WHERE id = ? AND length(data) < ?"
    row = database.execute(query, (name, LINE_LIMIT - _INFO_BYTES)).fetchone()
    return string(row[0]) if row else ""


def _session_info(database: sqlite3.Connection, session: str) -> dict[str, object]:
    """The session's row with the names that its columns have in a document."""
    cursor = database.execute("SELECT * FROM session WHERE id = ?", (session,))
    names = (column[0] for column in cursor.description)
    row = dict(zip(names, cursor.fetchone() or (), strict=False))
    return {
        "id": session,
        "directory": string(row.get("directory")),
        "version": string(row.get("version")),
        "parentID": string(row.get("parent_id")),
        "revert": _object(string(row.get("revert")).encode("utf-8", "replace")),
    }


def _spliced(start: str, name: object, data: str, end: str) -> bytes:
    """A line around the JSON text of a row, which leaves out the id that is its key."""
    text = data.strip()
    if not text.startswith("{"):
        return _TOO_LONG
    rest = text[1:].replace("\n", " ").replace("\r", " ").lstrip()
    comma = "" if rest.startswith("}") else ","
    return f'{start}{{"id": {json.dumps(str(name))}{comma} {rest}{end}'.encode("utf-8", "replace")


def _line(record: Mapping[str, object]) -> bytes:
    return json.dumps(record).encode() + b"\n"


def _is_session_file(path: str) -> bool:
    """Whether a file stands in the storage's folder of sessions, beside that of messages."""
    root, kind = _storage(path)
    return kind == "session" and os.path.isdir(os.path.join(root, "message"))


def _storage(path: str) -> tuple[str, str]:
    root, kind = os.path.split(os.path.dirname(os.path.dirname(os.path.abspath(path))))
    return root, kind


def _folder_lines(path: str) -> Iterator[bytes]:
    root, _ = _storage(path)
    with open(path, "rb") as stream:
        data = stream.read(_INFO_BYTES)
    info = _object(data)
    session = string(info.get("id")) or os.path.basename(path).removesuffix(".json")
    yield _line({"info": info})
    for message in _files(root, "message", session):
        data = _content(message)
        yield b'{"messages": {"info": %s}}\n' % data if data else _TOO_LONG
        name = string(_object(data).get("id")) or os.path.basename(message).removesuffix(".json")
        for part in _files(root, "part", name):
            data = _content(part)
            yield b'{"messages": {"parts": [%s]}}\n' % data if data else _TOO_LONG


def _files(root: str, kind: str, name: str) -> list[str]:
    """The files below a folder that an id names, in order of their names, which is that of
    time. An id that is no plain name has none."""
    if os.path.basename(name) != name or name in ("", ".", ".."):
        return []
    paths = entries(os.path.join(root, kind, name))
    return [path for path in paths if path.endswith(".json") and os.path.isfile(path)]


def _content(path: str) -> bytes:
    """A file's JSON on one line, b'' when it is too long or cannot be read."""
    try:
        with open(path, "rb") as stream:
            data = stream.read(LINE_LIMIT)
    except OSError:
        return b""
    short = len(data) < LINE_LIMIT
    return data.replace(b"\n", b" ").replace(b"\r", b" ") if short else b""


def _object(data: bytes) -> Mapping[str, object]:
    try:
        return mapping(json.loads(data))
    except (ValueError, RecursionError):
        return {}
