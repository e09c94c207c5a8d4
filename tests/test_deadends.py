"""What was tried, failed and was undone is kept, and known again when it is planned."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_tmem.actions import Action
from git_tmem.changes import Hunk, hunk_of
from git_tmem.deadends import fingerprint, repeated
from git_tmem.playbook import DeadEnd, Playbook, from_document, to_document
from git_tmem.render import describe
from git_tmem.schema import validate
from tests.conftest import ROOT
from tests.samples import document
from tests.test_commands import Tmem, tmem, worked
from tests.test_compiler import playbook
from tests.test_slicer import FAILED, PYTEST, edit, hunk, run, write

__all__ = ["tmem", "worked"]

CART = "def total(price):\n    return price * 0.9\n\n\ndef count(items):\n    return len(items)\n"
WRONG = edit(
    "src/cart.py", "-    return price", "+    return price - 0.1", reason="Take a tenth off."
)
BACK = edit("src/cart.py", "-    return price - 0.1", "+    return price")
RIGHT = edit("src/cart.py", "-    return price", "+    return price * 0.9")


def ends(*actions: Action, cart: str = CART) -> tuple[DeadEnd, ...]:
    return playbook([*actions, run(PYTEST)], {"src/cart.py": cart}).dead_ends


def test_an_edit_that_failed_and_was_undone_is_kept_beside_the_layers() -> None:
    (end,) = ends(WRONG, run(PYTEST, 1, FAILED), BACK, RIGHT)
    assert (end.path, end.failed, end.reason) == ("src/cart.py", PYTEST, "Take a tenth off.")
    assert end.error == "AssertionError: assert 30 == 27"
    assert end.diff == ("-return price", "+return price - 0.1")
    assert end.signature
    assert end.evidence == (0, 1, 2, 3)


def test_an_edit_that_another_replaced_after_it_failed_is_one_too() -> None:
    again = edit("src/cart.py", "-    return price - 0.1", "+    return price * 0.9")
    assert len(ends(WRONG, run(PYTEST, 1, FAILED), again)) == 1


def test_the_symbol_is_that_of_the_lines_which_are_back() -> None:
    wrong = edit("src/cart.py", "-    return len(items)", "+    return items.length")
    back = edit("src/cart.py", "-    return items.length", "+    return len(items)")
    (end,) = ends(RIGHT, wrong, run(PYTEST, 1, FAILED), back)
    assert end.symbols == ("count",)


@pytest.mark.parametrize(
    "actions",
    [
        pytest.param([WRONG, BACK, RIGHT], id="nothing failed"),
        pytest.param([WRONG, run(PYTEST), BACK, RIGHT], id="it passed"),
        pytest.param([WRONG, run(PYTEST), run("mypy .", 1, "x.py:1: error: no"), BACK, RIGHT]),
        pytest.param([WRONG, BACK, run(PYTEST, 1, FAILED), RIGHT], id="undone before it failed"),
        pytest.param([WRONG, run("ls src/x", 2, "no such file"), BACK, RIGHT], id="no check"),
        pytest.param([RIGHT, run(PYTEST, 1, FAILED)], id="it stands"),
        pytest.param(
            [WRONG, run("python -m pytest", 1, "python: No module named pytest"), BACK, RIGHT],
            id="the check is not installed",
        ),
        pytest.param([WRONG, run("pytest", 127, "not found"), BACK, RIGHT], id="no such program"),
        pytest.param([WRONG._replace(failed=True), run(PYTEST, 1, FAILED), RIGHT], id="rejected"),
        pytest.param(
            [RIGHT, write("try.py", "x = 1"), run("pytest try.py", 1, FAILED), run("rm try.py")],
            id="scratch",
        ),
    ],
)
def test_what_did_not_fail_or_was_not_undone_is_none(actions: Sequence[Action]) -> None:
    assert ends(*actions) == ()


def test_a_failure_beyond_the_window_is_another_matter() -> None:
    idle = [run("ls")] * 40
    assert ends(WRONG, *idle, run(PYTEST, 1, FAILED), BACK, RIGHT) == ()


def test_a_command_whose_work_was_set_back_after_a_failure_is_one() -> None:
    sed = "sed -i 's/price/prize/' src/cart.py"
    tried = [run(sed, 0, ""), run(PYTEST, 1, FAILED)]
    (end,) = ends(*tried, run("git checkout -- src/cart.py"), RIGHT)
    assert (end.command, end.fingerprint, end.path) == (sed, "", "src/cart.py")
    assert repeated([end], "src/cart.py", command=f"  {sed} ") == end
    assert repeated([end], "src/cart.py", command=sed.replace("prize", "cost")) is None
    assert repeated([end], "src/other.py", command=sed) is None
    assert ends(*tried, run("git checkout -- src/b.py"), RIGHT) == ()


def test_an_edit_that_git_checkout_undid_is_one() -> None:
    tried = [WRONG, run(PYTEST, 1, FAILED), run("git checkout -- src"), RIGHT]
    assert len(ends(*tried)) == 1
    assert ends(WRONG, run("git checkout -- src"), run(PYTEST, 1, FAILED), RIGHT) == ()


# --- The same again --------------------------------------------------------------------------


def test_the_same_hunk_on_the_same_file_repeats_it_whatever_its_context_and_layout() -> None:
    (end,) = ends(WRONG, run(PYTEST, 1, FAILED), BACK, RIGHT)
    before = "def total(price):\n\treturn price\n"
    plan = hunk_of(before, before.replace("return price", "return price  -  0.1"))
    assert repeated([end], "src/cart.py", plan) == end
    wide = Hunk(("def total(price):", "  return price"), ("def total(price):", "return price-0.1"))
    assert repeated([end], "src/cart.py", wide) == end
    assert repeated([end], "src/tax.py", plan) is None
    assert repeated([end], "src/cart.py", hunk("-return price", "+return price - 0.2")) is None
    assert repeated([end], "src/cart.py") is None
    assert repeated([], "src/cart.py", plan) is None


@pytest.mark.parametrize(
    ("symbol", "known"),
    [("Cart.total", True), ("total", True), ("Cart", True), ("Cart.count", False), ("", True)],
)
def test_a_dead_end_of_another_symbol_does_not_count(symbol: str, known: bool) -> None:
    plan = hunk("-a = 1", "+a = 2")
    end = DeadEnd("a.py", "pytest", "no", fingerprint(plan), symbols=("Cart.total",))
    assert (repeated([end], "a.py", plan, symbol=symbol) is end) is known


lines = st.lists(st.sampled_from(["", "a", "a = b", "\tb(a)", "()", "else:", " a"]), max_size=5)


@given(lines, lines, lines)
def test_context_and_white_space_never_change_a_fingerprint(
    removed: list[str], added: list[str], context: list[str]
) -> None:
    plain = fingerprint(Hunk(tuple(removed), tuple(added)))
    wide = Hunk((*context, *removed), tuple(f"  {line} " for line in (*context, *added)))
    assert fingerprint(wide) == plain
    turned = fingerprint(Hunk(tuple(added), tuple(removed)))
    assert turned != plain or plain == ""


@given(lines, lines)
def test_a_reverse_is_no_dead_end_where_the_try_is(old: list[str], new: list[str]) -> None:
    """The undoing itself is never told as a try: what it brings is what git has."""
    there = tuple(old), tuple(new)
    tried = Action("MUTATE", 0, "Edit", "src/cart.py", (Hunk(*there),))
    back = Action("MUTATE", 0, "Edit", "src/cart.py", (Hunk(*there[::-1]),))
    actions = [tried, run(PYTEST, 1, FAILED), back, run(PYTEST, 1, FAILED), RIGHT]
    text = "\n".join([*old, "    return price * 0.9"])
    found = ends(*actions, cart=text)
    assert {end.fingerprint for end in found} <= {fingerprint(Hunk(*there))} - {""}


def test_asking_imports_the_standard_library_alone() -> None:
    ask = (
        "import sys; from git_tmem.deadends import repeated; repeated([], 'a.py');"
        "print(*{name.partition('.')[0] for name in sys.modules} - {*sys.stdlib_module_names})"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", ask],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert set(done.stdout.split()) <= {"git_tmem", "__main__"}


# --- Stored and shown ------------------------------------------------------------------------


def kept() -> Playbook:
    return playbook(
        [WRONG, run(PYTEST, 1, FAILED), BACK, RIGHT, run(PYTEST)], {"src/cart.py": CART}
    )


def test_dead_ends_are_stored_and_come_back_and_records_without_any_are_as_they_were() -> None:
    book = kept()
    stored = to_document(book)
    validate(stored, "playbook", "it")
    assert from_document(stored).dead_ends == book.dead_ends
    assert "dead_ends" not in to_document(from_document(document()))


def test_show_tells_them() -> None:
    told = "\n".join(describe("a" * 64, kept()))
    part = told.partition("dead ends (tried and undone):\n")[2]
    assert "| +return price - 0.1" in part
    assert f"then failed: {PYTEST}" in part


def test_many_dead_ends_are_bounded() -> None:
    tries: list[Any] = []
    for number in range(30):
        bad = f"return price - {number}"
        tries += [edit("src/cart.py", "-return price", f"+{bad}"), run(PYTEST, 1, FAILED)]
        tries.append(edit("src/cart.py", f"-{bad}", "+return price"))
    assert len(ends(*tries, RIGHT)) == 12


def test_the_whole_way_from_a_log_to_show_and_to_agents(
    repo: Path, worked: Path, tmem: Tmem
) -> None:
    assert tmem("capture").returncode == 0
    (record,) = json.loads(tmem("list", "--json").stdout)
    shown = tmem("show", record["id"]).stdout
    assert "| +return self.lines.get(name)\n" in shown.partition("dead ends")[2]
    told = tmem("lookup", "src/cart.py").stdout
    assert "tried and undone: src/cart.py" in told
    (end,) = json.loads(tmem("show", record["id"], "--json").stdout)["dead_ends"]
    assert end["failed"] == "python -m pytest tests/test_cart.py"


def test_thousands_of_tries_take_about_a_second() -> None:
    tries: list[Action] = []
    for number in range(2000):
        bad = f"return price - {number}"
        tries += [edit("src/cart.py", "-return price", f"+{bad}"), run(PYTEST, 1, FAILED)]
        tries.append(edit("src/cart.py", f"-{bad}", "+return price"))
    started = time.perf_counter()
    assert len(ends(*tries, RIGHT)) == 12
    assert time.perf_counter() - started < 20
