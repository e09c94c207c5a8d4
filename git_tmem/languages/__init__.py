"""Symbols of a source file, by its language.

A language is one line in ``SUFFIXES``. Python and headings have a module of their own; others
are read by the trees of the ``languages`` extra where it is installed, and else found by their
blocks. Text of any other kind has no symbols.
"""

from __future__ import annotations

import contextlib

from git_tmem.languages.base import Symbol

__all__ = ["SOURCE_LIMIT", "SUFFIXES", "Symbol", "symbols"]

#: Characters of a file; a longer one is generated, and not searched for symbols.
SOURCE_LIMIT = 2 << 20

#: What the end of a file's name says about its language.
SUFFIXES = {
    **dict.fromkeys(("py", "pyi", "pyw"), "python"),
    **dict.fromkeys(("md", "markdown", "mdx"), "markdown"),
    "rst": "restructuredtext",
    **dict.fromkeys(("js", "jsx", "mjs", "cjs", "vue", "svelte"), "javascript"),
    **dict.fromkeys(("ts", "tsx", "mts", "cts"), "javascript"),
    "go": "go",
    "rs": "rust",
    **dict.fromkeys(("java", "groovy"), "java"),
    **dict.fromkeys(("c", "h", "cc", "cpp", "cxx", "hh", "hpp", "hxx", "m", "mm"), "c"),
    "cs": "csharp",
    "php": "php",
    **dict.fromkeys(("kt", "kts", "scala"), "kotlin"),
    "swift": "swift",
    "dart": "java",
    **dict.fromkeys(("rb", "rake"), "ruby"),
    **dict.fromkeys(("ex", "exs", "jl"), "ruby"),  # blocks that end with "end", too
    "lua": "lua",
    **dict.fromkeys(("sh", "bash", "zsh", "ksh"), "shell"),
}


def symbols(path: str, source: str, scheme: str = "") -> tuple[Symbol, ...]:
    """The symbols of a file in order of their first line; () for text that has none, or that
    is longer than ``SOURCE_LIMIT``.

    With the scheme of an older fingerprint they are found in that way, if it is at hand. Never
    raises: what its own language cannot parse is given to the block finder, whose fingerprints
    have another scheme.
    """
    stem, _, suffix = path.rpartition("/")[2].rpartition(".")
    suffix = suffix.lower()
    language = SUFFIXES.get(suffix, "") if stem else ""
    if len(source) > SOURCE_LIMIT or not language:
        return ()
    text = source.replace("\r\n", "\n").replace("\r", "\n").removeprefix("\ufeff")
    if language in ("markdown", "restructuredtext"):
        from git_tmem.languages import headings

        return tuple(headings.find(text, language))
    from git_tmem.languages import blocks

    if scheme != blocks.SCHEME:
        with contextlib.suppress(*_UNREADABLE):
            return _parsed(language, suffix, text)
    return tuple(blocks.find(text, language))


#: Half-edited, of another version, deeper than the parser goes, or without its wheel.
_UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError, ImportError)


def _parsed(language: str, suffix: str, text: str) -> tuple[Symbol, ...]:
    if language == "python":
        from git_tmem.languages import python

        return tuple(python.symbols(text))
    from git_tmem.languages import trees

    if suffix not in trees.GRAMMARS:
        raise ImportError(f"no grammar reads .{suffix}")
    return tuple(trees.find(text, suffix))
