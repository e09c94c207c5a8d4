"""Playbooks from slices of hand-written sessions, and from one real session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from git_tmem import adapters, compiler
from git_tmem.actions import EXEC, MUTATE, PROMPT, READ, Action, Session
from git_tmem.changes import Hunk
from git_tmem.compiler import compile_playbook
from git_tmem.playbook import SETUP, VERIFY, Edge, Playbook, canonical, to_document
from git_tmem.schema import validate
from git_tmem.slicer import backward_slice
from git_tmem.survival import Criterion, normal
from git_tmem.workspace import localise
from tests.test_slicer import FAILED, PYTEST, edit, read, run, say, write

CART = '''\
"""A cart of items."""

RATE = 0.9


class Cart:
    """What is bought."""

    def add(self, item):
        self.items.append(item)

    def total(self):
        price = sum(item.price for item in self.items)
        return price * RATE
'''

NOTE = "Members pay less. The total must multiply the price by RATE, not add it."


def playbook(actions: Sequence[Action], sources: Mapping[str, str], *changed: str) -> Playbook:
    """Records are numbered by twos: the call and, for all but prompts, its result."""
    numbered = tuple(
        action._replace(record=2 * at, result=None if action.kind == PROMPT else 2 * at + 1)
        for at, action in enumerate(actions)
    )
    session = Session("claude-code", "s1", "/home/ada/shop", numbered)
    final = {path: tuple(text.splitlines()) for path, text in sources.items()}
    found = backward_slice(numbered, Criterion(final, frozenset([*final, *changed])))
    return compile_playbook(session, found, sources)


def discount() -> list[Action]:
    """An asked-for change with a read, a failing run, two edits of one file and a check."""
    price = "        price = sum(item.price for item in self.items)"
    return [
        say("Members should pay ten percent less"),
        read("src/cart.py", reason="Let me look at the cart first."),
        run(PYTEST, 1, FAILED),
        edit("src/cart.py", "+RATE = 0.9"),
        edit(
            "src/cart.py",
            "-        price = sum(self.items)",
            "-        return price",
            f"+{price}",
            "+        return price * RATE",
            reason=NOTE,
        ),
        run(PYTEST),
    ]


def edges(book: Playbook, kind: str) -> list[tuple[str, str]]:
    return [(edge.source, edge.target) for edge in book.edges if edge.type == kind]


# --- Steps -----------------------------------------------------------------------------------


def test_edits_of_one_file_become_one_step_with_what_they_touched() -> None:
    book = playbook(discount(), {"src/cart.py": CART})
    assert [step.kind for step in book.steps] == [READ, MUTATE, VERIFY]
    step = book.steps[1]
    assert step.path == "src/cart.py"
    assert step.symbols == ("Cart.total", "RATE")
    assert (step.added, step.removed) == (3, 2)
    assert step.diff == (
        "+RATE = 0.9",
        "-price = sum(self.items)",
        "-return price",
        "+price = sum(item.price for item in self.items)",
        "+return price * RATE",
    )
    assert step.reason == "The total must multiply the price by RATE, not add it."
    assert step.verified
    assert step.evidence == (6, 7, 8, 9)


def test_every_step_cites_the_records_that_show_it() -> None:
    book = playbook(discount(), {"src/cart.py": CART})
    assert [step.evidence for step in book.steps] == [(2, 3), (6, 7, 8, 9), (10, 11)]
    assert all(edge.evidence and edge.by for edge in book.edges)


def test_the_topology_names_the_files_and_the_checks() -> None:
    book = playbook(discount(), {"src/cart.py": CART})
    assert book.files == ("src/cart.py",)
    assert book.checks == (PYTEST,)
    assert book.intent == ("Members should pay ten percent less",)
    assert book.title


def test_the_check_that_counts_comes_first_and_steps_after_it_are_unverified() -> None:
    actions = [*discount(), edit("src/tax.py", "+VAT = 0.19")]
    book = playbook(actions, {"src/cart.py": CART, "src/tax.py": "VAT = 0.19"})
    assert [(step.path, step.verified) for step in book.steps if step.kind == MUTATE] == [
        ("src/cart.py", True),
        ("src/tax.py", False),
    ]


def test_a_change_made_by_a_command_keeps_the_command() -> None:
    command = "sed -i 's/0.8/0.9/' src/cart.py"
    book = playbook([run(command, 0, ""), run(PYTEST)], {}, "src/cart.py")
    assert (book.steps[0].path, book.steps[0].command) == ("src/cart.py", command)
    assert edges(book, "modifies") == [("step:0", "file:src/cart.py")]


def test_a_compact_diff_prefers_definitions_to_comments_imports_and_brackets() -> None:
    source = ["import os", "# why", "def load(path):", "    return os.stat(path)", "}", "x = 1"]
    source += [f"    total_{number} = compute_{number}(path)" for number in range(9)]
    book = playbook(
        [write("src/load.py", *source), run(PYTEST)], {"src/load.py": "\n".join(source)}
    )
    diff = book.steps[0].diff
    assert len(diff) == compiler.DIFF_LINES
    assert diff[0] == "+def load(path):"
    assert not {"+import os", "+# why", "+}"}.intersection(diff)


def test_a_long_line_is_cut_and_a_line_that_later_went_is_not_shown() -> None:
    long = "value = " + "x" * 300
    book = playbook(
        [edit("src/a.py", f"+{long}", "+gone = temporary_thing()"), run(PYTEST)], {"src/a.py": long}
    )
    (line,) = book.steps[0].diff
    assert len(line) == compiler.DIFF_WIDTH
    assert line.endswith("...")


@pytest.mark.parametrize(
    ("spoken", "kept"),
    [
        ("", ""),
        ("Great!\n\nNow the rate becomes a constant.", "Now the rate becomes a constant."),
        ("好的。现在把 rate 改成常量。", "现在把 rate 改成常量。"),
    ],
)
def test_a_reason_is_the_sentence_that_speaks_of_the_edit(spoken: str, kept: str) -> None:
    book = playbook(
        [edit("src/a.py", "+rate = 0.9", reason=spoken), run(PYTEST)], {"src/a.py": "rate = 0.9"}
    )
    assert book.steps[0].reason == kept


def test_a_long_reason_is_cut() -> None:
    book = playbook(
        [edit("src/a.py", "+x = 1", reason="because " * 200), run(PYTEST)], {"src/a.py": "x = 1"}
    )
    assert len(book.steps[0].reason) == compiler.REASON


# --- Repairs ---------------------------------------------------------------------------------


def test_a_repair_says_what_failed_what_was_done_and_what_passed() -> None:
    (repair,) = playbook(discount(), {"src/cart.py": CART}).repairs
    assert "AssertionError" in repair.error
    assert repair.signature
    assert repair.near
    assert (repair.kind, repair.failed, repair.check) == ("code", PYTEST, PYTEST)
    assert repair.fix == (
        "edit src/cart.py RATE",
        "+RATE = 0.9",
        "edit src/cart.py Cart.total",
        "+price = sum(item.price for item in self.items)",
        "+return price * RATE",
    )
    assert repair.steps == (1,)
    assert repair.evidence == (4, 5, 6, 7, 8, 9, 10, 11)


def test_a_failing_check_without_a_known_error_is_told_by_its_last_line_that_fails() -> None:
    output = "checking a\n  1 item FAILED\nFinished in 3.6s"
    book = playbook(
        [run(PYTEST, 1, output), edit("src/a.py", "+x = 1"), run(PYTEST)], {"src/a.py": "x = 1"}
    )
    assert [repair.error for repair in book.repairs] == ["1 item FAILED"]


def test_an_installed_package_is_a_dependency_repair() -> None:
    install = "pip install pyyaml"
    book = playbook(
        [
            edit("src/a.py", "+import yaml"),
            run(PYTEST, 1, "ModuleNotFoundError: No module named 'yaml'"),
            run(install, 0, "Successfully installed pyyaml-6.0"),
            run(PYTEST),
        ],
        {"src/a.py": "import yaml"},
    )
    (repair,) = book.repairs
    assert (repair.kind, repair.fix) == ("dependency", (f"run {install}",))
    assert [(step.kind, step.command) for step in book.steps[1:]] == [
        (SETUP, install),
        (VERIFY, PYTEST),
    ]


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("package.json", "dependency"),
        ("services/api/go.mod", "dependency"),
        ("requirements-dev.txt", "dependency"),
        ("tsconfig.json", "toolchain"),
        ("docker/Dockerfile", "toolchain"),
        (".github/workflows/ci.yml", "toolchain"),
        ("src/package.py", "code"),
    ],
)
def test_the_kind_of_a_repair_follows_from_the_file_that_cured_it(path: str, kind: str) -> None:
    book = playbook(
        [run(PYTEST, 1, FAILED), edit(path, "+answer = 42"), run(PYTEST)], {path: "answer = 42"}
    )
    assert [repair.kind for repair in book.repairs] == [kind]


def test_a_cure_in_code_and_manifest_is_a_code_repair() -> None:
    changes = [edit("go.mod", "+require x v1.2.3"), edit("src/a.go", "+use(x)")]
    book = playbook(
        [run(PYTEST, 1, FAILED), *changes, run(PYTEST)],
        {"go.mod": "require x v1.2.3", "src/a.go": "use(x)"},
    )
    assert [repair.kind for repair in book.repairs] == ["code"]


# --- The graph -------------------------------------------------------------------------------


def test_the_graph_has_all_five_kinds_of_edges() -> None:
    book = playbook(discount(), {"src/cart.py": CART})
    assert edges(book, "served_by") == [("req:0", f"step:{at}") for at in range(3)]
    assert edges(book, "informs") == [("step:0", "step:1")]
    assert edges(book, "modifies")[0] == ("step:1", "file:src/cart.py#Cart.total")
    assert edges(book, "fixed_by") == [("error:0", "step:1")]
    assert edges(book, "verifies") == [("step:2", "req:0")]


def test_a_step_serves_the_request_it_came_after() -> None:
    book = playbook(
        [
            say("Give members a discount"),
            edit("src/a.py", "+rate = 0.9"),
            say("ok"),
            run(PYTEST),
            say("Now add the tax to the receipt as well"),
            edit("src/a.py", "+tax = 0.19"),
            edit("src/b.py", "+print(tax)"),
            run("npm test"),
        ],
        {"src/a.py": "rate = 0.9\ntax = 0.19", "src/b.py": "print(tax)"},
    )
    assert [step.path or step.command for step in book.steps] == [
        "src/a.py",
        PYTEST,
        "src/b.py",
        "npm test",
    ]
    assert edges(book, "served_by") == [
        ("req:0", "step:0"),
        ("req:1", "step:0"),
        ("req:0", "step:1"),
        ("req:1", "step:2"),
        ("req:1", "step:3"),
    ]
    assert edges(book, "verifies") == [
        ("step:1", "req:0"),
        ("step:3", "req:0"),
        ("step:3", "req:1"),
    ]


def test_what_a_subagent_was_told_is_no_requirement() -> None:
    told = say("Look for every caller of the total")._replace(subagent=True)
    book = playbook([told, *discount()], {"src/cart.py": CART})
    assert book.intent == ("Members should pay ten percent less",)


# --- Limits and laws -------------------------------------------------------------------------


def test_reads_are_the_first_to_go_when_there_are_too_many_steps() -> None:
    paths = [f"src/part_{number}.py" for number in range(30)]
    actions = [step for path in paths for step in (read(path), edit(path, f"+{path[4:11]} = 1"))]
    sources = {path: f"{path[4:11]} = 1" for path in paths}
    book = playbook([*actions, run(PYTEST)], sources)
    kinds = [step.kind for step in book.steps]
    assert len(kinds) == compiler.STEPS
    assert (kinds.count(MUTATE), kinds.count(VERIFY)) == (30, 1)
    assert book.dropped[compiler.OVER_LIMIT] == 61 - compiler.STEPS


texts = st.text(max_size=30) | st.sampled_from(["src/a.py", "rate", "x" * 3_000, "\ud800 rate"])
names = st.sampled_from(["src/a.py", "src/b.py", "go.mod", "文件/甲.py", "a b.py"])
texts_of_lines = st.lists(texts.map(lambda text: text.replace("\n", " ")), max_size=5).map(tuple)
steps = st.builds(
    lambda kind, path, lines, command, code, text: Action(
        kind,
        0,
        path=path if kind in (READ, MUTATE) else "",
        hunks=(Hunk((), lines),) if kind == MUTATE else (),
        command=command if kind == EXEC else "",
        exit_code=code,
        output=text,
        text=text if kind == PROMPT else "",
        reason=text,
    ),
    st.sampled_from([READ, MUTATE, EXEC, PROMPT]),
    names,
    texts_of_lines,
    st.sampled_from([PYTEST, "pip install rate", "sed -i s/a/b/ src/b.py", "npm test"]) | texts,
    st.sampled_from([0, 1]),
    st.sampled_from([FAILED, "TypeError: rate"]) | texts,
)


@settings(max_examples=150, deadline=None)
@given(st.lists(steps, max_size=12), st.frozensets(names))
def test_a_playbook_fits_the_schema_says_the_same_twice_and_cites_what_exists(
    actions: list[Action], changed: frozenset[str]
) -> None:
    added: dict[str, str] = {}
    for action in actions:
        for hunk in action.hunks:
            added[action.path] = "\n".join([added.get(action.path, ""), *hunk.added])
    book = playbook(actions, added, *changed)
    document = to_document(book)
    validate(document, "playbook", "a playbook")
    assert canonical(document) == canonical(to_document(playbook(actions, added, *changed)))
    for edge in book.edges:
        assert _known(edge, book)
        assert all(record <= 2 * len(actions) for record in edge.evidence)
    for repair in book.repairs:
        assert all(book.steps[at].kind in (MUTATE, SETUP) for at in repair.steps)


def _known(edge: Edge, book: Playbook) -> bool:
    """Whether both ends of an edge are nodes of the playbook."""
    sizes = {"step": len(book.steps), "req": len(book.intent), "error": len(book.repairs)}
    ends = (end.split(":", 1) for end in (edge.source, edge.target))
    return all(kind == "file" or int(name) < sizes[kind] for kind, name in ends)


# --- A real session --------------------------------------------------------------------------


def standing_lines(actions: Sequence[Action]) -> dict[str, tuple[str, ...]]:
    """What the logged edits, replayed in order, leave of the lines they put in."""
    left: dict[str, list[str]] = {}
    for action in actions:
        if action.kind == MUTATE and not action.failed:
            lines = left.setdefault(action.path, [])
            for hunk in action.hunks:
                for line in hunk.removed:
                    if line in lines:
                        lines.remove(line)
                lines.extend(hunk.added)
    return {path: tuple(lines) for path, lines in left.items()}


@pytest.fixture
def strict_settings(corpus: Path) -> Playbook:
    """Someone wants unknown keys in a settings file refused, and then the linter's complaints
    addressed; one edit and one command are rejected, one import is tried and taken back."""
    with (corpus / "claude-code" / "settings-parsing-fix.jsonl").open("rb") as stream:
        session = adapters.parse(stream)
    session = localise(session, session.cwd, [session.cwd])
    final = standing_lines(session.actions)
    found = backward_slice(session.actions, Criterion(final, frozenset(final)))
    return compile_playbook(session, found, {path: "\n".join(final[path]) for path in final})


SETTINGS = "cmd/entire/cli/settings/settings.go"
SETTINGS_TEST = "cmd/entire/cli/settings/settings_test.go"


def test_a_real_session_keeps_its_edits_its_read_and_its_tests(strict_settings: Playbook) -> None:
    assert strict_settings.files == (SETTINGS, SETTINGS_TEST)
    steps = [step for step in strict_settings.steps if step.path]
    assert [(step.kind, step.path) for step in steps] == [
        (READ, SETTINGS),
        (MUTATE, SETTINGS),
        (MUTATE, SETTINGS_TEST),
    ]
    assert strict_settings.checks[0] == "go test ./cmd/entire/cli/settings/... -v"
    assert all(step.verified for step in strict_settings.steps)
    assert any("json.NewDecoder" in line for line in steps[1].diff)
    assert 11 not in steps[1].evidence  # the rejected edit
    assert "TestLoad_RejectsUnknownKeys" in steps[2].symbols


def test_a_real_session_pairs_the_linters_last_complaint_with_its_cure(
    strict_settings: Playbook,
) -> None:
    repair = strict_settings.repairs[-1]
    assert (repair.failed, repair.check, repair.kind) == ("mise run lint", "mise run lint", "code")
    assert "+t.Chdir(tmpDir)" in repair.fix
    assert {75, 78, 93, 94} <= set(repair.evidence)


def test_a_real_session_keeps_what_was_asked(strict_settings: Playbook) -> None:
    first, *later = strict_settings.intent
    assert first == (
        "Ensure that JSON parsing of .entire/settings.json is strict - fail if any unrecognised"
        " keys are present."
    )
    assert "address the issues in `mise lint`" in later
    validate(to_document(strict_settings), "playbook", "a playbook")


def test_every_real_session_compiles_to_a_valid_playbook(corpus: Path) -> None:
    for log in sorted((corpus / "claude-code").glob("*.jsonl")):
        with log.open("rb") as stream:
            session = adapters.parse(stream)
        session = localise(session, session.cwd, [session.cwd])
        final = standing_lines(session.actions)
        found = backward_slice(session.actions, Criterion(final, frozenset(final)))
        sources = {path: "\n".join(final[path]) for path in final}
        book = compile_playbook(session, found, sources)
        for item in found.kept:
            lines = final.get(item.action.path, ())
            text = "".join(filter(str.isalnum, "".join(lines)))  # formatters break lines anew
            for hunk in item.hunks:
                same = set(map(normal, hunk.added)) & set(map(normal, lines))
                assert same or "".join(filter(str.isalnum, "".join(hunk.added))) in text
        validate(to_document(book), "playbook", "a playbook")
