"""Slices of sessions written down by hand, and laws for generated ones."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from git_tmem import slicer
from git_tmem.actions import EXEC, MUTATE, OTHER, PROMPT, READ, Action
from git_tmem.changes import Hunk
from git_tmem.playbook import SETUP, VERIFY
from git_tmem.slicer import Slice, backward_slice
from git_tmem.survival import Criterion, normal, trivial

FAILED = "FAILED tests/test_cart.py::test_total - AssertionError: assert 30 == 27\n1 failed in 0.1s"
TYPE_ERROR = "E   TypeError: unsupported operand type(s) for +: 'int' and 'str'\n1 failed in 0.1s"
PASSED = "1 passed in 0.10s"


def read(path: str, **more: Any) -> Action:
    return Action(READ, 0, "Read", path)._replace(**more)


def hunk(*lines: str) -> Hunk:
    """A hunk from lines that begin with ``-`` or ``+``."""
    removed = tuple(line[1:] for line in lines if line[0] == "-")
    return Hunk(removed, tuple(line[1:] for line in lines if line[0] == "+"))


def edit(path: str, *lines: str, **more: Any) -> Action:
    return Action(MUTATE, 0, "Edit", path, (hunk(*lines),))._replace(**more)


def write(path: str, *lines: str) -> Action:
    return Action(MUTATE, 0, "Write", path, (Hunk((), lines),), created=True)


def run(command: str, code: int | None = 0, output: str = PASSED) -> Action:
    return Action(EXEC, 0, "Bash", command=command, exit_code=code, output=output)


def say(text: str) -> Action:
    return Action(PROMPT, 0, text=text)


def cut(actions: Iterable[Action], changed: Iterable[str] = (), **final: str) -> Slice:
    """The slice by final files given as ``a="line\\nline"`` for ``src/a.py``."""
    files = {f"src/{name}.py": tuple(text.splitlines()) for name, text in final.items()}
    return backward_slice(list(actions), Criterion(files, frozenset([*files, *changed])))


def roles(found: Slice) -> list[tuple[int, str]]:
    return [(item.index, item.role) for item in found.kept]


PYTEST = "python -m pytest tests"


# --- Which edits survive ---------------------------------------------------------------------


def test_an_edit_whose_lines_are_in_the_file_survives_and_the_one_it_replaced_is_dead() -> None:
    found = cut(
        [
            edit("src/cart.py", "-return total", "+return total * 0.8"),
            edit("src/cart.py", "-return total * 0.8", "+return total * 0.9"),
            run(PYTEST),
        ],
        cart="def total():\n    return total * 0.9",
    )
    assert roles(found) == [(1, MUTATE), (2, VERIFY)]
    assert found.dropped == {slicer.DEAD_EDIT: 1}
    assert found.missing == ""


def test_a_file_that_survives_does_not_save_an_edit_whose_lines_are_gone() -> None:
    found = cut([edit("src/a.py", "-x = 1", "+x = 2"), run(PYTEST)], a="x = 1\ny = 3")
    assert found.kept == ()
    assert found.missing == slicer.NO_EDIT


def test_an_edit_that_restores_what_a_dead_one_took_is_dead_too() -> None:
    found = cut(
        [
            edit("src/a.py", "-limit = 10", "+limit = 99"),
            edit("src/a.py", "-limit = 99", "+limit = 10"),
            edit("src/a.py", "+retries = 3"),
            run(PYTEST),
        ],
        a="limit = 10\nretries = 3",
    )
    assert roles(found) == [(2, MUTATE), (3, VERIFY)]
    assert found.dropped == {slicer.DEAD_EDIT: 2}


def test_lines_taken_out_at_one_place_and_put_in_at_another_are_a_move_and_no_undoing() -> None:
    found = cut(
        [edit("src/a.py", "-def helper(): ..."), edit("src/a.py", "+def helper(): ...")],
        a="def main(): ...\ndef helper(): ...",
    )
    assert roles(found) == [(1, MUTATE)]


def test_taking_out_a_line_the_session_had_put_in_is_no_edit() -> None:
    found = cut(
        [
            edit("src/a.py", "+print('debug', value)"),
            edit("src/a.py", "-print('debug', value)"),
            edit("src/a.py", "+value = clean(value)"),
            run(PYTEST),
        ],
        a="value = clean(value)",
    )
    assert roles(found) == [(2, MUTATE), (3, VERIFY)]


def test_a_pure_deletion_survives_when_its_lines_are_not_there() -> None:
    actions = [edit("src/a.py", "-import strings", "-import fmt"), run(PYTEST)]
    assert roles(cut(actions, a="import bytes")) == [(0, MUTATE), (1, VERIFY)]
    assert cut(actions, a="import strings\nimport fmt").missing == slicer.NO_EDIT


def test_an_edit_survives_with_half_of_its_lines_and_not_with_fewer() -> None:
    four = edit("src/a.py", "+a = one()", "+b = two()", "+c = three()", "+d = four()")
    assert roles(cut([four], a="a = one()\nb = two()")) == [(0, MUTATE)]
    assert cut([four], a="a = one()").kept == ()


def test_brackets_and_bare_keywords_do_not_keep_an_edit_alive() -> None:
    added = ["+if ready() {", "+}", "+else:", "+)", "+return"]
    assert cut([edit("src/a.py", *added)], a="}\nelse:\n)\nreturn").kept == ()
    assert len(cut([edit("src/a.py", *added)], a="if ready() {").kept) == 1


def test_layout_within_a_line_makes_no_difference() -> None:
    found = cut([edit("src/a.py", "+x=f( 1,2 )")], a="    x = f(1, 2)")
    assert roles(found) == [(0, MUTATE)]


def test_an_edit_that_only_indents_survives_by_its_exact_lines() -> None:
    indent = edit("src/a.py", "-work()", "-rest()", "+    work()", "+    rest()")
    assert roles(cut([indent], a="if x:\n    work()\n    rest()")) == [(0, MUTATE)]
    assert cut([indent], a="work()\nrest()").kept == ()


def test_context_inside_a_hunk_is_not_what_the_edit_added() -> None:
    found = cut([edit("src/a.py", "-a = 1", "-b = 2", "+a = 1", "+b = 3")], a="a = 1\nb = 2")
    assert found.kept == ()


def test_the_latest_edit_that_added_a_line_is_the_one_that_owns_it() -> None:
    found = cut(
        [
            edit("src/a.py", "+import json"),
            edit("src/a.py", "-import json"),
            edit("src/a.py", "+import json"),
        ],
        a="import json",
    )
    assert roles(found) == [(2, MUTATE)]


def test_only_the_surviving_hunks_of_a_many_handed_edit_are_kept() -> None:
    both = Action(MUTATE, 0, "MultiEdit", "src/a.py", (hunk("+alive = 1"), hunk("+dead = 1")))
    found = cut([both], a="alive = 1")
    assert found.kept[0].hunks == (hunk("+alive = 1"),)


def test_files_that_git_does_not_have_are_scratch() -> None:
    found = cut(
        [
            write("repro.py", "import cart", "print(cart.total([1]))"),
            run("python repro.py", 0, "1"),
            edit("src/cart.py", "+return sum(items)"),
            run(PYTEST),
            run("rm repro.py", 0, ""),
        ],
        cart="return sum(items)",
    )
    assert roles(found) == [(2, MUTATE), (3, VERIFY)]
    assert found.dropped[slicer.SCRATCH_FILE] == 1


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("git mv src/old.py src/new.py", "src/new.py"),
        ("mkdir -p src/pay && mv -f 'src/old.py' src/pay/", "src/pay/old.py"),
        ("git mv src/old.py src/pay", "src/pay/old.py"),
        ("cd src; mv old.py new.py", "src/new.py"),
        ("git mv src lib", "lib/old.py"),
    ],
)
def test_an_edited_file_is_followed_when_a_command_moves_it(command: str, name: str) -> None:
    actions = [edit("src/old.py", "+rate = 0.07"), run(command, 0, ""), run(PYTEST)]
    found = backward_slice(actions, Criterion({name: ("rate = 0.07",)}, frozenset([name])))
    assert [(item.index, item.role, item.action.path) for item in found.kept] == [
        (0, MUTATE, name),
        (1, MUTATE, name),
        (2, VERIFY, ""),
    ]


def test_a_move_before_the_edit_or_one_that_failed_renames_nothing() -> None:
    criterion = Criterion({"src/new.py": ("rate = 0.07",)}, frozenset())
    change, move = edit("src/old.py", "+rate = 0.07"), run("mv src/old.py src/new.py")
    assert backward_slice([move, change], criterion).kept == ()
    assert backward_slice([change, move._replace(exit_code=1)], criterion).kept == ()


def test_an_edit_made_by_a_command_is_kept_when_git_shows_its_file_changed() -> None:
    command = "sed -i 's/0.8/0.9/' src/cart.py"
    found = cut([run(command, 0, ""), run(PYTEST)], ["src/cart.py"])
    assert [(item.action.path, item.role) for item in found.kept] == [
        ("src/cart.py", MUTATE),
        ("", VERIFY),
    ]
    assert cut([run(command, 0, ""), run(PYTEST)], ["src/other.py"]).missing == slicer.NO_EDIT


def test_a_command_is_not_credited_for_a_file_that_an_edit_already_covers() -> None:
    found = cut(
        [
            edit("src/cart.py", "+rate = 0.9"),
            run("sed -i 's/ *$//' src/cart.py", 0, ""),
            run(PYTEST),
        ],
        cart="rate = 0.9",
    )
    assert roles(found) == [(0, MUTATE), (2, VERIFY)]


def test_an_edit_without_known_lines_survives_by_what_git_shows() -> None:
    huge = Action(MUTATE, 0, "Write", "src/a.py", created=True)
    assert roles(cut([huge], a="generated")) == [(0, MUTATE)]
    criterion = Criterion({"src/a.py": ("generated",)}, frozenset())
    assert backward_slice([huge], criterion).kept == ()


def test_deleting_a_file_that_git_knew_survives_and_the_edits_before_it_do_not() -> None:
    found = cut(
        [
            edit("src/old.py", "+def extra(): ..."),
            edit("src/old.py", "-def main(): ...", "-main()"),
            run(PYTEST),
        ],
        ["src/old.py"],
    )
    assert roles(found) == [(1, MUTATE), (2, VERIFY)]


def test_rejected_edits_and_calls_are_dropped_as_failed() -> None:
    found = cut(
        [edit("src/a.py", "+x = 1", failed=True), run(PYTEST)._replace(failed=True)], a="x = 1"
    )
    assert found.kept == ()
    assert found.dropped == {slicer.FAILED_CALL: 2}


def test_paths_outside_the_work_tree_are_never_kept() -> None:
    outside = "/etc/hosts"
    actions = [edit(outside, "+127.0.0.1 shop"), read(outside), edit("../a.py", "+x = 1")]
    files = dict.fromkeys((outside, "../a.py"), ("127.0.0.1 shop", "x = 1"))
    assert backward_slice(actions, Criterion(files, frozenset(files))).kept == ()


# --- The check -------------------------------------------------------------------------------


def test_a_session_without_an_edit_or_a_check_says_which_was_missing() -> None:
    change, check = edit("src/a.py", "+x = 1"), run(PYTEST)
    assert cut([change, check], a="x = 1").missing == ""
    assert cut([change], a="x = 1").missing == slicer.NO_CHECK
    assert cut([check], a="x = 1").missing == slicer.NO_EDIT
    assert cut([], a="x = 1").missing == slicer.NEITHER


def test_a_check_before_the_first_surviving_edit_does_not_count() -> None:
    found = cut([run(PYTEST), edit("src/a.py", "+x = 1")], a="x = 1")
    assert (found.check, found.missing) == (None, slicer.NO_CHECK)


def test_edits_after_the_last_passing_check_are_kept_unverified() -> None:
    found = cut(
        [
            edit("src/a.py", "+x = 1"),
            run(PYTEST),
            edit("src/b.py", "+y = 2"),
            run(PYTEST, 1, FAILED),
        ],
        a="x = 1",
        b="y = 2",
    )
    assert [(item.index, item.verified) for item in found.kept] == [
        (0, True),
        (1, True),
        (2, False),
    ]
    assert found.check == 1
    assert found.dropped == {slicer.FAILING_RUN: 1}


def test_a_linter_after_the_tests_does_not_displace_them() -> None:
    found = cut(
        [edit("src/a.py", "+x = 1"), run(PYTEST), run("ruff check src", 0, "All checks passed!")],
        a="x = 1",
    )
    assert found.check == 1
    assert roles(found) == [(0, MUTATE), (1, VERIFY), (2, VERIFY)]


def test_of_the_same_check_only_the_last_pass_is_kept() -> None:
    found = cut(
        [edit("src/a.py", "+x = 1"), run(PYTEST), edit("src/a.py", "+y = 2"), run(PYTEST)],
        a="x = 1\ny = 2",
    )
    assert roles(found) == [(0, MUTATE), (2, MUTATE), (3, VERIFY)]
    assert found.dropped == {slicer.REPEATED_CHECK: 1, slicer.REPEATED_EDIT: 1}


def test_a_throw_away_script_is_not_a_check() -> None:
    found = cut(
        [
            edit("src/a.py", "+x = 1"),
            write("scratch/test_try.py", "def test_try(): assert True"),
            run("pytest scratch/test_try.py"),
        ],
        a="x = 1",
    )
    assert found.missing == slicer.SCRATCH_CHECK


def test_a_script_poured_by_the_shell_is_as_throw_away_as_one_written_by_a_tool() -> None:
    pour = "cat > scratch/test_try.py <<'EOF'\ndef test_try(): assert True\nEOF"
    found = cut(
        [edit("src/a.py", "+x = 1"), run(pour, 0, ""), run("pytest scratch/test_try.py")],
        a="x = 1",
    )
    assert found.missing == slicer.SCRATCH_CHECK


def test_a_run_whose_exit_status_is_unknown_and_whose_output_says_nothing_is_no_pass() -> None:
    found = cut([edit("src/a.py", "+x = 1"), run(PYTEST, None, "")], a="x = 1")
    assert found.missing == slicer.NO_CHECK


# --- Failure, repair, check ------------------------------------------------------------------


def test_a_failing_run_is_paired_with_the_edit_that_cured_it_and_the_run_that_showed_it() -> None:
    found = cut(
        [run(PYTEST, 1, FAILED), edit("src/a.py", "+x = 1"), run(PYTEST)],
        a="x = 1",
    )
    assert found.pairs == (slicer.Pairing(0, (1,), 2),)
    assert found.dropped == {}


def test_a_failure_seen_again_is_paired_once_at_its_last_sight_before_the_cure() -> None:
    found = cut(
        [
            run(PYTEST, 1, FAILED),
            edit("src/a.py", "+x = 0"),
            run(PYTEST, 1, FAILED),
            edit("src/a.py", "-x = 0", "+x = 1"),
            run(PYTEST),
        ],
        a="x = 1",
    )
    assert found.pairs == (slicer.Pairing(2, (3,), 4),)


def test_chained_failures_each_get_their_own_cure() -> None:
    found = cut(
        [
            run(PYTEST, 1, TYPE_ERROR),
            edit("src/a.py", "+price = int(price)"),
            run(PYTEST, 1, FAILED),
            edit("src/b.py", "+rate = 0.9"),
            run(PYTEST),
        ],
        a="price = int(price)",
        b="rate = 0.9",
    )
    assert found.pairs == (slicer.Pairing(0, (1,), 4), slicer.Pairing(2, (3,), 4))


def test_a_run_that_passes_the_second_time_without_a_change_is_no_pair() -> None:
    found = cut(
        [run(PYTEST, 1, FAILED), run(PYTEST), edit("src/a.py", "+x = 1"), run(PYTEST)],
        a="x = 1",
    )
    assert found.pairs == ()


def test_a_dead_edit_cures_nothing() -> None:
    found = cut(
        [
            edit("src/b.py", "+y = 2"),
            run(PYTEST, 1, FAILED),
            edit("src/a.py", "+x = 1"),
            run(PYTEST),
        ],
        a="x = 2",
        b="y = 2",
    )
    assert found.pairs == ()


def test_an_install_between_failure_and_pass_is_kept_and_one_elsewhere_is_not() -> None:
    missing = "ModuleNotFoundError: No module named 'yaml'"
    found = cut(
        [
            run("pip install black", 0, "Successfully installed black"),
            edit("src/a.py", "+import yaml"),
            run(PYTEST, 1, missing),
            run("pip install pyyaml", 0, "Successfully installed pyyaml"),
            run(PYTEST),
        ],
        a="import yaml",
    )
    assert roles(found) == [(1, MUTATE), (3, SETUP), (4, VERIFY)]
    assert found.pairs == (slicer.Pairing(2, (3,), 4),)
    assert found.dropped == {slicer.OTHER_COMMAND: 1}


def test_an_install_that_works_the_second_time_is_not_its_own_cure() -> None:
    install, change = "npm install left-pad", edit("src/a.py", "+x = 1")
    failed = run(install, 1, "npm error 404 Not Found - GET https://registry.npmjs.org/left-pad")
    assert cut([failed, run(install)], a="x = 1").pairs == ()
    assert cut([failed, change, run(install)], a="x = 1").pairs == (slicer.Pairing(0, (1,), 2),)


def test_a_cure_farther_away_than_the_window_is_not_paired() -> None:
    idle = [read(f"doc/{number}.md") for number in range(10)]
    actions = [run(PYTEST, 1, FAILED), *idle, edit("src/a.py", "+x = 1"), run(PYTEST)]
    criterion = Criterion({"src/a.py": ("x = 1",)}, frozenset())
    assert backward_slice(actions, criterion, window=12).pairs == (slicer.Pairing(0, (11,), 12),)
    assert backward_slice(actions, criterion, window=11).pairs == ()


def test_a_command_that_edits_and_checks_at_once_is_both() -> None:
    both = "sed -i 's/0.8/0.9/' src/cart.py && python -m pytest tests"
    found = cut([run(PYTEST, 1, FAILED), run(both)], ["src/cart.py"])
    assert roles(found) == [(1, MUTATE), (1, VERIFY)]
    assert found.missing == ""


# --- Reads -----------------------------------------------------------------------------------


def test_the_last_read_of_a_file_before_its_first_edit_informed_it() -> None:
    found = cut(
        [
            read("src/a.py"),
            read("src/a.py"),
            edit("src/a.py", "+x = 1"),
            read("src/a.py"),
            run(PYTEST),
        ],
        a="x = 1",
    )
    assert roles(found) == [(1, READ), (2, MUTATE), (4, VERIFY)]
    assert found.informs == (slicer.Dependence("informs", 1, 2, slicer.SAME_FILE),)
    assert found.dropped == {slicer.EXPLORATION: 2}


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        (edit("src/a.py", "+from pricing import rate"), slicer.NAMED_IN_EDIT),
        (edit("src/a.py", "+x = 1", reason="As pricing.py does it"), slicer.NAMED_IN_REASON),
    ],
)
def test_another_file_informed_an_edit_that_names_it(change: Action, rule: str) -> None:
    found = cut(
        [read("src/pricing.py"), read("src/other.py"), change, run(PYTEST)],
        a="from pricing import rate\nx = 1",
    )
    assert found.informs == (slicer.Dependence("informs", 0, 2, rule),)


def test_another_file_informed_an_edit_whose_repaired_failure_names_it() -> None:
    found = cut(
        [
            run(PYTEST, 1, "src/pricing.py:3: in rate\n" + TYPE_ERROR),
            read("src/pricing.py"),
            edit("src/a.py", "+x = 1"),
            run(PYTEST),
        ],
        a="x = 1",
    )
    assert found.informs == (slicer.Dependence("informs", 1, 2, slicer.NAMED_IN_ERROR),)


def test_names_count_as_whole_words_of_three_letters_and_more() -> None:
    found = cut(
        [
            read("src/price.py"),
            read("src/io.py"),
            read("src/__init__.py"),
            edit("src/a.py", "+prices = io.open()"),
        ],
        a="prices = io.open()",
    )
    assert found.informs == ()


def test_a_read_beyond_the_window_and_a_search_without_a_file_inform_nothing() -> None:
    idle = [say("go on") for _ in range(36)]
    found = cut(
        [
            read("src/pricing.py"),
            *idle,
            read(""),
            read("src"),
            edit("src/a.py", "+src = pricing.src"),
        ],
        a="src = pricing.src",
    )
    assert found.informs == ()


def test_what_a_command_showed_or_a_subagent_read_counts_as_read() -> None:
    found = cut(
        [
            run("sed -n 1,80p src/a.py", 0, "x = 0"),
            read("src/pricing.py", subagent=True),
            edit("src/a.py", "+x = pricing.rate"),
            run(PYTEST),
        ],
        a="x = pricing.rate",
    )
    assert [(item.action.path, item.role) for item in found.kept[:2]] == [
        ("src/a.py", READ),
        ("src/pricing.py", READ),
    ]


def test_of_two_files_that_a_command_showed_the_one_that_informed_is_kept() -> None:
    found = cut(
        [run("cat src/other.py src/pricing.py", 0, "rate = 1"), edit("src/a.py", "+pricing.rate")],
        a="pricing.rate",
    )
    assert [(item.action.path, item.role) for item in found.kept] == [
        ("src/pricing.py", READ),
        ("src/a.py", MUTATE),
    ]


# --- Laws ------------------------------------------------------------------------------------

PATHS = ["src/a.py", "src/pay.py", "pay.py", "tests/test_a.py", "scratch.py", "", "/tmp/x", "src"]
LINES = [
    "x = 1",
    "  x = 1",
    "def pay():",
    "import pay",
    "}",
    "else:",
    "",
    "return pay.rate",
    "y = 2",
]
COMMANDS = [
    PYTEST,
    "ruff check .",
    "npm test",
    "pip install pay",
    "ls",
    "cat src/pay.py",
    "sed -i s/1/2/ src/pay.py",
    "mv src/a.py src/pay.py",
    "git mv src/pay.py pay.py",
    "echo hi > scratch.py",
    "python scratch.py",
]
OUTPUTS = ["", PASSED, FAILED, TYPE_ERROR, "pay.py: error: x", "0 issues."]

lines = st.lists(st.sampled_from(LINES), max_size=4).map(tuple)
hunks = st.lists(st.builds(Hunk, lines, lines, st.just(False)), max_size=2).map(tuple)
actions_of_any_kind = st.one_of(
    st.builds(
        lambda path, found, failed, created: Action(
            MUTATE, 0, path=path, hunks=found, failed=failed, created=created
        ),
        st.sampled_from(PATHS),
        hunks,
        st.sampled_from([False, False, True]),
        st.booleans(),
    ),
    st.builds(
        run, st.sampled_from(COMMANDS), st.sampled_from([0, 0, 1, None]), st.sampled_from(OUTPUTS)
    ),
    st.builds(read, st.sampled_from(PATHS)),
    st.builds(say, st.sampled_from(["pay less", "ok"])),
    st.just(Action(OTHER, 0, "Todo")),
)
sessions = st.lists(actions_of_any_kind, max_size=24)
finals = st.dictionaries(
    st.sampled_from(PATHS[:5]), st.lists(st.sampled_from(LINES), max_size=8).map(tuple)
)
criteria = st.builds(Criterion, finals, st.frozensets(st.sampled_from(PATHS[:5])))


law = settings(max_examples=200, deadline=None)


@law
@given(sessions, criteria)
def test_a_slice_is_a_sub_sequence_and_accounts_for_every_action(
    session: list[Action], criterion: Criterion
) -> None:
    found = backward_slice(session, criterion)
    indexes = [item.index for item in found.kept]
    assert indexes == sorted(indexes)
    for item in found.kept:
        assert item.action._replace(path="") == session[item.index]._replace(path="")
    used = set(indexes).union(*((pair.error, pair.check) for pair in found.pairs))
    dropped = sum(
        count for reason, count in found.dropped.items() if reason != slicer.REPEATED_EDIT
    )
    assert len(used) + dropped == len(session)


@law
@given(sessions, criteria)
def test_slicing_the_slice_again_keeps_the_same(
    session: list[Action], criterion: Criterion
) -> None:
    first = backward_slice(session, criterion)
    indexes = {item.index for item in first.kept}
    indexes.update(at for pair in first.pairs for at in (pair.error, pair.check))
    order = sorted(indexes)
    again = backward_slice([session[at] for at in order], criterion)
    assert [item._replace(index=order[item.index], hunks=()) for item in again.kept] == [
        item._replace(hunks=()) for item in first.kept
    ]
    # without the dropped edits that had competed for its lines, a hunk may stand again
    for before, after in zip(first.kept, again.kept, strict=True):
        assert set(before.hunks) <= set(after.hunks)
    if any(item.role == MUTATE for item in first.kept):
        assert (again.missing, again.check is None) == (first.missing, first.check is None)


@law
@given(sessions, criteria)
def test_the_telling_lines_of_a_kept_hunk_are_in_the_final_file(
    session: list[Action], criterion: Criterion
) -> None:
    for item in backward_slice(session, criterion).kept:
        for kept in item.hunks:
            final = set(map(normal, criterion.final[item.action.path]))
            added = Counter(map(normal, kept.added)) - Counter(map(normal, kept.removed))
            telling = [line for line in added.elements() if not trivial(line)]
            assert 2 * sum(line in final for line in telling) >= len(telling)


@law
@given(sessions, criteria, finals)
def test_more_final_lines_never_lose_an_edit_that_added_some(
    session: list[Action], criterion: Criterion, more: dict[str, tuple[str, ...]]
) -> None:
    grown = {path: lines + more.get(path, ()) for path, lines in criterion.final.items()}
    before = backward_slice(session, criterion).kept
    after = backward_slice(session, criterion._replace(final=grown)).kept
    kept = {(item.index, found) for item in after for found in item.hunks}
    for item in before:
        for found in item.hunks:
            if set(map(normal, found.added)) - set(map(normal, found.removed)) - {"}", "else:", ""}:
                assert (item.index, found) in kept


@law
@given(sessions, criteria)
def test_causes_come_before_effects(session: list[Action], criterion: Criterion) -> None:
    found = backward_slice(session, criterion)
    kept = {(item.index, item.role) for item in found.kept}
    for pair in found.pairs:
        assert pair.error < min(pair.repairs) <= max(pair.repairs) <= pair.check
        assert all((at, MUTATE) in kept or (at, SETUP) in kept for at in pair.repairs)
    for edge in found.informs:
        assert edge.source < edge.target
        assert (edge.source, READ) in kept
        assert (edge.target, MUTATE) in kept
    assert (found.check is None) == (found.missing != "")


odd = st.text(max_size=40)


@law
@given(
    st.lists(
        st.builds(
            lambda kind, path, command, output, hunk_lines: Action(
                kind,
                0,
                path=path,
                command=command,
                output=output,
                reason=output,
                hunks=(Hunk(hunk_lines, hunk_lines[1:]),),
            ),
            st.sampled_from([READ, MUTATE, EXEC, PROMPT, OTHER, "?"]),
            odd,
            odd
            | st.sampled_from(["mv ", "mv a", "cd '\n mv \" b", "cat > \x00", "sed -i '' \ud800"]),
            odd,
            st.lists(odd, max_size=3).map(tuple),
        ),
        max_size=8,
    ),
    st.dictionaries(odd, st.lists(odd, max_size=3).map(tuple), max_size=3),
    st.integers(-1, 40),
)
def test_nothing_odd_in_a_log_raises(
    session: list[Action], final: dict[str, tuple[str, ...]], window: int
) -> None:
    found = backward_slice(session, Criterion(final, frozenset(final)), window)
    assert len(found.kept) <= 3 * len(session)


def test_a_session_of_thousands_of_actions_takes_well_under_a_second() -> None:
    session: list[Action] = []
    final: dict[str, tuple[str, ...]] = {}
    for number in range(200):
        path = f"src/module_{number % 40}.py"
        line = f"value_{number} = compute({number})"
        session += [read(f"src/module_{(number + at) % 60}.py") for at in range(10)]
        session += [run(f"grep -n value_{number} src/*.py", 0, "src/x.py: 1") for _ in range(10)]
        session += [run(f"pytest tests/test_{number}.py", 1, FAILED), edit(path, f"+{line}")]
        session += [run(f"pytest tests/test_{number}.py"), say("and the next one")]
        session.append(run(f"mv tmp/{number} tmp/{number}.bak", 0, ""))
        final[path] = (*final.get(path, ()), line)
    assert len(session) == 5_000
    begin = time.process_time()
    found = backward_slice(session, Criterion(final, frozenset(final)))
    assert time.process_time() - begin < 2  # generous; a fifth of a second is usual
    assert sum(item.role == MUTATE for item in found.kept) == 200
    assert len(found.pairs) == 200
