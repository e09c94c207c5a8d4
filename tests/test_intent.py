"""What remains of a user's turns."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_tmem.intent import clean_prompts, title_of

TEXT = st.text(st.characters(exclude_categories=()))


@pytest.mark.parametrize(
    "text",
    [
        *(
            "ok",
            "OK!",
            "okay, thanks",
            "Yes please",
            "continue",
            "go ahead.",
            "looks good to me",
            "y",
        ),
        *(
            "好的",
            "继续",
            "嗯嗯",
            "好的，继续吧",
            "可以了，谢谢",
            "没问题",
            "对的",
            "commit and push",
        ),
        *("/clear", "/compact keep the plan", "/model opus", "/review-pr", "A", "  ", "👍", "12"),
        "[Request interrupted by user for tool use]",
        "[Image #1]",
        "<system-reminder>\nThe file changed.\n</system-reminder>",
        "<system-reminder>cut off",
        "<command-name>/exit</command-name>\n<command-message>exit</command-message>\n"
        "<command-args></command-args>",
        "<local-command-stdout>Bye!</local-command-stdout>",
        "# AGENTS.md instructions for /home/me/x\n\n<INSTRUCTIONS>\nBe nice.\n</INSTRUCTIONS>",
        "This session is being continued from a previous conversation that ran out of context.",
        '<tmem-memory tip="ab12">\nfix the parser\n</tmem-memory>',
    ],
)
def test_what_says_nothing_about_the_work_goes(text: str) -> None:
    assert clean_prompts([text]) == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("  fix the parser\n", "fix the parser"),
        ("ok, but keep the old name", "ok, but keep the old name"),
        ("继续修复登录", "继续修复登录"),
        ("/fix-issue the login page is blank", "the login page is blank"),
        ("/home/me/x.py is broken", "/home/me/x.py is broken"),
        ("<command-name>/fix</command-name><command-args>issue 12</command-args>", "issue 12"),
        ("fix it [Image #1] like here", "fix it   like here"),
        ("<system-reminder>x</system-reminder>add a test<system-reminder>y</system-reminder>",
         "add a test"),
        ("<user_query>\nrename it\n</user_query>", "rename it"),
        ('<tmem-memory tip="a">old</tmem-memory>\nnew wish', "new wish"),
        ("show <systems> too", "show <systems> too"),
    ],
)  # fmt: skip
def test_the_words_of_the_user_stay(text: str, expected: str) -> None:
    assert clean_prompts([text]) == (expected,)


def test_of_a_pasted_log_the_sentences_around_it_stay() -> None:
    log = "\n".join(
        [
            "2026-01-01T10:00:00Z INFO starting",
            '{"level": "error", "msg": "boom"}',
            "    at run (/app/src/main.js:10:2)",
            "npm ERR! code ELIFECYCLE",
            "src/main.js:10: undefined",
        ]
        * 5
    )
    text = f"The build fails since yesterday:\n{log}\nPlease find out why."
    assert clean_prompts([text]) == ("The build fails since yesterday:\nPlease find out why.",)


def test_a_line_that_turns_into_machine_text_is_cut_there() -> None:
    noise = '{"time": "2026-01-01", "n": 1}' * 40
    assert clean_prompts([f"this one still fails: {noise}"]) == ("this one still fails:",)


def test_five_prompts_are_kept_the_first_ones_and_equal_ones_once() -> None:
    wishes = [f"wish number {word}" for word in "one two three four five six".split()]
    assert clean_prompts(["ok", wishes[0], *wishes]) == tuple(wishes[:5])


def test_a_long_prompt_is_cut_at_a_word() -> None:
    (kept,) = clean_prompts(["word " * 500])
    assert len(kept) <= 600
    assert kept.endswith("word...")


@pytest.mark.parametrize(
    ("intents", "files", "title"),
    [
        (["fix the parser\nmore"], [], "fix the parser"),
        (["Please fix the parser"], [], "fix the parser"),
        (["请修复登录"], [], "修复登录"),
        (["## 1. Add a cache"], [], "Add a cache"),
        (["Implement the following plan:\n\n# Add a cache\n\ntext"], [], "Add a cache"),
        (["\x1b\u202e\n", "second"], [], "second"),
        ([], ["src/a.py", "b.py"], "Change a.py, b.py"),
        ([], ["a", "b", "c", "d", "e"], "Change a, b, c and 2 more"),
        ([], [], "Session without a stated goal"),
        (["w" * 90], [], "w" * 77 + "..."),
    ],
)
def test_a_title_is_the_first_wish_or_else_the_files(
    intents: list[str], files: list[str], title: str
) -> None:
    assert title_of(intents, files) == title


@given(st.lists(TEXT, max_size=3), st.lists(TEXT, max_size=5))
def test_a_title_is_one_line_of_at_most_80_characters(intents: list[str], files: list[str]) -> None:
    title = title_of(intents, files)
    assert 0 < len(title) <= 80
    assert title.strip()
    assert len(title.splitlines()) == 1


@given(st.lists(TEXT, max_size=8))
def test_prompts_are_bounded_whatever_was_said(texts: list[str]) -> None:
    kept = clean_prompts(texts)
    assert len(kept) <= 5
    assert all(0 < len(text) <= 600 for text in kept)


@given(TEXT)
def test_each_prompt_is_cleaned_by_itself(text: str) -> None:
    alone = clean_prompts([text])
    assert clean_prompts(["first wish here", text])[1:] == tuple(
        said for said in alone if said != "first wish here"
    )


@pytest.mark.parametrize(
    "unit",
    ["a", "(", '"', " ", "\n", "嗯", "ok ", "<", "<skill>", "<skill></skill>", "[Image", "继续做吧",
     "- ", "a\n", "/a ", "y"],
)  # fmt: skip
def test_a_megabyte_of_anything_takes_about_a_second(unit: str) -> None:
    text = unit * (1_000_000 // len(unit))
    start = time.process_time()
    title_of(clean_prompts([text, text + "x"]), [text])
    assert time.process_time() - start < 3
