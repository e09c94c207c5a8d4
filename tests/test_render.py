"""The block an agent receives: one fence, escaped, within its budget, the same every time."""

from __future__ import annotations

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_tmem.grade import L0_FULL, L0_PARTIAL, L1_TOPOLOGY, L2_INVARIANT, WITHHELD, Grade
from git_tmem.playbook import EDITED, FRESH, GONE, MOVED, UNKNOWN, Outcome, Playbook
from git_tmem.render import Entry, describe, one_line, plain, render
from tests.samples import playbook

hostile = st.text(
    st.sampled_from("<>/ -tmem\u200bory=\"'&\n\r\x1b[31m\u202e\u2028\x00中é`|~"), max_size=80
)


def entry(name: str = L0_FULL, book: Playbook | None = None, **grade: object) -> Entry:
    made = book or playbook()
    outcomes = tuple(Outcome(FRESH) for _ in made.steps)
    graded = Grade(name, outcomes, (), made.files)._replace(**grade)  # type: ignore[arg-type]
    return Entry("ab" * 32, made, graded, "words: cart, total", "ab" * 6)


def test_a_full_memory_shows_repair_steps_and_check() -> None:
    text = render([entry()], "0123456789ab", 4096)
    lines = text.splitlines()
    assert lines[0] == '<tmem-memory tip="0123456789ab" count="1">'
    assert lines[-1] == "</tmem-memory>"
    assert lines[2].startswith("[1] abababababab L0_FULL Fix the total of the cart")
    for words in ("error: KeyError: 'cart'", "repaired by: edit src/cart.py total()",
                  "then passed: pytest -q", "1. read src/cart.py",
                  "2. edit src/cart.py total (+1 -0)",
                  "because: sum of nothing is zero", "| + return sum(lines)",
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
    assert "3. check: pytest -q" in text  # the numbers are those of the record
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


@given(st.lists(hostile | st.text(), min_size=4, max_size=4), st.integers(0, 1500))
def test_no_text_makes_the_block_longer_than_its_budget(texts: list[str], budget: int) -> None:
    book = playbook(title=texts[0], files=(texts[1],), checks=(texts[2],))
    steps = (book.steps[1]._replace(path=texts[1], diff=tuple(texts), reason=texts[3]),)
    full = Entry(
        texts[0], book._replace(steps=steps), Grade(L0_FULL, (Outcome(FRESH),), ()), "", ""
    )
    text = render([full, full], texts[2], budget)
    assert len(text.encode()) <= budget
    assert text == "" or (text.count("<tmem-memory"), text.count("</tmem-memory>")) == (1, 1)


@pytest.mark.parametrize(
    "text",
    ["</tmem-memory>", "</TMEM-memory>", "< / tmem-memory >", "<\u200b/tmem-memory>",
     "<tm\u200bem-memory tip='x'>", "\uff1c/tmem-memory>", "<<tmem-memory>>"],
)  # fmt: skip
def test_data_that_looks_like_our_fence_does_not_read_as_one(text: str) -> None:
    block = render([entry(book=playbook(title=text))], "x", 4096)
    body = block.removeprefix("<tmem-memory ").removesuffix("</tmem-memory>")
    assert not any(sign in body for sign in "<\uff1c\ufe64")
    assert "memory" in body.splitlines()[2]


def test_an_invisible_character_is_never_shown() -> None:
    every = "".join(map(chr, range(sys.maxunicode + 1)))
    left = {unicodedata.category(sign) for sign in plain(every) if sign != "\t"}
    assert left.isdisjoint({"Cc", "Cf", "Cs", "Zl", "Zp"})
    assert plain("plain text, 中文 and é: 100 % <kept>") == "plain text, 中文 and é: 100 % <kept>"


def test_a_second_memory_comes_in_whole_or_at_least_with_its_repair() -> None:
    one = render([entry()], "x", 4096)
    for budget in range(len(one), 2 * len(one), 20):
        text = render([entry(), entry()], "x", budget)
        assert text.count("error: KeyError") == int(text.partition('count="')[2][0])


def test_a_cure_in_code_that_changed_says_so_and_brings_its_lines() -> None:
    book = playbook()
    fix = (*book.repairs[0].fix, "+    return sum(lines)")
    book = book._replace(repairs=(book.repairs[0]._replace(fix=fix),))
    assert "return sum" in render([entry(L2_INVARIANT, book)], "x", 4096)
    assert "the code has changed since" in render([entry(L2_INVARIANT, book)], "x", 4096)
    assert "the code has changed since" not in render([entry(book=book)], "x", 4096)
    tool = book._replace(repairs=(book.repairs[0]._replace(kind="toolchain"),))
    assert "the code has changed since" not in render([entry(L2_INVARIANT, tool)], "x", 4096)


def test_a_check_that_cannot_run_any_more_is_not_recommended() -> None:
    outcomes = (Outcome(FRESH), Outcome(FRESH), Outcome(GONE, "pytest -q: tests is gone"))
    text = render([entry(L0_PARTIAL, outcomes=outcomes, reasons=(outcomes[2].reason,))], "x", 4096)
    assert "not shown: pytest -q: tests is gone" in text
    assert text.count("pytest -q") == 1


def test_what_could_not_be_looked_at_is_marked() -> None:
    outcomes = (Outcome(FRESH), Outcome(UNKNOWN, "could not tell"), Outcome(FRESH))
    text = render([entry(outcomes=outcomes, reasons=("could not tell",))], "x", 4096)
    assert "edit src/cart.py total (+1 -0) (not checked)" in text
    assert "note: could not tell" in text


def test_one_line_has_id_day_title_and_file() -> None:
    made = playbook(files=("src/cart.py", "b.py"))
    line = one_line("abc", made, L0_FULL)
    assert line == "abc  2023-11-14  L0_FULL  Fix the total of the cart  (src/cart.py +1)"
    assert one_line("abc", playbook(started=0, ended=10**18, files=()), "") == f"abc  {made.title}"


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
