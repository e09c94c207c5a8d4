"""Symbols and their fingerprints: what layout may change, and what it may not."""

from __future__ import annotations

import inspect
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_tmem import languages, render
from git_tmem.languages import SOURCE_LIMIT, SUFFIXES, blocks, symbols

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


def prints(path: str, source: str, scheme: str = "") -> dict[str, str]:
    return {symbol.name: symbol.fingerprint for symbol in symbols(path, source, scheme)}


def test_python_names_are_qualified_and_spans_hold_the_definition() -> None:
    found = {symbol.name: (symbol.start, symbol.end) for symbol in symbols("a.py", PYTHON)}
    assert found == {
        "LIMIT": (4, 4),
        "free": (7, 9),
        "Cart": (12, 22),
        "Cart.total": (15, 17),
        "Cart.load": (19, 22),
    }  # what is defined in a function is part of it


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
        "package a\n\ntype Cart struct {\n\tn int\n}\n\n"
        "func (c *Cart) Total() int {\n\treturn c.n\n}\n"
        "\nfunc New() *Cart {\n\treturn &Cart{}\n}\n",
        {"Cart": (3, 5), "Cart.Total": (7, 9), "New": (11, 13)},
    ),
    "a.rs": (
        "pub struct Cart {\n    n: u32,\n}\n\nimpl Cart {\n    pub fn total(&self) -> u32 {\n"
        "        self.n\n    }\n}\n\nfn main() {\n    println!(\"{}\", 1);\n}\n",
        {"Cart": (1, 3), "Cart.total": (6, 8), "main": (11, 13)},
    ),
    "a.rb": (
        "class Cart\n  def total\n    @lines.sum\n  end\nend\n\ndef free(a)\n  a\nend\n",
        {"Cart": (1, 5), "Cart.total": (2, 4), "free": (7, 9)},
    ),
    "a.sh": (
        "build() {\n  make\n}\n\nfunction check {\n  make test\n}\n",
        {"build": (1, 3), "check": (5, 7)},
    ),
    "A.java": (
        "public class Cart {\n  private int n;\n\n  public int total(int rate) {\n"
        "    return n;\n  }\n}\n",
        {"Cart": (1, 7), "Cart.total": (4, 6)},
    ),
    "a.c": (
        "#include <stdio.h>\n\nstatic int total(int a, int b)\n{\n  return a + b;\n}\n\n"
        "int main(void) {\n  return total(1, 2);\n}\n",
        {"total": (3, 6), "main": (8, 10)},
    ),
    "a.cpp": (
        "#define OPEN(x) {\n\ntemplate <class T>\nclass API Foo : public Bar<T> {\n public:\n"
        "  Foo(int a) : a_(a), b_{1} {\n  }\n  int declared(int x);\n};\n\n"
        "int Foo::declared(int x)\n{\n  return '}';\n}\n\nstatic void\ngnu_style (int a)\n{\n}\n",
        {"Foo": (4, 9), "Foo.Foo": (6, 7), "Foo.declared": (11, 14), "gnu_style": (17, 19)},
    ),
    "a.cs": (
        "namespace A.B {\n  public class C : D {\n    public C(int x) : base(x) {\n    }\n"
        '    [Get("x")] public int Go(int a = 1) {\n      return a;\n    }\n'
        "    public int E(int x) => x + 1;\n  }\n}\n",
        {"C": (2, 9), "C.C": (3, 4), "C.Go": (5, 7), "C.E": (8, 8)},
    ),
    "a.php": (
        "<?php\nfinal class B extends C {\n  public function go(array $a = []): ?int { # }\n"
        "    return '}';\n  }\n}\nfunction free() {\n}\n",
        {"B": (2, 6), "B.go": (3, 5), "free": (7, 8)},
    ),
    "a.kt": (
        "class A(val x: Int) : B() {\n  fun go(a: Int): Int {\n    return a\n  }\n"
        "  fun short() = x + 1\n}\n\nfun <T> List<T>.ext(): T = first()\n",
        {"A": (1, 6), "A.go": (2, 4), "A.short": (5, 5), "ext": (8, 8)},
    ),
    "a.swift": (
        "struct V: View {\n  init(a: Int) {\n    self.a = a\n  }\n}\n\nextension V {\n"
        "  func more() {\n  }\n}\n",
        {"V": (1, 5), "V.init": (2, 4), "V.more": (8, 9)},
    ),
    "a.lua": (
        "local function foo(a)\n  return a\nend\n\nfunction M:bar()\n  print('end')\nend\n",
        {"foo": (1, 3), "M.bar": (5, 7)},
    ),
    "a.js": (
        "class A {\n  #hidden(a) {\n    return /[{]\"/.test(a);\n  }\n  handle = async (e) => {\n"
        "    const inner = `}`;\n  };\n}\n\nA.prototype.old = function () {\n};\n\n"
        "const short = (a) => a + 1\nconst api = {\n  get(a) {\n    return a\n  },\n}\n",
        {"A": (1, 8), "A.hidden": (2, 4), "A.handle": (5, 7), "A.old": (10, 11), "short": (13, 13),
         "api": (14, 18), "api.get": (15, 17)},
    ),
    "a.tsx": (
        "export type Pair<T = {}> = {\n  a: T;\n};\n\n"
        "export default function Page({ a }: Props): JSX.Element {\n"
        "  return <div onClick={() => { a }}>it's</div>;\n}\n\n"
        "async function load<T>(\n  url: string,\n  o: { a: number } = { a: 1 },\n"
        "): Promise<{ ok: boolean }> {\n  return 1;\n}\n",
        {"Pair": (1, 3), "Page": (5, 7), "load": (9, 14)},
    ),
    "a.rst": ("Title\n=====\n\ntext\n\nUse\n---\n\nmore\n", {"Title": (1, 4), "Use": (6, 9)}),
    "a.md": (
        "# Title\n\ntext\n\n## Use\n\nmore\n\n## End\n",
        {"Title": (1, 3), "Use": (5, 7), "End": (9, 9)},
    ),
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
    [
        "(" * 5000,
        "x = " + "[" * 3000 + "]" * 3000,
        "a." * 100_000,
        "def f():\n" * 20_000,
        "{" * 300_000,
        "/*" * 200_000,
        "'" * 300_000,
        "int a(" * 50_000,
        "func (" * 60_000,
        " " * 1_000_000,
        '"\\"' * 300_000,
        "(/[" * 300_000,
        ("class A " * 40 + "\n") * 3_000,
        "\n".join(" " * at + "def f():" for at in range(1_400)),
        "f(\n" * 100_000,
        "class A {\n" * 50_000,
        "# `~~~\n```\n" * 50_000,
    ],
    ids=range(17),
)
@pytest.mark.parametrize("path", ["a.py", "a.ts", "a.java", "a.rb", "a.md"])
def test_hostile_sources_take_little_time(path: str, source: str) -> None:
    start = time.process_time()
    symbols(path, source)
    assert time.process_time() - start < 5


@pytest.mark.parametrize("path", [path for path in SOURCES if not path.endswith((".md", ".rst"))])
@given(data=st.data())
def test_in_no_language_do_comments_and_blank_lines_change_a_fingerprint(
    path: str, data: st.DataObject
) -> None:
    source, wanted = SOURCES[path]
    lines = source.split("\n")
    comment = {"rb": "# x {", "sh": "# x {", "lua": "-- x {"}.get(path.rpartition(".")[2], "// x {")
    inside = [at for at in range(1, len(lines)) if lines[at].endswith(("}", "end", "{", ";"))]
    # a comment, or nothing, after any such line that lies within what the sample names
    for at in sorted(data.draw(st.sets(st.sampled_from(inside), max_size=3)), reverse=True):
        indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
        lines.insert(at, data.draw(st.sampled_from(["", "   ", f"{indent}{comment}"])))
    after = prints(path, "\n".join(lines))
    before = prints(path, source)
    assert {name: after.get(name) for name in wanted} == {name: before[name] for name in wanted}


@pytest.mark.parametrize("path", [path for path in SOURCES if not path.endswith((".md", ".rst"))])
def test_in_every_language_a_changed_word_changes_its_symbol_alone(path: str) -> None:
    source, wanted = SOURCES[path]
    lines = source.split("\n")
    for name, (start, end) in wanted.items():
        body = [at for at in range(start, end - 1) if lines[at].strip("{}; \t")]
        if not body:
            continue
        changed = [*lines]
        changed[body[-1]] += " more"
        before = prints(path, source, blocks.SCHEME)  # the changed text has no syntax
        after = prints(path, "\n".join(changed), blocks.SCHEME)
        different = {other for other in wanted if before[other] != after.get(other)}
        inside = {other for other, (first, last) in wanted.items() if first - 1 <= body[-1] < last}
        assert name in different
        assert different == inside


def test_quote_style_and_trailing_commas_do_not_matter_where_they_mean_the_same() -> None:
    one = "const f = (a) => {\n  return g('x', [\n    1,\n    2,\n  ]);\n};\n"
    two = 'const f = (a) => {\n  return g("x", [1, 2]);\n};\n'
    assert prints("a.js", one) == prints("a.js", two)
    assert prints("a.js", one.replace("'x'", "'y'")) != prints("a.js", two)
    assert prints("a.c", "int f() {\n  g('x');\n}\n") != prints("a.c", 'int f() {\n  g("x");\n}\n')


def test_line_ends_and_a_byte_order_mark_do_not_matter() -> None:
    for path in ("a.py", "a.rb"):
        source = PYTHON if path == "a.py" else SOURCES["a.rb"][0]
        assert symbols(path, source.replace("\n", "\r\n")) == symbols(path, source)
        assert symbols(path, f"\ufeff{source}") == symbols(path, source)


def test_a_heading_in_a_code_block_is_none() -> None:
    text = "# One\n\n```sh\n# not a heading\n```\n\n## Two ##\n"
    assert [symbol.name for symbol in symbols("a.md", text)] == ["One", "Two"]


def test_reflowed_prose_keeps_its_fingerprint() -> None:
    assert prints("a.md", "# A\n\none two\nthree\n") == prints("a.md", "# A\n\none\ntwo three\n\n")
    assert prints("a.md", "# A\n\none\n") != prints("a.md", "# A\n\ntwo\n")


def test_fingerprints_of_different_schemes_are_never_equal() -> None:
    broken = prints("a.py", PYTHON + "(")
    whole = prints("a.py", PYTHON)
    assert set(broken) & set(whole)
    assert not set(broken.values()) & set(whole.values())


def test_own_sources_are_found_whole_by_the_block_finder_too() -> None:
    """The two ways to read Python agree about names and extents on well-kept source."""
    for module in (languages, blocks, render):
        source = inspect.getsource(module)
        lines = source.split("\n")
        exact = {
            (symbol.name, symbol.start, symbol.end)
            for symbol in symbols("a.py", source)
            if lines[symbol.start - 1].lstrip().startswith(("@", "def ", "class "))
        }
        guessed = blocks.find(source, "python")
        assert {(symbol.name, symbol.start, symbol.end) for symbol in guessed} == exact


@pytest.mark.parametrize("path", ["a.py", "a.ts", "a.go", "a.c", "a.rb", "a.sh", "a.md"])
def test_a_megabyte_of_source_takes_about_a_second(path: str) -> None:
    source = SOURCES.get(path, (PYTHON, None))[0]
    source *= (1 << 20) // len(source)
    start = time.process_time()
    assert len(symbols(path, source)) > 1000
    assert time.process_time() - start < 6  # on a busy machine; it is 0.5 to 1.5 on an idle one


def test_a_generated_giant_is_not_searched() -> None:
    assert symbols("a.py", "x = 1\n" * (SOURCE_LIMIT // 5)) == ()


def test_data_and_prose_have_no_symbols() -> None:
    text = "class A {\n}\ndef f():\n    pass\n"
    for path in ("a.json", "a.txt", "a", ".py", "py", "a.yaml", "a.py.orig"):
        assert symbols(path, text) == ()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_registered_suffix_has_a_finder(suffix: str) -> None:
    text = (
        "# T\n\nclass A {\n  foo() {\n  }\n}\nfunction foo() {\n  x\n}\n\n"
        "Use\n---\n\ndef f(a)\n  b\nend\n"
    )
    text = f"<?php\n{text}" if suffix == "php" else text
    assert symbols(f"some/file.{suffix}", text)
    assert symbols(f"some/FILE.{suffix.upper()}", text)
