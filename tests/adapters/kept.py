"""A document of opencode kept as its older and its newer versions keep sessions."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def as_storage(doc: Mapping[str, Any], home: Path) -> str:
    """Keep a document as the older versions do; the session's location."""
    storage = home / "opencode" / "storage"
    place = storage / "session" / "p1" / f"{doc['info']['id']}.json"
    files = {place: doc["info"]}
    for message in doc["messages"]:
        info = message["info"]
        files[storage / "message" / doc["info"]["id"] / f"{info['id']}.json"] = info
        for part in message["parts"]:
            files[storage / "part" / info["id"] / f"{part['id']}.json"] = part
    for path, value in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value, indent=2), "utf-8")
    return str(place)


def new_database(home: Path) -> tuple[Path, sqlite3.Connection]:
    path = home / "opencode" / "opencode.db"
    path.parent.mkdir(parents=True, exist_ok=True)
    database = sqlite3.connect(path)
    database.executescript(
        "CREATE TABLE session (id TEXT PRIMARY KEY, project_id TEXT, parent_id TEXT,"
        " directory TEXT, version TEXT, revert TEXT, time_created INTEGER, time_updated INTEGER);"
        "CREATE TABLE message"
        " (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, data TEXT);"
        "CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, data TEXT);"
    )
    return path, database


def insert(database: sqlite3.Connection, doc: Mapping[str, Any]) -> None:
    """Keep a document as rows; the ids are columns and not in the data."""
    info = doc["info"]
    session, time = info["id"], info["time"]
    revert = json.dumps(info["revert"]) if "revert" in info else None
    head = (session, "p1", info.get("parentID"), info["directory"], info["version"], revert)
    database.execute(
        "INSERT INTO session VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (*head, time["created"], time["updated"]),
    )
    for message in doc["messages"]:
        data = {k: v for k, v in message["info"].items() if k not in ("id", "sessionID")}
        name, created = message["info"]["id"], message["info"]["time"]["created"]
        database.execute(
            "INSERT INTO message VALUES (?, ?, ?, ?)", (name, session, created, json.dumps(data))
        )
        for part in message["parts"]:
            data = {k: v for k, v in part.items() if k not in ("id", "sessionID", "messageID")}
            row = (part["id"], name, session, json.dumps(data, ensure_ascii=False))
            database.execute("INSERT INTO part VALUES (?, ?, ?, ?)", row)
    database.commit()


def as_database(doc: Mapping[str, Any], home: Path) -> str:
    """Keep a document in a database; the session's location."""
    path, database = new_database(home)
    insert(database, doc)
    database.close()
    return f"{path}#{doc['info']['id']}"
