"""Putting git-tmem into a repository, and taking it out again without a trace.

Installed are: the post-commit and post-rewrite hooks, and pre-push for who asks for it (earlier
hooks are kept beside them and still run), one line in ``info/exclude`` and the ``.tmem`` folder.
Nothing tracked is touched, no configuration is written.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from typing import NamedTuple

from git_tmem import mirror
from git_tmem.errors import InputError, StoreError
from git_tmem.git import Git, Layout
from git_tmem.schema import data_folder

HOOKS = ("post-commit", "post-rewrite")
PRE_PUSH = "pre-push"
#: The word of ``tmem.push`` with which each push publishes records too.
AUTO = "auto"
_MARK = "# git-tmem:hook "
#: A line in another tool's hook that does what ours would, in the background.
_FEED = {
    "post-commit": "</dev/null git-tmem hook git post-commit",
    "post-rewrite": 'p=$(cat); echo "$p" | git-tmem hook git post-rewrite',
    PRE_PUSH: '</dev/null git-tmem hook git pre-push "$1"',
}
_EXCLUDE_MARK = "# git-tmem: the mirror of refs/tmem/main"
_EXCLUDED = f"/{mirror.FOLDER}/"


class Report(NamedTuple):
    """What was done, and what the user should know or do, one line each."""

    done: tuple[str, ...]
    advice: tuple[str, ...] = ()


def install(layout: Layout, track_mirror: bool = False, pre_push: bool = False) -> Report:
    """Install into a repository; twice is the same as once. The hook that pushes records comes
    with ``pre_push`` or the configuration ``tmem.push`` alone. Raises StoreError when git's
    directory cannot be written."""
    pushing = pre_push or Git(layout).config("tmem.push").lower() == AUTO
    try:
        names = (*HOOKS, PRE_PUSH) if pushing else HOOKS
        reports = [_install_hook(layout, name) for name in names]
        if layout.top:
            reports.append(_make_mirror(layout, track_mirror))
        os.makedirs(layout.own_dir, exist_ok=True)
    except OSError as error:
        raise _refused(error) from error
    return _joined(reports)


def uninstall(layout: Layout) -> Report:
    """Take the hooks, the exclude line, the mirror and our folder out; records stay in git."""
    try:
        reports = [_remove_hook(layout, name) for name in (*HOOKS, PRE_PUSH)]
        reports.append(_remove_mirror(layout))
        if os.path.isdir(layout.own_dir):
            shutil.rmtree(layout.own_dir)
    except OSError as error:
        raise _refused(error) from error
    return _joined(reports)


def hook_state(layout: Layout, name: str = "post-commit") -> str:
    """installed, absent, or foreign (somebody else's hook is there)."""
    path = os.path.join(hooks_folder(layout), name)
    if not os.path.lexists(path):
        return "absent"
    return "installed" if _is_ours(path) else "foreign"


def hooks_folder(layout: Layout) -> str:
    """Where git looks for hooks here, ``core.hooksPath`` included."""
    _, data = Git(layout).output("rev-parse", "--git-path", "hooks")
    return os.path.join(layout.top or layout.git_dir, os.fsdecode(data).strip())


def _install_hook(layout: Layout, name: str) -> Report:
    folder = hooks_folder(layout)
    if os.path.basename(folder) == "_" or folder == os.devnull:
        line = f"{_FEED[name]} >/dev/null 2>&1 &"
        return Report((), (f"hooks are kept by another tool; add to its {name}: {line}",))
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, name)
    chained = f"{path}.tmem-chained"
    state = hook_state(layout, name)
    with open(os.path.join(data_folder("hooks"), "git", name), encoding="utf-8") as stream:
        text = stream.read()
    if state == "installed" and _read(path) == text:
        return Report(())
    if state == "foreign":
        if os.path.lexists(chained):
            raise InputError(f"{chained} is in the way", "move it away, then run: git tmem init")
        os.rename(path, chained)
    _write_executable(path, text)
    kept = " (the hook that was there still runs first)" if state == "foreign" else ""
    return Report((f"installed {name} hook{kept}",))


def _remove_hook(layout: Layout, name: str) -> Report:
    path = os.path.join(hooks_folder(layout), name)
    chained = f"{path}.tmem-chained"
    if not os.path.lexists(path) and not os.path.lexists(chained):
        return Report(())
    if os.path.lexists(path) and not _is_ours(path):
        return Report((), (f"{name} is not ours any more and was left as it is",))
    if os.path.lexists(chained):
        os.replace(chained, path)
        return Report((f"restored the earlier {name} hook",))
    os.unlink(path)
    return Report((f"removed {name} hook",))


def _make_mirror(layout: Layout, track: bool) -> Report:
    folder = os.path.join(layout.top, mirror.FOLDER)
    if os.path.lexists(folder):
        mirror.folder_of(layout)  # refuses a link or a file of that name
    _, tracked = Git(layout).output("ls-files", "--", mirror.FOLDER)
    if tracked and not track:
        return Report(
            (), (f"{mirror.FOLDER} is tracked by git here: keep it so with --track-mirror",)
        )
    done = []
    if not os.path.isdir(folder):
        os.mkdir(folder)
        done.append(f"made {mirror.FOLDER}/, the readable mirror")
    lines = read_exclude(layout)
    if track:
        set_exclude(layout, [line for line in lines if line not in (_EXCLUDED, _EXCLUDE_MARK)])
    elif _EXCLUDED not in lines:
        set_exclude(layout, [*lines, _EXCLUDE_MARK, _EXCLUDED])
        done.append(f"kept it out of git status ({mirror.FOLDER}/ in info/exclude)")
    return Report(tuple(done))


def _remove_mirror(layout: Layout) -> Report:
    lines = read_exclude(layout)
    kept = [line for line in lines if line not in (_EXCLUDED, _EXCLUDE_MARK)]
    if kept != lines:
        set_exclude(layout, kept)
    folder = mirror.folder_of(layout)
    if not folder:
        return Report(())
    left = mirror.remove(folder)
    if left:
        return Report(
            (), (f"left in {mirror.FOLDER}/, not written by git-tmem: {', '.join(left)}",)
        )
    return Report((f"removed {mirror.FOLDER}/",))


def read_exclude(layout: Layout) -> list[str]:
    """The lines of ``info/exclude``."""
    return _read(_exclude_file(layout)).splitlines()


def set_exclude(layout: Layout, lines: list[str]) -> None:
    """Write ``info/exclude`` if that changes it."""
    path = _exclude_file(layout)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    text = "".join(f"{line}\n" for line in lines)
    if text != _read(path):
        temporary = f"{path}.tmem"
        with open(temporary, "w", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
        os.replace(temporary, path)


def _exclude_file(layout: Layout) -> str:
    return os.path.join(layout.common_dir, "info", "exclude")


def _is_ours(path: str) -> bool:
    return _read(path).partition("\n")[2].startswith(_MARK)


def _read(path: str) -> str:
    with (
        contextlib.suppress(OSError),
        open(path, encoding="utf-8", errors="surrogateescape") as stream,
    ):
        return stream.read()
    return ""


def _write_executable(path: str, text: str) -> None:
    temporary = f"{path}.tmem-new"
    with open(temporary, "w", encoding="utf-8", newline="\n") as stream:
        stream.write(text)
    readable = os.stat(temporary).st_mode & 0o444  # who may read may run, as the umask says
    os.chmod(temporary, os.stat(temporary).st_mode | readable >> 2)
    os.replace(temporary, path)


def _refused(error: OSError) -> StoreError:
    return StoreError(f"{error.filename or 'a file'} cannot be written: {error.strerror}")


def _joined(reports: list[Report]) -> Report:
    done = tuple(line for report in reports for line in report.done)
    return Report(done, tuple(line for report in reports for line in report.advice))
