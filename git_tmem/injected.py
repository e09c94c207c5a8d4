"""What git-tmem itself put into a conversation: known by its tags, and never memory."""

from __future__ import annotations

TAG = "tmem-memory"
#: The tag as it is written, and as an agent that escapes it shows it.
_FORMS = ((f"<{TAG}", f"</{TAG}>"), (f"&lt;{TAG}", f"&lt;/{TAG}&gt;"))


def without(text: str) -> str:
    """The text without the blocks that hooks injected; one without an end takes the rest."""
    if TAG not in text:
        return text
    for opening, closing in _FORMS:
        start = text.find(opening)
        while start >= 0:
            end = text.find(closing, start)
            text = text[:start] + (text[end + len(closing) :] if end >= 0 else "")
            start = text.find(opening, start)
    return text
