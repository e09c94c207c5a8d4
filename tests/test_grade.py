"""The ladder from every step to silence."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_tmem.grade import (
    GRADES,
    L0_FULL,
    L0_PARTIAL,
    L1_TOPOLOGY,
    L2_INVARIANT,
    WITHHELD,
    Grade,
    grade,
)
from git_tmem.playbook import (
    EDITED,
    FRESH,
    GONE,
    MOVED,
    UNKNOWN,
    Outcome,
    Playbook,
    Probe,
    Repair,
    Step,
)

STATES = [FRESH, MOVED, EDITED, GONE, UNKNOWN]
PATHS = ("a.py", "b.py")


def book(repairs: bool = True) -> Playbook:
    """Two edits of one symbol each, and a check."""
    steps = [Step("MUTATE", path, symbols=("f",)) for path in PATHS]
    probes = [
        Probe(kind, {"path": path, "name": "f"}, (place,))
        for place, path in enumerate(PATHS)
        for kind in ("path", "blob", "symbol", "body")
    ]
    repair = Repair("E", "k", "n", "code", "c", ("edit",), "c")
    return Playbook(
        title="t",
        agent="x",
        session="s",
        steps=(*steps, Step("VERIFY", command="pytest")),
        files=PATHS,
        checks=("pytest",),
        repairs=(repair,) if repairs else (),
        probes=(*probes, Probe("check", {"command": "pytest"}, (2,))),
    )


def found(path: str, kind: str, state: str) -> Outcome:
    """What a probe of a kind finds when the whole file is in a state."""
    if state == MOVED:
        state = MOVED if kind == "blob" else GONE
    elif state == EDITED and kind in ("path", "symbol"):
        state = FRESH
    return Outcome(state, "" if state == FRESH else f"{path} {kind} {state}",
                   f"new/{path}" if state == MOVED else "")  # fmt: skip


def graded(a: str, b: str, check: str = FRESH, repairs: bool = True) -> Grade:
    kinds = ("path", "blob", "symbol", "body")
    outcomes = [
        found(path, kind, state)
        for path, state in zip(PATHS, (a, b), strict=True)
        for kind in kinds
    ]
    return grade(book(repairs), [*outcomes, Outcome(check, "" if check == FRESH else "check")])


@pytest.mark.parametrize(
    ("a", "b", "name"),
    [
        (FRESH, FRESH, L0_FULL),
        (FRESH, MOVED, L0_FULL),
        (MOVED, MOVED, L0_FULL),
        (FRESH, UNKNOWN, L0_FULL),
        (FRESH, EDITED, L0_PARTIAL),
        (GONE, FRESH, L0_PARTIAL),
        (MOVED, GONE, L0_PARTIAL),
        (EDITED, EDITED, L1_TOPOLOGY),
        (EDITED, GONE, L1_TOPOLOGY),
        (UNKNOWN, UNKNOWN, L1_TOPOLOGY),
        (GONE, GONE, L2_INVARIANT),
    ],
)
def test_the_ladder(a: str, b: str, name: str) -> None:
    assert graded(a, b).name == name


def test_without_a_repair_nothing_is_left_when_all_is_gone() -> None:
    assert graded(GONE, GONE, repairs=False).name == WITHHELD


def test_a_check_that_cannot_run_hides_itself_alone() -> None:
    result = graded(FRESH, FRESH, check=GONE)
    assert result.name == L0_PARTIAL
    assert [outcome.state for outcome in result.outcomes] == [FRESH, FRESH, GONE]


def test_a_moved_file_heals_its_step_and_its_place_among_the_files() -> None:
    result = graded(MOVED, FRESH)
    assert result.outcomes[0].path == "new/a.py"
    assert result.files == ("new/a.py", "b.py")
    assert result.reasons == ("a.py moved to new/a.py (same content)",)


def test_layout_changes_are_judged_by_the_body() -> None:
    outcomes = [Outcome(FRESH), Outcome(EDITED, "blob"), Outcome(FRESH), Outcome(FRESH)] * 2
    assert grade(book(), [*outcomes, Outcome(FRESH)]).name == L0_FULL


@given(st.sampled_from(STATES), st.sampled_from(STATES), st.sampled_from(STATES))
def test_every_hidden_or_moved_thing_has_a_reason(a: str, b: str, check: str) -> None:
    result = graded(a, b, check)
    assert len(result.outcomes) == 3
    lost = sum(state in (EDITED, GONE, MOVED) for state in (a, b)) + (check in (EDITED, GONE))
    assert len(result.reasons) >= lost
    assert all(result.reasons)


_BADNESS = {FRESH: 0, MOVED: 0, UNKNOWN: 1, EDITED: 2, GONE: 3}


@given(*[st.sampled_from([FRESH, MOVED, EDITED, GONE])] * 4)
def test_worse_outcomes_never_give_a_better_grade(a: str, b: str, c: str, d: str) -> None:
    if _BADNESS[a] <= _BADNESS[c] and _BADNESS[b] <= _BADNESS[d]:
        assert GRADES.index(graded(a, b).name) <= GRADES.index(graded(c, d).name)


@given(st.permutations(range(9)), st.sampled_from(STATES), st.sampled_from(STATES))
def test_the_order_of_probes_does_not_matter(order: list[int], a: str, b: str) -> None:
    whole = book()
    kinds = ("path", "blob", "symbol", "body")
    outcomes = [
        found(path, kind, state)
        for path, state in zip(PATHS, (a, b), strict=True)
        for kind in kinds
    ] + [Outcome(FRESH)]
    mixed = whole._replace(probes=tuple(whole.probes[place] for place in order))
    assert grade(mixed, [outcomes[place] for place in order]) == grade(whole, outcomes)


def test_steps_that_nothing_guards_are_unknown_and_give_no_full_trust() -> None:
    bare = book()._replace(probes=())
    assert grade(bare, []).name == L1_TOPOLOGY


def test_a_probe_that_names_a_step_that_is_not_there_is_ignored() -> None:
    odd = book()._replace(probes=(Probe("path", {"path": "a.py"}, (99,)),))
    assert grade(odd, [Outcome(FRESH)]).name == L1_TOPOLOGY
