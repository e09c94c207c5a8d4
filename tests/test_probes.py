"""Guards: what build makes on a tree, check confirms on it; a change turns the outcome."""

from __future__ import annotations

import json
import zlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_tmem.playbook import EDITED, FRESH, GONE, MOVED, UNKNOWN, Probe, Step
from git_tmem.probes import PROBES, CachedView, Unknowable, build, check, check_all, safe_path

CODE = "def total(lines):\n    return sum(lines)\n\n\ndef other():\n    return 1\n"
STEPS = (
    Step("READ", "docs/plan.md"),
    Step("MUTATE", "src/cart.py", symbols=("total",)),
    Step("MUTATE", "data.bin"),
    Step("VERIFY", command="python -m pytest tests/test_cart.py::test_total -q"),
)


class Dict:
    """A tree in a dict."""

    def __init__(self, files: dict[str, str]) -> None:
        self.files = files
        self.reads = 0

    def blob(self, path: str) -> str | None:
        return f"{zlib.crc32(self.files[path].encode()):040x}" if path in self.files else None

    def read(self, path: str) -> bytes | None:
        self.reads += 1
        return self.files[path].encode() if path in self.files else None

    def is_dir(self, path: str) -> bool:
        return any(name.startswith(f"{path}/") for name in self.files)

    def find(self, blob_id: str) -> list[str]:
        return [path for path in sorted(self.files) if self.blob(path) == blob_id]


def tree(**changes: str | None) -> Dict:
    files: dict[str, str | None] = {
        "src/cart.py": CODE,
        "docs/plan.md": "# Plan\n",
        "data.bin": "\0\1",
        "tests/test_cart.py": "def test_total(): ...\n",
    }
    named = {name.replace("__", "/").replace("_py", ".py"): text for name, text in changes.items()}
    return Dict({path: text for path, text in {**files, **named}.items() if text is not None})


PROBED = build(STEPS, tree())


def states(view: Dict) -> dict[str, str]:
    outcomes = check_all(PROBED, view)
    return {
        f"{probe.kind} {probe.args.get('name') or probe.args.get('path', '')}".strip(): found.state
        for probe, found in zip(PROBED, outcomes, strict=True)
    }


def test_what_is_built_is_confirmed_on_the_same_tree() -> None:
    assert {probe.kind for probe in PROBED} == set(PROBES)
    assert set(states(tree()).values()) == {FRESH}
    assert all(json.loads(json.dumps(probe.args)) == probe.args for probe in PROBED)
    assert {place for probe in PROBED for place in probe.steps} == {0, 1, 2, 3}


def test_layout_alone_leaves_the_body_fresh() -> None:
    found = states(
        tree(src__cart_py=CODE.replace("sum(lines)", "sum(\n        lines  # all\n    )"))
    )
    assert (found["blob src/cart.py"], found["body total"]) == (EDITED, FRESH)


def test_another_functions_change_leaves_this_one_fresh() -> None:
    found = states(tree(src__cart_py=CODE.replace("return 1", "return 2")))
    assert (found["symbol total"], found["body total"]) == (FRESH, FRESH)


def test_a_changed_body_is_edited() -> None:
    found = states(tree(src__cart_py=CODE.replace("sum", "max")))
    assert (found["symbol total"], found["body total"]) == (FRESH, EDITED)


def test_a_renamed_function_is_gone_and_the_file_is_not() -> None:
    found = states(tree(src__cart_py=CODE.replace("total", "price")))
    assert (found["path src/cart.py"], found["symbol total"], found["body total"]) == (
        FRESH,
        GONE,
        GONE,
    )


def test_a_moved_file_is_found_by_its_content_and_the_reason_names_both() -> None:
    view = tree(src__cart_py=None)
    view.files["lib/cart.py"] = view.files["other/place.py"] = CODE
    (outcome,) = check_all([probe for probe in PROBED if probe.kind == "blob"][:1], view)
    assert outcome.state == MOVED
    assert outcome.path == "lib/cart.py"  # the same name is the likelier one
    assert outcome.reason == "src/cart.py moved to lib/cart.py (same content)"


def test_a_deleted_file_is_gone() -> None:
    found = states(tree(src__cart_py=None))
    assert {found["path src/cart.py"], found["blob src/cart.py"], found["body total"]} == {GONE}


@pytest.mark.parametrize(
    ("command", "files", "broken"),
    [
        ("pytest tests/test_a.py::test_x", {"tests/test_a.py": ""}, {}),
        ("make check", {"Makefile": "all:\n\ncheck: all\n\tpytest\n"}, {"Makefile": "all:\n"}),
        ("npm run lint", {"package.json": '{"scripts": {"lint": ""}}'}, {"package.json": "{}"}),
        ("./scripts/check.sh", {"scripts/check.sh": ""}, {}),
    ],
)  # fmt: skip
def test_a_check_that_cannot_run_any_more_is_gone(
    command: str, files: dict[str, str], broken: dict[str, str]
) -> None:
    probes = build([Step("VERIFY", command=command)], Dict(files))
    assert [probe.kind for probe in probes] == ["check"]
    assert [outcome.state for outcome in check_all(probes, Dict(files))] == [FRESH]
    (outcome,) = check_all(probes, Dict(broken))
    assert outcome.state == GONE
    assert outcome.reason


def test_a_check_that_names_nothing_holds() -> None:
    probes = build([Step("VERIFY", command="go test ./...")], Dict({"a.go": ""}))
    assert [outcome.state for outcome in check_all(probes, Dict({"b.go": ""}))] == [FRESH]


def test_one_file_is_read_once_however_many_probes_lean_on_it() -> None:
    names = tuple(f"f{number}" for number in range(40))
    code = "".join(f"def {name}(): return 1\n" for name in names)
    steps = [Step("MUTATE", "a.py", symbols=names[at : at + 4]) for at in range(0, 40, 4)]
    probes = build(steps, Dict({"a.py": code}))
    assert len(probes) == 2 + 2 * 40
    view = Dict({"a.py": code + "# more\n"})
    assert {outcome.state for outcome in check_all(probes, view)} == {FRESH, EDITED}
    assert view.reads == 1


def test_what_did_not_change_is_not_read_at_all() -> None:
    view = tree()
    assert {outcome.state for outcome in check_all(PROBED, view)} == {FRESH}
    assert view.reads == 0


def test_what_was_learned_for_one_record_serves_the_next() -> None:
    view = tree(src__cart_py=CODE + "# more\n")
    cached = CachedView(view)
    assert check_all(PROBED, cached) == check_all(PROBED, cached)
    assert view.reads == 1


def test_one_probe_serves_all_steps_that_lean_on_the_same_thing() -> None:
    steps = [Step("READ", "a.py"), Step("MUTATE", "a.py"), Step("MUTATE", "a.py")]
    probes = build(steps, Dict({"a.py": "x = 1\n"}))
    assert [(probe.kind, probe.steps) for probe in probes] == [
        ("path", (0, 1, 2)),
        ("blob", (1, 2)),
    ]


def test_a_class_is_not_what_changed_when_its_method_did() -> None:
    code = "class A:\n    def f(self):\n        return 1\n\n    def g(self):\n        return 1\n"
    probes = build([Step("MUTATE", "a.py", symbols=("A.f", "A"))], Dict({"a.py": code}))
    assert {probe.args.get("name") for probe in probes} == {None, "A.f"}
    other = Dict({"a.py": code[::-1].replace("1", "2", 1)[::-1]})
    found = zip(probes, check_all(probes, other), strict=True)
    assert {probe.kind: outcome.state for probe, outcome in found} == {
        "path": FRESH, "blob": EDITED, "symbol": FRESH, "body": FRESH,
    }  # fmt: skip


def test_a_property_and_its_setter_are_guarded_together() -> None:
    code = (
        "class A:\n    @property\n    def x(self):\n        return 1\n\n"
        "    @x.setter\n    def x(self, to):\n        self.y = 2\n"
    )
    probes = build([Step("MUTATE", "a.py", symbols=("A.x",))], Dict({"a.py": code}))
    for old in ("return 1", "self.y = 2"):
        view = Dict({"a.py": code.replace(old, "pass")})
        assert [outcome.state for outcome in check_all(probes, view)][-1] == EDITED


def test_source_that_does_not_parse_now_is_unknown_not_changed() -> None:
    found = states(tree(src__cart_py=CODE + "def broken(:\n"))
    assert (found["symbol total"], found["body total"]) == (FRESH, UNKNOWN)
    found = states(tree(src__cart_py="def other():\n    return (\n"))
    assert (found["symbol total"], found["body total"]) == (UNKNOWN, UNKNOWN)


def test_an_empty_file_does_not_move_to_another_empty_file() -> None:
    args = {"path": "a/__init__.py", "blob": "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"}

    class Empty(Dict):
        def find(self, blob_id: str) -> list[str]:
            return ["b/__init__.py"]

    assert check(Probe("blob", args), Empty({})).state == GONE
    assert check(Probe("blob", {**args, "blob": "1" * 40}), Empty({})).state == MOVED


@pytest.mark.parametrize(
    ("command", "needs"),
    [
        ("python3 -m unittest tests.test_a.CartTest.test_x", {"tests/test_a.py"}),
        ("cd web && npm test", {"web/package.json"}),
        ("cd web && npx vitest src/a.test.ts", {"web/src/a.test.ts"}),
        ("pytest tests/test_a.py > out.log 2>&1", {"tests/test_a.py"}),
        ("cargo test --workspace", {"Cargo.toml"}),
        ("tox -e py311", set()),
        ("FOO=1 pytest --config=cfg/x.ini tests", {"cfg/x.ini"}),
        ("cat /etc/passwd ../x && true", set()),
    ],
)
def test_what_a_command_needs_of_the_tree(command: str, needs: set[str]) -> None:
    names = ("tests/test_a.py", "web/src/a.test.ts", "out.log", "Cargo.toml", "cfg/x.ini")
    files = {**dict.fromkeys(names, ""), "web/package.json": '{"scripts": {"test": "vitest"}}'}
    probes = build([Step("VERIFY", command=command)], Dict(files))
    assert {probe.args["path"] for probe in probes if "path" in probe.args} == needs
    assert {outcome.state for outcome in check_all(probes, Dict(files))} == {FRESH}


def test_a_package_file_that_cannot_be_read_now_is_unknown() -> None:
    view = Dict({"package.json": '{"scripts": {"test": ""}}'})
    probes = build([Step("VERIFY", command="npm test")], view)
    for text in ("{", "[" * 100_000):
        assert [found.state for found in check_all(probes, Dict({"package.json": text}))] == [
            UNKNOWN
        ]


@pytest.mark.parametrize(
    "probe",
    [
        Probe("nothing-we-know", {"path": "a"}),
        Probe("path", {}),
        Probe("path", {"path": "/etc/passwd"}),
        Probe("path", {"path": "../../x"}),
        Probe("blob", {"path": "-rf", "blob": "x"}),
        Probe("blob", {"path": ":(top)*", "blob": "x"}),
        Probe("blob", {"path": ".git/config", "blob": "x"}),
        Probe("symbol", {"path": "src/cart.py"}),
        Probe("body", {"path": "src/cart.py", "name": "total"}),
        Probe("body", {"path": "src/cart.py", "name": "total", "fingerprint": "zzz9:1"}),
        Probe("check", {}),
        Probe("path", {"path": 7}),  # type: ignore[dict-item]
    ],
    ids=lambda probe: f"{probe.kind}-{len(str(probe.args))}",
)
def test_hostile_and_foreign_probes_are_unknown_with_a_reason(probe: Probe) -> None:
    (outcome,) = check_all([probe], tree())
    assert outcome.state == UNKNOWN
    assert outcome.reason


def test_what_the_view_cannot_tell_is_unknown() -> None:
    class Submodule(Dict):
        def blob(self, path: str) -> str | None:
            raise Unknowable("it lies in a submodule")

    (outcome,) = check_all([Probe("path", {"path": "sub/a.py"})], Submodule({}))
    assert outcome == (UNKNOWN, "sub/a.py could not be checked: it lies in a submodule", "")


@given(kind=st.sampled_from([*PROBES, "x"]), args=st.dictionaries(st.text(), st.text()))
def test_no_arguments_raise(kind: str, args: dict[str, str]) -> None:
    check_all([Probe(kind, args)], tree())


@pytest.mark.parametrize(
    ("path", "good"),
    [
        *((path, True) for path in ("a", "a/b c/中.py", ".tmem/x", "a/.gitignore", "a\\b")),
        *((path, False) for path in ("", "/a", "a//b", "a/", "./a", "a/../b", "-a", ":a", "~/a")),
        *((path, False) for path in ("C:/a", "C:\\a", "a\0b", ".git/x", ".GIT", "x" * 5000)),
        *((path, False) for path in ("\\\\host\\x", "a/\ud800")),
    ],
)
def test_safe_paths(path: str, good: bool) -> None:
    assert safe_path(path) is good


def test_registry_names_are_the_modules_own() -> None:
    kinds: Any = PROBES
    assert {name: kind.KIND for name, kind in kinds.items()} == {name: name for name in kinds}
