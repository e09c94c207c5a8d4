"""The program ``git-tmem``: which command runs, and the one place where errors are shown.

A lookup is on the path of every prompt, so it is answered without click, whose import
alone costs several times the interpreter's start. Whatever the short road does not know
exactly (help, a wrong option) goes the long one.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

from git_tmem.errors import TmemError

BUG = 70
INTERRUPTED = 130


def main() -> None:
    """Run the command line in ``sys.argv`` and exit with its status."""
    sys.exit(guarded(lambda: run(sys.argv[1:])))


def run(arguments: list[str]) -> int:
    """The exit status of one command line."""
    if arguments[:1] == ["lookup"]:
        from git_tmem.commands import answer

        options = answer.parse(arguments[1:])
        if options is not None:
            return answer.run(options)
    caller = arguments[1] if arguments[:1] == ["hook"] and len(arguments) > 1 else "git"
    if caller != "git" and not caller.startswith("-"):
        from git_tmem.commands import agent_hook

        return agent_hook.run(arguments[1:])
    from git_tmem.commands import group

    return group.run(arguments)


def guarded(work: Callable[[], int]) -> int:
    """Do the work; its status, or that of the error, which is shown on standard error."""
    _speak_utf8()
    try:
        status = work()
        sys.stdout.flush()
    except TmemError as error:
        complain(error.message, error.hint)
        return error.exit_status
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # the reader, such as ``head``, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        return _report_bug(error)
    return status


def complain(message: str, hint: str = "") -> None:
    """An error as the user sees it: one line, and one more with what to do."""
    from git_tmem.render import plain

    print(f"git tmem: {plain(message)}", file=sys.stderr)
    if hint:
        print(f"hint: {plain(hint)}", file=sys.stderr)


def _report_bug(error: Exception) -> int:
    if os.environ.get("GIT_TMEM_TRACE"):
        import traceback

        from git_tmem.redact import redact

        print(redact("".join(traceback.format_exception(error))), file=sys.stderr)
    complain(
        f"this is a bug in git-tmem: {type(error).__name__}",
        "run again with GIT_TMEM_TRACE=1 to see where, and report that; nothing was left half done",
    )
    return BUG


def _speak_utf8() -> None:
    """UTF-8 whatever the locale says; what cannot be written is replaced, never fatal."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="replace")
