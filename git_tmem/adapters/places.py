"""Where agents keep their logs: folders named by environment variables, read without errors."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence


def folder(env: Mapping[str, str], variable: str, *below_home: str) -> str:
    """The folder that ``variable`` (if any) names, else the one below the user's home; '' if
    there is neither."""
    home = env.get("HOME") or env.get("USERPROFILE")
    return env.get(variable) or (os.path.join(home, *below_home) if home else "")


def entries(path: str) -> list[str]:
    """The paths of what is in a folder, sorted; none when it cannot be read."""
    try:
        return [os.path.join(path, name) for name in sorted(os.listdir(path))]
    except OSError:
        return []


def spellings(roots: Sequence[str]) -> list[str]:
    """The roots as given and with symbolic links resolved, each once."""
    return list(dict.fromkeys(path for root in roots for path in (root, os.path.realpath(root))))
