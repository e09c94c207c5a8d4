"""Documents from outside are checked here: strict JSON, size, depth, then JSON Schema.

``schema/<name>.json`` beside the package is the shape of each stored document.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from git_tmem.errors import InputError, NewerFormat
from git_tmem.playbook import FORMAT, KINDS

#: Nesting deeper than any document of ours; Python's own parser gives up at about 1,000.
DEPTH_LIMIT = 32


def data_folder(name: str) -> str:
    """The folder ``schema`` or ``hooks``: inside an installed package, or beside a checkout's."""
    here = os.path.dirname(os.path.abspath(__file__))
    installed = os.path.join(here, "data", name)
    return installed if os.path.isdir(installed) else os.path.join(os.path.dirname(here), name)


def parse(data: bytes, what: str) -> dict[str, Any]:
    """The JSON object in ``data``; ``what`` names the document in messages.

    Raises InputError for anything that is not one strict UTF-8 JSON object: duplicate
    keys, NaN, lone surrogates, a byte order mark, huge numbers or deep nesting included.
    """
    try:
        text = data.decode("utf-8")
        if _too_deep(text):
            raise ValueError(f"nested deeper than {DEPTH_LIMIT} levels")
        document = json.loads(
            text, object_pairs_hook=_unique, parse_constant=_constant, parse_int=_integer
        )
        json.dumps(document, ensure_ascii=False).encode("utf-8")  # refuses lone surrogates
    except (ValueError, RecursionError) as error:
        raise InputError(f"{what} is not a usable JSON document: {_short(error)}") from error
    if not isinstance(document, dict):
        raise InputError(f"{what} is not a JSON object")
    return document


def validate(document: Mapping[str, Any], name: str, what: str) -> None:
    """Check a document against ``schema/<name>.json``.

    Raises NewerFormat for a document of a later format, InputError for one of no format.
    """
    refuse_newer(document, what)
    error = next(iter(_validator(name).iter_errors(document)), None)
    if error is not None:
        where = "/".join(str(part) for part in error.absolute_path) or "the top level"
        raise InputError(f"{what} is not a valid {name}: at {where}, {_short(error.message)}")


def kind_of(document: Mapping[str, Any], what: str) -> str:
    """The kind of a record. Raises InputError for one that is not known here."""
    kind = document.get("kind")
    if kind not in KINDS:
        known = " nor ".join(KINDS)
        raise InputError(f"{what} is neither {known}", "a newer git-tmem may know it")
    return str(kind)


def refuse_newer(document: Mapping[str, Any], what: str) -> None:
    """Raise NewerFormat for a document of a later format than this version writes."""
    version = document.get("format")
    if isinstance(version, int) and not isinstance(version, bool) and version > FORMAT:
        raise NewerFormat(
            f"{what} has format {version}, and this git-tmem reads up to {FORMAT}",
            "upgrade git-tmem to read it; nothing was changed",
        )


@lru_cache
def _validator(name: str) -> Any:
    import jsonschema

    path = os.path.join(data_folder("schema"), f"{name}.json")
    with open(path, encoding="utf-8") as stream:
        return jsonschema.Draft202012Validator(json.load(stream))


def _too_deep(text: str) -> bool:
    """Whether brackets outside strings nest deeper than the limit, without recursion."""
    depth = 0
    quoted = escaped = False
    for character in text if text.count("[") + text.count("{") > DEPTH_LIMIT else "":
        if quoted:
            quoted = escaped or character != '"'
            escaped = character == "\\" and not escaped
        elif character == '"':
            quoted = True
        elif character in "[{":
            depth += 1
            if depth > DEPTH_LIMIT:
                return True
        elif character in "]}":
            depth -= 1
    return False


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) != len(pairs):
        raise ValueError("a key appears twice")
    return document


def _constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _integer(digits: str) -> int:
    if len(digits) > 17:
        raise ValueError("a number is too long")
    return int(digits)


def _short(error: object) -> str:
    text = " ".join(str(error).split())
    return text if len(text) <= 160 else f"{text[:157]}..."
