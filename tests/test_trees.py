"""Fingerprints by syntax trees: cosmetic changes keep them, changes of meaning do not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from git_tmem import probes
from git_tmem.languages import SUFFIXES, blocks, symbols, trees
from git_tmem.playbook import EDITED, FRESH, UNKNOWN, Probe
from git_tmem.probes import CachedView

#: Suffix -> a function, the same after a formatter and a commenter, and with another meaning.
SAMPLES = {
    "js": (
        "function f(a) {\n  return g('x', [a, 2]);\n}\n",
        'function f(a) {\n  // why\n  return g("x", [\n    a,\n    2,\n  ])\n}\n',
        "function f(a) {\n  return g('x', [2, a]);\n}\n",
    ),
    "ts": (
        "function f(a: number): X {\n  return { a, b: 'it\\'s' };\n}\n",
        'function f(\n  a: number,\n): X {\n  return { a, b: "it\'s", } /* b */;\n}\n',
        "function f(a: number): Y {\n  return { a, b: 'it\\'s' };\n}\n",
    ),
    "tsx": (
        "const f = (a: P) => {\n  return <b x={a}>one two</b>;\n};\n",
        "const f = (a: P) => {\n  return <b x={a}>\n    one two\n  </b>\n}\n",
        "const f = (a: P) => {\n  return <b x={a}>one three</b>;\n};\n",
    ),
    "go": (
        "package a\n\nfunc f(a int) int {\n\treturn g(a, 1)\n}\n",
        "package a\n\nfunc f(a int) int { // f\n\n\treturn g(\n\t\ta,\n\t\t1,\n\t)\n}\n",
        "package a\n\nfunc f(a int) int {\n\treturn g(a, -1)\n}\n",
    ),
    "rs": (
        "fn f(a: u8) -> u8 {\n    g(a, 1)\n}\n",
        "fn f(\n    a: u8,\n) -> u8 {\n    /* why */ g(a, 1,)\n}\n",
        "fn f(a: u8) -> u8 {\n    g(a, 1);\n}\n",
    ),
    "java": (
        "class A {\n  int f(int a) {\n    return a + 1;\n  }\n}\n",
        "class A\n{\n  /** Doc. */\n  int f(int a)\n  {\n    return a\n        + 1;\n  }\n}\n",
        "class A {\n  int f(int a) {\n    return 1 + a;\n  }\n}\n",
    ),
    "c": (
        "int f(int a) {\n  return a > 1;\n}\n",
        "int\nf(int a)\n{ /* why */\n  return a>1;\n}\n",
        "int f(int a) {\n  return a >= 1;\n}\n",
    ),
    "cpp": (
        "int f(int a) {\n  return g<A>({a, 1});\n}\n",
        "int f( int a )\n{\n  return g<A>({\n    a,\n    1,\n  }); // why\n}\n",
        "int f(int a) {\n  return g<B>({a, 1});\n}\n",
    ),
    "cs": (
        'class A {\n  int f(int a) {\n    return g("x", a);\n  }\n}\n',
        'class A\n{\n  int f(int a)\n  {\n    // why\n    return g( "x", a );\n  }\n}\n',
        "class A {\n  int f(int a) {\n    return g('x', a);\n  }\n}\n",
    ),
    "rb": (
        "def f(a)\n  g('x', a)\n  [a]\nend\n",
        'def f(a)\n  # why\n  g("x", a)\n\n  [\n    a,\n  ]\nend\n',
        "def f(a)\n  g('x', a)[a]\nend\n",
    ),
    "php": (
        "<?php\nfunction f($a) {\n  return [$a, 'x'];\n}\n",
        '<?php\nfunction f($a)\n{\n  # why\n  return [\n    $a,\n    "x",\n  ];\n}\n',
        "<?php\nfunction f($a) {\n  return [$b, 'x'];\n}\n",
    ),
    "sh": (
        "f() {\n  g a; h b\n}\n",
        "f() {\n  # why\n  g   a\n  h b\n}\n",
        "f() {\n  g a h b\n}\n",
    ),
}


def print_of(suffix: str, source: str) -> str:
    (found,) = [one for one in symbols(f"a.{suffix}", source) if one.name.endswith("f")]
    assert found.scheme == trees.SCHEME
    return found.fingerprint


@pytest.mark.parametrize("suffix", SAMPLES)
def test_layout_comments_commas_and_quotes_keep_a_fingerprint(suffix: str) -> None:
    plain, cosmetic, _ = SAMPLES[suffix]
    assert print_of(suffix, plain) == print_of(suffix, cosmetic)


@pytest.mark.parametrize("suffix", SAMPLES)
def test_another_meaning_is_another_fingerprint(suffix: str) -> None:
    plain, _, other = SAMPLES[suffix]
    assert print_of(suffix, plain) != print_of(suffix, other)


def test_every_grammar_belongs_to_a_suffix_that_is_known() -> None:
    assert set(trees.GRAMMARS) <= set(SUFFIXES)
    assert {trees.GRAMMARS[suffix].wheel for suffix in SAMPLES} == {
        grammar.wheel for grammar in trees.GRAMMARS.values()
    }


class OneFile:
    """A tree with one file."""

    def __init__(self, path: str, text: str) -> None:
        self._path, self._text = path, text

    def blob(self, path: str) -> str | None:
        return "1" * 40 if path == self._path else None

    def read(self, path: str) -> bytes | None:
        return self._text.encode() if path == self._path else None

    def is_dir(self, path: str) -> bool:
        return False

    def find(self, blob_id: str) -> list[str]:
        return []


def guard(text: str, scheme: str = "") -> Probe:
    (found,) = [one for one in symbols("a.js", text, scheme) if one.name == "f"]
    args = {"path": "a.js", "name": "f", "blob": "2" * 40, "scheme": found.scheme}
    return Probe("body", {**args, "fingerprint": found.fingerprint})


def test_a_guard_is_checked_in_the_way_it_was_made() -> None:
    plain, cosmetic, other = SAMPLES["js"]
    for scheme in ("", blocks.SCHEME):
        probe = guard(plain, scheme)
        assert probes.check(probe, CachedView(OneFile("a.js", plain + "\n"))).state == FRESH
        assert probes.check(probe, CachedView(OneFile("a.js", other))).state == EDITED
    assert probes.check(guard(plain), CachedView(OneFile("a.js", cosmetic))).state == FRESH


def test_what_does_not_parse_now_is_unknown_and_not_edited() -> None:
    plain, _, _ = SAMPLES["js"]
    view = CachedView(OneFile("a.js", plain.replace("return", "return return )")))
    assert probes.check(guard(plain), view).state == UNKNOWN


def test_without_the_extra_its_guards_are_unknown_and_others_are_checked(tmp_path: Path) -> None:
    plain, _, other = SAMPLES["js"]
    code = (
        "import sys\n"
        "sys.modules['tree_sitter'] = None\n"
        "from tests import test_trees as t\n"
        "view = t.CachedView(t.OneFile('a.js', sys.argv[1]))\n"
        "print(t.probes.check(t.Probe('body', eval(sys.argv[2])), view).state)\n"
        "print(t.probes.check(t.Probe('body', eval(sys.argv[3])), view).state)\n"
    )
    made = repr(dict(guard(plain).args)), repr(dict(guard(plain, blocks.SCHEME).args))
    top = Path(__file__).resolve().parent.parent
    done = subprocess.run(
        [sys.executable, "-c", code, other, *made], capture_output=True, text=True, cwd=top
    )
    assert done.stdout.split() == [UNKNOWN, EDITED], done.stderr


def test_a_guard_of_the_block_finder_is_checked_without_the_parser() -> None:
    plain, _, _ = SAMPLES["js"]
    code = (
        "import sys\n"
        "from git_tmem import languages\n"
        "languages.symbols('a.js', sys.argv[1], 'blk1')\n"
        "sys.exit('tree_sitter' in sys.modules)\n"
    )
    assert subprocess.run([sys.executable, "-c", code, plain]).returncode == 0
