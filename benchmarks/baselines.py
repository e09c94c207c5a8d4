"""Simple ways to find a memory, for comparison; each sees what the product's index sees.

A system is told of each memory as it comes, in the order of time, and ranks those it knows.
"""

from __future__ import annotations

import math
import random
import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from git_tmem.tokens import tokens

#: How many a system returns.
DEPTH = 10
_HAN = re.compile("[\u3400-\u9fff]+")
_PLAIN = re.compile(r"\w+")


class Memory(NamedTuple):
    """What a baseline knows of a memory: its id, its intent, its files, and all of its words."""

    id: str
    intent: str
    files: tuple[str, ...]
    text: str


class Known:
    """The memories so far, for the baselines that look at each of them."""

    def __init__(self, rank: Callable[[Sequence[Memory], str], list[str]]) -> None:
        self._rank = rank
        self._memories: list[Memory] = []

    def add(self, memory: Memory) -> None:
        """One more memory, newer than all before."""
        self._memories.append(memory)

    def rank(self, query: str) -> list[str]:
        """Ids, best first."""
        return self._rank(self._memories, query)[:DEPTH]


def _random(memories: Sequence[Memory], query: str) -> list[str]:
    return random.Random(f"7 {query}").sample([one.id for one in memories], len(memories))


def _recent(memories: Sequence[Memory], _: str) -> list[str]:
    return [one.id for one in reversed(memories)]


def _hot_files(memories: Sequence[Memory], _: str) -> list[str]:
    """Memories of the files that most memories touch, newest first."""
    heat = Counter(path for one in memories for path in one.files)
    order = sorted(
        range(len(memories)),
        key=lambda at: (-max((heat[path] for path in memories[at].files), default=0), -at),
    )
    return [memories[at].id for at in order]


def _keywords(memories: Sequence[Memory], query: str) -> list[str]:
    """How many of at most twelve keywords stand in the text, plus at most a half for recency."""
    words = list(dict.fromkeys(word for word in _plain(query) if len(word) > 2))[:12]
    scores = []
    for at, one in enumerate(memories):
        text = one.text.lower()
        scores.append((-sum(word in text for word in words) - at / (2 * len(memories)), -at))
    return [memories[-at].id for score, at in sorted(scores) if score <= -1]


def _contains(memories: Sequence[Memory], query: str) -> list[str]:
    wanted = query.strip().lower()
    return [one.id for one in reversed(memories) if wanted in one.intent.lower()]


class Fts:
    """One bag of words in SQLite's FTS5, ranked by its own BM25."""

    def __init__(self, tokenizer: str, build: Callable[[str], str]) -> None:
        self._db = sqlite3.connect(":memory:")
        self._db.execute(f"create virtual table words using fts5 (text, tokenize = '{tokenizer}')")
        self._build = build
        self._ids: list[str] = []

    def add(self, memory: Memory) -> None:
        """One more memory."""
        self._ids.append(memory.id)
        self._db.execute("insert into words values (?)", (memory.text,))

    def rank(self, query: str) -> list[str]:
        """Ids, best first."""
        asked = self._build(query)
        if not asked:
            return []
        found = self._db.execute(
            "select rowid from words where words match ? order by rank, rowid desc limit ?",
            (asked, DEPTH),
        )
        return [self._ids[row - 1] for (row,) in found]


def _phrase(query: str) -> str:
    words = _plain(query)
    return f'"{" ".join(words)}"' if words else ""


def _all_words(query: str) -> str:
    return " AND ".join(f'"{word}"' for word in dict.fromkeys(_plain(query)))


def _any_word(query: str) -> str:
    return " OR ".join(f'"{word}"' for word in dict.fromkeys(_plain(query)))


def _any_trigram(query: str) -> str:
    grams = []
    for word in _plain(query):
        cut = [word[at : at + 3] for at in range(len(word) - 2)]
        grams += cut if _HAN.search(word) else [word] if len(word) > 2 else []
    return " OR ".join(f'"{gram}"' for gram in dict.fromkeys(grams))


class Bm25:
    """One bag of words, BM25 with its usual constants (k1 1.2, b .75)."""

    def __init__(self, split: Callable[[str], Iterable[str]]) -> None:
        self._split = split
        self._ids: list[str] = []
        self._lengths: list[int] = []
        self._postings: dict[str, dict[int, int]] = {}

    def add(self, memory: Memory) -> None:
        """One more memory."""
        counts = Counter(self._split(memory.text))
        for word, times in counts.items():
            self._postings.setdefault(word, {})[len(self._ids)] = times
        self._ids.append(memory.id)
        self._lengths.append(counts.total())

    def rank(self, query: str) -> list[str]:
        """Ids, best first."""
        average = sum(self._lengths) / max(1, len(self._lengths)) or 1.0
        scores: Counter[int] = Counter()
        for word, asked in Counter(self._split(query)).items():
            found = self._postings.get(word, {})
            rarity = math.log(1 + (len(self._ids) - len(found) + 0.5) / (len(found) + 0.5))
            for at, times in found.items():
                norm = 1.2 * (0.25 + 0.75 * self._lengths[at] / average)
                scores[at] += asked * rarity * times * 2.2 / (times + norm)
        order = sorted(scores, key=lambda at: (-scores[at], -at))
        return [self._ids[at] for at in order[:DEPTH]]


def _plain(text: str) -> list[str]:
    return [word.lower() for word in _PLAIN.findall(text)]


def systems() -> dict[str, Known | Fts | Bm25]:
    """All baselines, fresh, by the name the tables give them."""
    return {
        "random": Known(_random),
        "most recent": Known(_recent),
        "hot files": Known(_hot_files),
        "12 keywords + recency": Known(_keywords),
        "intent contains": Known(_contains),
        "one phrase (FTS5)": Fts("unicode61", _phrase),
        "all words, AND (FTS5)": Fts("unicode61", _all_words),
        "any word, OR (FTS5 unicode61)": Fts("unicode61", _any_word),
        "any word, OR (FTS5 porter)": Fts("porter unicode61", _any_word),
        "any word, OR (FTS5 trigram)": Fts("trigram", _any_trigram),
        "BM25, plain words, one bag": Bm25(_plain),
        "BM25, identifier-aware, one bag": Bm25(tokens),
    }
