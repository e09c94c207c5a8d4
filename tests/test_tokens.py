"""Words of queries and documents."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_tmem.tokens import stem, tokens

TEXT = st.text(st.characters(exclude_categories=()))
ASCII = st.text(st.characters(max_codepoint=127))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("parse_commit_trailer", ["parse_commit_trailer", "pars", "commit", "trailer"]),
        ("HTTPServerError", ["httpservererror", "http", "server", "error"]),
        ("sha256_hash", ["sha256_hash", "sha", "hash"]),
        ("TS2322 E0308", ["ts2322", "ts", "e0308"]),
        ("src/app/main.py:12", ["src", "app", "main", "py"]),
        ("pkg.module#Class-name", ["pkg", "modul", "class", "nam"]),
        ("the tests are failing", ["test", "fail"]),
        ("fixed fixes fixing", ["fix", "fix", "fix"]),
        ("__init__ _private", ["init", "privat"]),
        ("12 7 404 2024", ["404", "2024"]),
        ("", []),
        ("修复登录失败", ["修复", "复登", "登录", "录失", "失败"]),
        ("改 bug", ["改", "bug"]),
        ("在parser里修复Token", ["在", "parser", "里修", "修复", "token"]),
        ("テスト 한국어", ["テス", "スト", "한국", "국어"]),
        ("Ошибка сборки", ["ошибка", "сборки"]),
        ("naïve", ["na", "ï", "ve"]),
    ],
)
def test_text_becomes_identifiers_their_parts_stems_and_bigrams(
    text: str, expected: list[str]
) -> None:
    assert tokens(text) == expected


@pytest.mark.parametrize(
    "forms",
    [
        "error errors",
        "query queries",
        "class classes",
        "match matches matched matching",
        "parse parses parsed parsing",
        "stop stops stopped stopping",
        "index indexed indexing indexes",
        "apply applies applied applying",
        "cache caches cached caching",
        "miss missed missing",
    ],
)
def test_the_forms_of_a_word_share_a_stem(forms: str) -> None:
    assert len({stem(form) for form in forms.split()}) == 1


@pytest.mark.parametrize("word", ["status", "class", "this", "string", "red", "speed", "bus", "is"])
def test_a_word_that_only_looks_inflected_stays(word: str) -> None:
    assert stem(word) == word


def test_a_plain_word_and_an_identifier_share_their_parts() -> None:
    assert set(tokens("commit trailers")) <= set(tokens("appendCommitTrailers"))


def test_a_very_long_word_is_no_word() -> None:
    assert tokens("a" * 65) == []


@given(TEXT)
def test_every_token_is_ascii_word_characters_or_letters_outside_ascii(text: str) -> None:
    for token in tokens(text):
        assert re.fullmatch(r"[a-z0-9_]+", token) or (
            token.isalpha() and not any(letter.isascii() for letter in token)
        )


@given(ASCII)
def test_lower_and_upper_case_give_the_same_tokens(text: str) -> None:
    assert tokens(text.lower()) == tokens(text.upper())


@given(TEXT, TEXT)
def test_a_text_gives_the_tokens_of_its_pieces(left: str, right: str) -> None:
    assert tokens(f"{left} {right}") == tokens(left) + tokens(right)


@pytest.mark.parametrize("unit", ["a", "(", " ", "_", "A", "aB", "1", "字", "é", "a_", "x1 "])
def test_a_megabyte_of_anything_takes_about_a_second(unit: str) -> None:
    text = unit * (1_000_000 // len(unit))
    start = time.process_time()
    tokens(text)
    assert time.process_time() - start < 3
