"""Symbols of a source file, by its language.

A language is one line in ``SUFFIXES``. Python and headings have a module of their own; the
others are found by their blocks. Text of any other kind has no symbols.
"""

from __future__ import annotations

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


def symbols(path: str, source: str) -> tuple[Symbol, ...]:
    """The symbols of a file in order of their first line; () for text that has none, or that
    is longer than ``SOURCE_LIMIT``.

    Never raises: what its own language cannot parse is given to the block finder, whose
    fingerprints have another scheme.
    """
    stem, _, suffix = path.rpartition("/")[2].rpartition(".")
    language = SUFFIXES.get(suffix.lower(), "") if stem else ""
    if len(source) > SOURCE_LIMIT:
        return ()
    text = source.replace("\r\n", "\n").replace("\r", "\n").removeprefix("\ufeff")
    return tuple(_find(language, text)) if language else ()


def _find(language: str, text: str) -> list[Symbol]:
    if language in ("markdown", "restructuredtext"):
        from git_tmem.languages import headings

        return headings.find(text, language)
    if language == "python":
        from git_tmem.languages import python

        try:
            return list(python.symbols(text))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            pass  # half-edited, of another version, or deeper than the parser goes
    from git_tmem.languages import blocks

    return blocks.find(text, language)
