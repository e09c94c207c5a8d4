"""From the paths a log spells to paths of this repository, and commands that run anywhere.

A log's paths are absolute on the machine it was written on. They are matched against the
work trees of this repository; a log from elsewhere (a colleague's machine, a moved folder)
fits when the files it edited exist here below the folder it worked in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from git_tmem.actions import EXEC, MUTATE, Action, Session, edited_paths
from git_tmem.errors import InputError
from git_tmem.portable import portable


def find_root(
    session: Session, tops: Sequence[str], known: Callable[[Iterable[str]], set[str]]
) -> str:
    """The folder of the log that corresponds to the work tree's top.

    ``tops`` are the work trees of this repository; ``known`` gives those of some relative
    paths that git knows here. Raises InputError for a log of another repository.
    """
    home = next((top for top in tops if is_below(session.cwd, top)), "")
    if home:
        return home
    edited = [clean(path, session.cwd) for path in edited_paths(session.actions)]
    inside = next((top for path in edited for top in tops if is_below(path, top)), "")
    if inside:
        return inside
    candidates = _ancestors(session.cwd or (edited[0] if edited else ""))
    below = {root: _below(edited, root) for root in candidates}
    here = known(path for paths in below.values() for path in paths)
    counts = {root: len(here.intersection(paths)) for root, paths in below.items()}
    best = max(candidates, key=lambda root: counts[root], default="")
    if not edited:
        return session.cwd
    if not best or not counts[best]:
        raise InputError(
            f"this session worked in {session.cwd or 'an unknown folder'}, and none of the"
            f" {len(edited)} file{'s' * (len(edited) != 1)} it edited is in this repository",
            "run git tmem capture in the repository it worked in",
        )
    return best


def localise(session: Session, root: str, tops: Sequence[str]) -> Session:
    """The session with paths relative to ``root`` and commands and texts made portable.

    What lies outside keeps an absolute path, by which the slicer knows it for scratch.
    """
    roots = list(dict.fromkeys(filter(None, (root, *tops))))
    actions = tuple(_localise(action, root, roots, session.cwd) for action in session.actions)
    return session._replace(actions=actions)


def _localise(action: Action, root: str, roots: Sequence[str], cwd: str) -> Action:
    if action.path:
        path = clean(action.path, action.cwd or cwd or root)
        return action._replace(path=relative(path, roots), reason=portable(action.reason, roots))
    if action.kind == EXEC:
        return action._replace(
            command=_in_folder(portable(action.command, roots), action.cwd, roots),
            output=portable(action.output, roots),
            reason=portable(action.reason, roots),
        )
    return action._replace(text=portable(action.text, roots)) if action.text else action


def _in_folder(command: str, cwd: str, roots: Sequence[str]) -> str:
    """A command that ran in a subfolder says so, since it is shown without one."""
    folder = relative(clean(cwd, ""), roots) if cwd else ""
    if not folder or folder.startswith("/") or command.startswith("cd "):
        return command
    return f"cd {folder} && {command}"


def clean(path: str, cwd: str) -> str:
    """An absolute path with ``/`` only, without ``.`` and ``..``, from one the log spells."""
    path = path.replace("\\", "/")
    if not path.startswith("/") and path[1:3] != ":/" and not path.startswith("{{"):
        path = f"{cwd.replace(chr(92), '/')}/{path}"
    parts: list[str] = []
    for part in path.split("/"):
        if part == ".." and parts:
            parts.pop()
        elif part not in ("", ".", ".."):
            parts.append(part)
    return ("/" if path.startswith("/") else "") + "/".join(parts)


def relative(path: str, roots: Iterable[str]) -> str:
    """A path below one of the roots, relative to it; any other stays as it is."""
    for root in sorted(roots, key=len, reverse=True):
        if is_below(path, root):
            return path[len(clean(root, "")) :].strip("/")
    return path


def is_below(path: str, root: str) -> bool:
    """Whether a path is a root or lies in it."""
    base = clean(root, "").rstrip("/")
    return (bool(base) and (path == base or clean(path, "").startswith(f"{base}/"))) or path == base


def _ancestors(path: str) -> list[str]:
    """A folder and the ones above it, the deepest first; not the file system's root."""
    parts = clean(path, "").split("/")
    return [found for end in range(len(parts), 0, -1) if (found := "/".join(parts[:end]))]


def _below(paths: Iterable[str], root: str) -> list[str]:
    return [relative(path, [root]) for path in paths if is_below(path, root)]


def edits_something(session: Session) -> bool:
    """Whether any edit tool did its work."""
    return any(action.kind == MUTATE and not action.failed for action in session.actions)
