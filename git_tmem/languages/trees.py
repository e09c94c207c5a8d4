"""Symbols by the syntax trees of tree-sitter, where its wheels are installed.

A language is one line in ``GRAMMARS``: its wheel and the node types that define something. The
fingerprint is the text of the tree's leaves with brackets around what belongs together, without
the names of node types, which change from one version of a grammar to the next.
"""

from __future__ import annotations

import functools
import importlib
import re
from typing import TYPE_CHECKING, NamedTuple

from git_tmem.languages.base import Symbol, fingerprint

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

SCHEME = "tree1"
#: Characters of a text that is parsed; what is longer is rarely written by hand.
LIMIT = 1 << 17
#: Bytes that the parser is given at a time.
_PIECE = 1 << 16
#: Times in a row that the parser, asked after every hundred steps, may be in an error: getting over
#: one may take it minutes, and what has an error is not taken anyway.
_ERRORS = 50


class _Grammar(NamedTuple):
    """``optional`` ends of statements say nothing; with ``quotes``, 'a' and "a" are the same, and
    with ``escapes`` whatever is in them."""

    wheel: str
    definitions: str
    function: str = "language"
    optional: bool = False
    quotes: bool = False
    escapes: bool = False


_SCRIPT = (
    "function_declaration generator_function_declaration class_declaration method_definition "
    "variable_declarator assignment_expression field_definition"
)
_TYPED = (
    f"{_SCRIPT} abstract_class_declaration interface_declaration type_alias_declaration "
    "enum_declaration public_field_definition abstract_method_signature function_signature"
)
_JAVA = (
    "class_declaration interface_declaration enum_declaration record_declaration "
    "annotation_type_declaration method_declaration constructor_declaration "
    "compact_constructor_declaration variable_declarator"
)
_SHARP = (
    "class_declaration struct_declaration interface_declaration enum_declaration "
    "record_declaration method_declaration constructor_declaration destructor_declaration "
    "property_declaration delegate_declaration variable_declarator"
)
_RUST = (
    "function_item struct_item enum_item union_item trait_item impl_item mod_item const_item "
    "static_item type_item macro_definition function_signature_item"
)
_GO = "function_declaration method_declaration type_spec type_alias const_spec var_spec"
_RUBY = "class module method singleton_method assignment"
_C = "function_definition struct_specifier union_specifier enum_specifier init_declarator"
_PHP = (
    "class_declaration interface_declaration trait_declaration enum_declaration "
    "method_declaration function_definition const_element property_element"
)

_JAVASCRIPT = _Grammar("javascript", _SCRIPT, optional=True, quotes=True, escapes=True)
_TYPESCRIPT = _Grammar(
    "typescript", _TYPED, "language_typescript", optional=True, quotes=True, escapes=True
)
_CPP = _Grammar("cpp", f"{_C} class_specifier")

#: What the end of a file's name says about its grammar.
GRAMMARS = {
    **dict.fromkeys(("js", "jsx", "mjs", "cjs"), _JAVASCRIPT),
    **dict.fromkeys(("ts", "mts", "cts"), _TYPESCRIPT),
    "tsx": _TYPESCRIPT._replace(function="language_tsx"),
    "go": _Grammar("go", _GO, optional=True),
    "rs": _Grammar("rust", _RUST),
    "java": _Grammar("java", _JAVA),
    "c": _Grammar("c", _C),
    **dict.fromkeys(("h", "cc", "cpp", "cxx", "hh", "hpp", "hxx"), _CPP),
    "cs": _Grammar("c_sharp", _SHARP),
    **dict.fromkeys(("rb", "rake"), _Grammar("ruby", _RUBY, optional=True, quotes=True)),
    "php": _Grammar("php", _PHP, "language_php", quotes=True),
    **dict.fromkeys(("sh", "bash"), _Grammar("bash", "function_definition", optional=True)),
}

#: Definitions whose members are named after them.
_NESTS = frozenset(
    "class_declaration abstract_class_declaration interface_declaration enum_declaration "
    "record_declaration annotation_type_declaration struct_declaration trait_declaration "
    "struct_item enum_item union_item trait_item impl_item mod_item struct_specifier "
    "union_specifier class_specifier class module".split()
)
#: Definitions that are symbols only outside of functions.
_VALUES = frozenset(
    "variable_declarator init_declarator assignment_expression assignment const_spec".split()
) | {"var_spec"}
#: Functions without a name: what is assigned in them is their own.
_NAMELESS = frozenset(
    "arrow_function function_expression lambda_expression func_literal closure_expression "
    "lambda do_block block static_block".split()
)
#: What stands around a definition and is part of it.
_AROUND = frozenset(
    "export_statement lexical_declaration variable_declaration type_declaration "
    "const_declaration var_declaration field_declaration template_declaration "
    "expression_statement declaration property_declaration".split()
)
#: What stands before a definition and is part of it.
_BEFORE = frozenset(("decorator", "attribute_item"))

_TEXT = re.compile(
    r"(?:(?:\w+_)?string(?:_literal|_expression)?|heredoc(?:_body)?|nowdoc|regex(?:_literal)?"
    r"|(?:char|character|rune)_literal|subshell|delimited_symbol)"
)
_NO_TEXT = frozenset(("concatenated_string", "chained_string"))
_PLAIN_NAME = re.compile(r"[#~@$]*[^\W\d][\w$]*[?!=]?(?:\.[#~]*[^\W\d][\w$]*)*")


def find(source: str, suffix: str) -> list[Symbol]:
    """Symbols in order. ``source`` has line feeds alone as line ends. Raises ImportError when
    the wheel is not installed, SyntaxError or ValueError for what its grammar does not read in
    full, and RecursionError for a tree too deep."""
    if len(source) > LIMIT:
        raise ValueError("longer than what is parsed")
    grammar = GRAMMARS[suffix]
    parser = _parser(grammar.wheel, grammar.function)
    data = source.encode("utf-8", "replace")
    errors = 0

    def hopeless(_: int, error: bool) -> bool:
        nonlocal errors
        errors = errors + 1 if error else 0
        return errors > _ERRORS

    tree = parser.parse(lambda at, _: data[at : at + _PIECE], progress_callback=hopeless)
    if tree is None or tree.root_node.has_error:
        raise SyntaxError(f"no {grammar.wheel} that its grammar reads")
    walk = _Walk(grammar)
    walk.visit(tree.root_node, _Place())
    return sorted(walk.found, key=lambda symbol: (symbol.start, -symbol.end))


@functools.lru_cache(maxsize=16)
def _parser(wheel: str, function: str) -> Parser:
    from tree_sitter import Language, Parser

    module = importlib.import_module(f"tree_sitter_{wheel}")
    return Parser(Language(getattr(module, function)()))


class _Place(NamedTuple):
    """Where a node stands: the names around it, and the line and token that a definition
    begins with which has something before or around it."""

    scope: str = ""
    inside: bool = False  # a named function: nothing in it is a symbol
    nameless: bool = False
    start: tuple[int, int] | None = None


class _Walk:
    """One pass over a tree: symbols, and the tokens that their fingerprints are made of."""

    def __init__(self, grammar: _Grammar) -> None:
        self._grammar = grammar
        self._definitions = frozenset(grammar.definitions.split())
        self._tokens: list[str] = []
        self.found: list[Symbol] = []

    def visit(self, node: Node, place: _Place) -> None:
        """Take in a node and all below it."""
        kind = node.type
        if not node.child_count or (_TEXT.fullmatch(kind) and kind not in _NO_TEXT):
            self._leaf(node)
            return
        name = "" if place.inside else self._name(node, place)
        start = place.start or (node.start_point.row, len(self._tokens))
        scope = f"{place.scope}{name}." if name else place.scope
        below = place._replace(
            scope=scope,
            inside=place.inside or (bool(name) and not _nests(node)),
            nameless=place.nameless or kind in _NAMELESS,
            start=start if kind in _AROUND and not name else None,
        )
        self._children(node, below)
        if name and kind != "impl_item":
            last = node.end_point.row - (not node.end_point.column)
            made = fingerprint(SCHEME, "\0".join(self._tokens[start[1] :]))
            self.found.append(Symbol(scope[:-1], start[0] + 1, last + 1, made))

    def _children(self, node: Node, place: _Place) -> None:
        children = [child for child in node.children if not self._silent(child)]
        if len(children) > 1:
            self._tokens.append("\1")
        alone = place.start and sum(child.type in self._definitions for child in children) == 1
        around = place.start if alone else None
        before: tuple[int, int] | None = None
        for child in children:
            here = (child.start_point.row, len(self._tokens))
            self.visit(child, place._replace(start=around or before))
            if child.type not in _BEFORE:
                before = None
            elif before is None:
                before = here
        if len(children) > 1:
            self._tokens.append("\2")

    def _silent(self, node: Node) -> bool:
        """Whether a node says nothing: a comment, a line's end, a statement's where it may be
        left out."""
        if node.child_count == 0 and not node.end_byte - node.start_byte:
            return True
        ends = ("\n", ";") if self._grammar.optional else ("\n",)
        return node.type.endswith("comment") or node.type in ends

    def _leaf(self, node: Node) -> None:
        text = (node.text or b"").decode("utf-8", "replace").strip()
        if node.type in ("jsx_text", "preproc_arg"):
            text = " ".join(text.split())
        if text in (")", "]", "}", ">") and self._tokens[-1:] == [","]:
            self._tokens.pop()  # a trailing comma says nothing
        if self._grammar.quotes and text[:1] in ("'", '"') and len(text) > 1:
            text = _unquoted(text, self._grammar.escapes)
        if text:
            self._tokens.append(text)

    def _name(self, node: Node, place: _Place) -> str:
        """The name a node defines, '' for none."""
        kind = node.type
        if kind not in self._definitions or (kind in _VALUES and place.nameless):
            return ""
        if kind.endswith("_specifier") and node.child_by_field_name("body") is None:
            return ""  # a use of the type
        named = _named(node)
        text = (named.text or b"").decode("utf-8", "replace") if named else ""
        name = re.sub(r"<.*>", "", text, flags=re.DOTALL).replace("::", ".").strip()
        if not _PLAIN_NAME.fullmatch(name) or not _defines(node, named):
            return ""
        return _receiver(node) + name.lstrip("#$").replace(".prototype.", ".")


def _named(node: Node) -> Node | None:
    """The node that holds a definition's name."""
    found = None
    for field in ("name", "declarator", "property", "left", "type"):
        found = node.child_by_field_name(field)
        if found is not None:
            break
    while found is not None:
        inner = found.child_by_field_name("declarator")
        if inner is None and found.type.endswith("declarator") and found.named_child_count:
            inner = found.named_children[-1]  # a reference or a bracketed name
        if inner is None:
            break
        found = inner
    if found is None and node.type in ("variable_declarator", "property_element"):
        found = node.named_children[0] if node.named_child_count else None
    if found is None and node.type in ("const_element",) and node.named_child_count:
        found = node.named_children[0]
    return found


def _nests(node: Node) -> bool:
    """Whether what a definition holds is named after it: a type, or an object's functions."""
    value = node.child_by_field_name("value")
    return node.type in _NESTS or (value is not None and value.type == "object")


def _defines(node: Node, named: Node | None) -> bool:
    """Whether an assignment gives something a name: a constant, or a function."""
    if node.type == "assignment":
        return named is not None and named.type == "constant"
    if node.type != "assignment_expression":
        return True
    value = node.child_by_field_name("right")
    return value is not None and value.type in (*_NAMELESS, "class")


def _receiver(node: Node) -> str:
    """``Type.`` for a Go method."""
    receiver = node.child_by_field_name("receiver")
    if receiver is None:
        return ""
    words = re.findall(r"\w+", re.sub(r"\[.*\]", "", (receiver.text or b"").decode()))
    return f"{words[-1]}." if words else ""


def _unquoted(text: str, escapes: bool) -> str:
    """A string in double quotes, where the kind of quotes has no meaning."""
    if escapes:
        return '"' + re.sub(r"\\(['\"])", r"\1", text[1:-1]) + '"'
    simple = not any(sign in text[1:-1] for sign in "'\"\\$#")
    return f'"{text[1:-1]}"' if simple else text
