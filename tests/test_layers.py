"""The floors of the package: imports point down, and hooks import little."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "git_tmem"

#: Floor of each module or room. On the middle floors, ``stage`` modules are pure and do not
#: know ``state`` modules, which touch git, SQL and files; state may call stages.
FLOORS: dict[str, tuple[int, str]] = {
    "": (0, "any"),
    "errors": (0, "any"),
    **dict.fromkeys(
        (
            "actions",
            "changes",
            "playbook",
            "schema",
            "redact",
            "signature",
            "checks",
            "effects",
            "doubts",
            "programs",
            "intent",
            "tokens",
            "query",
            "workspace",
            "shell",
            "portable",
            "jsonc",
            "injected",
        ),
        (1, "any"),
    ),
    **dict.fromkeys(("adapters", "protocols", "languages", "probes"), (2, "stage")),
    **dict.fromkeys(("git", "history", "plumbing", "repo", "worktree"), (2, "state")),
    **dict.fromkeys(
        ("slicer", "survival", "deadends", "compiler", "merge", "grade", "render", "ranking"),
        (3, "stage"),
    ),
    **dict.fromkeys(
        ("tasks",),
        (3, "stage"),
    ),
    **dict.fromkeys(
        ("store", "index", "remote", "mirror", "sessions", "hooklog", "trust", "storelog"),
        (3, "state"),
    ),
    **dict.fromkeys(("journal", "repair", "told"), (3, "state")),
    **dict.fromkeys(("journal", "repair", "leak", "rewrite"), (3, "state")),
    **dict.fromkeys(("journal", "repair", "leak", "rewrite", "rawcap", "inbox"), (3, "state")),
    **dict.fromkeys(
        (
            "agents",
            "anchors",
            "capture",
            "doctor",
            "lookup",
            "install",
            "worker",
            "evaluation",
            "moments",
            "insight",
            "past",
        ),
        (4, "any"),
    ),
    **dict.fromkeys(("purge", "migrate", "scan", "worklist"), (4, "any")),
    "commands": (5, "any"),
    "cli": (6, "any"),
    "__main__": (6, "any"),
}

#: What only one room may import.
DOORS = {
    "mcp": {"commands"},
    "dulwich": {"repo"},
    "click": {"commands"},
    "jsonschema": {"schema"},
    "sqlite3": {"index", "adapters"},
    "subprocess": {"git", "commands"},
}


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def room(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return "" if parts == ("__init__",) else parts[0]


def imports(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            if node.module == "git_tmem":
                found |= {f"git_tmem.{alias.name}" for alias in node.names}
    return found


def test_every_module_has_a_floor() -> None:
    assert {room(path) for path in modules()} <= set(FLOORS)


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_down(path: Path) -> None:
    floor, column = FLOORS[room(path)]
    for name in imports(path):
        package, _, rest = name.partition(".")
        other = rest.partition(".")[0]
        if package != "git_tmem" or other.startswith("__") or other == room(path):
            continue
        other_floor, other_column = FLOORS[other]
        assert other_floor <= floor, f"{name} is above {room(path)}"
        assert (column, other_column) != ("stage", "state"), f"{room(path)} knows state: {name}"


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_heavy_libraries_come_in_by_one_door(path: Path) -> None:
    for name in imports(path):
        top = name.partition(".")[0]
        assert room(path) in DOORS.get(top, {room(path)}), f"{top} has no business in {path.name}"


def test_no_module_forms_a_cycle_at_import() -> None:
    """Importing each module alone, in a fresh interpreter, works."""
    names = [
        ".".join(("git_tmem", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(
            ".__init__"
        )
        for path in modules()
        if path.name != "__main__.py" and (path.name != "server.py" or find_spec("mcp"))
    ]
    code = (
        "import importlib, sys\n"
        "for name in sys.argv[1:]:\n"
        "    for known in [m for m in sys.modules if m.startswith('git_tmem')]:\n"
        "        del sys.modules[known]\n"
        "    importlib.import_module(name)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, *names], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_agents_are_named_in_their_room_alone() -> None:
    names = ("claude", "dsh", "codex")
    for path in modules():
        if room(path) in ("adapters", "protocols"):
            continue
        source = ast.parse(path.read_text(encoding="utf-8"))
        docstrings = {
            id(node.body[0].value)
            for node in ast.walk(source)
            if isinstance(node, (ast.Module, ast.FunctionDef, ast.ClassDef))
            and node.body
            and isinstance(node.body[0], ast.Expr)
        }
        texts = [
            node.value.lower()
            for node in ast.walk(source)
            if isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in docstrings
        ]
        for name in names:
            assert not any(name in text for text in texts), f"{path.name} names {name}"


def test_a_lookup_imports_nothing_heavy(repo: Path) -> None:
    code = (
        "import sys\n"
        "from git_tmem import cli\n"
        "cli.run(['lookup', 'anything at all'])\n"
        "heavy = {'click', 'dulwich', 'jsonschema', 'subprocess', 'dataclasses', 'inspect',"
        " 'urllib3', 'ssl', 'email', 'importlib.metadata', 'logging', 'asyncio'}\n"
        "found = sorted(heavy & set(sys.modules))\n"
        "sys.exit(' '.join(found) or 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=repo, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
