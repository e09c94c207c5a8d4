"""What comes from outside is strict JSON of a known shape, or is refused in one sentence."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_tmem import schema
from git_tmem.errors import InputError, NewerFormat
from git_tmem.playbook import canonical, from_document, record_id, to_document
from tests.samples import document, playbook

texts = st.text(st.characters(codec="utf-8"), max_size=50)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff\xfe{}",
        b"\xef\xbb\xbf{}",
        b'{"a": NaN}',
        b'{"a": -Infinity}',
        b'{"a": 1, "a": 2}',
        b'{"a": "\\ud800"}',
        b'{"a": ' + b"1" * 5000 + b"}",
        b"[" * 100_000,
        b'{"a":' * 50 + b"1" + b"}" * 50,
        b"[1, 2]",
        b"null",
        b'{"a": 1}{',
        "{'a': 1}".encode("utf-16"),
    ],
)
def test_what_is_not_strict_json_is_refused(data: bytes) -> None:
    with pytest.raises(InputError, match=r"^the file "):
        schema.parse(data, "the file")


def test_brackets_inside_strings_do_not_nest() -> None:
    text = "[{" * 500 + '\\"'
    assert schema.parse(json.dumps({"a": text}).encode(), "x") == {"a": text}


@given(st.binary(max_size=200))
def test_any_bytes_are_an_object_or_an_input_error(data: bytes) -> None:
    with contextlib.suppress(InputError):
        assert isinstance(schema.parse(data, "x"), dict)


def test_a_good_record_passes() -> None:
    schema.validate(document(), "playbook", "it")


@pytest.mark.parametrize(
    ("path", "value", "where"),
    [
        (("title",), "", "title"),
        (("title",), 7, "title"),
        (("agent",), "Claude Code", "agent"),
        (("l0", "steps", 0, "path"), "/etc/passwd", "l0/steps/0/path"),
        (("l0", "steps", 0, "path"), "../x", "l0/steps/0/path"),
        (("l0", "steps", 0, "path"), "-x", "l0/steps/0/path"),
        (("l0", "steps", 0, "path"), ":(top)x", "l0/steps/0/path"),
        (("l1", "files"), "all", "l1/files"),
        (("probes", 0, "kind"), "../x", "probes/0/kind"),
        (("probes", 0, "args"), {"path": ["a"]}, "probes/0/args/path"),
        (("anchor",), {"commit": "HEAD"}, "anchor/commit"),
        (("supersedes",), ["x"], "supersedes/0"),
        (("graph", "edges"), [{"type": "knows"}], "graph/edges/0"),
        (("format",), 0, "format"),
        (("format",), True, "format"),
    ],
)
def test_a_wrong_field_is_named(path: tuple[Any, ...], value: object, where: str) -> None:
    wrong = json.loads(canonical(document()))
    place = wrong
    for part in path[:-1]:
        place = place[part]
    place[path[-1]] = value
    with pytest.raises(InputError, match=f"at {where}"):
        schema.validate(wrong, "playbook", "it")


def test_a_newer_format_is_said_apart() -> None:
    with pytest.raises(NewerFormat, match="format 7, and this git-tmem reads up to 1"):
        schema.validate({**document(), "format": 7}, "playbook", "it")


def test_fields_nobody_knows_yet_are_tolerated() -> None:
    later = {**document(), "mood": "good"}
    schema.validate(later, "playbook", "it")
    assert from_document(later) == playbook()


@given(title=texts, intent=st.lists(texts, max_size=3), started=st.integers(0, 2**53))
def test_a_playbook_survives_the_round_trip(title: str, intent: list[str], started: int) -> None:
    made = playbook(title=title, intent=tuple(intent), started=started)
    data = canonical(to_document(made))
    assert from_document(json.loads(data)) == made
    assert canonical(json.loads(data)) == data


def test_the_id_depends_on_content_alone() -> None:
    backwards = dict(reversed(list(document().items())))
    assert record_id(canonical(backwards)) == record_id(canonical(document()))
    assert record_id(canonical(document(title="x"))) != record_id(canonical(document()))
