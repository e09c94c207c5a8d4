"""The block finder: symbols of languages without a parser, by their words and brackets.

A line that declares something is known by its form; how far it reaches by the brackets that
follow, or by indentation where a language has none. Comments and strings are blanked first, so
that brackets inside them do not count. It is a guess, and a steady one: the same text gives the
same symbols, text without such forms gives none, and the time is linear in the text's length.
"""

from __future__ import annotations

import itertools
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from git_tmem.languages.base import Symbol, fingerprint

SCHEME = "blk1"

#: Characters of a line in which a declaration is looked for; longer ones are generated.
_LINE = 400
#: Brackets and signs that are looked at between a declaration and its body.
_AHEAD = 200


class _Syntax(NamedTuple):
    """How a language is read. ``quiet`` and ``text`` are patterns of comments and of strings;
    ``signatures`` says which callables have no keyword of their own."""

    quiet: str
    text: str
    signatures: str = ""
    indented: bool = False
    quotes: bool = False  # 'a' and "a" mean the same


# Each of these takes what it began even without an end, so that no text is read twice.
_SLASHES = r"//[^\n]*|/\*[\s\S]*?(?:\*/|\Z)"
_HASH = r"\#[^\n]*"
_DOUBLE = r'"[^"\\\n]*(?:\\[\s\S][^"\\\n]*)*"?'
_SINGLE = r"'[^'\\\n]*(?:\\[\s\S][^'\\\n]*)*'?"
_TRIPLE = r'"""[\s\S]*?(?:"""|\Z)' + r"|'''[\s\S]*?(?:'''|\Z)"
_CHARACTER = r"'(?:\\[^\n]{1,10}?|[^'\\\n])'"
_BACKTICKS = r"`[^`\\]*(?:\\[\s\S][^`\\]*)*`?"
_RAW = r"`[^`]*`?"
_DIRECTIVE = r"(?<![^\n])[ \t]*\#[^\\\n]*(?:\\[\s\S][^\\\n]*)*"
_REGEX = (
    r"(?:(?<=[(,=:\[!&|?{};])|(?<=[(,=:\[!&|?{};][ ])|(?<=return[ ]))"
    r"/(?![/*])(?:[^/\\\n]|\\[^\n]){1,120}/[a-z]*"
)
_RUST_RAW = r'r(?P<hashes>\#{0,9})"[\s\S]*?(?:"(?P=hashes)|\Z)'

_SYNTAX = {
    "javascript": _Syntax(
        _SLASHES, f"{_BACKTICKS}|{_REGEX}|{_DOUBLE}|{_SINGLE}", "plain", quotes=True
    ),
    "go": _Syntax(_SLASHES, f"{_RAW}|{_DOUBLE}|{_CHARACTER}"),
    "rust": _Syntax(_SLASHES, f"{_RUST_RAW}|{_DOUBLE}|{_CHARACTER}"),
    "java": _Syntax(_SLASHES, f"{_TRIPLE}|{_DOUBLE}|{_SINGLE}", "typed"),
    "c": _Syntax(_SLASHES, f"{_DIRECTIVE}|{_DOUBLE}|{_CHARACTER}", "typed"),
    "csharp": _Syntax(_SLASHES, f'{_DIRECTIVE}|@"[^"]*"?|{_DOUBLE}|{_CHARACTER}', "typed"),
    "php": _Syntax(rf"{_SLASHES}|\#(?!\[)[^\n]*", f"{_DOUBLE}|{_SINGLE}", quotes=True),
    "kotlin": _Syntax(_SLASHES, f"{_TRIPLE}|{_DOUBLE}|{_CHARACTER}"),
    "swift": _Syntax(_SLASHES, f"{_TRIPLE}|{_DOUBLE}", "plain"),
    "shell": _Syntax(r"(?<![^\s;])\#[^\n]*", f"{_DOUBLE}|{_SINGLE}", "shell", quotes=True),
    "ruby": _Syntax(_HASH, f"{_DOUBLE}|{_SINGLE}", indented=True, quotes=True),
    "lua": _Syntax(
        r"--\[\[[\s\S]*?(?:\]\]|\Z)|--[^\n]*", f"{_DOUBLE}|{_SINGLE}", indented=True, quotes=True
    ),
    "python": _Syntax(_HASH, f"{_TRIPLE}|{_DOUBLE}|{_SINGLE}", indented=True, quotes=True),
}

_NAME = r"[^\W\d][\w$]*(?:(?:::|\.)~?[^\W\d][\w$]*)*[?!]?"
_MODIFIER = (
    r"(?:export|default|declare|public|private|protected|internal|fileprivate|static|async|"
    r"abstract|final|sealed|open|override|pub(?:\([^()\n]*\))?|unsafe|extern|inline|virtual|"
    r"partial|readonly|data|suspend|companion|indirect|mutating|nonisolated|local|const|"
    r"constexpr|typedef|case|required|convenience|implicit|inner|value|annotation|tailrec|infix|"
    r"operator|external|actual|expect|enum|record|ref|friend|lazy)[ \t]+"
)
_TYPE = (
    r"(?:class|struct|interface|trait|enum|union|record|object|protocol|module|mod|actor|"
    r"defmodule|@interface)"
)
_KEYWORD = re.compile(
    rf"[ \t]*(?:{_MODIFIER})*(?:"
    rf"(?P<scope>namespace|impl|extension)\b[ \t]*(?:<[^<>\n]*>)?[ \t]*(?P<of>[^{{;\n]*)"
    rf"|{_TYPE}[ \t]+(?:[A-Z_]+[ \t]+)?(?P<type>{_NAME})"
    r"(?=[ \t]*(?:[:{(<\[=;,|]|$|(?:extends|implements|where|for|final|with|permits|do|is)\b))"
    rf"|type[ \t]+(?P<alias>{_NAME})"
    rf"|func[ \t]*\((?P<receiver>[^()\n]*)\)[ \t]*(?P<method>\w+)"
    r"|(?:function\b[ \t]*\*?|func\b|fun\b|fn\b|defp?\b|macro_rules!)[ \t]*(?:<[^<>\n]*>[ \t]+)?"
    rf"(?:\w+<[^<>\n]*>\??\.)?(?P<call>{_NAME}(?::\w+)?)"
    rf"|(?:const|let|var|val|static|typealias)[ \t]+(?:mut[ \t]+)?(?P<const>{_NAME})"
    r"(?=[ \t]*[=:])"
    r")"
)
_ASSIGNED = re.compile(
    r"[ \t]*(?:(?:static|public|private|protected|readonly|override)[ \t]+)*"
    r"(?P<name>[\w$#]+(?:\.[\w$]+)*)[ \t]*[=:][ \t]*(?:async\b[ \t]*)?"
    r"(?:function\b|\([^\n]*=>|[\w$]+[ \t]*=>)"
)
_SHELL = re.compile(r"[ \t]*(?:function[ \t]+[\w:.-]+|[\w:.-]+[ \t]*\([ \t]*\))")
_DECORATION = re.compile(r"[ \t]*(?:(?:@[\w.]+(?:\([^()\n]*\))?|\[[^\[\]\n]*\])[ \t]*)*")
_PREFIX = re.compile(r"[\w\s:<>,*&\[\]?.@~]*")
_STATEMENT = frozenset(
    "if for while switch catch return else do try synchronized using lock foreach sizeof function "
    "new throw await typeof defined fixed unless until elif match when guard with case goto delete "
    "yield in of and or not assert echo print super this".split()
)
_PLAIN_PREFIX = frozenset(
    "async static public private protected get set override abstract readonly export default "
    "declare accessor mutating required convenience final open".split()
)


class _Declared(NamedTuple):
    """A declaring line: zero-based number, where its name ends, and how it nests."""

    name: str
    line: int
    after: int
    kind: str  # type, scope (nests without being a symbol), call or value
    strict: bool = False  # no symbol without a body in brackets


def find(source: str, language: str) -> list[Symbol]:
    """Symbols in order. ``source`` has line feeds alone as line ends. Never raises."""
    text = _Text(source, _SYNTAX[language])
    declared = list(_declarations(text, language))
    return list(_nested(text, list(zip(declared, _ends(text, declared), strict=True))))


# --- Reading the text --------------------------------------------------------------------------


class _Text:
    """A source as tokens, and as lines in which comments and strings are blank."""

    def __init__(self, source: str, syntax: _Syntax) -> None:
        self.syntax = syntax
        self.starts: list[int] = []
        self._tokens: list[str] = []
        self.code = self._scan(source)
        self.lines = self.code.split("\n")
        lengths = (len(line) + 1 for line in self.lines)
        self.offsets = list(itertools.accumulate(lengths, initial=0))
        self.indents = [_indent(line) for line in self.lines]
        self.signs, self.partners = _brackets(self.code)
        self.places = [place for place, _ in self.signs]
        self.stops, self.filled = _outline(self.lines, self.indents)

    def _scan(self, source: str) -> str:
        """Collect the tokens; the source with everything that is not code blanked."""
        parts: list[str] = []
        done = 0
        pattern = rf"(?P<q>{self.syntax.quiet})|(?P<t>{self.syntax.text})|[\w$]+|[^\s\w]"
        for match in re.finditer(pattern, source):
            token = match[0]
            if match["q"] is None and match["t"] is None:
                self._add(token, match.start())
                continue
            if match["t"] is not None:
                self._add(_unquoted(token) if self.syntax.quotes else token, match.start())
            parts += source[done : match.start()], _blank(token)
            done = match.end()
        return "".join([*parts, source[done:]])

    def _add(self, token: str, start: int) -> None:
        if token in (")", "]", "}") and self._tokens[-1:] == [","]:
            self._tokens[-1] = ""  # a trailing comma says nothing
        self._tokens.append(token)
        self.starts.append(start)

    def line_of(self, place: int) -> int:
        """The zero-based number of the line a place is in."""
        return bisect_left(self.offsets, place + 1) - 1

    def print_of(self, first: int, last: int) -> str:
        """The fingerprint of whole lines."""
        start = bisect_left(self.starts, self.offsets[first])
        end = bisect_left(self.starts, self.offsets[last + 1])
        return fingerprint(SCHEME, "\0".join(filter(None, self._tokens[start:end])))


def _blank(text: str) -> str:
    return "\n".join(" " * len(line) for line in text.split("\n"))


def _unquoted(token: str) -> str:
    """A string in double quotes, if nothing in it gives the quotes a meaning."""
    body = token[1:-1]
    simple = token[0] == "'" == token[-1] and not any(sign in body for sign in "'\"\\$#")
    return f'"{body}"' if simple and len(token) > 1 else token


def _indent(line: str) -> int:
    return len(line[: len(line) - len(line.lstrip())].expandtabs(8))


def _brackets(code: str) -> tuple[list[tuple[int, str]], dict[int, int]]:
    """Places of brackets, ``;`` and ``=``; and for each opening bracket the one that closes it."""
    signs = [(match.start(), match[0]) for match in re.finditer(r"[][(){};=]", code)]
    opened: dict[str, list[int]] = {")": [], "]": [], "}": []}
    closing = {"(": ")", "[": "]", "{": "}"}
    partners: dict[int, int] = {}
    for place, sign in signs:
        if sign in closing:
            opened[closing[sign]].append(place)
        elif opened.get(sign):
            partners[opened[sign].pop()] = place
            if sign == "}":  # what was opened inside a block ends with it
                start = next(reversed(partners))
                for other in (")", "]"):
                    while opened[other] and opened[other][-1] > start:
                        opened[other].pop()
    return signs, partners


def _outline(lines: Sequence[str], indents: Sequence[int]) -> tuple[list[int], list[int]]:
    """For each line: the next one that is not deeper, closing brackets apart; and the last line
    before it that is not blank."""
    stops = [len(lines)] * len(lines)
    waiting: list[int] = []
    filled: list[int] = []
    last = 0
    for number, line in enumerate(lines):
        filled.append(last)
        text = line.lstrip()
        if not text:
            continue
        last = number
        closes = text[0] in ")]}"  # ends what is deeper, and is part of what is not
        while waiting and indents[waiting[-1]] >= indents[number] + closes:
            stops[waiting.pop()] = number
        if not closes:
            waiting.append(number)
    filled.append(last)
    return stops, filled


# --- Declarations ------------------------------------------------------------------------------


def _declarations(text: _Text, language: str) -> Iterator[_Declared]:
    form = {"typed": _typed, "plain": _plain, "shell": _shell}.get(text.syntax.signatures)
    for number, line in enumerate(text.lines):
        if not line or len(line) > _LINE or line.isspace():
            continue
        found = None if language == "shell" else _keyword(line, number)
        found = found or (form(text, line, number) if form else None)
        if found:
            after = text.offsets[number] + found.after
            yield found._replace(name=_cleaned(found.name), after=after)


def _cleaned(name: str) -> str:
    name = name.replace("::", ".").replace(":", ".").replace("#", "").replace(".prototype.", ".")
    for prefix in ("self.", "module.exports.", "exports.", "module."):
        name = name.removeprefix(prefix)
    return name


def _keyword(line: str, number: int) -> _Declared | None:
    """A declaration that says with a word what it declares."""
    match = _KEYWORD.match(line)
    if not match:
        return None
    groups = match.groupdict()
    if groups["scope"] is not None:
        return _Declared(_scope(groups["scope"], groups["of"]), number, match.end(), "scope")
    if groups["method"]:
        receiver = re.findall(r"\w+", groups["receiver"].partition("[")[0])
        owner = f"{receiver[-1]}." if receiver else ""
        return _Declared(owner + groups["method"], number, match.end(), "call")
    if groups["call"]:
        if groups["call"].startswith("self.") or groups["call"] not in _STATEMENT:
            return _Declared(groups["call"], number, match.end(), "call")
        return None
    if groups["const"]:
        value = line[match.end() :].lstrip(" \t=:")
        kind = "type" if value.startswith("{") else "value"
        return _Declared(groups["const"], number, match.end(), kind)
    if groups["alias"]:
        return _Declared(groups["alias"], number, match.end(), "value")
    return _Declared(groups["type"], number, match.end(), "type")


def _scope(word: str, of: str) -> str:
    """What an ``impl`` or an extension adds to; a namespace does not become part of names."""
    if word == "namespace":
        return ""
    target = re.split(r"\bfor\b", of)[-1]
    names = re.findall(r"[^\W\d]\w*", re.split(r"[<:]|\bwhere\b", target.replace("::", "."))[0])
    return names[-1] if names else ""


def _typed(text: _Text, line: str, number: int) -> _Declared | None:
    """``type name(...) {``, and constructors, as C and its relatives write callables."""
    decoration = _DECORATION.match(line)
    start = decoration.end() if decoration else 0
    place = line.find("(", start)
    if place < 0:
        return None
    head = line[start:place].rstrip()
    prefix = head.rstrip("~:$#_" + _LETTERS) if head.isascii() else head[: _word_start(head)]
    name = head[len(prefix) :].strip(":")
    first = prefix.split()[:1]
    plausible = (
        name
        and not name[0].isdigit()
        and name not in _STATEMENT
        and not _STATEMENT.intersection(first)
        and _PREFIX.fullmatch(prefix)
        and (not prefix or prefix[-1] in " \t*&>]?")
    )
    if not plausible:
        return None
    if (
        not prefix
        and not text.indents[number]
        and "::" not in name
        and not _type_above(text, number)
    ):
        return None
    return _Declared(name, number, place, "call", strict=True)


_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"


def _word_start(head: str) -> int:
    place = len(head)
    while place and (head[place - 1].isalnum() or head[place - 1] in "_~:$"):
        place -= 1
    return place


def _type_above(text: _Text, number: int) -> bool:
    """Whether the line above is a return type alone, as GNU style has it."""
    above = text.lines[number - 1].strip() if number else ""
    return bool(above) and above[0].isalpha() and re.fullmatch(r"[\w\s*&:<>,]+", above) is not None


def _plain(text: _Text, line: str, number: int) -> _Declared | None:
    """``name(...) {`` in a class or an object, and ``name = (...) =>``."""
    assigned = _ASSIGNED.match(line)
    if assigned and ("=>" in line or "function" in line):
        return _Declared(assigned["name"], number, assigned.end("name"), "value")
    place = line.find("(")
    if place < 0:
        return None
    head = line[:place].rstrip()
    if head.endswith(">"):  # type parameters
        head = head.partition("<")[0].rstrip()
    words = head.replace("*", " ").split()
    if not words or not set(words[:-1]) <= _PLAIN_PREFIX or words[-1] in _STATEMENT:
        return None
    if not re.fullmatch(r"#?[^\W\d][\w$]*", words[-1]):
        return None
    return _Declared(words[-1], number, place, "call", strict=True)


def _shell(text: _Text, line: str, number: int) -> _Declared | None:
    """``name() {`` and ``function name {``."""
    match = _SHELL.match(line)
    if not match:
        return None
    name = match[0].partition("(")[0].split()[-1]
    return _Declared(name, number, match.end(), "call", strict=True)


# --- Extents and nesting -----------------------------------------------------------------------


def _ends(text: _Text, declared: Sequence[_Declared]) -> list[int]:
    """The zero-based last line of each declaration, -1 for one that declares nothing here."""
    limits = [len(text.lines)] * len(declared)
    waiting: list[int] = []
    for number, item in enumerate(declared):
        while waiting and text.indents[declared[waiting[-1]].line] >= text.indents[item.line]:
            limits[waiting.pop()] = item.line
        waiting.append(number)
    if text.syntax.indented:
        return [_indented_end(text, item.line) for item in declared]
    return [_bracket_end(text, item, limit) for item, limit in zip(declared, limits, strict=True)]


def _indented_end(text: _Text, line: int) -> int:
    """The last deeper line, and an ``end`` that closes it."""
    stop = text.stops[line]
    if stop < len(text.lines) and re.match(r"[ \t]*end\b", text.lines[stop]):
        return stop
    return max(line, text.filled[stop])


def _bracket_end(text: _Text, item: _Declared, limit: int) -> int:
    """The line where the body's bracket closes. Without a body: that of the ``;`` after a value,
    the last deeper line, or nothing for what is only announced."""
    end_of_search = text.offsets[limit]
    place = item.after
    assigned = grouped = False
    for _ in range(_AHEAD):
        at = bisect_left(text.places, place)
        if at == len(text.places) or text.places[at] >= end_of_search:
            break
        place, sign = text.signs[at]
        if sign == "=":
            assigned = True
            place += 1
        elif sign == ";":
            whole = assigned or (grouped and item.kind == "type")
            arrow = "=>" in text.code[item.after : place]
            return text.line_of(place) if (arrow if item.strict else whole) else -1
        elif sign not in "([{" or place not in text.partners or _begins_anew(text, item, place):
            break
        else:
            closed = text.partners[place]
            if sign == "{" and _is_body(text, item, place, closed):
                if item.strict and assigned and "=>" not in text.code[item.after : place]:
                    return -1
                return text.line_of(closed)
            grouped = True
            place = closed + 1
    return -1 if item.strict else _indented_end(text, item.line)


def _begins_anew(text: _Text, item: _Declared, place: int) -> bool:
    """Whether a bracket is in a later line that is no deeper and so belongs to something else."""
    line = text.line_of(place)
    begins = text.lines[line].lstrip()[:1]
    return line > item.line and text.indents[line] <= text.indents[item.line] and begins not in "{)"


def _is_body(text: _Text, item: _Declared, opened: int, closed: int) -> bool:
    """Whether braces are a body, and not a type or an initialiser on the way to one."""
    following = text.code[closed + 1 : closed + 80].partition("\n")[0].strip()[:1]
    before = text.code[max(0, opened - 40) : opened].rstrip()[-1:]
    in_type = following in ("{", ">", "|", "&", "[") or (
        before == ":" and following not in ("", ";")
    )
    if item.kind == "call" and in_type:
        return False
    inside_list = text.code[opened - 1].isalnum() and following == ","
    return not inside_list and (item.kind != "value" or following in ("", ";", ",", ")"))


def _nested(text: _Text, spans: Sequence[tuple[_Declared, int]]) -> Iterator[Symbol]:
    """Symbols with qualified names. What is declared inside a callable is part of it."""
    around: list[tuple[str, int, bool]] = []  # qualified name, last line, whether it is open
    for item, end in spans:
        if end < item.line:
            continue
        while around and around[-1][1] < item.line:
            around.pop()
        outer, last, is_open = around[-1] if around else ("", len(text.lines) - 1, True)
        if not is_open:
            continue
        end = min(end, last)
        parts = [outer, item.name] if item.name else [outer]
        qualified = ".".join(part for part in parts if part)
        around.append((qualified, end, item.kind in ("type", "scope")))
        if item.kind != "scope" and item.name:
            first = _first_line(text, item.line)
            yield Symbol(qualified, first + 1, end + 1, text.print_of(first, end))


def _first_line(text: _Text, line: int) -> int:
    """The first of the attributes and annotations above a declaration."""
    first = line
    while first and text.lines[first - 1].lstrip().startswith(("@", "#[")):
        first -= 1
    return first
