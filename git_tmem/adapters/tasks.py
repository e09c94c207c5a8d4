"""The user's own words in the prompt of a benchmark's agent, whose rest is the same each time."""

from __future__ import annotations

import re

_FRAMES = tuple(
    re.compile(frame, re.DOTALL)
    for frame in (
        r"<(pr_description|issue_description)>\s*(?P<task>.*?)\s*</\1>",
        r"(?:^|\n)ISSUE:\s*\n(?P<task>.*?)\n\s*INSTRUCTIONS:",
        r"NEW TASK DESCRIPTION -{3,}\n(?P<task>.*?)\n-{3,} END OF NEW TASK",
        r"(?:^|\n)Task Description:\s*\n(?P<task>.*?)\n\s*Current terminal state:",
    )
)
_LEADS = ("Consider the following PR description:", "Please solve this issue:")

#: Characters looked at: no frame around a task is as long.
_SEARCHED = 200_000


def task_in(prompt: str) -> str:
    """The task that a prompt frames by tags or headings, the whole prompt without such."""
    text = prompt[:_SEARCHED]
    found = next(filter(None, (frame.search(text) for frame in _FRAMES)), None)
    task = (found.group("task") if found else text).strip()
    for lead in _LEADS:
        task = task.removeprefix(lead).lstrip()
    return task
