"""Records and session logs made by hand, in the shape of real ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from git_tmem.changes import hunk_of
from git_tmem.playbook import Anchor, Playbook, Probe, Repair, Step, to_document


def playbook(name: str = "cart", **changes: Any) -> Playbook:
    """A small record about ``<name>.py``; different names give different records."""
    made = Playbook(
        title=f"Fix the total of the {name}",
        agent="claude-code",
        session=f"session-{name}",
        author="Ada <ada@example.org>",
        started=1_700_000_000,
        ended=1_700_000_100,
        intent=(f"Fix the total of the {name}, it raises on empty input",),
        steps=(
            Step("READ", f"src/{name}.py", evidence=(1,)),
            Step(
                "MUTATE",
                f"src/{name}.py",
                symbols=("total",),
                added=1,
                diff=("+    return sum(lines)",),
                reason="sum of nothing is zero",
                evidence=(3,),
            ),
            Step("VERIFY", command="pytest -q", evidence=(5,)),
        ),
        files=(f"src/{name}.py",),
        checks=("pytest -q",),
        repairs=(
            Repair(
                error=f"KeyError: '{name}'",
                signature=f"python|KeyError|'{name}'|{name}.py:total",
                near=f"python|KeyError|'{name}'",
                kind="code",
                failed="pytest -q",
                fix=(f"edit src/{name}.py total()",),
                check="pytest -q",
                steps=(1,),
                evidence=(2,),
            ),
        ),
        anchor=Anchor(),
        probes=(Probe("path", {"path": f"src/{name}.py"}, (0, 1)),),
    )
    return made._replace(**changes)


def document(name: str = "cart", **changes: Any) -> dict[str, Any]:
    """The record as the JSON object that is stored."""
    return to_document(playbook(name, **changes))


class Log:
    """A Claude Code session log, written step by step as the agent would."""

    def __init__(self, folder: Path, session: str = "0f0e0d0c-0000-4000-8000-000000000001") -> None:
        self.folder = folder
        self.records: list[dict[str, Any]] = []
        self._session = session

    def _record(self, kind: str, content: Any, **more: Any) -> None:
        number = len(self.records)
        clock = f"{13 + number // 60}:{number % 60:02}"
        self.records.append(
            {
                "type": kind,
                "uuid": f"{self._session}-{number}",
                "parentUuid": None,
                "sessionId": self._session,
                "version": "2.1.20",
                "cwd": str(self.folder),
                "gitBranch": "main",
                "isSidechain": False,
                "timestamp": f"2023-11-14T22:{clock}.000Z",
                "message": {"role": kind, "content": content},
                **more,
            }
        )

    def prompt(self, text: str) -> Log:
        """The user says something."""
        self._record("user", text)
        return self

    def say(self, text: str) -> Log:
        """The agent gives a reason."""
        self._record("assistant", [{"type": "text", "text": text}])
        return self

    def tool(self, name: str, given: Any, content: str, result: Any, error: bool = False) -> Log:
        """A tool is called and answers."""
        call = f"toolu_{len(self.records)}"
        block = {"type": "tool_use", "id": call, "name": name, "input": given}
        self._record("assistant", [block])
        answer = {"type": "tool_result", "tool_use_id": call, "content": content, "is_error": error}
        self._record("user", [answer], toolUseResult=result)
        return self

    def read(self, path: str) -> Log:
        """A file is read as it is now."""
        full = self.folder / path
        text = full.read_text(encoding="utf-8")
        file = {"filePath": str(full), "content": text, "startLine": 1}
        return self.tool("Read", {"file_path": str(full)}, text, {"type": "text", "file": file})

    def edit(self, path: str, old: str, new: str) -> Log:
        """A file is edited, on disk too."""
        full = self.folder / path
        text = full.read_text(encoding="utf-8")
        assert text.count(old) == 1
        changed = text.replace(old, new)
        full.write_text(changed, encoding="utf-8")
        given = {"file_path": str(full), "old_string": old, "new_string": new}
        hunk = hunk_of(text, changed)
        lines = [*(f"-{line}" for line in hunk.removed), *(f"+{line}" for line in hunk.added)]
        patch = [{"oldStart": 1, "newStart": 1, "lines": lines}]
        result = {
            "filePath": str(full),
            "oldString": old,
            "newString": new,
            "structuredPatch": patch,
        }
        return self.tool("Edit", given, "updated", result)

    def write(self, path: str, text: str) -> Log:
        """A file is made, on disk too."""
        full = self.folder / path
        full.parent.mkdir(parents=True, exist_ok=True)
        full.write_text(text, encoding="utf-8")
        result = {"type": "create", "filePath": str(full), "content": text, "originalFile": None}
        return self.tool("Write", {"file_path": str(full), "content": text}, "created", result)

    def run(self, command: str, output: str = "", status: int = 0) -> Log:
        """A command is run; only the log hears of it."""
        if status:
            text = f"Exit code {status}\n{output}"
            return self.tool("Bash", {"command": command}, text, f"Error: {text}", error=True)
        result = {"stdout": output, "stderr": "", "interrupted": False}
        return self.tool("Bash", {"command": command}, output, result)

    def save(self, path: Path) -> Path:
        """Write the log to a file."""
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = (json.dumps(record, ensure_ascii=False) + "\n" for record in self.records)
        path.write_text("".join(lines), encoding="utf-8")
        return path


CART = '''"""A cart."""


class Cart:
    def __init__(self) -> None:
        self.lines: dict[str, int] = {}

    def price(self, name: str) -> int:
        return self.lines[name]

    def total(self) -> int:
        return sum(self.lines.values())
'''
TEST = """from src.cart import Cart


def test_price() -> None:
    assert Cart().price("none") == 0
"""
ERROR = """Traceback (most recent call last):
  File "/somewhere/tests/test_cart.py", line 5, in test_price
    assert Cart().price("none") == 0
  File "/somewhere/src/cart.py", line 9, in price
    return self.lines[name]
KeyError: 'none'
1 failed in 0.03s"""


def project(folder: Path) -> None:
    """The files of the sample project."""
    for path, text in {"src/cart.py": CART, "tests/test_cart.py": TEST}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")


def fix_price(log: Log) -> Log:
    """A session that reads, fails, tries something wrong, cures it and passes the check."""
    return (
        log.prompt("The price of an unknown article should be zero, please fix it")
        .run("ls", "src tests")
        .read("src/cart.py")
        .run("python -m pytest tests/test_cart.py", ERROR, 1)
        .edit("src/cart.py", "return self.lines[name]", "return self.lines.get(name)")
        .run("python -m pytest tests/test_cart.py", "E  assert None == 0\n1 failed in 0.02s", 1)
        .say("An unknown article costs nothing, so the default is zero.")
        .edit("src/cart.py", "return self.lines.get(name)", "return self.lines.get(name, 0)")
        .run("python -m pytest tests/test_cart.py", "1 passed in 0.01s")
    )
