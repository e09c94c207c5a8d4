"""A repository rebuilt from a real session: files as the log first saw them, then as it left."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from git_tmem.actions import MUTATE, Session
from git_tmem.workspace import clean, is_below, relative
from tests.conftest import run_git


def rebuild_edits(session: Session, folder: Path) -> None:
    """Make the repository in ``folder`` from a session's edits alone: a commit of the lines
    that they took out, and one of the lines they left."""
    before: dict[str, str] = {}
    after: dict[str, str] = {}
    edits = [action for action in session.actions if action.kind == MUTATE and not action.failed]
    folders = [os.path.dirname(action.path) for action in edits]
    root = session.cwd or os.path.commonpath(folders or ["/"])
    for action in edits:
        path = clean(action.path, action.cwd or root)
        if not is_below(path, root):
            continue
        name = relative(path, [root])
        if action.created:
            after[name] = ""
        for hunk in action.hunks:
            old, new = ("".join(f"{line}\n" for line in lines) for lines in hunk[:2])
            if not old or old not in after.get(name, ""):
                before[name] = before.get(name, "") + old
                after[name] = after.get(name, "") + old
            after[name] = after[name].replace(old, new, 1) if old else after[name] + new
    _commit(folder, before, after)


def rebuild(log: Path, folder: Path) -> str:
    """Make the repository in ``folder``: a commit of the files before, one of those after.

    Where the log does not tell a whole file, the lines its edits looked for stand for it.
    Returns the folder the session worked in.
    """
    root, before, after = "", {}, {}
    for cwd, path, old, change in _events(log):
        root = root or cwd
        if not path.startswith(f"{root}/"):
            continue
        name = path[len(root) + 1 :]
        if name not in after:
            after[name] = before[name] = old
        elif change and change[0] not in after[name]:
            after[name] = f"{after[name]}{old}"
            before[name] = f"{before[name] or ''}{old}"
        after[name] = (
            after[name].replace(change[0], change[1], 1) if change[0] else change[1] or old
        )
    _commit(folder, before, after)
    return root


def _commit(folder: Path, before: Mapping[str, str], after: Mapping[str, str]) -> None:
    run_git(folder.parent, "init", "-q", str(folder))
    for step, files in (("before", before), ("after", after)):
        for name, text in files.items():
            place = folder / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, encoding="utf-8")
        run_git(folder, "add", "-A")
        run_git(folder, "commit", "-q", "--allow-empty", "-m", step)


def _events(log: Path) -> Iterator[tuple[str, str, str, tuple[str, str]]]:
    """(folder, path, text before, (text looked for, its replacement)) of reads and edits."""
    for line in log.read_bytes().splitlines():
        record = _json(line)
        result = record.get("toolUseResult")
        cwd = record.get("cwd")
        if not isinstance(result, dict) or not isinstance(cwd, str):
            continue
        file = result.get("file")
        if isinstance(file, dict) and isinstance(file.get("content"), str):
            if file.get("startLine", 1) == 1 and file.get("numLines") == file.get("totalLines"):
                yield cwd, str(file["filePath"]), file["content"], ("", "")
        elif isinstance(result.get("filePath"), str):
            path = result["filePath"]
            original = result.get("originalFile") or result.get("originalFileContents")
            if isinstance(result.get("content"), str):
                yield cwd, path, original or "", ("", result["content"])
                continue
            for edit in result.get("edits") or [
                {"old_string": result.get("oldString"), "new_string": result.get("newString")}
            ]:
                old, new = edit.get("old_string") or "", edit.get("new_string") or ""
                if old or new:
                    yield cwd, path, original or f"{old}\n", (old, new)


def _json(line: bytes) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except ValueError:
        return {}
    return record if isinstance(record, dict) else {}
