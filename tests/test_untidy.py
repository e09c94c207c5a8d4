"""Sessions as they are: edits by scripts and formatters, checks that prove little, undone work."""

from __future__ import annotations

import pytest

from git_tmem import doubts, slicer
from git_tmem.changes import Hunk
from git_tmem.checks import passed
from git_tmem.effects import declares, discards, poured
from git_tmem.playbook import MUTATE, READ, VERIFY
from git_tmem.programs import named_by_programs
from git_tmem.render import describe
from git_tmem.slicer import backward_slice
from git_tmem.survival import Criterion
from tests.test_compiler import playbook
from tests.test_slicer import FAILED, PYTEST, cut, edit, hunk, read, roles, run, write

FIX = """cat <<'EOF' > fix.py
path = 'src/a.py'
text = open(path).read()
open(path, 'w').write(text.replace('x = 1', 'x = 2'))
EOF"""


# --- Edits by programs of the session's own --------------------------------------------------


@pytest.mark.parametrize(
    "commands",
    [
        [FIX, "python3 fix.py"],
        [FIX, "python3 ./fix.py && rm fix.py"],
        [f"{FIX}\npython fix.py"],
        ["python3 - <<'EOF'\nimport pathlib\npathlib.Path('src/a.py').write_text('x = 2')\nEOF"],
        ["python -c \"open('src/a.py', 'w').write('x = 2')\""],
        ["node -e \"require('fs').writeFileSync('./src/a.py', 'x = 2')\""],
        ["cat > fix.sh <<'E'\nsed -i 's/1/2/' src/a.py\nE", "bash fix.sh"],
        [
            "mkdir -p tools",
            f"cd tools && {FIX.replace('src/a', '../src/a')}",
            "cd tools && python fix.py",
        ],
        ["cat > $WORKSPACE/src/a.py <<'E'\nx = 2\nE"],
    ],
)
def test_an_edit_by_a_program_of_the_sessions_own_is_kept(commands: list[str]) -> None:
    found = cut([*map(run, commands), run(PYTEST)], a="x = 2")
    assert (len(commands) - 1, MUTATE) in roles(found)
    assert found.missing == ""


@pytest.mark.parametrize(
    "commands",
    [
        [FIX],  # never run
        [FIX, "python other.py"],
        ["python -c \"print(open('src/a.py').read())\""],
        [FIX.replace("src/a.py", "src/b.py"), "python fix.py"],
        ["echo 'src/a.py'"],
    ],
)
def test_a_program_that_only_reads_or_names_another_file_is_no_edit(commands: list[str]) -> None:
    found = cut([*map(run, commands), run(PYTEST)], a="x = 2")
    assert MUTATE not in [role for _, role in roles(found)]


def test_a_script_that_an_edit_tool_wrote_is_known_when_it_runs() -> None:
    body = "open('src/a.py', 'w').write('x = 2')"
    found = cut([write("fix.py", body), run("python fix.py"), run(PYTEST)], a="x = 2")
    assert roles(found) == [(1, MUTATE), (2, VERIFY)]


def test_the_last_command_on_a_file_carries_what_git_shows_of_it() -> None:
    shown = (hunk("-x = 1", "+x = 2"), hunk("+y = 3"))
    criterion = Criterion(
        {"src/a.py": ("x = 2", "y = 3")}, frozenset(["src/a.py"]), {"src/a.py": shown}
    )
    actions = [run("sed -i s/1/2/ src/a.py"), run("echo 'y = 3' >> src/a.py"), run(PYTEST)]
    kept = backward_slice(actions, criterion).kept
    assert [(item.index, item.hunks) for item in kept] == [(0, ()), (1, shown), (2, ())]


def test_nothing_odd_in_a_program_raises() -> None:
    odd = [
        "cat <<E > $(x)\n\0'\nE\npython $(x)",
        "python <<E",
        "cd .. && python -c",
        "./",
        "node -e",
    ]
    assert named_by_programs([run(command) for command in odd]) == {}


# --- Work that was set back ------------------------------------------------------------------


@pytest.mark.parametrize(
    "back",
    ["git checkout src/a.py", "git checkout -- src", "git restore .", "git reset --hard -q"],
)
def test_commands_before_a_file_was_set_back_are_dead(back: str) -> None:
    sed = "sed -i s/1/{}/ src/a.py"
    found = cut([run(sed.format(9)), run(back), run(sed.format(2)), run(PYTEST)], a="x = 2")
    assert roles(found) == [(2, MUTATE), (3, VERIFY)]


def test_setting_back_another_file_or_the_index_alone_kills_nothing() -> None:
    assert discards("git checkout main") == discards("git checkout -b fix") == ()
    assert discards("git restore --staged src/a.py") == discards("git stash pop") == ()
    sed = "sed -i s/1/2/ src/a.py"
    found = cut([run(sed), run("git checkout src/b.py"), run(PYTEST)], a="x = 2")
    assert (0, MUTATE) in roles(found)


def test_an_edit_by_a_tool_that_was_stashed_and_taken_out_again_is_alive() -> None:
    found = cut(
        [
            edit("src/a.py", "-x = 1", "+x = 2"),
            run("git stash"),
            run(PYTEST, 1, FAILED),
            run("git stash pop"),
            run(PYTEST),
        ],
        a="x = 2",
    )
    assert roles(found) == [(0, MUTATE), (4, VERIFY)]


# --- Formatters and package managers ---------------------------------------------------------


def test_an_edit_that_a_formatter_broke_into_other_lines_is_alive() -> None:
    found = cut(
        [
            edit("src/a.py", "+result = compute_total(cart, discount='summer', rounding=True)"),
            run("black src"),
            run(PYTEST),
        ],
        a='result = compute_total(\n    cart,\n    discount="summer",\n    rounding=True,\n)',
    )
    assert (0, MUTATE) in roles(found)


def test_an_edit_that_a_later_one_lengthened_is_dead_although_its_text_is_in_the_file() -> None:
    short = "return self.total_of_lines.get(name"
    found = cut(
        [
            edit("src/a.py", "-return 0", f"+{short})"),
            edit("src/a.py", f"-{short})", f"+{short}, 0)"),
            run(PYTEST),
        ],
        a=f"{short}, 0)",
    )
    assert roles(found) == [(1, MUTATE), (2, VERIFY)]


def test_a_short_text_is_not_found_by_chance_without_its_layout() -> None:
    found = cut([edit("src/a.py", "+x = (1)"), run(PYTEST)], a="max_x = 10\nfox = 1")
    assert found.missing == slicer.NO_EDIT


@pytest.mark.parametrize(
    ("command", "path", "added", "does"),
    [
        ("npm install left-pad@1", "package.json", '"left-pad": "1"', True),
        ("npm install left-pad", "web/package-lock.json", '"node_modules/left-pad": {', True),
        ("npm install left-pad", "web/app.ts", "left-pad", False),
        ("npm install left-pad", "package.json", '"express": "4"', False),
        ("npm install", "package.json", '"express": "4"', False),
        ("npm test left-pad", "package.json", "left-pad", False),
        ("uv add 'httpx>=0.27'", "pyproject.toml", '    "httpx>=0.27",', True),
        ("go get github.com/a/b@v1", "go.mod", "\tgithub.com/a/b v1.0.0", True),
    ],
)
def test_a_package_manager_is_credited_with_the_packages_it_was_told_to_add(
    command: str, path: str, added: str, does: bool
) -> None:
    assert declares(command, path, [added]) is does


def test_a_manifest_that_got_the_package_is_a_surviving_edit_and_other_work_is_not() -> None:
    shown = {"package.json": (hunk('+"left-pad": "1"'),), "README.md": (hunk("+left-pad"),)}
    final = {"package.json": ('"left-pad": "1"',), "README.md": ("left-pad",), "a.py": ("x = 2",)}
    actions = [run("npm install left-pad"), run("black ."), edit("a.py", "+x = 2"), run(PYTEST)]
    found = backward_slice(actions, Criterion(final, frozenset([*final, "b.py"]), shown))
    edited = [(item.index, item.action.path) for item in found.kept if item.role == MUTATE]
    assert edited == [(0, "package.json"), (2, "a.py")]


@pytest.mark.parametrize("place", ['"$tmp"', "/tmp/x", "~", "$(mktemp -d)", "/tmp && cd x"])
def test_what_is_written_in_another_folder_is_no_edit_here(place: str) -> None:
    code = "python -c \"open('src/a.py', 'w')\""
    command = f"cd {place} && printf x > src/a.py && sed -i s/1/2/ src/a.py && {code}"
    assert cut([run(command), run(PYTEST)], a="x = 2").missing == slicer.NO_EDIT
    back = f"cd {place} && cd $WORKSPACE && sed -i s/1/2/ src/a.py"
    assert cut([run(back), run(PYTEST)], a="x = 2").missing == ""


# --- Checks that prove less ------------------------------------------------------------------


def test_a_lint_does_not_make_up_for_tests_that_fail() -> None:
    edited = edit("src/a.py", "+x = 2")
    found = cut([edited, run(PYTEST, 1, FAILED), run("ruff check .")], a="x = 2")
    assert found.missing == slicer.NO_CHECK
    found = cut([edited, run(PYTEST, 1, FAILED), run(PYTEST), run("ruff check .")], a="x = 2")
    assert found.check == 2


def test_of_two_passing_tests_the_one_that_touches_the_edit_counts() -> None:
    actions = [
        edit("src/cart.py", "+x = 2"),
        run("pytest tests/test_cart.py"),
        run("pytest tests/test_user.py"),
    ]
    assert cut(actions, cart="x = 2").check == 1


@pytest.mark.parametrize(
    ("command", "output", "doubt"),
    [
        ("pytest", "3 passed", ""),
        ("pytest tests/test_cart.py", "3 passed", ""),
        ("pytest tests/unit", "3 passed", ""),
        ("pytest tests/test_user.py", "3 passed", doubts.NARROW),
        ("./tests/runtests.py checkout.test_cart", "OK", ""),
        ("go test ./...", "ok  \tshop/cart\t(cached)", doubts.CACHED),
        ("go test ./...", "ok  \tshop/cart\t(cached)\nok  \tshop/user\t0.1s", ""),
        ("npx turbo test", "Tasks: 2 successful\n>>> FULL TURBO", doubts.CACHED),
        ("ruff check src", "All checks passed!", doubts.LINT),
        ("mypy src", "Success: no issues found", ""),
    ],
)
def test_a_check_tells_why_it_proves_little(command: str, output: str, doubt: str) -> None:
    assert doubts.of_check(command, output, ["src/cart.py", "setup.py"]) == doubt


def test_a_formatter_that_shows_a_diff_has_not_passed_whatever_its_status() -> None:
    shown = "--- src/a.py\n+++ src/a.py\n@@ -1 +1 @@\n-x=1\n+x = 1\n"
    assert passed("yapf --diff src/a.py", 0, shown) is False
    assert passed("yapf --diff src/a.py", 0, "") is True
    assert passed("pytest", 0, shown) is True


@pytest.mark.parametrize(
    ("path", "lines", "doubt"),
    [
        (
            "tests/test_a.py",
            ["-    assert f(1) == 2", "+    f(1)"],
            "takes 1 assertion out of the test",
        ),
        ("tests/test_a.py", ["-    assert f(1) == 2", "+    assert f(1) == 3"], ""),
        ("src/a.py", ["-    assert value", "+    check(value)"], ""),
        (
            "web/cart.test.ts",
            ["-  expect(a).toBe(1)", "-  expect(b).toBe(2)"],
            "takes 2 assertions out of the test",
        ),
        ("cart_test.go", ['-\tt.Errorf("no")', "+\t_ = got"], "takes 1 assertion out of the test"),
        ("tests/test_a.py", ["+@pytest.mark.skip"], "skips a test"),
        ("web/cart.spec.js", ["-it('adds', f)", "+it.skip('adds', f)"], "skips a test"),
    ],
)
def test_a_test_repaired_by_dropping_what_it_asserts_is_told(
    path: str, lines: list[str], doubt: str
) -> None:
    assert doubts.of_test(path, [hunk(*lines)]) == doubt
    assert doubts.of_test(path, [Hunk((), ())]) == ""


def test_a_failing_run_that_a_pipe_made_exit_zero_is_no_check_and_is_paired_with_its_cure() -> None:
    piped = f"{PYTEST} 2>&1 | tail -5"
    edited = edit("src/a.py", "+x = 2")
    assert cut([edited, run(piped, 0, FAILED)], a="x = 2").missing == slicer.NO_CHECK
    found = cut([run(piped, 0, FAILED), edited, run(piped)], a="x = 2")
    assert found.check == 2
    assert [(pair.error, pair.check) for pair in found.pairs] == [(0, 2)]


def test_a_failing_run_cut_off_by_head_is_no_check() -> None:
    cut_off = run(f"{PYTEST} | head -3", 0, "collected 3 items\n\ntests/test_cart.py F")
    assert cut([edit("src/a.py", "+x = 2"), cut_off], a="x = 2").missing == slicer.NO_CHECK


def test_what_exits_one_as_it_should_is_no_failure_to_be_cured() -> None:
    edited = edit("src/a.py", "-x = 1", "+x = 2")
    for command in ("grep -rn 'x = 3' src", "test -e old.py", "diff a.txt b.txt", "which node"):
        found = cut([run(command, 1, ""), edited, run(command, 0, ""), run(PYTEST)], a="x = 2")
        assert found.pairs == (), command
        assert found.undone == (), command
    turned = f"! {PYTEST}"
    assert cut([edited, run(turned, 0, FAILED)], a="x = 2").missing == slicer.NO_CHECK


def test_a_run_that_a_cache_answered_does_not_displace_the_one_that_ran() -> None:
    go = "go test ./..."
    cached = run(go, 0, "ok  \tshop/a\t(cached)")
    real = run(go, 0, "ok  \tshop/a\t0.2s")
    edited = edit("src/a.py", "+x = 2")
    assert cut([edited, real, cached], a="x = 2").check == 1
    found = cut([real, edited, cached], a="x = 2")
    assert found.check == 2


def test_a_narrow_or_cached_run_ranks_below_another_and_a_lint_below_both() -> None:
    edited = edit("src/cart.py", "+x = 2")
    narrow, lint = run("pytest tests/test_user.py"), run("ruff check .")
    cached = run("npx jest", 0, "12 cached, 12 total")
    for doubtful in (narrow, cached, lint):
        assert cut([edited, run(PYTEST), doubtful], cart="x = 2").check == 1
    assert cut([edited, narrow, lint], cart="x = 2").check == 1


def test_the_first_error_cured_in_a_run_that_still_fails_has_its_own_repair() -> None:
    first = "E   ModuleNotFoundError: No module named 'cart'\n1 error in 0.1s"
    found = cut(
        [
            run(PYTEST, 1, first),
            edit("src/a.py", "+import cart"),
            run(PYTEST, 1, FAILED),
            edit("src/b.py", "+x = 2"),
            run(PYTEST),
        ],
        a="import cart",
        b="x = 2",
    )
    assert [(pair.error, pair.repairs) for pair in found.pairs] == [(0, (1,)), (2, (3,))]


def test_an_edit_that_survives_in_part_is_kept_with_the_part_that_stands() -> None:
    both = edit("src/a.py", "+x = 2", "+y = 3", "+z = 4")
    found = cut([both, edit("src/a.py", "-z = 4", "+z = 5"), run(PYTEST)], a="x = 2\ny = 3\nz = 5")
    assert roles(found) == [(0, MUTATE), (1, MUTATE), (2, VERIFY)]


def test_what_a_person_edited_between_the_turns_is_not_the_agents_and_spoils_nothing() -> None:
    shown = {"src/b.py": (hunk("+by = 'hand'"),)}
    final = {"src/a.py": ("x = 2", "by = 'hand'"), "src/b.py": ("by = 'hand'",)}
    actions = [edit("src/a.py", "-x = 1", "+x = 2"), run("ls src"), run(PYTEST)]
    found = backward_slice(actions, Criterion(final, frozenset(final), shown))
    assert [(item.index, item.action.path) for item in found.kept] == [(0, "src/a.py"), (2, "")]
    assert [one.added for item in found.kept for one in item.hunks] == [("x = 2",)]


def test_a_test_repaired_by_dropping_what_it_asserts_is_told_in_the_step_and_in_the_repair() -> (
    None
):
    book = playbook(
        [
            run(PYTEST, 1, FAILED),
            edit("tests/test_cart.py", "-    assert total() == 27", "+    total()"),
            run(PYTEST),
        ],
        {"tests/test_cart.py": "def test_total():\n    total()\n"},
    )
    said = "takes 1 assertion out of the test"
    assert book.steps[0].doubt == said
    assert f"({said})" in book.repairs[0].fix[0]
    assert any(f"({said})" in line for line in describe("a" * 64, book))


# --- Scratch ---------------------------------------------------------------------------------


def test_a_check_of_what_the_same_command_poured_is_thrown_away() -> None:
    both = "cat > test_it.py <<'E'\nprint('ok')\nE\npython test_it.py"
    found = cut([edit("src/a.py", "+x = 2"), run(both)], a="x = 2")
    assert found.missing == slicer.SCRATCH_CHECK


def test_a_check_in_a_folder_that_the_session_made_and_git_never_saw_is_thrown_away() -> None:
    found = cut(
        [
            edit("src/a.py", "+x = 2"),
            run("mkdir -p repro/app"),
            run("cd repro && python manage.py test"),
        ],
        a="x = 2",
    )
    assert found.missing == slicer.SCRATCH_CHECK


def test_a_folder_that_holds_a_file_of_git_is_none_of_scratch() -> None:
    assert poured("mkdir -p src && pytest tests > log.txt") == ("src",)
    found = cut(
        [run("mkdir -p src"), write("src/a.py", "x = 2"), run("pytest src/a.py")], a="x = 2"
    )
    assert found.check == 2


def test_a_scratch_test_that_is_named_as_a_module_is_thrown_away() -> None:
    actions = [
        edit("src/a.py", "+x = 2"),
        run("cat > tests/shop/test_it.py <<'E'\nassert True\nE"),
        run("./tests/runtests.py shop.test_it", 0, "OK"),
    ]
    assert cut(actions, a="x = 2").missing == slicer.SCRATCH_CHECK
    other = run("./tests/runtests.py shop.test_its", 0, "OK")
    assert cut([*actions, other], a="x = 2").check == 3


def test_a_test_file_that_git_set_back_is_none_of_scratch() -> None:
    actions = [
        edit("src/a.py", "+x = 2"),
        run("cat >> tests/test_a.py <<'E'\nassert True\nE"),
        run("pytest tests/test_a.py"),
    ]
    assert cut(actions, a="x = 2").missing == slicer.SCRATCH_CHECK
    assert cut([*actions, run("git checkout tests/test_a.py")], a="x = 2").check == 2


# --- Reads -----------------------------------------------------------------------------------


def test_a_search_in_a_file_is_a_read_of_it_where_there_was_no_other() -> None:
    edited = edit("src/a.py", "+x = 2")
    found = cut([run("grep -n 'x' src/a.py", 0, "1:x = 1"), edited, run(PYTEST)], a="x = 2")
    assert roles(found) == [(0, READ), (1, MUTATE), (2, VERIFY)]
    found = cut(
        [read("src/a.py"), run("grep -n 'x' src/a.py", 0, "1:x = 1"), edited, run(PYTEST)],
        a="x = 2",
    )
    assert roles(found) == [(0, READ), (2, MUTATE), (3, VERIFY)]
    found = cut([run("grep -n 'x' src/a.py", 1, ""), edited, run(PYTEST)], a="x = 2")
    assert roles(found) == [(1, MUTATE), (2, VERIFY)]


def test_a_file_that_only_the_failing_run_showed_is_tied_to_its_repair_and_not_read() -> None:
    shown = 'File "src/a.py", line 3, in total\n    x = 1\n' + FAILED
    edited = edit("src/a.py", "-x = 1", "+x = 2")
    found = cut([run(PYTEST, 1, shown), edited, run(PYTEST)], a="x = 2")
    assert roles(found) == [(1, MUTATE), (2, VERIFY)]
    assert [(pair.error, pair.repairs, pair.check) for pair in found.pairs] == [(0, (1,), 2)]


def test_what_a_sub_agent_read_informs_the_edit() -> None:
    looked = read("src/a.py")._replace(subagent=True)
    found = cut([looked, edit("src/a.py", "-x = 1", "+x = 2"), run(PYTEST)], a="x = 2")
    assert roles(found) == [(0, READ), (1, MUTATE), (2, VERIFY)]
