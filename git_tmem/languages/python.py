"""Symbols of Python source by its syntax tree.

The fingerprint walks the tree itself instead of using ``ast.dump``, whose text differs from
one Python to the next. Left out are fields that only say where something stands or that
versions disagree on (``ctx``, ``kind``, ``type_comment``, ``type_ignores``), and every field
that is empty, so that a field added by a newer Python changes nothing until it is used.
Comments, layout, quote style, redundant brackets and trailing commas are not in a tree;
documentation strings are taken out.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator

from git_tmem.languages.base import Symbol, fingerprint

SCHEME = "ast1"

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_SKIPPED = frozenset(("ctx", "kind", "type_comment", "type_ignores"))
_BODIES = ("body", "orelse", "handlers", "finalbody", "cases")


def symbols(source: str) -> Iterator[Symbol]:
    """Functions, classes and methods, and names assigned in a module's or a class's own body.

    What is defined inside a function is part of that function. Decorators are part of what
    they decorate. Raises SyntaxError, ValueError, RecursionError or MemoryError for a text
    that cannot be parsed.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what a file's own escapes deserve is not our business
        tree = ast.parse(source)
    yield from _Walk().body(tree.body, "")


class _Walk:
    """One pass over a tree: each node is written once, however deep its definitions nest."""

    def __init__(self) -> None:
        self._digests: dict[ast.AST, str] = {}

    def body(self, statements: list[ast.stmt], scope: str) -> Iterator[Symbol]:
        for statement in statements:
            name = _assigned(statement)
            if name:
                yield self._symbol(scope + name, statement)
            else:
                yield from self._definitions(statement, scope)

    def _definitions(self, statement: ast.AST, scope: str) -> Iterator[Symbol]:
        if isinstance(statement, _DEFINITIONS):
            yield self._symbol(scope + statement.name, statement)
            if isinstance(statement, ast.ClassDef):
                yield from self.body(statement.body, f"{scope}{statement.name}.")
            return
        for field in _BODIES:  # if, try, with and their like
            inner = getattr(statement, field, ())
            for part in inner if isinstance(inner, list) else ():
                yield from self._definitions(part, scope)

    def _symbol(self, name: str, node: ast.stmt) -> Symbol:
        decorators = getattr(node, "decorator_list", [])
        start = min([node.lineno, *(decorator.lineno for decorator in decorators)])
        return Symbol(name, start, node.end_lineno or node.lineno, self._digest(node))

    def _digest(self, node: ast.AST) -> str:
        if node not in self._digests:
            self._digests[node] = fingerprint(SCHEME, self._written(node))
        return self._digests[node]

    def _written(self, root: ast.AST) -> str:
        """The node as text; definitions inside it stand for themselves by their digests."""
        words: list[str] = []
        waiting: list[object] = [root]
        while waiting:
            item = waiting.pop()
            if isinstance(item, str):
                words.append(item)
            elif isinstance(item, _DEFINITIONS) and item is not root:
                words.append(self._digest(item))
            elif isinstance(item, ast.AST):
                words.append(type(item).__name__)
                waiting += reversed([*_fields(item), ")"])
        return "\0".join(words)


def _fields(node: ast.AST) -> Iterator[object]:
    for field in node._fields:
        value = getattr(node, field, None)
        if field in _SKIPPED or value is None or value == []:
            continue
        yield f"({field}"
        if not isinstance(value, list):
            yield value if isinstance(value, ast.AST) else _literal(value)
            continue
        bare = field == "body" and isinstance(node, _DEFINITIONS) and _is_text(value[0])
        for item in value[1:] if bare else value:
            yield item if isinstance(item, ast.AST) else _literal(item)


def _literal(value: object) -> str:
    """A constant with its type; integers in hex, since Python limits their decimal length."""
    shown = hex(value) if type(value) is int else repr(value)
    return f"{type(value).__name__} {shown}"


def _is_text(statement: object) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def _assigned(statement: ast.stmt) -> str:
    """The one plain name that a statement assigns, '' for anything else."""
    targets: list[ast.expr] = []
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, ast.AnnAssign):
        targets = [statement.target]
    first = targets[0] if len(targets) == 1 else None
    return first.id if isinstance(first, ast.Name) else ""
