"""What ``git tmem hook AGENT EVENT`` does, without click: this is the road of every step.

Whatever happens, the exit status is 0 and standard output holds one answer in the agent's
protocol, or nothing. After the time limit the answer is silence.
"""

from __future__ import annotations

import contextlib
import os
import sys
from typing import Any

from git_tmem import protocols
from git_tmem.errors import TmemError
from git_tmem.git import Git, Layout, discover, nearby
from git_tmem.protocols.base import END, Event

#: Seconds until the hook gives up, counted after Python's own start, unless
#: ``GIT_TMEM_HOOK_LIMIT`` says otherwise.
_TIME = 0.9
#: Bytes of a payload that are parsed; of a longer one nothing is.
_LIMIT = 16 << 20


class _Answer:
    """Speaks once: whoever comes first, the hook or the time limit."""

    def __init__(self) -> None:
        import _thread

        self._once = _thread.allocate_lock()
        self.silence = ""
        self.log = ""
        _thread.start_new_thread(self._give_up, (_thread.allocate_lock(),))

    def give(self, text: str) -> None:
        """Write the answer; only the first one is written."""
        if self._once.acquire(blocking=False) and text:
            data = text.encode("utf-8", "replace")
            while data:
                data = data[os.write(1, data) :]

    def _give_up(self, never: Any) -> None:
        never.acquire()
        never.acquire(timeout=_seconds(os.environ.get("GIT_TMEM_HOOK_LIMIT", "")))
        if self._once.acquire(blocking=False):
            os.write(1, self.silence.encode("ascii"))
            with contextlib.suppress(
                OSError
            ):  # nothing is imported now: the hook may hold the lock
                if self.log:
                    log = os.open(self.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
                    os.write(log, b"a hook was given up: its time had run out\n")
            os._exit(0)


def _seconds(given: str) -> float:
    try:
        return min(max(float(given), 0.05), 60.0)
    except ValueError:
        return _TIME


def run(arguments: list[str]) -> int:
    """Answer a hook's call. Always 0, always valid for the agent's protocol."""
    answer = _Answer()
    name, event = (*arguments[:2], "", "")[:2]
    try:
        text = _respond(answer, name, event)
    except (Exception, KeyboardInterrupt) as error:  # a hook never breaks its host
        _complain(name, event, error)
        text = answer.silence
    try:
        answer.give(text)
        sys.stdout.flush()
    except OSError:  # nobody listens any more
        pass
    return 0


def _respond(answer: _Answer, name: str, event_name: str) -> str:
    if name not in protocols.AGENTS:
        raise TmemError(f"no agent is called {name[:40]}")
    agent = protocols.agent(name)
    answer.silence = agent.say(event_name, "")
    event = agent.read(event_name, _payload())
    if event is None:
        return answer.silence
    layout = nearby(event.folder if os.path.isdir(event.folder) else "")
    if not event.session or not os.path.isdir(layout.own_dir) or is_paused(layout):
        return answer.silence
    answer.log = os.path.join(layout.own_dir, "hook.log")
    if event.moment == END:
        _detach(layout, name, event)
        return answer.silence
    return str(agent.say(event_name, _said(layout, f"{name} {event_name}", event, agent.CAP)))


def _said(layout: Layout, caller: str, event: Event, cap: int) -> str:
    """What is said now; a switch that is off is asked for only when there is something."""
    from git_tmem.moments import respond
    from git_tmem.told import told

    size = index_size(layout) if event.moment in ("start", "turn") else 0
    with told(layout, event.session) as state:
        text = respond(layout, event, state, cap, size)
        if text and is_off(layout):
            text = ""
    if text:
        from git_tmem import hooklog

        hooklog.write(layout, f"{caller}: said {len(text.encode())} bytes")
    return text


def is_paused(layout: Layout) -> bool:
    """Whether ``git tmem pause`` silences the hooks."""
    return os.path.exists(os.path.join(layout.own_dir, "paused"))


def is_off(layout: Layout) -> bool:
    """Whether the configuration silences the hooks."""
    word = Git(layout).config("tmem.hooks", "true").lower()
    return word in ("false", "no", "off", "0")


def index_size(layout: Layout) -> int:
    """Characters of the index at a session's start, by ``tmem.indexSize``."""
    from git_tmem.moments import INDEX_SIZE

    word = Git(layout).config("tmem.indexSize")
    return min(int(word), 4000) if word.isdecimal() and len(word) < 8 else INDEX_SIZE


def _payload() -> Any:
    """The JSON on standard input. What is too long is read to its end all the same, so that
    the agent's write does not fail. Raises TmemError for what is no JSON object."""
    import json

    data = sys.stdin.buffer.read(_LIMIT + 1)
    if len(data) > _LIMIT:
        while sys.stdin.buffer.read(1 << 20):
            pass
        raise TmemError(f"the payload is longer than {_LIMIT} bytes")
    try:
        payload = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise TmemError("the payload is not JSON") from error
    if not isinstance(payload, dict):
        raise TmemError("the payload is no JSON object")
    return payload


def _complain(name: str, event: str, error: BaseException) -> None:
    """One line in the log of the repository here; nowhere when there is none."""
    try:
        layout = discover()
        if os.path.isdir(layout.own_dir):
            from git_tmem import hooklog

            said = error.message if isinstance(error, TmemError) else type(error).__name__
            hooklog.write(layout, f"{name[:40]} {event[:40]}: {said}")
    except Exception:  # noqa: S110  there is no place left to say it
        pass


def _detach(layout: Layout, name: str, event: Event) -> None:
    """Capture the session in a process of its own, which no agent waits for."""
    if is_off(layout):
        return
    if sys.platform == "win32":
        import subprocess

        command = [sys.executable, "-m", "git_tmem", "hook", "git", "session-end"]
        given = [name, event.session, event.log, layout.top or layout.git_dir]
        subprocess.Popen([*command, *given], cwd=layout.own_dir, creationflags=8)
        return
    if os.fork():
        return
    status = 0
    try:
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nothing, stream)
        from git_tmem.repo import Repository
        from git_tmem.worker import after_session

        with Repository(layout) as repository:
            after_session(repository, name, event.session, event.log, os.environ)
    except BaseException:
        status = 1
    os._exit(status)
