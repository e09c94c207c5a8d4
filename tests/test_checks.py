"""What a command line is for, and whether its check passed."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_tmem.checks import (
    BUILD,
    LINT,
    TEST,
    covers,
    is_check,
    passed,
    same_check,
    strength,
)
from git_tmem.effects import is_setup, targets, writes
from git_tmem.portable import portable

TEXT = st.text(st.characters(exclude_categories=()))

COMMANDS = {
    TEST: [
        *(
            "pytest",
            "pytest -q tests/test_a.py::test_b",
            "python -m pytest",
            "python3.11 -m unittest",
        ),
        *("tox -e py311", "nox -s tests", "go test ./...", "cargo test --all", "cargo nextest run"),
        *("npm test", "npm t", "npm run test:unit -- -x", "pnpm -r test", "pnpm --filter web test"),
        *(
            "yarn test",
            "yarn workspace web test",
            "bun test",
            "bun run test",
            "npx jest",
            "npx -y vitest",
        ),
        *(
            "node --test",
            "deno test",
            "make test",
            "make -C build check",
            "just test",
            "mise run test",
        ),
        *("mvn -q test", "mvn verify", "./mvnw test", "./gradlew check", "gradle :app:test"),
        *("dotnet test", "ctest --output-on-failure", "bundle exec rspec", "vendor/bin/phpunit"),
        *("bazel test //...", "mix test", "swift test", "rake spec", "bin/test sympy/core"),
        *("./scripts/run_tests.sh", "bash scripts/test.sh", "python tests/run_tests.py", "./ci.sh"),
        *("python manage.py test shop", "python tests/runtests.py auth", "poetry run pytest"),
        *(
            "uv run --with x pytest",
            "pipenv run pytest",
            "hatch run test",
            "coverage run -m pytest",
        ),
        *(
            "env A=1 B=2 pytest",
            "CI=1 timeout -k 5 60 pytest",
            "time -p pytest",
            "sudo -u me pytest",
        ),
        *(
            "find . -name 'test_*' | xargs -n 1 pytest",
            'bash -lc "cd x && pytest -q"',
            "sh -c 'go test .'",
        ),
        "cd x && ENV=1 timeout 60 uv run pytest -q | tail -5",
        "set -o pipefail\npytest 2>&1 | tee log.txt",
        "(cd web && npm test)",
        "for t in a b; do pytest $t; done",
        "if ! false; then pytest; fi",
        "cat > a.py <<'EOF'\nx = 'it's'\nEOF\npytest a.py",
        "python -W error -m pytest",
    ],
    BUILD: [
        *("go build ./...", "go vet ./...", "cargo check", "cargo build --release", "tsc --noEmit"),
        *("npx tsc -p .", "mypy src", "python -m mypy --strict src", "pyright", "npm run build"),
        *(
            "npm run typecheck",
            "make",
            "make all",
            "make -j4",
            "ninja -C out",
            "cmake --build build",
        ),
        *(
            "mvn -DskipTests package",
            "dotnet build",
            "javac A.java",
            "gcc -Wall a.c -o a",
            "rustc a.rs",
        ),
        *("python -m py_compile a.py", "terraform validate", "sphinx-build -b html docs out"),
        *("node --check a.js", "mvn compile", "./scripts/verify.sh", "python manage.py check"),
    ],
    LINT: [
        *("ruff check .", "ruff format --check .", "flake8", "pylint shop", "black --check ."),
        *("eslint src", "npx eslint --fix src", "shellcheck a.sh", "bash -n a.sh", "npm run lint"),
        *(
            "golangci-lint run",
            "cargo clippy",
            "cargo fmt --check",
            "prettier --check .",
            "make lint",
        ),
        *("isort -c .", "mise run lint", "pre-commit run -a"),
    ],
    0: [
        *(
            "ls",
            "cat test.py",
            "grep -rn test .",
            "git commit -m 'run pytest'",
            "echo pytest",
            "cd tests",
        ),
        *(
            "python -c 'import test'",
            "python - <<'EOF'\nimport pytest\nEOF",
            "python /tmp/test_x.py",
        ),
        *("bash $TMPDIR/check.sh", "pytest --version", "pytest --help", "pytest --collect-only"),
        *("pip install pytest", "which pytest", "command -v eslint", "black .", "black --diff ."),
        *(
            "ruff format .",
            "prettier --write .",
            "cargo fmt",
            "npm install",
            "npm start",
            "make clean",
        ),
        *(
            "python reproduce.py",
            "node server.js",
            "git diff --check",
            "rm -rf tests",
            "sed -i s/a/b/ t.py",
        ),
        *("", " ", "'", '"pytest', "pytest'", "# pytest", "$(", "|", "&&", "<<EOF", "! pytest"),
    ],
}


@pytest.mark.parametrize(
    ("level", "command"), [(level, each) for level, many in COMMANDS.items() for each in many]
)
def test_a_command_proves_tests_a_build_a_lint_or_nothing(level: int, command: str) -> None:
    if command in ('"pytest', "pytest'"):  # a broken quote is read word by word
        level = strength(command)
    assert strength(command) == level
    assert is_check(command) == (level > 0)


@pytest.mark.parametrize(
    ("command", "code", "output", "verdict"),
    [
        ("pytest", 0, "", True),
        ("pytest", 1, "", False),
        ("pytest", None, "", None),
        ("pytest", None, "===== 3 passed in 0.1s =====", True),
        ("pytest", None, "===== 1 failed, 3 passed in 0.1s =====", False),
        ("cd x && pytest -q", 0, "", True),
        ("ruff check . && pytest", 0, "", True),
        ("pytest -q | tail -5", 0, "1 failed, 2 passed in 1s", False),
        ("pytest -q | tail -5", 0, "3 passed, 1 xfailed in 1s", True),
        ("pytest -q 2>&1 | head -50", 0, "FAILED tests/test_a.py::test_b - KeyError", False),
        ("pytest -q | head -1", 0, "....", None),
        ("pytest -q | tail -1", 0, "....", True),
        ("pytest -q | grep passed", 0, "3 passed in 1s", True),
        ("pytest -q | grep FAILED", 1, "", None),
        ("set -o pipefail; pytest -q | tail -5", 0, "....", True),
        ("set -euo pipefail\npytest -q | tail -5\n", 1, "3 passed", False),
        ('bash -o pipefail -c "pytest | tail"', 0, "...", True),
        ("pytest || true", 0, "", None),
        ("pytest || true", 0, "2 failed", False),
        ("pytest || exit 1", 0, "", True),
        ("pytest; true", 0, "E   KeyError: 'a'", False),
        ("pytest; echo done", 0, "4 passed in 2s\ndone", True),
        ("set -e; pytest; echo done", 0, "done", True),
        ("pytest &", 0, "", None),
        ("pytest && git push", 1, "4 passed in 2s\nfatal: no remote", True),
        ("pytest && git push", 1, "", False),
        ("(cd web && npm test) | tail -3", 0, "npm ERR! Test failed.", False),
        ("go test ./... | tail -3", 0, "FAIL\tshop\t0.1s\nFAIL", False),
        ("go test ./... | tail -3", 0, "ok  \tshop\t0.1s", True),
        ("cargo test 2>&1 | tail -3", 0, "test result: ok. 3 passed; 0 failed; 0 ignored", True),
        ("cargo build 2>&1 | tail -3", 0, "error[E0308]: mismatched types", False),
        ("tsc --noEmit | head -20", 0, "", True),
        ("tsc --noEmit | head -20", 0, "a.ts(1,2): error TS2322: x", False),
        ("mypy . | tail -1", 0, "Found 3 errors in 1 file", False),
        ("mypy . | tail -1", 0, "Success: no issues found in 3 source files", True),
        ("npm run build 2>&1 | tee log", 0, "npm error code ELIFECYCLE", False),
        ("npx jest | cat", 0, "Tests:       1 failed, 4 passed, 5 total", False),
        ("node --test | tail", 0, "# pass 3\n# fail 0", True),
        ("python -m unittest 2>&1 | tail -3", 0, "Ran 3 tests in 0.1s\n\nOK", True),
        ("python -m unittest 2>&1 | tail -3", 0, "Ran 3 tests\n\nFAILED (failures=1)", False),
        ("mvn test | tail", 0, "[INFO] BUILD SUCCESS", True),
        ("mvn test | tail", 0, "[INFO] BUILD FAILURE", False),
        ("./test.sh | tail", 0, "Traceback (most recent call last):", False),
        ("pytest | tail", 0, "Traceback (most recent call last):\n5 passed in 1s", True),
        ("pytest | tail", 0, "\x1b[31m1 failed\x1b[0m", False),
        ("timeout 60 pytest | tail", 124, "3 passed", False),
        ("ls", 0, "", True),
    ],
)
def test_a_verdict_comes_from_the_code_or_where_that_is_hidden_from_the_output(
    command: str, code: int | None, output: str, verdict: bool | None
) -> None:
    assert passed(command, code, output) is verdict


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("pytest -q", "pytest", True),
        ("pytest tests/a.py -x | tail -5", "python -m pytest tests/a.py -v", True),
        ("cd x && timeout 60 uv run pytest a.py", "pytest a.py --tb=short", True),
        ("PYTHONPATH=. pytest a.py", "pytest a.py", True),
        ("pytest a.py", "pytest b.py", False),
        ("pytest a.py", "pytest a.py -k one", False),
        ("go test ./a/... -count=1", "go test ./a/...", True),
        ("ruff check . && pytest", "pytest", False),
        ("npm test", "npm run lint", False),
        ("git add -A && pytest a.py", "pytest a.py", True),
    ],
)
def test_the_same_check_is_known_under_wrappers_pipes_and_verbosity(
    a: str, b: str, same: bool
) -> None:
    assert same_check(a, b) is same
    assert same_check(b, a) is same


@pytest.mark.parametrize(
    ("command", "setup"),
    [
        *(
            (each, True)
            for each in ("pip install -e .", "python -m pip install x", "uv sync", "npm ci")
        ),
        *(
            (each, True)
            for each in ("yarn", "apt-get install -y x", "go mod tidy", "cargo add serde")
        ),
        *(
            (each, True)
            for each in ("python -m venv .venv", "export A=1", "source .venv/bin/activate")
        ),
        *(
            (each, True)
            for each in ("docker compose up -d", "git submodule update --init", "make deps")
        ),
        *(
            (each, True)
            for each in ("sudo apt update && sudo apt install x", "git config user.name x")
        ),
        *((each, True) for each in ("cd web && npm install", "chmod +x run.sh", "poetry install")),
        *(
            (each, False)
            for each in ("pytest", "export A=1; pytest", "ls", "git config user.name", "")
        ),
        *(
            (each, False)
            for each in ("npm test", "pip list", "go build", "make", "cd x", "chmod")[:5]
        ),
    ],
)
def test_installing_and_configuring_is_setup(command: str, setup: bool) -> None:
    assert is_setup(command) is setup


@pytest.mark.parametrize(
    ("command", "changes"),
    [
        *(
            (each, True)
            for each in ("sed -i 's/a/b/' x.py", "sed -i.bak s/a/b/ x", "perl -pi -e s/a/b/ x")
        ),
        *(
            (each, True)
            for each in ("echo a > x", "echo a >> x", "cat <<EOF > x\na\nEOF", "ls | tee x")
        ),
        *((each, True) for each in ("mv a b", "cp a b", "rm a", "git mv a b", "git checkout -- a")),
        *(
            (each, True)
            for each in ("git stash pop", "git apply x.diff", "patch -p1 < x.diff", "git pull")
        ),
        *((each, True) for each in ("black .", "ruff check --fix .", "ruff format", "gofmt -w .")),
        *(
            (each, True)
            for each in ("prettier --write .", "cargo fmt", "go generate ./...", "make fmt")
        ),
        *(
            (each, True)
            for each in ("npm install x", "go mod tidy", "unzip a.zip", "curl -o x http://a")
        ),
        *(
            (each, True)
            for each in ("python -c \"open('x', 'w')\"", "pytest > out.txt", "bash -c 'rm a'")
        ),
        ("python - <<'EOF'\nfrom pathlib import Path\nPath('a').write_text('')\nEOF", True),
        *(
            (each, False)
            for each in ("ls", "pytest 2>&1", "pytest > /dev/null", "ls > /tmp/x", "rm /tmp/x")
        ),
        *(
            (each, False)
            for each in ("git status", "git stash list", "git checkout -b x", "black --check .")
        ),
        *(
            (each, False)
            for each in ("sed -n 1,5p x", "grep '>' x", "echo 'a > b'", "ls | tee $TMPDIR/x")
        ),
        *(
            (each, False)
            for each in ("python -c \"open('x').read()\"", "find . -name x", "", "cat <<< a")
        ),
    ],
)
def test_writing_is_known_and_temporary_files_do_not_count(command: str, changes: bool) -> None:
    assert writes(command) is changes


@pytest.mark.parametrize(
    ("command", "paths"),
    [
        ("pytest tests/test_a.py::test_b -q", ("tests/test_a.py",)),
        ("pytest ./tests/a.py tests/b", ("tests/a.py", "tests/b")),
        ("cd tests && python runtests.py auth", ("tests/runtests.py",)),
        ("cd web/app && cd .. && node x.js", ("web/x.js",)),
        ("cd $WORKSPACE && node x.js", ("x.js",)),
        ("go test ./cmd/... -run X", ("cmd",)),
        ("./scripts/test.sh", ("scripts/test.sh",)),
        ("$WORKSPACE/tests/run.py a", ("tests/run.py",)),
        ("pytest --cov=src/shop a.py:12", ("src/shop", "a.py")),
        ("sed -i 's/a/b/' src/x.py", ("src/x.py",)),
        ("grep -n 'a/b' src/x.py | head", ("src/x.py",)),
        ("cat <<'EOF' > src/new.py\nimport os.path\nEOF", ("src/new.py",)),
        ("git mv a.py b/c.py && git checkout -- d.py", ("a.py", "b/c.py", "d.py")),
        ("git log origin/main", ()),
        ("python -c 'import a.b'", ()),
        ("curl https://a.example/x.js", ()),
        ("pytest /abs/x.py ../up/x.py ~/x.py", ()),
        ("pytest 'tests/with space/a.py' 测试/a.py", ("tests/with space/a.py", "测试/a.py")),
        ("npm test", ()),
    ],
)
def test_targets_are_the_relative_paths_that_a_command_names(
    command: str, paths: tuple[str, ...]
) -> None:
    assert targets(command) == paths


ROOT = "/home/ada/work/shop"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cd /home/ada/work/shop && pytest", "pytest"),
        ("cd '/home/ada/work/shop/' && pytest", "pytest"),
        ("cd /home/ada/work/shop; cd web && npm test", "cd web && npm test"),
        ("cd /home/ada/work/shop/web && npm test", "cd $WORKSPACE/web && npm test"),
        ("pytest /home/ada/work/shop/tests/a.py", "pytest $WORKSPACE/tests/a.py"),
        ("/home/ada/work/shop/.venv/bin/python -m pytest", "python -m pytest"),
        ("/home/ada/work/shop/bin/test core", "$WORKSPACE/bin/test core"),
        ("/usr/bin/python3 -m pytest", "python3 -m pytest"),
        ("/opt/conda/envs/x/bin/pytest -q", "pytest -q"),
        ("PYTHONPATH=/home/ada/work/shop/src CI=1 pytest", "CI=1 pytest"),
        ("cd x && PATH=/opt/x/bin:$PATH make", "cd x && make"),
        ("export HOME=/home/ada && pytest", "pytest"),
        ("CI=1 pytest", "CI=1 pytest"),
        ("cat /home/bob/.config/x", "cat $HOME/.config/x"),
        ("cat /Users/bob/x ~/y /root/z", "cat $HOME/x ~/y $HOME/z"),
        ("ls /tmp/ab12/x /var/folders/a1/b2/T/c", "ls $TMPDIR/ab12/x $TMPDIR/c"),
        ("pytest > /dev/null 2>&1", "pytest > /dev/null 2>&1"),
        ("cat /etc/ssl/certs/a.pem", "cat .../certs/a.pem"),
        ("/usr/lib/python3/site-packages/yaml/a.py:3", "yaml/a.py:3"),
        ("../../opt/py/lib/python3.9/site-packages/yaml/a.py", "yaml/a.py"),
        ('File "/home/ada/work/shop/a.py", line 3', 'File "$WORKSPACE/a.py", line 3'),
        ("file:///home/ada/work/shop/a.py", "$WORKSPACE/a.py"),
        ("-I/usr/include/x -v /opt/a/b:/opt/c/d", "-I.../include/x -v .../a/b:.../c/d"),
        ("/home/ada/work/shop2/a.py", "$HOME/work/shop2/a.py"),
        ("在/home/ada/work/shop/a.py里", "在$WORKSPACE/a.py里"),
        (r"C:\Users\ada\x\a.py", "$HOME/x/a.py"),
        ("GET /api/users/1 and /static/app.js", "GET /api/users/1 and /static/app.js"),
        ("https://ci.example/home/ada/x", "https://ci.example/home/ada/x"),
        ("sed -i '/src/d' a.py", "sed -i '/src/d' a.py"),
        ("if not a:\\n  b", "if not a:\\n  b"),
        ("#!/usr/bin/env python3", "#!/usr/bin/env python3"),
        ("./x ../y a/b", "./x ../y a/b"),
        ("", ""),
    ],
)
def test_a_portable_text_holds_no_path_of_this_machine(text: str, expected: str) -> None:
    assert portable(text, [ROOT]) == expected


def test_the_longest_root_wins_and_any_order_gives_the_same() -> None:
    roots = ["/w/main", "/w/main/.worktrees/a", "/"]
    text = "/w/main/.worktrees/a/x.py /w/main/y.py"
    assert portable(text, roots) == portable(text, roots[::-1]) == "$WORKSPACE/x.py $WORKSPACE/y.py"


def test_a_root_with_spaces_backslashes_or_chinese_is_taken_as_it_is() -> None:
    for root in ("/Users/a b/c", r"D:\a\shop (1)", "/home/ada/项目", "/w/a+b[1].x"):
        assert portable(f"open {root}/a.py", [root]) == "open $WORKSPACE/a.py"


PIECES = st.sampled_from(
    [
        *(
            ROOT,
            ROOT + "/",
            "cd ",
            " && ",
            "/usr/bin/python3",
            "/tmp/x",
            " ",
            "\n",
            "'",
            '"',
            "a.py",
        ),
        *(
            "A=",
            "export ",
            "/home/bob",
            "/etc/passwd",
            "...",
            ".",
            "..",
            "/",
            "~",
            "$WORKSPACE",
            ":",
        ),
        *(
            "C:\\Users\\x",
            "\\",
            "=",
            ";",
            "|",
            "file://",
            "-I",
            "#!",
            "E",
            "\x1b[0m",
            "中",
            "\ud800",
        ),
        *("/site-packages/", "/bin/x", "/src/a/b/c", "&&cd ", "(", "/private", "//"),
    ]
)


@pytest.mark.parametrize(
    ("wider", "narrower", "covered"),
    [
        ("pytest", "pytest tests/test_a.py::test_b -q", True),
        ("pytest tests", "python -m pytest tests/unit/test_a.py -k foo", True),
        ("pytest tests/unit", "pytest tests/api/test_a.py", False),
        ("pytest tests/test_a.py::test_b", "pytest tests/test_a.py", False),
        ("pytest -k foo", "pytest", False),
        ("pytest -k foo tests", "pytest tests", False),
        ("go test ./...", "cd web && go test ./pkg/a -run TestX -v", True),
        ("go test ./pkg/...", "go test ./pkg/a", True),
        ("go build ./...", "go test ./pkg/a", False),
        ("go vet ./...", "go build ./...", False),
        ("cargo test", "cargo test parser", True),
        ("cargo check", "cargo test parser", False),
        ("npm test", "npm test -- src/a.test.ts", True),
        ("npm run build", "npm run test", False),
        ("make", "make test", False),
        ("ruff check .", "pytest", False),
        ("npx vitest run && npx tsc", "npx tsc", True),
        ("", "pytest", False),
        ("pytest", "", False),
    ],
)
def test_a_wider_run_of_the_same_tests_covers_a_narrower_one(
    wider: str, narrower: str, covered: bool
) -> None:
    assert covers(wider, narrower) is covered


@given(st.lists(PIECES, max_size=12).map("".join))
def test_making_a_text_portable_again_changes_nothing(text: str) -> None:
    once = portable(text, [ROOT])
    assert portable(once, [ROOT]) == once


@given(
    st.lists(st.sampled_from(["cd", "cat", "--x=", "'", "a.py", "&&", "\n", "中文", "(", "./b"])),
    st.sampled_from([ROOT, "/tmp/ab/shop", "/w/a b", "/Users/x/项目"]),
    st.sampled_from(["", "/", "/a.py", ":12", "/sub dir/x"]),
)
def test_a_root_never_remains(words: list[str], root: str, rest: str) -> None:
    text = " ".join([*words, root + rest, *words])
    assert root not in portable(text, [root])


LINES = st.lists(
    st.sampled_from(
        [
            *(
                "pytest",
                "cd x",
                "sed -i s/a/b/ y",
                "|",
                "&&",
                ";",
                "\n",
                "||",
                "true",
                "bash -c",
                "'",
            ),
            *(
                '"',
                "<<EOF",
                "EOF",
                "$(",
                ")",
                "`",
                ">",
                "2>&1",
                "\\",
                "tail",
                "env",
                "A=1",
                "timeout 5",
            ),
            *(
                "python",
                "-m",
                "-c",
                "npm",
                "run",
                "test",
                "make",
                "git",
                "{",
                "}",
                "xargs",
                "--",
                "#",
            ),
        ]
    ),
    max_size=12,
).map(" ".join)


@given(LINES | TEXT, st.none() | st.integers(-1, 255), TEXT)
def test_no_command_line_raises(command: str, code: int | None, output: str) -> None:
    verdict = passed(command, code, output)
    assert verdict in (True, False, None)
    assert is_check(command) == (strength(command) > 0)
    assert same_check(command, command)
    is_setup(command)
    writes(command)
    for path in targets(command):
        assert not path.startswith(("/", "~"))


@given(TEXT, st.lists(TEXT, max_size=2))
def test_any_text_and_any_roots_are_taken(text: str, roots: list[str]) -> None:
    portable(text, roots)


@pytest.mark.parametrize(
    "unit",
    ["a", "(", '"', "'", " ", "\n", "$(", "a=/b ", "/usr/", "cd /x && ", "<<E\n", "../", "`", "\\",
     "E/", "a | ", "export A=/b;", "/home/a", "1 failed ", "/src/a"],
)  # fmt: skip
def test_a_megabyte_of_anything_takes_about_a_second(unit: str) -> None:
    text = unit * (1_000_000 // len(unit))
    start = time.process_time()
    strength(text)
    passed(text, None, text)
    targets(text)
    assert time.process_time() - start < 3
    start = time.process_time()
    portable(text, [ROOT])
    assert time.process_time() - start < 4
