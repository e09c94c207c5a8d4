"""What every adapter shares: the protocol, the collector of actions, and careful reading of
values, since any field of a log may be missing or of another type."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any, Protocol

from git_tmem.actions import MUTATE, OTHER, TEXT_LIMIT, Action, Session, clip_output
from git_tmem.changes import Hunk
from git_tmem.errors import InputError
from git_tmem.injected import without

#: Characters kept of a passing command's output: its tail names what passed.
PASSING_TAIL = 600
#: Characters kept of an agent's reason and of a command; a longer command is a whole file.
REASON_LIMIT = 300
COMMAND_LIMIT = 16_000
#: The longest path that systems accept; what is longer is none.
PATH_LIMIT = 4_096
#: More actions than any session has, and the characters kept of all of them together (a
#: line of an edit weighs 64 more, as a string does). Beyond, edits are known by path alone.
ACTION_LIMIT = 200_000
KEPT_LIMIT = 32 << 20

#: Different names of unknown things that are counted apart.
_NAMES = 200


class Adapter(Protocol):
    """An agent's log format, as a module.

    ``VERSIONS`` has those, by their first one or two numbers, of whose logs real ones were read;
    none where the log does not tell its version.
    ``detect`` tells from the first records whether the agent wrote them. ``parse`` takes
    every record with its line number and returns the session, without ``records`` and
    ``damaged``; it raises InputError only for more actions than ``ACTION_LIMIT`` and for a file
    of several sessions that cannot be told apart.
    ``find_logs`` yields the logs that may be of a session below one of the absolute
    ``roots``; the folder that a log itself names decides. Where the format names none,
    ``adapters.PLACED`` says so and ``find_logs`` itself has to be sure.
    """

    NAME: str
    VERSIONS: tuple[str, ...]

    def detect(self, head: Sequence[Mapping[str, Any]], /) -> bool: ...

    def parse(self, records: Iterator[tuple[int, Mapping[str, Any]]], /) -> Session: ...

    def find_logs(self, roots: Sequence[str], env: Mapping[str, str], /) -> Iterator[str]: ...


class Trace:
    """Collects actions in the order of their calls; results find theirs by id later."""

    def __init__(self, agent: str) -> None:
        self.agent = agent
        self.id = ""
        self.cwd = ""
        self.branch = ""
        self.version = ""
        self.compactions = 0
        self.actions: list[Action] = []
        self.unknown: dict[str, int] = {}
        self._waiting: dict[str, list[int]] = {}
        self._kept = 0

    def add(self, action: Action, call: str = "") -> int:
        """Append an action, waiting for the result of ``call``; its number in the list."""
        if len(self.actions) >= ACTION_LIMIT:
            raise InputError(
                f"the log holds more than {ACTION_LIMIT:,} actions",
                "no session of an agent is that long; capture the sessions one by one",
            )
        if action.kind == MUTATE and not action.path:
            action = action._replace(kind=OTHER, hunks=(), created=False)
        self.actions.append(self._weighed(action))
        if call:
            # Ids repeat where a redaction replaced them: the first call is answered first.
            self._waiting.setdefault(call, []).append(len(self.actions) - 1)
        return len(self.actions) - 1

    def answered(self, call: str) -> int | None:
        """The number of the action that waits for this call's result, once."""
        waiting = self._waiting.get(call)
        if not waiting:
            return None
        if len(waiting) == 1:
            del self._waiting[call]
        return waiting.pop(0)

    def waits(self, call: str) -> bool:
        """Whether an action waits for this call's result."""
        return call in self._waiting

    def update(self, number: int, **changes: Any) -> None:
        """Change an action that was added; a failed one loses its hunks."""
        old = self.actions[number]
        if changes.get("failed"):
            changes.update(hunks=(), created=False)
        self._kept -= _weight(old)
        self.actions[number] = self._weighed(old._replace(**changes))

    def prompt(self, text: str, record: int, time: int = 0, subagent: bool = False) -> None:
        """Append what the user said; blank text and one said twice in a row do not count."""
        text = text[: 2 * TEXT_LIMIT].strip()[:TEXT_LIMIT]
        if text and not (self.actions and self.actions[-1].text == text):
            self.add(Action("PROMPT", record, text=text, time=time, subagent=subagent))

    def miss(self, name: object) -> None:
        """Count a record or a tool that the adapter does not know."""
        key = clip_name(name)
        if key not in self.unknown and len(self.unknown) >= _NAMES:
            key = "other"
        self.unknown[key] = self.unknown.get(key, 0) + 1

    def restart(self) -> None:
        """Forget what was collected: it was the replay of another session."""
        self.actions.clear()
        self._waiting.clear()
        self.unknown.clear()
        self.compactions = self._kept = 0

    def session(self) -> Session:
        """What was collected, as a value."""
        return Session(
            agent=self.agent,
            id=_encoded(self.id),
            cwd=_encoded(self.cwd),
            actions=tuple(map(_encodable, self.actions)),
            branch=_encoded(self.branch),
            version=_encoded(self.version),
            compactions=self.compactions,
            unknown=tuple(sorted(self.unknown.items())),
        )

    def _weighed(self, action: Action) -> Action:
        if self._kept > KEPT_LIMIT:
            action = action._replace(hunks=(), output=action.output[-PASSING_TAIL:])
        self._kept += _weight(action)
        return action


def _weight(action: Action) -> int:
    weight = len(action.output) + len(action.command) + len(action.text)
    for hunk in action.hunks:
        for lines in hunk[:2]:
            weight += sum(map(len, lines)) + 64 * len(lines)
    return weight


def _encodable(action: Action) -> Action:
    """The action with a question mark for each lone surrogate, which JSON lets through."""
    try:
        "".join((action.tool, action.path, action.cwd, action.command)).encode()
        "".join((action.output, action.text, action.reason)).encode()
        for hunk in action.hunks:
            "".join((*hunk.removed, *hunk.added)).encode()
    except UnicodeEncodeError:
        fields = {name: _encoded(value) for name, value in action._asdict().items()}
        hunks = tuple(
            Hunk(tuple(map(_encoded, removed)), tuple(map(_encoded, added)), partial)
            for removed, added, partial in action.hunks
        )
        return Action(**{**fields, "hunks": hunks})
    return action


def _encoded(value: Any) -> Any:
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


class Narration:
    """What the agent said last. It is the reason of the calls that follow, until their
    results are there and a new message begins."""

    def __init__(self) -> None:
        self._text = ""
        self._thinking = ""
        self._message = ""
        self._answered = False

    def begin(self, message: str = "") -> None:
        """A message begins or, under the same id, goes on."""
        if self._answered and not (message and message == self._message):
            self._text = self._thinking = ""
        self._message = message
        self._answered = False

    def say(self, text: object) -> None:
        """The agent said something to the user."""
        self._text = _reason(text) or self._text

    def think(self, text: object) -> None:
        """The agent reasoned, which counts only when it said nothing."""
        self._thinking = _reason(text) or self._thinking

    def answer(self) -> None:
        """Results of the calls arrived."""
        self._answered = True

    @property
    def reason(self) -> str:
        """The agent's words for the call being made, '' without any."""
        return self._text or self._thinking


def _reason(text: object) -> str:
    return string(text)[: 4 * REASON_LIMIT].strip()[:REASON_LIMIT]


def string(value: object) -> str:
    """The value if it is a string, '' otherwise."""
    return value if isinstance(value, str) else ""


def mapping(value: object) -> Mapping[str, Any]:
    """The value if it is a JSON object, an empty one otherwise."""
    return value if isinstance(value, dict) else {}


def sequence(value: object) -> list[Any]:
    """The value if it is a JSON array, an empty one otherwise."""
    return value if isinstance(value, list) else []


def path_of(value: object) -> str:
    """The value if it can be a path, '' otherwise."""
    path = string(value)
    return path if len(path) <= PATH_LIMIT and "\0" not in path else ""


def file_of(value: object) -> str:
    """The value if it looks like a file's path rather than a folder's, '' otherwise."""
    path = path_of(value)
    name = path.replace("\\", "/").rpartition("/")[2]
    return path if "." in name[1:].rstrip(".") else ""


def arguments_of(value: object) -> Mapping[str, Any]:
    """A call's arguments, which are an object or its JSON text; an empty one otherwise."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return {}
    return mapping(value)


def command_of(value: object) -> str:
    """A command line out of a string or a list of arguments."""
    if isinstance(value, list):
        parts = [string(part) for part in value]
        shell = len(parts) == 3 and parts[1] in ("-c", "-lc")
        value = parts[2] if shell else " ".join(parts)
    return string(value)[:COMMAND_LIMIT]


def names(text: str) -> list[str]:
    """The words of a text: the form in which long tables of names can be read."""
    return text.split()


def clip_name(value: object) -> str:
    """A short name for something that may be anything."""
    name = str(value)[:80] if isinstance(value, (str, int)) else type(value).__name__
    return name.encode("utf-8", "replace").decode()


def text_of(content: object) -> str:
    """The text of a message's content: a string, or a list of blocks some of which have text."""
    if isinstance(content, list):
        parts = [item if isinstance(item, str) else mapping(item).get("text") for item in content]
        return "\n".join(part for part in parts if isinstance(part, str))
    return string(content)


def keep_output(text: str, exit_code: int | None) -> str:
    """What to keep of a command's output: a tail when it passed, head and tail otherwise."""
    if exit_code != 0:
        return clip_output(text)
    text = without(text)
    return text if len(text) <= PASSING_TAIL else f"[...]\n{text[-PASSING_TAIL:]}"


def whole_number(value: object) -> int | None:
    """The value as an exit status, None when it is none."""
    if isinstance(value, str) and value.strip().removeprefix("-").isdecimal() and len(value) < 12:
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 40:
        return value
    return None


def epoch(value: object) -> int:
    """Seconds since the epoch of an ISO 8601 time, of seconds or of milliseconds; 0 for none."""
    if isinstance(value, str):
        return _from_iso(value)
    if isinstance(value, (int, float)) and 0 < value < 1e14:
        return int(value / 1000 if value > 1e11 else value)
    return 0


def _from_iso(text: str) -> int:
    # Only the part that fromisoformat of every Python from 3.10 on knows: older ones refuse
    # Z and most fractions of a second.
    try:
        time = int(datetime.fromisoformat(text[:19]).replace(tzinfo=timezone.utc).timestamp())
        if len(text) > 24 and text[-6] in "+-" and text[-3] == ":":
            away = int(text[-5:-3]) * 3600 + int(text[-2:]) * 60
            time += away if text[-6] == "-" else -away
        return max(time, 0)
    except (ValueError, OverflowError):
        return 0
