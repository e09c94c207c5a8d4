"""Tasks: the laws of their events, and what people do with them in clones that share."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_tmem import tasks, worklist
from git_tmem.errors import InputError
from git_tmem.journal import Entry, write
from git_tmem.merge import merge_trees, task_path
from git_tmem.playbook import canonical, record_id
from git_tmem.repo import Repository
from git_tmem.schema import validate
from git_tmem.store import MAIN, Store
from git_tmem.tasks import Event
from tests.conftest import run_git
from tests.test_mcp import call, needs_sdk, talk
from tests.test_remote import clones, fetch, plant, push, tip
from tests.test_sharing import tmem

__all__ = ["clones"]

PEOPLE = ("Ada <ada@example.org>", "Bob <bob@example.org>", "小明 <ming@example.org>")


def event_id(event: Event) -> str:
    return record_id(canonical(tasks.to_document(event)))


def opened(title: str = "round half a cent", at: int = 100) -> tuple[str, Event]:
    event = Event(tasks.OPEN, at, PEOPLE[0], text=title)
    return event_id(event), event


@st.composite
def histories(draw: st.DrawFn) -> dict[str, Event]:
    """Events of one task, written by replicas that knew of any earlier ones."""
    task, first = opened()
    events = {task: first}
    for _ in range(draw(st.integers(0, 9))):
        known = sorted(draw(st.sets(st.sampled_from(sorted(events)), min_size=1)))
        kind = draw(st.sampled_from([tasks.CLAIM, tasks.RELEASE, tasks.STATE, tasks.DEPEND]))
        event = Event(
            kind,
            draw(st.integers(90, 110)),
            draw(st.sampled_from(PEOPLE)),
            task,
            state=draw(st.sampled_from(tasks.STATES)) if kind == tasks.STATE else "",
            other=draw(st.sampled_from(["a" * 64, "b" * 64])) if kind == tasks.DEPEND else "",
            after=tuple(known),
        )
        events[event_id(event)] = event
    return events


@given(histories(), st.randoms())
def test_every_clone_folds_the_same_task_whatever_order_events_came_in(events, random) -> None:  # type: ignore[no-untyped-def]
    names = list(events)
    random.shuffle(names)
    assert tasks.fold({name: events[name] for name in names}) == tasks.fold(events)


@given(histories())
def test_no_event_comes_before_one_that_its_writer_knew(events: dict[str, Event]) -> None:
    ordered = tasks.order(events)
    assert sorted(map(event_id, ordered)) == sorted(events)
    place = {event_id(event): number for number, event in enumerate(ordered)}
    assert all(place[old] < place[event_id(event)] for event in ordered for old in event.after)


@given(histories())
def test_an_event_read_back_from_its_json_is_the_same(events: dict[str, Event]) -> None:
    for event in events.values():
        document = json.loads(canonical(tasks.to_document(event)))
        validate(document, "task", "it")
        assert tasks.from_document(document) == event


@given(st.lists(histories(), min_size=2, max_size=2))
def test_merging_keeps_every_event_of_both_sides(sides: list[dict[str, Event]]) -> None:
    task, _ = opened()
    trees = [{task_path(task, name): name for name in side} for side in sides]
    merged = merge_trees(*trees)
    assert merged == merge_trees(*reversed(trees)) == trees[0] | trees[1]


def test_of_two_claims_that_did_not_know_of_each_other_the_first_holds() -> None:
    task, first = opened()
    early = Event(tasks.CLAIM, 105, PEOPLE[1], task, after=(task,))
    late = Event(tasks.CLAIM, 106, PEOPLE[0], task, after=(task,))
    found = tasks.fold({task: first, **{event_id(event): event for event in (late, early)}})
    assert found is not None
    assert found.holder == PEOPLE[1]
    assert set(found.heads) == {event_id(early), event_id(late)}


def test_what_most_others_wait_for_is_first_in_the_queue_and_what_waits_is_not_in_it() -> None:
    names = {}
    for number, title in enumerate(("small", "base", "middle", "top")):
        name, event = opened(title, at=100 + number)
        task = tasks.fold({name: event})
        assert task is not None
        names[title] = task
    names["middle"] = names["middle"]._replace(depends=(names["base"].id,))
    names["top"] = names["top"]._replace(depends=(names["middle"].id,))
    known = {task.id: task for task in names.values()}
    assert [task.title for task in tasks.ready(known)] == ["base", "small"]
    assert tasks.behind(names["base"].id, known) == {names["middle"].id, names["top"].id}
    known[names["base"].id] = names["base"]._replace(state=tasks.STABLE)
    assert [task.title for task in tasks.ready(known)] == ["middle", "small"]


def test_tasks_that_a_merge_made_wait_for_each_other_are_not_ready_and_end_no_loop() -> None:
    (one, first), (two, second) = opened("one"), opened("two")
    folded = [tasks.fold({name: event}) for name, event in ((one, first), (two, second))]
    known = {
        task.id: task._replace(depends=(other,))
        for task, other in zip(folded, (two, one), strict=True)
        if task
    }
    assert tasks.ready(known) == []
    assert tasks.behind(one, known) == {one, two}


def add(folder: Path, *words: str) -> str:
    return str(json.loads(tmem(folder, "task", "add", *words, "--json"))["id"])


def shown(folder: Path, *options: str) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads(tmem(folder, "task", "list", "--json", *options))
    return found


def test_a_task_from_draft_to_stable_on_evidence_that_is_looked_at(repo: Path) -> None:
    base = add(repo, "修一下", "rounding")
    top = add(repo, "release", "--after", base[:8])
    assert [task["id"] for task in shown(repo, "--ready")] == [base]
    assert "waits for" in tmem(repo, "task", "start", top[:8], status=3)
    tmem(repo, "task", "start", base[:8])
    assert "nothing shows" in tmem(repo, "task", "done", base[:8], status=3)
    missing = tmem(repo, "task", "done", base[:8], "--artifact", "nowhere.md", status=3)
    assert "nowhere.md is not there" in missing
    failed = tmem(repo, "task", "done", base[:8], "--check", "git cat-file -e 12345", status=3)
    assert "failed with status" in failed
    assert {row["id"]: row["state"] for row in shown(repo)}[base] == "active"
    done = ("--artifact", "README.md", "--check", f"{sys.executable} -c 'print(7)'")
    assert "on 2 pieces of evidence" in tmem(repo, "task", "done", base[:8], *done)
    assert [task["id"] for task in shown(repo, "--ready")] == [top]
    (repo / "README.md").write_text("other", encoding="utf-8")
    (repo / "docs").mkdir()
    told = tmem(repo / "docs", "task", "show", base[:8])
    assert f"{os.path.join('..', 'README.md')} has changed since" in told
    assert f"awaited by {top[:12]} release" in told
    assert run_git(repo, "fsck", "--full", "--strict", "--no-dangling") == ""


def test_without_evidence_a_reason_is_asked_and_kept(repo: Path) -> None:
    task = add(repo, "remove the old page")
    tmem(repo, "task", "done", task[:8], "--force", "it is gone already")
    assert "it is gone already" in tmem(repo, "task", "show", task[:8])


def test_links_are_seen_from_both_ends_and_may_name_records(repo: Path) -> None:
    one, two = add(repo, "one"), add(repo, "two")
    tmem(repo, "remember", "cents, not floats")
    record = json.loads(tmem(repo, "list", "--json"))[0]["id"]
    tmem(repo, "task", "link", one[:8], "part-of", two[:8])
    tmem(repo, "task", "link", one[:8], "relates-to", record[:8])
    assert f"{one[:12]} one part-of this" in tmem(repo, "task", "show", two[:8])
    assert f"relates-to {record[:12]} cents, not floats" in tmem(repo, "task", "show", one[:8])


def test_a_circle_of_waiting_is_refused(repo: Path) -> None:
    one = add(repo, "one")
    two = add(repo, "two", "--after", one)
    three = add(repo, "three", "--after", two)
    for other in (one, two, three):
        refused = tmem(repo, "task", "depend", one[:8], "--on", other[:8], status=3)
        assert "cannot be the other way round" in refused
    tmem(repo, "task", "depend", two[:8], "--on", one[:8], "--not")
    tmem(repo, "task", "depend", one[:8], "--on", three[:8])
    assert [task["title"] for task in shown(repo, "--ready")] == ["two"]


@pytest.mark.parametrize("name", ["zz", "12", "g" * 8, "0" * 12])
def test_a_name_of_no_task_is_said(repo: Path, name: str) -> None:
    add(repo, "one")
    assert "task" in tmem(repo, "task", "show", name, status=3)


@pytest.mark.parametrize("title", ["", " \n", "x" * 2001])
def test_a_title_that_is_none_is_refused_and_nothing_is_stored(repo: Path, title: str) -> None:
    with Repository.open(str(repo)) as repository, pytest.raises(InputError):
        worklist.open_task(repository, title)
    assert tip(repo) == ""


def test_clones_that_claim_at_once_agree_on_who_holds_it(clones: list[Path]) -> None:
    ada, bob, _ = clones
    run_git(bob, "config", "user.name", "Bob")
    task = add(ada, "round")
    assert "1 event of tasks" in tmem(ada, "push")
    assert "1 event of tasks" in tmem(bob, "fetch")
    tmem(ada, "task", "claim", task[:8])
    tmem(bob, "task", "claim", task[:8])
    push(ada)
    push(bob)
    fetch(ada)
    assert tip(ada) == tip(bob)
    holders = {shown(folder)[0]["holder"] for folder in (ada, bob)}
    assert len(holders) == 1
    [holder] = holders
    second = bob if "Ada" in str(holder) else ada
    assert "is held by" in tmem(second, "task", "claim", task[:8], status=3)
    tmem(second, "task", "claim", task[:8], "--force")
    assert shown(second)[0]["holder"] != holder


def test_what_others_opened_is_not_trusted_until_it_is_taken_on(clones: list[Path]) -> None:
    ada, bob, _ = clones
    task = add(ada, "round")
    push(ada)
    fetch(bob)
    assert shown(ada)[0]["trusted"] is True
    assert shown(bob)[0]["trusted"] is False
    tmem(bob, "task", "claim", task[:8])
    assert shown(bob)[0]["trusted"] is True


def test_hostile_events_are_refused_one_by_one_and_the_good_ones_come(clones: list[Path]) -> None:
    ada, bob, _ = clones
    task = add(ada, "good")
    good = run_git(ada, "cat-file", "blob", f"{MAIN}:{task_path(task, task)}").encode()
    forged = canonical({"format": 1, "kind": "task", "what": "claim", "at": 1, "by": "x"})
    other = Event(tasks.NOTE, 5, "x", "f" * 64, text="of another")
    note = canonical(tasks.to_document(other))
    bad = {
        task_path(task, "a" * 64): ("100644", b"{}"),
        task_path(task, record_id(forged)): ("100644", forged),
        task_path(task, record_id(note)): ("100644", note),
        f"tasks/{task[:2]}/{task}/evil.sh": ("100755", b"#!/bin/sh\n"),
    }
    plant(ada, {**bad, task_path(task, task): ("100644", good)})
    push(ada)
    merged = fetch(bob)
    assert {path for path, _ in merged.refused} == set(bad)
    assert [row["title"] for row in shown(bob)] == ["good"]


def test_a_secret_in_a_title_is_replaced_before_anything_is_written(repo: Path) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    add(repo, f"rotate {secret}")
    assert "[REDACTED:" in str(shown(repo)[0]["title"])
    done = subprocess.run(["grep", "-r", secret, str(repo)], capture_output=True, check=False)
    assert done.stdout == b""


def test_an_event_left_in_the_journal_is_stored_by_the_next_writer(repo: Path) -> None:
    name, event = opened("left over")
    data = canonical(tasks.to_document(event)).decode()
    with Repository.open(str(repo)) as repository:
        write(repository.layout, [Entry("task", name, data, "task: open: left over\n")]).leave()
        stored: set[str] = set()
        Store(repository).replay(stored)
    assert [row["id"] for row in shown(repo)] == [name]


def test_a_damaged_store_gets_its_tasks_back_from_the_journal(repo: Path) -> None:
    task = add(repo, "keep me")
    ref = repo / ".git" / Path(MAIN)
    ref.write_text("0" * 39 + "1\n", encoding="ascii")
    for log in (repo / ".git/logs/refs").rglob("main"):
        if "tmem" in str(log):
            log.unlink()
    tmem(repo, "doctor", status=1)  # its hooks are not installed
    assert [row["id"] for row in shown(repo)] == [task]


@needs_sdk
def test_an_agent_is_told_what_is_ready_and_nothing_that_others_opened(clones: list[Path]) -> None:
    ada, bob, _ = clones
    one = add(ada, "one")
    two = add(ada, "two", "--after", one)
    push(ada)
    fetch(bob)
    mine = add(bob, "mine")
    _, every, ready = talk(ada, call("tasks"), call("tasks", ready=True))
    found = [(task["id"], task["waits_for"]) for task in every["structuredContent"]["tasks"]]
    assert found == [(one, []), (two, [one])]
    assert [task["id"] for task in ready["structuredContent"]["tasks"]] == [one]
    _, others = talk(bob, call("tasks"))
    assert [task["id"] for task in others["structuredContent"]["tasks"]] == [mine]
