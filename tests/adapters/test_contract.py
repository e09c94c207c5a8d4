"""What holds for every adapter, on its samples and on real logs where they are at hand."""

from __future__ import annotations

import copy
import io
import json
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from git_tmem import adapters
from git_tmem.actions import EXEC, MUTATE, OTHER, PROMPT, READ, Session
from git_tmem.adapters import base
from git_tmem.errors import InputError

from .samples import DATA, SAMPLES, log, parse, plain

every_sample = pytest.mark.parametrize(
    ("agent", "path"), SAMPLES, ids=[f"{agent}/{path.name}" for agent, path in SAMPLES]
)
#: Folders of real logs that are not named after the agent's short name.
FOLDERS = {"agy": "antigravity"}
TEXT = st.text(st.characters(), max_size=8)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT | st.just("\ud800"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)


#: Real files in an agent's folder that are no session of it: without an action, or of several.
NO_SESSIONS = {
    "chat-history-3.md",
    "fixture-branch.jsonl",
    "fixture-legacy-050.jsonl",
    "fixture-raw-052.jsonl",
    "fixture-usage-051.jsonl",
    "terminus_2-hello-world-context-summarization.trajectory.summarization-1-summary.json",
    "v0-multi-swe-bench.output.jsonl",
}


def check_laws(session: Session) -> None:
    """What slicing leans on."""
    records = [action.record for action in session.actions]
    assert records == sorted(records)
    assert session.id
    for action in session.actions:
        assert action.kind in (READ, MUTATE, EXEC, PROMPT, OTHER)
        assert action.result is None or action.result >= action.record
        assert action.path or action.failed or action.kind != MUTATE
        assert action.exit_code is None or (action.kind == EXEC and not action.failed)
        assert action.text == "" or action.kind == PROMPT
        assert action.time >= 0
        assert len(action.reason) <= base.REASON_LIMIT
        assert not (action.failed and action.hunks)
    json.dumps(session, ensure_ascii=False).encode()


def parse_or_refuse(data: bytes) -> Session | None:
    """The session, or None for a refusal of one sentence; any other error is the test's."""
    try:
        session = parse(data)
    except InputError as error:
        refusal = error
    else:
        check_laws(session)
        return session
    assert refusal.message
    assert refusal.hint
    assert "\n" not in refusal.message + refusal.hint
    return None


def check_cuts(data: bytes) -> None:
    """A log cut off anywhere says what its whole lines say, and counts one damaged line."""
    for tenth in range(1, 10):
        cut = data[: len(data) * tenth // 10]
        whole = cut[: cut.rfind(b"\n") + 1]
        torn, expected = parse_or_refuse(cut), parse_or_refuse(whole)
        if expected is None or torn is None:
            # Without its line end a last record may still be whole.
            assert expected is None
        elif torn.records == expected.records:
            assert torn == expected._replace(damaged=expected.damaged + (cut != whole))


@pytest.mark.parametrize("agent", adapters.ADAPTERS)
def test_an_adapter_is_listed_under_its_own_name_and_has_samples(agent: str) -> None:
    name = adapters.ADAPTERS[agent].NAME
    assert name == agent
    assert any((DATA / agent).iterdir())


@every_sample
def test_a_sample_is_known_by_its_content_and_gives_actions(agent: str, path: Path) -> None:
    data = path.read_bytes()
    assert adapters.detect(data) == agent
    session = parse(data)
    check_laws(session)
    assert session.agent == agent
    assert session.damaged == 0
    told = path.suffix != ".md"  # of aider's histories, where they lie tells the folder
    assert session.cwd == ("/home/ada/app" if told else "")
    assert adapters.working_directory(str(path)) == (session.cwd if told else str(path.parent))
    assert session == parse(data) == parse(data, agent)


@every_sample
def test_what_is_unknown_is_skipped_and_counted(agent: str, path: Path) -> None:
    data = plain(path)
    session = parse(data)
    more = parse(data + log({"type": "galaxy/far", "data": {}}) + b"no JSON\n[1]\n\n")
    unknown = {**dict(session.unknown), "galaxy/far": 1}
    assert more == session._replace(
        records=session.records + 1, damaged=2, unknown=tuple(sorted(unknown.items()))
    )


@every_sample
def test_a_cut_off_log_is_no_error(agent: str, path: Path) -> None:
    check_cuts(plain(path))


@every_sample
def test_no_other_adapter_takes_a_sample_for_its_own(agent: str, path: Path) -> None:
    head = [json.loads(line) for line in plain(path).splitlines()[:20]]
    takers = [name for name, adapter in adapters.ADAPTERS.items() if adapter.detect(head)]
    assert takers[0] == agent


def test_every_real_log_of_a_known_agent_is_parsed(corpus: Path) -> None:
    found = list(_real_logs(corpus))
    assert {agent for agent, _ in found} == set(adapters.ADAPTERS) - {"generic"}
    for agent, path in found:
        data = path.read_bytes()
        session = parse(data)
        check_laws(session)
        assert session.agent == agent, path
        assert session.damaged == ("torn" in path.name), path
        assert session == parse(data, agent), path


def test_real_logs_can_be_cut_anywhere(corpus: Path) -> None:
    small = [path for _, path in _real_logs(corpus) if path.stat().st_size < 300_000]
    assert small
    for path in small:
        if path.suffix != ".zstd":
            check_cuts(plain(path))


def test_logs_of_other_agents_are_parsed_or_refused_in_one_sentence(corpus: Path) -> None:
    paths = [path for path in sorted(corpus.rglob("*")) if path.is_file()]
    known = {path for _, path in _real_logs(corpus)}
    assert len(paths) > len(known)
    for path in paths:
        if path not in known:
            parse_or_refuse(path.read_bytes())


def _real_logs(corpus: Path) -> Iterator[tuple[str, Path]]:
    for folder in sorted(corpus.iterdir()):
        for agent in adapters.ADAPTERS:
            if folder.is_dir() and folder.name.startswith(FOLDERS.get(agent, agent)):
                logs = (path for path in sorted(folder.iterdir()) if path.is_file())
                yield from ((agent, path) for path in logs if path.name not in NO_SESSIONS)


@given(st.binary(max_size=300))
@example(b"\x28\xb5\x2f\xfd")
@example(b"\x28\xb5\x2f\xfd" + b"\0" * 40)
@example(b"{}\n{")
@example(b"[" * 5_000)
@example(b"1" * 5_000)
@example(b"\xff\xfe{\0}\0")
def test_bytes_that_are_no_log_are_refused(data: bytes) -> None:
    assert parse_or_refuse(data) is None


@settings(max_examples=60)
@given(
    st.sampled_from([plain(path) for _, path in SAMPLES]),
    st.lists(st.tuples(st.integers(0, 40), st.binary(max_size=40)), max_size=4),
)
def test_damage_between_lines_is_skipped(data: bytes, damage: list[tuple[int, bytes]]) -> None:
    lines = data.splitlines(keepends=True)
    for place, junk in damage:
        lines.insert(place, junk + b"\n")
    parse_or_refuse(b"".join(lines))


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.data())
def test_any_field_may_hold_anything(data: st.DataObject) -> None:
    path = data.draw(st.sampled_from([path for _, path in SAMPLES]))
    records = [json.loads(line) for line in plain(path).splitlines()]
    for _ in range(data.draw(st.integers(1, 8))):
        record = records[data.draw(st.integers(0, len(records) - 1))]
        _spoil(record, data)
    parse_or_refuse(log(*records))


def _spoil(value: Any, data: st.DataObject) -> None:
    """Replace one field somewhere below by any value."""
    places = list(value) if isinstance(value, dict) else list(range(len(value)))
    if places:
        place = data.draw(st.sampled_from(places))
        inner = value[place]
        if isinstance(inner, (dict, list)) and inner and data.draw(st.integers(0, 3)):
            _spoil(inner, data)
        else:
            value[place] = data.draw(VALUES)


class _Repeated(io.RawIOBase):
    """Lines repeated, with new ids, up to a size, made while they are read."""

    def __init__(self, lines: list[bytes], size: int) -> None:
        self.size = size
        self.lines = self._generate(lines)

    def _generate(self, lines: list[bytes]) -> Iterator[bytes]:
        number = 0
        while self.size > 0:
            number += 1
            for line in lines:
                fresh = line.replace(b"NUMBER", b"%d" % number)
                self.size -= len(fresh)
                yield fresh

    def read(self, size: int = -1) -> bytes:
        return b""

    def readline(self, size: int | None = -1) -> bytes:
        return next(self.lines, b"")


def _heavy_session() -> list[bytes]:
    """A prompt, a failing command, an edit of a large file, a passing command: about 400 KB."""
    lines = (DATA / "claude-code" / "repair.jsonl").read_bytes().splitlines(keepends=True)
    records = [json.loads(line) for line in lines]
    heavy = []
    for record in records[2:]:
        record = copy.deepcopy(record)
        result = record.get("toolUseResult")
        if isinstance(result, dict) and "originalFile" in result:
            result["originalFile"] = "x = 1\n" * 30_000
        if isinstance(result, dict) and "stdout" in result:
            result["stdout"] = record["message"]["content"][0]["content"] = "ok\n" * 20_000
        text = json.dumps(record)
        for mark in ("t1", "t2", "t3", "t4", "t5", "t6", "t7", "t8"):
            text = text.replace(f'"{mark}"', f'"{mark}-NUMBER"')
        heavy.append(text.replace("-4000-8000-", "-NUMBER-").encode() + b"\n")
    return heavy


def test_memory_stays_bounded_whatever_the_size_of_the_log() -> None:
    stream: Any = _Repeated(_heavy_session(), 60_000_000)
    tracemalloc.start()
    try:
        session = adapters.parse(stream)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert stream.size <= 0
    assert len(session.actions) > 500
    assert peak < 20_000_000


def test_a_log_of_too_many_actions_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "ACTION_LIMIT", 1_000)
    event = b'{"type":"read","path":"a"}\n'
    assert len(parse(event * 1_000).actions) == 1_000
    with pytest.raises(InputError, match="more than 1,000 actions"):
        parse(event * 1_001)


def test_beyond_what_can_be_kept_edits_are_known_by_their_path() -> None:
    content = "a line of a generated file\n" * 4_000
    data = log({"type": "prompt", "text": "go"}) + log(
        *({"type": "write", "path": f"{n}.txt", "content": content} for n in range(200))
    )
    edits = parse(data).actions[1:]
    assert [edit.path for edit in edits] == [f"{n}.txt" for n in range(200)]
    assert edits[0].hunks
    assert not edits[-1].hunks
