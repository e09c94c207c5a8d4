"""The git binary: found, spawned without a shell, never misled by a hook's environment.

Two roads. :func:`output` is for the paths where every millisecond counts: it spawns with
``os.posix_spawn``, because importing ``subprocess`` costs more than git's own run. And
:func:`run` is for all the rest: input, time limits, error text.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from git_tmem.errors import RepositoryError, StoreError

if TYPE_CHECKING:
    import subprocess

#: What git needs from the user's environment. All other GIT_* variables name a repository,
#: an index or an author chosen by whoever called us, such as a hook's ``git commit``.
_KEPT = ("GIT_SSH", "GIT_CONFIG", "GIT_ASKPASS", "GIT_TERMINAL_PROMPT", "GIT_TRACE", "GIT_PROXY")
_KEPT_TOO = (
    "GIT_ALLOW_PROTOCOL",
    "GIT_CEILING_DIRECTORIES",
    "GIT_DISCOVERY_ACROSS_FILESYSTEM",
    "GIT_EXEC_PATH",
)


class Layout(NamedTuple):
    """Where a repository is. All absolute; ``top`` is '' without a work tree (bare)."""

    git_dir: str
    common_dir: str
    top: str

    @property
    def own_dir(self) -> str:
        """The one folder below the git directory that is ours: index, lock, log, spool."""
        return os.path.join(self.common_dir, "tmem")


def environment(online: bool = False) -> dict[str, str]:
    """The environment for git calls that name their repository themselves; only an ``online``
    one may talk to a remote."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GIT_") or name.startswith(_KEPT) or name in _KEPT_TOO
    }
    # No index.lock for a refresh nobody asked for; no network for an object that is missing,
    # which a git before 2.45 only leaves alone when no way to fetch it is allowed.
    ways = {} if online else {"GIT_ALLOW_PROTOCOL": "none"}
    quiet = {"GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1", "LC_ALL": "C.UTF-8"}
    return {**kept, **quiet, **ways}


def discover(folder: str = "") -> Layout:
    """The repository that git itself would use from ``folder`` (default: here).

    Raises RepositoryError when there is none or git refuses it (for its owner, say).
    """
    where = ["-C", folder] if folder else []
    asked = ["rev-parse", "--path-format=absolute", "--git-dir", "--git-common-dir"]
    inherited = dict(os.environ)  # GIT_DIR and friends count here, as for git itself
    status, data = output([*where, *asked, "--show-toplevel"], inherited)
    lines = os.fsdecode(data).splitlines()
    if len(lines) < 2:
        raise _no_repository(folder)
    if status != 0 and len(lines) > 2:
        raise RepositoryError("git does not say where its directories are", "git 2.31 or newer")
    return Layout(lines[0], lines[1], lines[2] if len(lines) > 2 else "")


def nearby(folder: str = "") -> Layout:
    """As :func:`discover`, but without running git where the answer is plain: an ordinary
    repository of ours, with its git directory in the work tree."""
    if not any(name in os.environ for name in _MISLEADING):
        place = os.path.realpath(folder or os.curdir)
        while True:
            git_dir = os.path.join(place, ".git")
            if os.path.lexists(git_dir) or os.path.exists(os.path.join(place, "HEAD")):
                if _is_plain(place, git_dir):
                    return Layout(git_dir, git_dir, place)
                break
            above = os.path.dirname(place)
            if above == place or os.stat(above).st_dev != os.stat(place).st_dev:
                break
            place = above
    return discover(folder)


#: Variables by which git may find another repository than the nearest one.
_MISLEADING = (
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_COMMON_DIR",
    "GIT_CEILING_DIRECTORIES",
    "GIT_DISCOVERY_ACROSS_FILESYSTEM",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_PARAMETERS",
)


def _is_plain(place: str, git_dir: str) -> bool:
    """Whether git would take the folder for a repository without looking any further."""
    if os.path.islink(git_dir) or os.path.lexists(os.path.join(place, "HEAD")):
        return False
    try:
        own = {os.stat(path).st_uid for path in (place, git_dir)} == {os.getuid()}
        with open(os.path.join(git_dir, "config"), "rb") as stream:
            config = stream.read().lower()
    except (OSError, AttributeError):  # AttributeError: Windows has no user ids
        return False
    parts = ("HEAD", "objects", "refs")
    whole = all(os.path.exists(os.path.join(git_dir, part)) for part in parts)
    return own and whole and b"bare = false" in config and b"worktree" not in config


def _no_repository(folder: str) -> RepositoryError:
    _, _, reason = attempt(["rev-parse", "--git-dir"], folder=folder, env=dict(os.environ))
    if b"dubious ownership" in reason:
        return RepositoryError(
            "this repository belongs to another user, so git refuses it",
            "git config --global --add safe.directory <its path>, if you trust it",
        )
    where = f"{folder!r} is" if folder else "this is"
    return RepositoryError(
        f"{where} not a git repository", "go into one, or make one with: git init"
    )


def _no_git() -> RepositoryError:
    return RepositoryError("git is not installed, or not on PATH", "install git 2.31 or newer")


def output(arguments: Sequence[str], env: dict[str, str] | None = None) -> tuple[int, bytes]:
    """Exit status and standard output of one git call; its error output is thrown away."""
    if sys.platform == "win32":
        return _output_by_subprocess(arguments, env)
    env = environment() if env is None else env
    read_end, write_end = os.pipe()
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_DUP2, write_end, 1),
        (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
    ]
    try:
        child = os.posix_spawnp("git", ["git", *arguments], env, file_actions=actions)
    except FileNotFoundError as error:
        os.close(read_end)
        raise _no_git() from error
    finally:
        os.close(write_end)
    with os.fdopen(read_end, "rb") as stream:
        data = stream.read()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), data


def _output_by_subprocess(
    arguments: Sequence[str], env: dict[str, str] | None
) -> tuple[int, bytes]:
    import subprocess

    done = subprocess.run(
        ["git", *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env=environment() if env is None else env,
        check=False,
    )
    return done.returncode, done.stdout


def run(
    arguments: Sequence[str],
    *,
    folder: str = "",
    data: bytes = b"",
    env: dict[str, str] | None = None,
    timeout: float | None = None,
) -> bytes:
    """Standard output of a git call that must succeed.

    Raises StoreError with git's own last error line when it does not, or when ``timeout``
    (seconds) runs out.
    """
    status, out, err = attempt(arguments, folder=folder, data=data, env=env, timeout=timeout)
    if status != 0:
        lines = err.decode("utf-8", "replace").strip().splitlines() or ["no reason given"]
        command = next(word for word in arguments if not word.startswith("-"))
        raise StoreError(f"git {command}: {lines[-1]}")
    return out


def attempt(
    arguments: Sequence[str],
    *,
    folder: str = "",
    data: bytes = b"",
    env: dict[str, str] | None = None,
    timeout: float | None = None,
) -> tuple[int, bytes, bytes]:
    """Exit status, standard output and error output of a git call; 124 when time ran out."""
    import subprocess

    where = ["-C", folder] if folder else []
    command, env = ["git", *where, *arguments], environment() if env is None else env
    if timeout is not None:
        return _attempt_within(timeout, command, data, env)
    done = subprocess.run(command, input=data, capture_output=True, env=env, check=False)
    return done.returncode, done.stdout, done.stderr


#: Seconds that git has to end its own helpers before it is killed.
_GRACE = 2.0


def _attempt_within(
    timeout: float, command: list[str], data: bytes, env: dict[str, str]
) -> tuple[int, bytes, bytes]:
    """As :func:`attempt`. Through files, because what git started (an ssh that hangs) would
    hold a pipe open, and reading it take for ever, long after git itself was killed."""
    import subprocess
    import tempfile

    with (
        tempfile.TemporaryFile() as given,
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as err,
    ):
        given.write(data)
        given.seek(0)
        child = subprocess.Popen(command, stdin=given, stdout=out, stderr=err, env=env)
        if not _ended_within(timeout, child):
            return 124, b"", b"no answer within the time limit"
        out.seek(0)
        err.seek(0)
        return child.returncode, out.read(), err.read()


def _ended_within(timeout: float, child: subprocess.Popen[bytes]) -> bool:
    """Wait for a process; past the limit it is told to end, so that it ends its helpers, and
    then killed. A timer does that, because waiting with a limit would poll."""
    import threading

    over, late = threading.Event(), threading.Event()

    def stop() -> None:
        late.set()
        child.terminate()
        if not over.wait(_GRACE):
            child.kill()

    timer = threading.Timer(timeout, stop)
    timer.daemon = True
    timer.start()
    try:
        child.wait()
    finally:
        over.set()
        timer.cancel()
    return not late.is_set()


def through_shell(line: str, folder: str, data: bytes, timeout: float) -> tuple[int, bytes, bytes]:
    """As :func:`attempt`, for a command line run by the shell that an agent would run it with.
    For our own lines alone: what is in ``line`` is executed."""
    import subprocess

    shell = ["cmd", "/c"] if sys.platform == "win32" else ["sh", "-c"]
    try:
        done = subprocess.run(
            [*shell, line],
            input=data,
            capture_output=True,
            cwd=folder,
            env=environment(),
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return 124, b"", b"no answer within the time limit"
    return done.returncode, done.stdout, done.stderr


class Git:
    """Git calls on one repository, whatever the current folder and environment are."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self._where = [f"--git-dir={layout.git_dir}", "--literal-pathspecs"]
        if layout.top:
            self._where.append(f"--work-tree={layout.top}")

    def output(self, *arguments: str) -> tuple[int, bytes]:
        """As :func:`output`, in this repository, from the work tree's top."""
        return output([*self._from_top(), *self._where, *arguments])

    def run(self, *arguments: str, data: bytes = b"") -> bytes:
        """As :func:`run`, in this repository."""
        return run([*self._where, *arguments], folder=self.layout.top, data=data)

    def attempt(
        self,
        *arguments: str,
        data: bytes = b"",
        timeout: float | None = None,
        env: dict[str, str] | None = None,
        online: bool = False,
    ) -> tuple[int, bytes, bytes]:
        """As :func:`attempt`, in this repository; ``online`` for what talks to a remote."""
        here = [*self._where, *arguments]
        env = environment(online) if env is None else env
        return attempt(here, folder=self.layout.top, data=data, timeout=timeout, env=env)

    def config(self, name: str, default: str = "") -> str:
        """A configured value, or the default."""
        status, data = self.output("config", "--get", name)
        return data.decode("utf-8", "replace").strip() if status == 0 else default

    def configs(self, name: str) -> list[str]:
        """All values of a name that may be there more than once."""
        status, data = self.output("config", "-z", "--get-all", name)
        values = data.decode("utf-8", "replace").split("\0")[:-1]
        return values if status == 0 else []

    def blobs(self, entries: Sequence[tuple[str, str]], limit: int) -> Iterator[tuple[str, bytes]]:
        """The content of (path, blob id) entries as (path, bytes), in two runs of git.

        Blobs that are missing or longer than ``limit`` bytes come out empty.
        """
        if not entries:
            return
        asked = "".join(f"{blob}\n" for _, blob in entries).encode()
        answers = self.run("cat-file", "--batch-check=%(objecttype) %(objectsize)", data=asked)
        small = [
            (path, blob)
            for (path, blob), line in zip(entries, answers.splitlines(), strict=True)
            if line.startswith(b"blob ") and int(line[5:]) <= limit
        ]
        usable = set(small)
        yield from ((entry[0], b"") for entry in entries if entry not in usable)
        asked = "".join(f"{blob}\n" for _, blob in small).encode()
        data = self.run("cat-file", "--batch", "--buffer", data=asked)
        at = 0
        for path, _ in small:
            end = data.index(b"\n", at)
            size = int(data[at:end].rsplit(b" ", 1)[1])
            yield path, data[end + 1 : end + 1 + size]
            at = end + size + 2

    def _from_top(self) -> list[str]:
        return ["-C", self.layout.top] if self.layout.top else []
