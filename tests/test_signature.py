"""The same error has one name everywhere, and different errors have different ones."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_tmem.signature import signature


class Run(NamedTuple):
    """What differs between two runs of the same failure."""

    root: str
    line: int
    temporary: str
    address: str
    stamp: str
    amount: int


HERE = Run("/home/ada/shop", 4, "/tmp/tmpab12cd34", "0x7f3c75ba46d0", "2026-01-02T03:04:05Z", 3)
THERE = Run(
    "/Users/grace hopper's/dev/clone2".replace(" hopper's", ""),
    118,
    "/var/folders/x1/y2/T/tmpzz99yy88",
    "0x7f74bb06c6d0",
    "2026-11-30T23:58:41Z",
    9417,
)

#: name: (family, code, what the message says, the output)
FAILURES = {
    "exception": (
        "python",
        "KeyError",
        "'missing'",
        "Traceback (most recent call last):\n"
        '  File "{root}/src/a.py", line {line}, in <module>\n    f({{}})\n'
        '  File "{root}/src/a.py", line 3, in f\n    return d["missing"]\n'
        '  File "/usr/lib/python3.11/site-packages/lib/x.py", line {line}, in get\n    raise\n'
        "KeyError: 'missing'\n",
    ),
    "chain": (
        "python",
        "StoreError",
        "cannot save",
        "Traceback (most recent call last):\n"
        '  File "{root}/a.py", line {line}, in read\n    x\n'
        "OSError: [Errno 5] Input/output error\n\n"
        "During handling of the above exception, another exception occurred:\n\n"
        "Traceback (most recent call last):\n"
        '  File "{root}/b.py", line {line}, in save\n    x\n'
        "shop.errors.StoreError: cannot save\n",
    ),
    "syntax": (
        "python",
        "SyntaxError",
        "invalid syntax",
        '  File "{root}/a.py", line {line}\n    if x\n        ^\nSyntaxError: invalid syntax\n',
    ),
    "module": (
        "python",
        "ModuleNotFoundError",
        "No module named 'yaml'",
        'Traceback (most recent call last):\n  File "<string>", line 1, in <module>\n'
        "ModuleNotFoundError: No module named 'yaml'\n",
    ),
    "address": (
        "python",
        "ValueError",
        "bad <shop.Cart object at",
        'Traceback (most recent call last):\n  File "{root}/a.py", line {line}, in g\n    x\n'
        "ValueError: bad <shop.Cart object at {address}> of {amount} at {stamp}\n",
    ),
    "temporary": (
        "python",
        "FileNotFoundError",
        "No such file",
        'Traceback (most recent call last):\n  File "{root}/a.py", line {line}, in g\n    x\n'
        "FileNotFoundError: [Errno 2] No such file or directory: '{temporary}/x/y'\n",
    ),
    "unittest": (
        "python",
        "AssertionError",
        "'a' != 'b'",
        "F\n======\nFAIL: test_q (t.T.test_q)\n------\nTraceback (most recent call last):\n"
        '  File "{root}/t.py", line {line}, in test_q\n    self.assertEqual("a", "b")\n'
        "AssertionError: 'a' != 'b'\n\n------\nRan 1 test in 0.{amount}s\n\nFAILED (failures=1)\n",
    ),
    "pytest assert": (
        "pytest",
        "AssertionError",
        "assert 'on' == 'off'",
        "F            [100%]\n===== FAILURES =====\n_____ test_state _____\n\n"
        "    def test_state():\n        a = 'on'\n>       assert a == 'off'\n"
        "E       AssertionError: assert 'on' == 'off'\n"
        "E         \nE         - off\nE         + on\n\n"
        "tests/test_b.py:{line}: AssertionError\n===== short test summary info =====\n"
        "FAILED tests/test_b.py::test_state - AssertionError: assert 'on' == 'off'\n"
        "1 failed in 0.{amount}s\n",
    ),
    "pytest exception": (
        "pytest",
        "ZeroDivisionError",
        "division by zero",
        "===== FAILURES =====\n_____ test_div _____\n\n    def test_div():\n>       div(1, 0)\n\n"
        "tests/test_b.py:{line}: \n_ _ _ _ _ _\n\n    def div(a, b):\n>       return a / b\n"
        "E       ZeroDivisionError: division by zero\n\nsrc/b.py:{line}: ZeroDivisionError\n",
    ),
    "pytest fixture": (
        "pytest",
        "",
        "fixture 'shop' not found",
        "===== ERRORS =====\n_____ ERROR at setup of test_x _____\n"
        "file {root}/tests/test_c.py, line {line}\n  def test_x(shop):\n"
        "E       fixture 'shop' not found\n>       available fixtures: cache, capfd\n\n"
        "{root}/tests/test_c.py:{line}\n",
    ),
    "pytest collection": (
        "pytest",
        "ImportError",
        "cannot import name 'pay' from 'shop'",
        "===== ERRORS =====\n_____ ERROR collecting tests/test_d.py _____\n"
        "ImportError while importing test module '{root}/tests/test_d.py'.\n"
        "Traceback:\n{root}/tests/test_d.py:{line}: in <module>\n    from shop import pay\n"
        "E   ImportError: cannot import name 'pay' from 'shop' ({root}/shop/__init__.py)\n",
    ),
    "node": (
        "javascript",
        "TypeError",
        "Cannot read properties of undefined (reading 'name')",
        "{root}/g.js:{line}\nconsole.log(o.name);\n              ^\n\n"
        "TypeError: Cannot read properties of undefined (reading 'name')\n"
        "    at show ({root}/g.js:{line}:15)\n"
        "    at Module._compile (node:internal/modules/cjs/loader:1521:14)\n",
    ),
    "jest": (
        "javascript",
        "",
        "expect(received).toBe(expected)",
        "FAIL src/cart.test.js\n  ● cart › adds\n\n"
        "    expect(received).toBe(expected) // Object.is equality\n\n    Expected: true\n"
        "    Received: false\n\n      at Object.<anonymous> (src/cart.test.js:{line}:20)\n",
    ),
    "vitest": (
        "javascript",
        "AssertionError",
        "expected 'on' to be 'off'",
        " FAIL  src/cart.test.ts > cart > adds\nAssertionError: expected 'on' to be 'off'\n"
        " ❯ src/cart.test.ts:{line}:20\n",
    ),
    "mocha": (
        "javascript",
        "AssertionError",
        "expected true to equal false",
        "  1 failing\n\n  1) cart\n       adds:\n"
        "     AssertionError: expected true to equal false\n"
        "      at Context.<anonymous> (test/cart.js:{line}:14)\n",
    ),
    "typescript": (
        "typescript",
        "TS2322",
        "Type 'string' is not assignable to type 'number'.",
        "src/a.ts({line},5): error TS2322: Type 'string' is not assignable to type 'number'.\n"
        "src/b.ts({line},5): error TS2304: Cannot find name 'x'.\n",
    ),
    "typescript pretty": (
        "typescript",
        "TS2304",
        "Cannot find name 'x'.",
        "\x1b[96msrc/b.ts\x1b[0m:\x1b[93m{line}\x1b[0m:\x1b[93m5\x1b[0m - \x1b[91merror\x1b[0m"
        "\x1b[90m TS2304: \x1b[0mCannot find name 'x'.\n",
    ),
    "eslint": (
        "eslint",
        "no-undef",
        "'cart' is not defined",
        "{root}/src/a.js\n  {line}:5  error  'cart' is not defined  no-undef\n\n"
        "✖ 1 problem (1 error, 0 warnings)\n",
    ),
    "go build": (
        "go",
        "",
        "undefined: cart",
        "# example.org/shop\n./main.go:{line}:5: undefined: cart\n",
    ),
    "go test": (
        "go",
        "FAIL",
        'got "a", want "b"',
        '--- FAIL: TestCart (0.0{line}s)\n    cart_test.go:{line}: got "a", want "b"\nFAIL\n'
        "FAIL\texample.org/shop\t0.{amount}s\n",
    ),
    "go panic": (
        "go",
        "panic",
        "runtime error: index out of range",
        "panic: runtime error: index out of range [5] with length {amount}\n\n"
        "goroutine 1 [running]:\n"
        "main.pick(...)\n\t{root}/main.go:{line} +0x1d\nmain.main()\n\t{root}/main.go:9 +0x12\n",
    ),
    "rustc": (
        "rust",
        "E0308",
        "mismatched types",
        "error[E0308]: mismatched types\n --> src/f.rs:{line}:25\n  |\n\n"
        "error: aborting due to 1 previous error\n",
    ),
    "rust panic": (
        "rust",
        "panic",
        "called `Option::unwrap()` on a `None` value",
        "thread 'cart::adds' panicked at src/f.rs:{line}:9:\n"
        "called `Option::unwrap()` on a `None` value\nnote: run with `RUST_BACKTRACE=1`\n",
    ),
    "javac": (
        "java",
        "",
        "incompatible types: int cannot be converted to String",
        "{root}/E.java:{line}: error: incompatible types: int cannot be converted to String\n",
    ),
    "java exception": (
        "java",
        "IllegalStateException",
        "cart is closed",
        'Exception in thread "main" java.lang.RuntimeException: failed\n'
        "\tat shop.Main.main(Main.java:{line})\n"
        "Caused by: java.lang.IllegalStateException: cart is closed\n"
        "\tat java.base/java.util.Optional.get(Optional.java:143)\n"
        "\tat shop.Cart.add(Cart.java:{line})\n\t... 1 more\n",
    ),
    "maven": (
        "java",
        "",
        "cannot find symbol",
        "[ERROR] {root}/src/main/java/E.java:[{line},9] cannot find symbol\n",
    ),
    "gcc": (
        "c",
        "",
        "nope.h: No such file or directory",
        "c.c:{line}:10: fatal error: nope.h: No such file or directory\n",
    ),
    "gcc undeclared": (
        "c",
        "",
        "'y' undeclared",
        "d.c: In function 'main':\nd.c:{line}:20: error: 'y' undeclared (first use here)\n",
    ),
    "ld": (
        "ld",
        "",
        "undefined reference to `g'",
        "/usr/bin/ld: {temporary}.o: in function `main':\nld.c:(.text+{address}): "
        "undefined reference to `g'\ncollect2: error: ld returned 1 exit status\n",
    ),
    "cmake": (
        "cmake",
        "find_package",
        "Could not find Qt",
        "CMake Error at CMakeLists.txt:{line} (find_package):\n  Could not find Qt\n",
    ),
    "make": (
        "make",
        "",
        "No rule to make target 'shop'",
        "make: *** No rule to make target 'shop'.  Stop.\n",
    ),
    "ruby": (
        "ruby",
        "NoMethodError",
        "undefined method 'add'",
        "{root}/a.rb:{line}:in 'cart': undefined method 'add' for nil (NoMethodError)\n",
    ),
    "php": (
        "php",
        "Fatal error",
        "Uncaught Error: Call to undefined function pay()",
        "PHP Fatal error:  Uncaught Error: Call to undefined function pay() in "
        "{root}/a.php:{line}\n",
    ),
    "mypy": (
        "mypy",
        "arg-type",
        "Argument 1 has incompatible type",
        "shop/a.py:{line}: error: Argument 1 has incompatible type  [arg-type]\nFound 1 error\n",
    ),
    "flake8": (
        "lint",
        "F401",
        "'os' imported but unused",
        "./shop/a.py:{line}:1: F401 'os' imported but unused\n",
    ),
    "npm": (
        "npm",
        "E404",
        "Not Found",
        "npm ERR! code E404\nnpm ERR! 404 Not Found - GET https://registry.example/none\n"
        "npm ERR! A complete log of this run can be found in: {root}/_logs/{stamp}-debug-0.log\n",
    ),
    "npm script": ("npm", "", 'Missing script: "nope"', 'npm error Missing script: "nope"\n'),
    "gradle": (
        "gradle",
        "",
        "Task 'tset' not found",
        "FAILURE: Build failed with an exception.\n\n* What went wrong:\n"
        "Task 'tset' not found in root project 'shop'.\n\nBUILD FAILED in {amount}ms\n",
    ),
    "pnpm": (
        "pnpm",
        "ERR_PNPM_NO_MATCHING_VERSION",
        "No matching version found for left-pad",
        " ERR_PNPM_NO_MATCHING_VERSION  No matching version found for left-pad@99.0.0\n\n"
        "This error happened while installing a direct dependency of {root}\n",
    ),
    "uv": (
        "uv",
        "",
        "nope was not found",
        "  × No solution found when resolving dependencies:\n"
        "  ╰─▶ Because nope was not found in the package registry and your project depends on\n"
        "      nope, we can conclude that your project's requirements are unsatisfiable.\n",
    ),
    "poetry": (
        "poetry",
        "",
        "shop depends on nope",
        "Resolving dependencies... ({amount}.1s)\n\n"
        "Because shop depends on nope (^1.0) which doesn't match any versions, "
        "version solving failed.\n",
    ),
    "docker build": (
        "docker",
        "",
        "npm ci",
        '#{amount} ERROR: process "/bin/sh -c npm ci" did not complete successfully: '
        "exit code: 1\nDockerfile:{line}\n"
        'ERROR: failed to solve: process "/bin/sh -c npm ci" did not complete successfully: '
        "exit code: 1\n",
    ),
    "docker daemon": (
        "docker",
        "",
        "Cannot connect to the Docker daemon",
        "Cannot connect to the Docker daemon at unix://{root}/docker.sock. "
        "Is the docker daemon running?\n",
    ),
    "dotnet": (
        "csharp",
        "CS0103",
        "The name 'totl' does not exist",
        "{root}/Program.cs({line},9): error CS0103: The name 'totl' does not exist in the "
        "current context [{root}/shop.csproj]\n\nBuild FAILED.\n",
    ),
    "clang": (
        "c",
        "",
        "'nope.h' file not found",
        "{root}/src/cart.c:{line}:10: fatal error: 'nope.h' file not found\n"
        "#include <nope.h>\n         ^~~~~~~~\n1 error generated.\n",
    ),
    "cargo test": (
        "rust",
        "panic",
        "assertion `left == right` failed",
        "running 1 test\ntest tests::adds ... FAILED\n\nfailures:\n\n---- tests::adds stdout ----\n"
        "thread 'tests::adds' panicked at src/cart.rs:{line}:9:\n"
        "assertion `left == right` failed\n  left: 5\n right: 4\n\n"
        "test result: FAILED. 0 passed; 1 failed; finished in 0.0{amount}s\n",
    ),
    "pip": (
        "pip",
        "",
        "Could not find a version that satisfies the requirement nope",
        "Looking in links: {root}/wheels\n"
        "ERROR: Could not find a version that satisfies the requirement nope "
        "(from versions: none)\n"
        "ERROR: No matching distribution found for nope\n",
    ),
    "cargo": (
        "cargo",
        "",
        "no matching package named `nope` found",
        "error: no matching package named `nope` found\n",
    ),
    "git": (
        "git",
        "",
        "not a git repository",
        "fatal: not a git repository (or any of the parent directories): .git\n",
    ),
    "not found": (
        "shell",
        "",
        "frob: command not found",
        "bash: line {line}: frob: command not found\n",
    ),
    "no file": (
        "shell",
        "",
        "notes.txt: No such file or directory",
        "cat: {root}/deep/notes.txt: No such file or directory\n",
    ),
    "permission": (
        "shell",
        "",
        "run.sh: Permission denied",
        "bash: line {line}: {root}/run.sh: Permission denied\n",
    ),
    "no pytest": (
        "python",
        "",
        "No module named pytest",
        "/usr/bin/python3: No module named pytest\n",
    ),
    "generic": ("error", "", "the cart is closed", "shop: error: the cart is closed\n"),
}  # fmt: skip

HARMLESS = (
    "",
    "5 passed in 0.12s\n",
    "Ran 3 tests in 0.001s\n\nOK\n",
    "ok  \texample.org/shop\t0.3s\n",
    "test result: ok. 3 passed; 0 failed; 0 ignored\n",
    "Found 0 errors. Watching for file changes.\n",
    "0 errors, 0 warnings\n",
    "Success: no issues found in 3 source files\n",
    "errors.py\nerror_handler.go\n",
    "12:    raise ValueError('bad')\n",
    "src/a.py:12:def on_error(self):\n",
    "commit 4b825dc642cb6eb9a060e54bf8d69288fbee4904\n    fix: error on empty cart\n",
    "On branch main\nnothing to commit, working tree clean\n",
    "Error: 0\n",
)


def output(name: str, run: Run) -> str:
    return FAILURES[name][3].format(**run._asdict())


@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_is_named_by_family_code_and_message(name: str) -> None:
    family, code, message, _ = FAILURES[name]
    found = signature(output(name, HERE))
    assert found is not None
    assert found.family == family
    assert found.near.split("|")[:2] == [family, code]
    assert message in found.message
    assert found.key.startswith(found.near + "|")


@pytest.mark.parametrize("name", FAILURES)
def test_the_same_failure_elsewhere_has_the_same_key(name: str) -> None:
    here, there = signature(output(name, HERE)), signature(output(name, THERE))
    assert here is not None
    assert there is not None
    assert here.key == there.key


def test_no_two_failures_share_a_key() -> None:
    keys = [found.near for name in FAILURES if (found := signature(output(name, HERE)))]
    assert len(set(keys)) == len(FAILURES)


@pytest.mark.parametrize("name", FAILURES)
def test_a_key_holds_no_folder_line_address_or_time(name: str) -> None:
    found = signature(output(name, THERE))
    assert found is not None
    for trace in (THERE.root, str(THERE.line), str(THERE.amount), THERE.address, THERE.stamp):
        assert trace not in found.key
    assert THERE.root not in found.message


@pytest.mark.parametrize("name", FAILURES)
def test_what_stands_around_a_failure_does_not_change_its_key(name: str) -> None:
    alone = signature(output(name, HERE))
    around = signature(f"> shop@1.0.0 check\nrunning...\n\n{output(name, HERE)}\n\nreal 0m1.2s\n")
    assert alone is not None
    assert around is not None
    assert around.key == alone.key


@pytest.mark.parametrize("text", HARMLESS)
def test_an_output_without_an_error_has_no_signature(text: str) -> None:
    assert signature(text) is None


def test_the_frame_is_the_innermost_of_the_project_and_near_is_without_it() -> None:
    found = signature(output("exception", HERE))
    assert found is not None
    assert found.key == "python|KeyError|'missing'|a.py f"
    assert found.near == "python|KeyError|'missing'"
    assert found.message == "KeyError: 'missing'"


def test_the_last_of_a_chain_and_the_first_of_a_compiler_count() -> None:
    chain, types = signature(output("chain", HERE)), signature(output("typescript", HERE))
    assert chain is not None
    assert chain.key == "python|StoreError|cannot save|b.py save"
    assert types is not None
    assert types.key == "typescript|TS2322|Type 'string' is not assignable to type 'number'.|a.ts"


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("NameError: name 'cart' is not defined", "NameError: name 'shop' is not defined"),
        (
            "OSError: [Errno 98] Address already in use",
            "OSError: [Errno 28] No space left on device",
        ),
        ("TypeError: f() missing 'a'", "ValueError: f() missing 'a'"),
    ],
)
def test_quoted_names_and_types_keep_errors_apart(ours: str, theirs: str) -> None:
    header = 'Traceback (most recent call last):\n  File "a.py", line 1, in f\n    x\n'
    one, other = signature(header + ours), signature(header + theirs)
    assert one is not None
    assert other is not None
    assert one.near != other.near


def test_the_short_summary_alone_gives_the_near_key_of_the_whole_report() -> None:
    whole = output("pytest assert", HERE)
    short = signature(whole[whole.index("===== short") :])
    full = signature(whole)
    assert short is not None
    assert full is not None
    assert short.near == full.near


PARTS = st.sampled_from(
    [
        *(output(name, HERE) for name in FAILURES),
        *(
            "\n",
            " ",
            "E   ",
            "Traceback (most recent call last):\n",
            '  File "',
            "error: ",
            "\x1b[",
        ),
        *("--- FAIL: ", "npm ERR! ", "    at ", "|", "\x00", "\ud800", "错误：", "____ a ____\n"),
    ]
)


@given(st.lists(PARTS, max_size=8).map("".join))
def test_any_mixture_of_reports_is_read(text: str) -> None:
    found = signature(text)
    assert found is None or found.key.count("|") == 3
    assert found is None or (found.near.count("|") == 2 and len(found.message) <= 200)


@given(st.text(st.characters(exclude_categories=())))
def test_any_text_is_read(text: str) -> None:
    signature(text)


@given(
    st.sampled_from(sorted(FAILURES)),
    st.from_regex(r"/[a-z]{2,8}(/[a-z0-9_-]{1,9}){1,3}", fullmatch=True),
    st.integers(1, 99_999),
    st.from_regex(r"/tmp/[a-z0-9]{6,12}", fullmatch=True),
    st.from_regex(r"0x[0-9a-f]{4,12}", fullmatch=True),
)
def test_a_key_outlives_any_move(
    name: str, root: str, line: int, temporary: str, address: str
) -> None:
    moved = THERE._replace(root=root, line=line, temporary=temporary, address=address)
    here, there = signature(output(name, HERE)), signature(output(name, moved))
    assert here is not None
    assert there is not None
    assert there.key == here.key


@pytest.mark.parametrize(
    "unit",
    ["a", "(", '"', " ", "\n", "/", "E  x\n", "error: ", "Traceback (most recent call last)\n",
     "    at ", "_", "--- FAIL: x\n", "a/", "1:", "a.", "● x\n", "\x1b[", "0", "a: "],
)  # fmt: skip
def test_a_megabyte_of_anything_takes_about_a_second(unit: str) -> None:
    text = f"error: x\n{unit * (1_000_000 // len(unit))}"
    start = time.process_time()
    signature(text)
    signature(text[9:])
    assert time.process_time() - start < 3


def test_most_failing_commands_of_real_sessions_are_named(corpus: Path) -> None:
    outputs: list[str] = []
    for log in corpus.glob("mini-swe-agent/*.traj.json"):
        text = log.read_text("utf-8").encode().decode("unicode_escape", errors="replace")
        outputs += re.findall(
            r"<returncode>[1-9]\d*</returncode>\s*<output>(.*?)</output>", text, re.S
        )
    told = [found for found in outputs if found.strip()]
    assert sum(signature(found) is not None for found in told) >= 0.65 * len(told)
