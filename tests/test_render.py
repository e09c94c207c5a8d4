"""The block an agent receives: one fence, escaped, within its budget, the same every time."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_tmem.grade import L0_FULL, L0_PARTIAL, L1_TOPOLOGY, L2_INVARIANT, WITHHELD, Grade
from git_tmem.playbook import EDITED, FRESH, MOVED, Outcome, Playbook
from git_tmem.render import Entry, describe, one_line, plain, render
from tests.samples import playbook

hostile = st.text(
    st.sampled_from("<>/ -tmem\u200bory=\"'&\n\r\x1b[31m\u202e\u2028\x00中é`|~"), max_size=80
)


def entry(name: str = L0_FULL, book: Playbook | None = None, **grade: object) -> Entry:
    made = book or playbook()
    outcomes = tuple(Outcome(FRESH) for _ in made.steps)
    graded = Grade(name, outcomes, made.files, ())._replace(**grade)  # type: ignore[arg-type]
    return Entry("ab" * 32, made, graded, "words: cart, total", "ab" * 6)


def test_a_full_memory_shows_repair_steps_and_check() -> None:
    text = render([entry()], "0123456789ab", 4096)
    lines = text.splitlines()
    assert lines[0] == '<tmem-memory tip="0123456789ab" count="1">'
    assert lines[-1] == "</tmem-memory>"
    assert lines[2].startswith("[1] abababababab L0_FULL Fix the total of the cart")
    for words in ("error: KeyError: 'cart'", "repaired by: edit src/cart.py total()",
                  "then passed: pytest -q", "1. read src/cart.py", "2. edit src/cart.py total (+1 -0)",
                  "because: sum of nothing is zero", "| +    return sum(lines)"[:10],
                  "3. check: pytest -q"):  # fmt: skip
        assert words in text, words


def test_a_partial_memory_hides_what_does_not_hold_and_says_why() -> None:
    outcomes = (
        Outcome(FRESH),
        Outcome(EDITED, "src/cart.py: total was changed since"),
        Outcome(FRESH),
    )
    text = render([entry(L0_PARTIAL, outcomes=outcomes, reasons=(outcomes[1].reason,))], "x", 4096)
    assert "sum of nothing" not in text
    assert "2. check: pytest -q" in text
    assert "not shown: src/cart.py: total was changed since" in text


def test_a_moved_step_shows_the_new_path() -> None:
    outcomes = (Outcome(FRESH), Outcome(MOVED, "moved", "lib/cart.py"), Outcome(FRESH))
    text = render([entry(outcomes=outcomes)], "x", 4096)
    assert "edit lib/cart.py (was src/cart.py)" in text


def test_topology_shows_files_and_checks_and_no_steps() -> None:
    text = render([entry(L1_TOPOLOGY, files=("src/cart.py",))], "x", 4096)
    assert "files: src/cart.py" in text
    assert "checks: pytest -q" in text
    assert "sum of nothing" not in text


def test_the_invariant_shows_the_repair_alone() -> None:
    text = render([entry(L2_INVARIANT)], "x", 4096)
    assert "error: KeyError" in text
    assert "check:" not in text
    assert "files:" not in text


def test_nothing_withheld_is_shown() -> None:
    assert render([entry(WITHHELD)], "x", 4096) == ""
    assert 'count="1"' in render([entry(WITHHELD), entry()], "x", 4096)


@pytest.mark.parametrize("budget", range(0, 1400, 50))
def test_the_budget_is_hard_and_the_fence_always_whole(budget: int) -> None:
    text = render([entry(book=playbook("购物车")), entry()], "x", budget)
    assert len(text.encode()) <= budget
    assert text == "" or text.endswith("</tmem-memory>")


def test_what_matters_least_goes_first() -> None:
    whole = len(render([entry()], "x", 4096).encode())
    less = render([entry()], "x", whole - 1)
    assert "because:" in less
    assert "| +" not in less
    least = render([entry()], "x", 300)
    assert "error" in least or "edit" in least or "[1]" in least


@given(hostile, hostile, hostile, hostile)
def test_no_text_breaks_the_fence_or_reaches_the_terminal_raw(
    title: str, reason: str, error: str, path: str
) -> None:
    book = playbook(title=title)
    step = book.steps[1]._replace(reason=reason, diff=(reason,), path=path, symbols=(error,))
    repair = book.repairs[0]._replace(error=error, fix=(title, reason), check=path)
    book = book._replace(
        steps=(book.steps[0], step, book.steps[2]),
        repairs=(repair,),
        files=(path,),
        checks=(reason,),
    )
    for name in (L0_FULL, L1_TOPOLOGY, L2_INVARIANT):
        text = render([entry(name, book, reasons=(reason,))], "x", 4096)
        assert text.count("<") == 2
        assert text.startswith("<tmem-memory ")
        assert text.endswith("\n</tmem-memory>")
        assert not [sign for sign in text if unicodedata.category(sign) in ("Cc", "Cf", "Zl", "Zp")
                    and sign != "\n"]  # fmt: skip
    for line in (one_line("ab", book, ""), *map(plain, describe("ab" * 32, book))):
        assert not [sign for sign in line if unicodedata.category(sign) in ("Cf", "Zl", "Zp")]
        assert "\n" not in line
        assert "\x1b" not in line


def test_equal_input_gives_equal_bytes() -> None:
    entries = [entry(), entry(L1_TOPOLOGY)]
    assert render(entries, "x", 900) == render(list(entries), "x", 900)


def test_a_patch_keeps_its_tabs_and_spaces() -> None:
    assert plain("\tif x:  # \x1b[0m") == "\tif x:  #  [0m"


def test_describe_has_every_part_with_its_evidence() -> None:
    text = "\n".join(describe("ab" * 32, playbook(dropped={"exploration": 4})))
    for words in ("record " + "ab" * 32, "agent: claude-code", "steps (L0):", "[log lines 4]",
                  "repairs (L2):", "guards:", "path=src/cart.py", "4 exploration",
                  "not committed when captured"):  # fmt: skip
        assert words in text, words
