"""What redaction, as it is now, would take out of what is already stored.

Rules grow and a user's own patterns come later, so what was clean when it was written may
not be now. Only kinds and places are told, never the secret.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from git_tmem import journal, mirror, schema
from git_tmem.errors import TmemError
from git_tmem.merge import content_name
from git_tmem.store import INBOX, MAIN, NOTES, RAW, Store

_MARKER = re.compile(r"\[REDACTED:([\w-]+)\]")
#: Bytes of the largest text that is looked into.
_LARGEST = 64 << 20


class Finding(NamedTuple):
    """Something that should not be there: the place it is in, the path in that place, the
    record it belongs to ('' for none), the kind of secret, and how many of it."""

    place: str
    path: str
    record: str
    kind: str
    number: int


def scan(store: Store) -> list[Finding]:
    """Look through records, notes, raw traces, candidates, the mirror and the journal.

    Raises InputError for a pattern in ``tmem.redact`` that is none.
    """
    found = []
    for place, path, text in _texts(store):
        match = re.search("[0-9a-f]{64}", path) if place in (MAIN, RAW, INBOX) else None
        kinds = _kinds(store, text, json=path.endswith(".json"))
        record = match[0] if match else ""
        found += [Finding(place, path, record, kind, n) for kind, n in sorted(kinds.items())]
    return found


def _texts(store: Store) -> Iterator[tuple[str, str, bytes]]:
    """Every stored text: place, path, bytes."""
    repository = store.repository
    for ref in (MAIN, NOTES, RAW, INBOX):
        tip = repository.ref(ref)
        files = repository.files(repository.tree_of(tip)) if tip else {}
        entries = [(path, oid) for path, (_, oid) in files.items()]
        for path, data in repository.git.blobs(entries, _LARGEST):
            if ref != MAIN or content_name(path):
                yield ref, path, data
    folder = mirror.folder_of(repository.layout)
    for name in sorted(os.listdir(folder)) if folder else ():
        path = os.path.join(folder, name)
        if os.path.isfile(path):
            with open(path, "rb") as stream:
                yield mirror.FOLDER, name, stream.read()
    for batch in (*journal.pending(repository.layout), *journal.finished(repository.layout)):
        for entry in batch.entries:
            yield "journal", f"{entry.name[:12]}.json", entry.text.encode()


def _kinds(store: Store, data: bytes, json: bool) -> Counter[str]:
    """Kinds of secrets that are found now and were not marked before, with their numbers."""
    text = data.decode("utf-8", "replace")
    value: Any = text
    if json:
        try:
            value = schema.parse(data, "it")
        except TmemError:
            value = text
    return _markers(store.clean(value)) - _markers(value)


def _markers(value: Any) -> Counter[str]:
    if isinstance(value, dict):
        return sum((_markers(item) for pair in value.items() for item in pair), Counter())
    if isinstance(value, list):
        return sum(map(_markers, value), Counter())
    return Counter(_MARKER.findall(value)) if isinstance(value, str) else Counter()
