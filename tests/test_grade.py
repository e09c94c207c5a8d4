"""The ladder from every step to silence."""

from __future__ import annotations

from random import Random

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
    if state == MOVED:
        return Outcome(MOVED, f"{path} moved to new/{path} (same content)", f"new/{path}")
    return Outcome(state, "" if state == FRESH else f"{path} {kind} {state}")


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


KINDS = ("path", "blob", "symbol", "body", "check", "of-another-version")
WORSE = [FRESH, MOVED, UNKNOWN, EDITED, GONE]
outcomes_of_any_kind = st.builds(
    Outcome,
    st.sampled_from(STATES),
    st.sampled_from(["", "one", "two"]),
    st.sampled_from(["", "x"]),
)


@st.composite
def records(draw: st.DrawFn) -> tuple[Playbook, list[Outcome]]:
    """Any record with any probes on any of its steps, and any outcomes."""
    kinds = draw(st.lists(st.sampled_from(["READ", "MUTATE", "SETUP", "VERIFY"]), max_size=4))
    probe = st.builds(
        Probe,
        st.sampled_from(KINDS),
        st.fixed_dictionaries({"path": st.sampled_from(PATHS)}),
        st.lists(st.integers(0, 4), max_size=3).map(tuple),
    )
    probes = draw(st.lists(probe, max_size=8))
    made = book(draw(st.booleans()))._replace(
        steps=tuple(Step(kind, PATHS[place % 2]) for place, kind in enumerate(kinds)),
        files=draw(st.sampled_from([(), PATHS[:1], PATHS])),
        probes=tuple(probes),
    )
    found = st.lists(outcomes_of_any_kind, min_size=len(probes), max_size=len(probes))
    return made, draw(found)


@given(records(), st.data())
def test_for_any_record_a_worse_outcome_never_gives_a_better_grade(
    record: tuple[Playbook, list[Outcome]], data: st.DataObject
) -> None:
    made, outcomes = record
    if outcomes:
        place = data.draw(st.integers(0, len(outcomes) - 1))
        worse = data.draw(st.sampled_from(WORSE[WORSE.index(outcomes[place].state) :]))
        changed = [*outcomes]
        changed[place] = outcomes[place]._replace(state=worse)
        before, after = grade(made, outcomes), grade(made, changed)
        assert GRADES.index(before.name) <= GRADES.index(after.name)
        place_of_move = {outcomes[place].path}  # the one name that a move may bring
        assert set(after.files) <= set(before.files) | set(PATHS) | place_of_move


@given(records(), st.randoms())
def test_for_any_record_the_order_of_probes_is_irrelevant(
    record: tuple[Playbook, list[Outcome]], random: Random
) -> None:
    made, outcomes = record
    pairs = list(zip(made.probes, outcomes, strict=True))
    random.shuffle(pairs)
    mixed = made._replace(probes=tuple(probe for probe, _ in pairs))
    assert grade(mixed, [outcome for _, outcome in pairs]) == grade(made, outcomes)


@given(records())
def test_any_record_gets_one_outcome_for_each_step_and_readable_reasons(
    record: tuple[Playbook, list[Outcome]],
) -> None:
    result = grade(*record)
    assert len(result.outcomes) == len(record[0].steps)
    assert {outcome.state for outcome in result.outcomes} <= set(STATES)
    assert result.name != WITHHELD or result.reasons
    assert all(result.reasons)


def test_a_read_follows_the_content_that_an_edit_is_known_by() -> None:
    made = book()._replace(
        steps=(Step("READ", "a.py"), Step("MUTATE", "a.py")),
        probes=(Probe("path", {"path": "a.py"}, (0, 1)), Probe("blob", {"path": "a.py"}, (1,))),
    )
    result = grade(made, [Outcome(GONE, "a.py is gone"), Outcome(MOVED, "moved", "lib/a.py")])
    assert [outcome.path for outcome in result.outcomes] == ["lib/a.py", "lib/a.py"]
    assert result.name == L0_FULL


def test_a_record_without_edits_is_judged_by_what_it_read_and_checked() -> None:
    made = book()._replace(
        steps=(Step("READ", "a.py"), Step("VERIFY", command="pytest")),
        files=(),
        probes=(Probe("path", {"path": "a.py"}, (0,)), Probe("check", {"command": "c"}, (1,))),
    )
    assert grade(made, [Outcome(FRESH), Outcome(FRESH)]).name == L0_FULL
    assert grade(made, [Outcome(GONE, "gone"), Outcome(FRESH)]).name == L0_PARTIAL
    assert grade(made, [Outcome(GONE, "gone"), Outcome(GONE, "gone")]).name == L2_INVARIANT


def test_one_changed_symbol_of_several_hides_the_step_and_is_the_one_named() -> None:
    made = book()._replace(
        steps=(Step("MUTATE", "a.py", symbols=("f", "g")),),
        probes=tuple(
            Probe(kind, {"path": "a.py", "name": name}, (0,))
            for kind, name in (("blob", ""), ("body", "f"), ("body", "g"))
        ),
    )
    outcomes = [
        Outcome(EDITED, "a.py was changed since"),
        Outcome(FRESH),
        Outcome(EDITED, "a.py: g was changed since"),
    ]
    assert grade(made, outcomes).outcomes == (Outcome(EDITED, "a.py: g was changed since"),)


def test_outcomes_that_do_not_match_the_probes_are_refused() -> None:
    with pytest.raises(ValueError, match="zip"):
        grade(book(), [])


def test_steps_that_nothing_guards_are_unknown_and_give_no_full_trust() -> None:
    bare = book()._replace(probes=())
    assert grade(bare, []).name == L1_TOPOLOGY


def test_a_probe_that_names_a_step_that_is_not_there_is_ignored() -> None:
    odd = book()._replace(probes=(Probe("path", {"path": "a.py"}, (99,)),))
    assert grade(odd, [Outcome(FRESH)]).name == L1_TOPOLOGY
