"""Reading a log's bytes as records."""

from __future__ import annotations

import io
import json
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_tmem.adapters import records
from git_tmem.adapters.records import Records

from .samples import DATA, log

ZSTD = DATA / "dsh" / "session.v4.jsonl.zstd"


def read(data: bytes) -> tuple[list[tuple[int, dict[str, Any]]], int]:
    """The records in some bytes, and how many lines were damaged."""
    reader = Records(io.BytesIO(data))
    return list(reader), reader.damaged


@given(st.lists(st.dictionaries(st.text(max_size=5), st.integers(), max_size=3), max_size=8))
def test_every_record_comes_back_under_the_number_of_its_line(values: list[dict[str, Any]]) -> None:
    assert read(log(*values)) == (list(enumerate(values)), 0)


def test_blank_lines_are_neither_records_nor_damage() -> None:
    assert read(b'{}\n\n \r\n{"a": 1}\r\n') == ([(0, {}), (3, {"a": 1})], 0)


def test_lines_without_an_object_are_damage() -> None:
    assert read(b'1\n{"a": 1} x\n{"a"\n"s"\nnull\n{}') == ([(5, {})], 5)


def test_invalid_utf8_is_replaced() -> None:
    assert read(b'{"a": "\xff"}\n') == ([(0, {"a": "\ufffd"})], 0)


def test_a_byte_order_mark_is_no_part_of_the_first_record() -> None:
    assert read(b"\xef\xbb\xbf{}\n{}\n") == ([(0, {}), (1, {})], 0)


def test_a_deeply_nested_line_is_damage() -> None:
    assert read(b'{"a":' * 100_000 + b"\n{}\n") == ([(1, {})], 1)


def test_a_line_over_the_limit_is_skipped_without_being_held(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(records, "LINE_LIMIT", 100)
    long = b'{"a": "' + b"x" * 200_000 + b'"}\n'
    assert read(b"{}\n" + long + b"{}\n") == ([(0, {}), (2, {})], 1)
    assert read(long + b"{}\n") == ([(1, {})], 1)
    assert read(b"{}\n" + long[:-1]) == ([(0, {})], 1)


def test_bytes_without_end_and_without_a_record_are_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(records, "LINE_LIMIT", 100)
    assert read(b"no record\n" * 1_000 + b"{}\n") == ([], 11)
    assert read(b"{}\n" + b"no record\n" * 1_000 + b"{}\n") == ([(0, {}), (1_001, {})], 1_000)


def test_the_head_is_read_once_and_bounded() -> None:
    reader = Records(io.BytesIO(log(*({"n": n} for n in range(50)))))
    assert [record["n"] for record in reader.head()] == list(range(records.HEAD_RECORDS))
    assert [record["n"] for _, record in reader] == list(range(50))
    assert reader.count == 50
    wide = Records(io.BytesIO(log(*({"n": "x" * records.HEAD_BYTES} for _ in range(5)))))
    assert len(wide.head()) == 1


def test_frames_that_follow_each_other_are_one_log() -> None:
    assert read(ZSTD.read_bytes()) == read((DATA / "dsh" / "session.v4.jsonl").read_bytes())


def test_a_torn_frame_leaves_the_whole_lines_before_it() -> None:
    data = ZSTD.read_bytes()
    full, _ = read(data)
    for end in range(4, len(data)):
        found, damaged = read(data[:end])
        assert found == full[: len(found)]
        assert damaged <= 1
    found, damaged = read(data[:-1])
    assert len(full) - 6 < len(found) < len(full)
    assert damaged == 1


def test_a_damaged_frame_ends_the_log_there() -> None:
    data = bytearray(ZSTD.read_bytes())
    middle = data.index(b"\x28\xb5\x2f\xfd", len(data) // 2)
    data[middle : middle + 4] = b"\0\0\0\0"
    found, damaged = read(bytes(data))
    assert 0 < len(found) < 43
    assert damaged <= 1


def test_a_stream_that_gives_a_few_bytes_at_a_time_is_enough() -> None:
    class Slow(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            return super().read(min(size or 1, 7) if size and size > 0 else 7)

    expected = read(ZSTD.read_bytes())
    reader = Records(Slow(ZSTD.read_bytes()))
    assert (list(reader), reader.damaged) == expected


def test_the_stream_stays_open() -> None:
    stream = io.BytesIO(ZSTD.read_bytes())
    list(Records(stream))
    assert not stream.closed


def test_an_array_gives_its_objects_and_counts_what_is_none() -> None:
    assert read(b'[{"x": 1}, 2,\n {"y": [{}]}]\n') == ([(0, {"x": 1}), (1, {"y": [{}]})], 1)


DOCUMENT = {"a": 1.5, "b": [2, {"c": []}], "d": {"e": [3]}, "f": [], "g": [[4], None], "h": "x"}
PARTS = [{"a": 1.5}, {"b": 2}, {"b": {"c": []}}, {"d": {"e": [3]}}, {"g": [4]}, {"g": None}]
PARTS.append({"h": "x"})


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("before", [b"", b"\n\n", b"\xef\xbb\xbf"])
def test_an_object_gives_a_record_for_each_field_and_element(
    indent: int | None, before: bytes
) -> None:
    data = before + json.dumps(DOCUMENT, indent=indent).encode() + b"\n"
    assert read(data) == (list(enumerate(PARTS)), 0)


def test_a_cut_off_document_gives_what_was_whole() -> None:
    data = json.dumps(DOCUMENT, indent=1).encode()
    for end in range(3, len(data) - 1):
        found, damaged = read(data[:end])
        assert [record for _, record in found] == PARTS[: len(found)]
        assert damaged == 1


def test_an_object_of_plain_fields_on_one_line_is_one_record() -> None:
    assert read(b'{"a": 1, "b": {"c": []}}') == ([(0, {"a": 1, "b": {"c": []}})], 0)


def test_what_is_too_deep_or_has_too_many_values_is_skipped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(records, "WHOLE", 1_000)
    deep = b'{\n"a": ' + b"[" * 5_000 + b"]" * 5_000 + b', "b": 1}'
    assert read(deep) == ([(0, {"b": 1})], 1)
    wide = b'{\n"a": {"x": [' + b"1," * (1 << 20) + b'1]}, "b": 1}'
    assert read(wide) == ([(0, {"b": 1})], 1)


def test_a_document_is_held_one_element_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "WHOLE", 100_000)

    class Endless(io.RawIOBase):
        left = 400

        def read(self, size: int = -1) -> bytes:
            return b'{\n"' if self.left == 400 else self.readline()

        def readline(self, size: int | None = -1) -> bytes:
            self.left -= 1
            if self.left == 399:
                return b'messages":[\n'
            return b'"' + b"x" * 100_000 + b'",\n' if self.left > 0 else b""

    stream: Any = Endless()
    tracemalloc.start()
    try:
        reader = Records(stream)
        assert sum(1 for _ in reader) == 398
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 5_000_000
    assert reader.damaged == 1


def test_text_under_a_heading_gives_its_lines() -> None:
    text = b"\n# a chat\r\n\n> \xe4\xbd\xa0\xe5\xa5\xbd\n"
    lines = ["", "# a chat", "", "> 你好"]
    assert read(text) == ([(n, {"line": line}) for n, line in enumerate(lines)], 0)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=2), VALUES, max_size=4) | st.lists(VALUES, max_size=4))
def test_a_document_gives_the_same_in_parts_as_whole(value: Any) -> None:
    data = b"\n" + json.dumps(value, indent=1).encode()
    whole = read(data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(records, "WHOLE", 1)
        assert read(data) == whole
