"""Symbols and their fingerprints: what layout may change, and what it may not."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_tmem.languages import symbols

PYTHON = '''"""Module."""
import os

LIMIT = 3


def free(a, b=1):
    """Doc."""
    return [a, b]


class Cart:
    """A cart."""

    @property
    def total(self):
        return sum(self.lines)

    async def load(self):
        def inner():
            pass
        return inner
'''


def prints(path: str, source: str) -> dict[str, str]:
    return {symbol.name: symbol.fingerprint for symbol in symbols(path, source)}


def test_python_names_are_qualified_and_spans_hold_the_definition() -> None:
    found = {symbol.name: (symbol.start, symbol.end) for symbol in symbols("a.py", PYTHON)}
    assert found == {
        "LIMIT": (4, 4),
        "free": (7, 9),
        "Cart": (12, 22),
        "Cart.total": (15, 17),
        "Cart.load": (19, 22),
        "Cart.load.inner": (20, 21),
    }


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("return [a, b]", "return [\n        a,\n        b,\n    ]  # both"),
        ('"""Doc."""', '"""Another text."""'),
        ('    """Doc."""\n', ""),
        ("b=1", "b = 1"),
        ("    return sum(self.lines)", "  return sum((self.lines))"),
        ("import os\n", "import os\nimport sys\n\n\n\n"),
    ],
)
def test_layout_comments_and_docstrings_do_not_matter_in_python(old: str, new: str) -> None:
    assert prints("a.py", PYTHON.replace(old, new, 1)) == prints("a.py", PYTHON)


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ("return [a, b]", "return [b, a]", {"free"}),
        ("b=1", "b=2", {"free"}),
        ("LIMIT = 3", "LIMIT = 4", {"LIMIT"}),
        ("LIMIT = 3", "LIMIT = '3'", {"LIMIT"}),
        ("sum(self.lines)", "max(self.lines)", {"Cart", "Cart.total"}),
        ("@property", "@cached", {"Cart", "Cart.total"}),
        ("async def load", "def load", {"Cart", "Cart.load"}),
    ],
)
def test_what_means_something_else_does_matter(old: str, new: str, changed: set[str]) -> None:
    before, after = prints("a.py", PYTHON), prints("a.py", PYTHON.replace(old, new, 1))
    assert {name for name in before if before[name] != after[name]} == changed


def test_what_python_does_not_parse_is_read_by_the_block_finder() -> None:
    broken = PYTHON + "\ndef broken(:\n    pass\n"
    found = prints("a.py", broken)
    assert found["free"].startswith("blk1:")
    assert prints("a.py", PYTHON)["free"].startswith("ast1:")
    assert "Cart.total" in found


SOURCES = {
    "a.ts": (
        "export class Cart {\n  private lines = [];\n  total(rate: number): number {\n"
        "    if (rate) {\n      return 1;\n    }\n    return 2;\n  }\n}\n"
        "export async function load(url: string) {\n  return fetch(url);\n}\n"
        "const add = (a, b) => {\n  return a + b;\n};\n",
        {"Cart": (1, 9), "Cart.total": (3, 8), "load": (10, 12), "add": (13, 15)},
    ),
    "a.go": (
        "package a\n\ntype Cart struct {\n\tn int\n}\n\nfunc (c *Cart) Total() int {\n\treturn c.n\n}\n"
        "\nfunc New() *Cart {\n\treturn &Cart{}\n}\n",
        {"Cart": (3, 5), "Cart.Total": (7, 9), "New": (11, 13)},
    ),
    "a.rs": (
        "pub struct Cart {\n    n: u32,\n}\n\nimpl Cart {\n    pub fn total(&self) -> u32 {\n"
        "        self.n\n    }\n}\n\nfn main() {\n    println!(\"{}\", 1);\n}\n",
        {"Cart": (5, 9), "Cart.total": (6, 8), "main": (11, 13)},
    ),
    "a.rb": (
        "class Cart\n  def total\n    @lines.sum\n  end\nend\n\ndef free(a)\n  a\nend\n",
        {"Cart": (1, 5), "Cart.total": (2, 4), "free": (7, 9)},
    ),
    "a.sh": ("build() {\n  make\n}\n\nfunction check {\n  make test\n}\n", {"build": (1, 3), "check": (5, 7)}),
    "A.java": (
        "public class Cart {\n  private int n;\n\n  public int total(int rate) {\n    return n;\n  }\n}\n",
        {"Cart": (1, 7), "Cart.total": (4, 6)},
    ),
    "a.c": (
        "#include <stdio.h>\n\nstatic int total(int a, int b)\n{\n  return a + b;\n}\n\nint main(void) {\n"
        "  return total(1, 2);\n}\n",
        {"main": (8, 10)},
    ),
    "a.md": ("# Title\n\ntext\n\n## Use\n\nmore\n\n## End\n", {"Title": (1, 9), "Use": (5, 8), "End": (9, 9)}),
}  # fmt: skip


@pytest.mark.parametrize("path", SOURCES)
def test_other_languages_definitions_are_found_with_their_extent(path: str) -> None:
    source, wanted = SOURCES[path]
    found = {symbol.name: (symbol.start, symbol.end) for symbol in symbols(path, source)}
    assert {name: found.get(name) for name in wanted} == wanted


def test_in_other_languages_too_layout_and_comments_do_not_matter() -> None:
    source, _ = SOURCES["a.ts"]
    changed = source.replace("return 2;", "return   2; // two").replace("{\n    if", "{\n\n    if")
    assert prints("a.ts", changed)["Cart.total"] == prints("a.ts", source)["Cart.total"]
    other = source.replace("return 2;", "return 3;")
    assert prints("a.ts", other)["Cart.total"] != prints("a.ts", source)["Cart.total"]
    text = source.replace("return 2;", 'return "a  // b";')
    other = source.replace("return 2;", 'return "a // b";')
    assert prints("a.ts", text)["Cart.total"] != prints("a.ts", other)["Cart.total"]


@pytest.mark.parametrize("path", ["a.py", "a.ts", "a.md", "a", "a.weird", ".py"])
@given(source=st.text(st.sampled_from("def class(){}:\n\t ;#/*\"'`fnx=>\0\ud800é")))
def test_any_text_gives_symbols_that_lie_in_the_file(path: str, source: str) -> None:
    lines = len(source.splitlines())
    for symbol in symbols(path, source):
        assert 1 <= symbol.start <= symbol.end <= lines
        assert symbol.name


@pytest.mark.parametrize(
    "source",
    ["(" * 5000, "x = " + "[" * 3000 + "]" * 3000, "a." * 100_000, "def f():\n" * 20_000, "{" * 300_000,
     "/*" * 200_000, "'" * 300_000, "int a(" * 50_000, "func (" * 60_000, " " * 1_000_000],
    ids=range(10),
)  # fmt: skip
@pytest.mark.parametrize("path", ["a.py", "a.ts"])
def test_hostile_sources_take_little_time(path: str, source: str) -> None:
    start = time.perf_counter()
    symbols(path, source)
    assert time.perf_counter() - start < 5


def test_a_generated_giant_is_not_searched() -> None:
    assert symbols("a.py", "def f(): pass\n" * (SOURCE_LIMIT // 10)) == ()


def test_every_registered_language_keeps_its_contract() -> None:
    for suffix, language in LANGUAGES.items():
        assert suffix in language.SUFFIXES
        assert for_path(f"some/file{suffix}") is language
        assert for_path(f"some/FILE{suffix.upper()}") is language
