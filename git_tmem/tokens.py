"""Words of a text as the search index knows them; queries and documents go the same way.

An identifier is kept whole and in its parts (``HTTPServer_v2`` gives httpserver_v2, http,
server), plain English words are stemmed lightly and stop words dropped, runs of Han, kana and
hangul become bigrams. Of the two rules borrowed: bigrams are the usual segmentation of
unsegmented scripts in information retrieval, the endings are step 1 of Porter's stemmer,
made smaller.
"""

from __future__ import annotations

import re

#: Raised whenever the same text would give other tokens; the index is then rebuilt.
VERSION = 1

#: Tokens longer than this are no words: encoded data, minified code.
_LONGEST = 64

_HAN = (
    "\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\uac00-\ud7a3\u1100-\u11ff\uff66-\uff9f\U00020000-\U0003134f"
)
_WORD = re.compile("[A-Za-z0-9_]+")
#: A word of ASCII, a run of an unsegmented script, a word of any other one. Not compiled until
#: a text needs them: that takes half as long as starting Python.
_RUN = rf"{_WORD.pattern}|[{_HAN}]+|[^\W\d_A-Za-z{_HAN}]+"
_UNSEGMENTED = f"[{_HAN}]"
_VOWEL = re.compile("[aeiouy]")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")

_STOP_WORDS = """
a about after all also am an and any are as at be because been before being but by can cannot
could did do does doing done for from get gets got had has have having he her here him his how i
if in into is it its just like make makes may me might more most my no nor not now of on only or
other our out over please she should so some such than that the their them then there these they
this those through to too up us use used using very want was we were what when where which while
who why will with would you your
"""
_STOP = frozenset(_STOP_WORDS.split())


def tokens(text: str) -> list[str]:
    """Search tokens of a text, in order, repeated ones repeated.

    Each matches ``[a-z0-9_]+`` or is letters outside ASCII only. Numbers alone of one or two
    digits are dropped.
    """
    found: list[str] = []
    for run in _WORD.findall(text) if text.isascii() else re.findall(_RUN, text):
        if not run.isascii():
            found += _other(run)
        elif len(run) <= _LONGEST:
            found += _WORDS.get(run) or _remembered(run)
    return found


#: Tokens of the words met so far: a text repeats its words. Emptied when it grows large.
_WORDS: dict[str, tuple[str, ...]] = {}


def _remembered(word: str) -> tuple[str, ...]:
    if len(_WORDS) > 20_000:
        _WORDS.clear()
    _WORDS[word] = found = tuple(_ascii(word))
    return found


def _ascii(word: str) -> list[str]:
    """Tokens of a word: the stem of a plain one; an identifier whole, then its parts."""
    lowered = word.lower()
    if lowered.isalpha() and (lowered == word or word[1:] == lowered[1:]):
        return [] if lowered in _STOP else [stem(lowered)]
    if word.isdigit():
        return [word] if len(word) > 2 else []
    parts = [part.lower() for part in _PART.findall(word)]
    whole = lowered.strip("_")
    whole = stem(whole) if whole.isalpha() else whole
    if len(parts) < 2:
        return [whole] if parts and whole not in _STOP else []
    kept = [stem(part) for part in parts if part.isalpha() and part not in _STOP and len(part) > 1]
    return [whole, *kept]


def _other(run: str) -> list[str]:
    """Bigrams of an unsegmented script, a word of any other one in lower case."""
    if not re.match(_UNSEGMENTED, run):
        letters = [letter for letter in run.lower() if letter.isalpha() and not letter.isascii()]
        return ["".join(letters)] if letters else []
    if not run.isalpha():  # a code point that no script uses yet
        return [letter for letter in run if letter.isalpha()]
    return [run] if len(run) == 1 else [run[at : at + 2] for at in range(len(run) - 1)]


def stem(word: str) -> str:
    """A lower-case English word without its plural, -ed, -ing and final e."""
    if len(word) < 4:
        return word
    if word.endswith(("ies", "ied")) and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "xes", "ches", "shes", "zes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending in ("ing", "ed"):
        base = word.removesuffix(ending)
        if base != word and len(base) > 2 and not word.endswith("eed") and _VOWEL.search(base):
            doubled = base[-1] == base[-2] and base[-1] not in "lsz"
            return base[:-1] if doubled else base
    return word[:-1] if word.endswith("e") and len(word) > 3 else word
