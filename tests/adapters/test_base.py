"""Careful reading of values, and the collector of actions."""

from __future__ import annotations

import pytest

from git_tmem.actions import EXEC, MUTATE, OTHER, OUTPUT_TAIL, Action
from git_tmem.adapters.base import (
    PASSING_TAIL,
    Narration,
    Trace,
    command_of,
    epoch,
    file_of,
    keep_output,
    path_of,
    text_of,
    whole_number,
)
from git_tmem.changes import Hunk


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("2026-02-03T10:00:01.500Z", 1770112801),
        ("2026-02-03T10:00:01Z", 1770112801),
        ("2026-02-03T10:00:01.1234567Z", 1770112801),
        ("2026-02-03T12:30:01+02:30", 1770112801),
        ("2026-02-03T08:00:01.000-02:00", 1770112801),
        ("2026-02-03T10:00:01", 1770112801),
        (1770112801, 1770112801),
        (1770112801500, 1770112801),
        (1770112801.9, 1770112801),
        ("1960-01-01T00:00:00Z", 0),
        ("yesterday", 0),
        ("", 0),
        (-5, 0),
        (float("nan"), 0),
        (float("inf"), 0),
        (None, 0),
        ([], 0),
    ],
)
def test_times_become_seconds(value: object, seconds: int) -> None:
    assert epoch(value) == seconds


@pytest.mark.parametrize(
    ("value", "number"),
    [(3, 3), ("2", 2), (" -1 ", -1), (True, None), ("--1", None), ("", None), ("x", None)],
)
def test_exit_statuses_are_whole_numbers(value: object, number: int | None) -> None:
    assert whole_number(value) == number


@pytest.mark.parametrize(
    ("path", "file"),
    [("/a/b.py", "/a/b.py"), ("b.py", "b.py"), ("/a/b", ""), ("/a.d/b", ""), ("..", ""), (5, "")],
)
def test_a_search_reads_a_file_only_if_its_path_looks_like_one(path: object, file: str) -> None:
    assert file_of(path) == file


def test_what_cannot_be_a_path_is_none() -> None:
    assert path_of("a/b") == "a/b"
    assert path_of("a\0b") == path_of("a" * 5_000) == path_of(["a"]) == ""


def test_arguments_of_a_shell_are_its_command() -> None:
    assert command_of(["bash", "-lc", "make test"]) == "make test"
    assert command_of(["make", "test"]) == "make test"
    assert command_of(None) == ""


def test_text_is_gathered_from_strings_and_blocks() -> None:
    assert text_of(["a", {"text": "b"}, {"type": "image"}, 5, {"text": 5}]) == "a\nb"
    assert text_of({"text": "a"}) == ""


def test_a_passing_command_keeps_far_less_output_than_a_failing_one() -> None:
    output = "start" + "x" * 100_000 + "end"
    assert len(keep_output(output, 0)) < PASSING_TAIL + 10
    assert keep_output(output, 0).endswith("end")
    for code in (1, None):
        assert len(keep_output(output, code)) > OUTPUT_TAIL
        assert keep_output(output, code).startswith("start")


def test_calls_under_one_id_are_answered_in_their_order() -> None:
    trace = Trace("x")
    first, second = (trace.add(Action(EXEC, n), "REDACTED") for n in range(2))
    assert [trace.answered("REDACTED") for _ in range(3)] == [first, second, None]


def test_an_edit_of_no_file_is_no_edit() -> None:
    trace = Trace("x")
    trace.add(Action(MUTATE, 0, hunks=(Hunk((), ("a",)),)))
    assert trace.session().actions == (Action(OTHER, 0),)


def test_lone_surrogates_become_question_marks() -> None:
    trace = Trace("x")
    trace.id = "i\ud800"
    trace.add(Action(MUTATE, 0, path="\udfff.py", hunks=(Hunk(("\ud800",), ("好",)),)))
    trace.miss("\ud800")
    session = trace.session()
    assert session.id == "i?"
    assert session.unknown == (("?", 1),)
    assert session.actions == (Action(MUTATE, 0, path="?.py", hunks=(Hunk(("?",), ("好",)),)),)


def test_a_flood_of_unknown_names_is_counted_together() -> None:
    trace = Trace("x")
    for number in range(1_000):
        trace.miss(f"name {number}" + "!" * 1_000)
    unknown = trace.session().unknown
    assert sum(count for _, count in unknown) == 1_000
    assert len(unknown) < 300
    assert max(len(name) for name, _ in unknown) <= 80


def test_a_reason_is_what_was_said_since_the_last_results() -> None:
    said = Narration()
    said.begin("m1")
    said.think("hidden")
    assert said.reason == "hidden"
    said.say("  first  ")
    said.say("")
    assert said.reason == "first"
    said.answer()
    said.begin("m1")
    assert said.reason == "first"  # the same message goes on after a result
    said.answer()
    said.begin("m2")
    assert said.reason == ""
