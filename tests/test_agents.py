"""Installing for agents: nothing of anybody else's changes, and all of ours goes again."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from git_tmem.agents import add_agents, chosen, commands_of, known, remove_agents, targets_of
from git_tmem.doctor import NEEDS_YOU, OK, examine
from git_tmem.errors import InputError
from git_tmem.git import Layout, discover
from git_tmem.install import install
from git_tmem.repo import Repository
from tests.conftest import run_git
from tests.test_install import snapshot

OTHERS = {
    "permissions": {"allow": ["Bash(ls:*)"]},
    "hooks": {
        "PostToolUse": [
            {"matcher": "Write", "hooks": [{"type": "command", "command": "prettier --write ."}]}
        ],
        "Notification": [{"hooks": [{"type": "command", "command": "notify-send done"}]}],
    },
}

FOREIGN = {
    "spaces": json.dumps(OTHERS, indent=2) + "\n",
    "four spaces, no newline at the end": json.dumps(OTHERS, indent=4),
    "tabs": json.dumps(OTHERS, indent="\t") + "\n",
    "one line": json.dumps(OTHERS),
    "dense": json.dumps(OTHERS, separators=(",", ":")),
    "CRLF": json.dumps(OTHERS, indent=2).replace("\n", "\r\n") + "\r\n",
    "byte order mark": "\ufeff" + json.dumps(OTHERS, indent=2) + "\n",
    "empty object": "{}\n",
    "empty object on two lines": "{\n}\n",
    "empty file": "",
    "no hooks": '{"model": "x"}\n',
    "empty hooks": '{\n  "hooks": {}\n}\n',
    "empty event": '{\n  "hooks": {\n    "PostToolUse": []\n  }\n}\n',
    "comments": (
        '// mine\n{\n  "a": 1, // one\n  "hooks": {\n    // before\n    "Stop": [\n'
        '      {"hooks": [{"type": "command", "command": "true"}]} // last\n    ] /* end */\n'
        "    // of hooks\n  }\n  // of all\n}\n// after\n"
    ),
    "trailing commas": (
        '{\n  "hooks": {\n    "Stop": [\n'
        '      {"hooks": [{"type": "command", "command": "true",},],}, // last\n    ],\n  },\n}\n'
    ),
    "not ASCII": '{"greeting": "grüß 你好 \\u00e9"}',
}


def settings_file(repo: Path) -> Path:
    path = repo / ".claude" / "settings.local.json"
    path.parent.mkdir(exist_ok=True)
    return path


def without_blanks(text: str) -> str:
    return "".join(text.split())


def is_subsequence(short: str, long: str) -> bool:
    rest = iter(long)
    return all(character in rest for character in short)


@pytest.mark.parametrize("text", FOREIGN.values(), ids=FOREIGN.keys())
def test_entries_go_in_without_disturbing_a_byte_and_out_without_a_trace(
    repo: Path, text: str
) -> None:
    path = settings_file(repo)
    path.write_bytes(text.encode())
    layout = discover(str(repo))
    add_agents(layout, ["claude-code"])
    once = path.read_bytes()
    assert is_subsequence(text, once.decode())
    assert sum(len(lines) for _, lines in commands_of(layout, "claude-code")) == 7
    add_agents(layout, ["claude-code"])
    assert path.read_bytes() == once
    remove_agents(layout)
    assert path.read_bytes() == text.encode()


@pytest.mark.parametrize("text", FOREIGN.values(), ids=FOREIGN.keys())
def test_from_a_file_that_was_changed_since_our_entries_alone_go(repo: Path, text: str) -> None:
    path = settings_file(repo)
    path.write_bytes(text.encode())
    layout = discover(str(repo))
    add_agents(layout, ["claude-code"])
    path.write_bytes(path.read_bytes() + b"\n")
    remove_agents(layout)
    left = path.read_text(encoding="utf-8")
    assert "git tmem" not in left
    if "prettier" in text or "//" in text or "model" in text:
        assert without_blanks(left) == without_blanks(text)


def test_a_handler_that_somebody_put_beside_ours_stays(repo: Path) -> None:
    path = settings_file(repo)
    layout = discover(str(repo))
    add_agents(layout, ["claude-code"])
    document = json.loads(path.read_text(encoding="utf-8"))
    theirs = {"type": "command", "command": "say done"}
    document["hooks"]["Stop"][0]["hooks"].append(theirs)
    path.write_text(json.dumps(document), encoding="utf-8")
    remove_agents(layout)
    left = json.loads(path.read_text(encoding="utf-8"))
    assert left == {"hooks": {"Stop": [{"hooks": [theirs]}]}}


def test_an_entry_of_an_older_version_is_replaced_and_not_doubled(repo: Path) -> None:
    path = settings_file(repo)
    old = {"hooks": [{"type": "command", "command": "git tmem hook claude-code Stop"}]}
    path.write_text(json.dumps({"hooks": {"Stop": [old]}, "a": 1}, indent=2), encoding="utf-8")
    layout = discover(str(repo))
    add_agents(layout, ["claude-code"])
    document = json.loads(path.read_text(encoding="utf-8"))
    assert len(document["hooks"]["Stop"]) == 1
    assert document["hooks"]["Stop"][0]["hooks"][0]["timeout"] == 10
    remove_agents(layout)
    assert json.loads(path.read_text(encoding="utf-8")) == {"a": 1}


@pytest.mark.parametrize(
    "data", [b"{nonsense", b"[1]", b'{"hooks": []}', b'{"hooks": {"Stop": 1}}', b"\xff\xfe{"]
)
def test_a_file_that_is_not_understood_is_left_alone_with_the_reason(
    repo: Path, data: bytes
) -> None:
    path = settings_file(repo)
    path.write_bytes(data)
    report = add_agents(discover(str(repo)), ["claude-code"])
    assert "settings.local.json was left as it is" in report.advice[0]
    assert path.read_bytes() == data


def test_a_link_out_of_the_work_tree_is_not_followed(repo: Path, tmp_path: Path) -> None:
    outside = tmp_path / "elsewhere"
    outside.mkdir()
    (repo / ".claude").symlink_to(outside)
    report = add_agents(discover(str(repo)), ["claude-code"])
    assert "leads out of the work tree" in report.advice[0]
    assert list(outside.iterdir()) == []


def test_all_agents_in_twice_is_once_and_out_is_as_before(repo: Path) -> None:
    layout = discover(str(repo))
    install(layout)
    before = snapshot(repo)
    folders = {path for path in repo.rglob("*") if path.is_dir()}
    add_agents(layout, known(), agents_md=True)
    once = snapshot(repo)
    assert run_git(repo, "status", "--porcelain") == "?? AGENTS.md"
    assert add_agents(layout, known(), agents_md=True).done == ()
    assert snapshot(repo) == once
    remove_agents(layout)
    assert snapshot(repo) == before
    assert {path for path in repo.rglob("*") if path.is_dir()} == folders


def test_files_that_somebody_else_had_there_stay(repo: Path) -> None:
    command = repo / ".claude" / "commands" / "remember.md"
    command.parent.mkdir(parents=True)
    command.write_text("mine\n", encoding="utf-8")
    layout = discover(str(repo))
    assert "commands/remember.md was left" in "".join(add_agents(layout, ["claude-code"]).advice)
    remove_agents(layout)
    assert command.read_text(encoding="utf-8") == "mine\n"
    assert [path.name for path in (repo / ".claude").rglob("*") if path.is_file()] == [
        "remember.md"
    ]


@pytest.mark.parametrize("text", ["", "# Ours\n", "# Ours\r\nx\r\n", "no newline"])
def test_the_section_of_agents_md_comes_and_goes(repo: Path, text: str) -> None:
    path = repo / "AGENTS.md"
    path.write_bytes(text.encode())
    layout = discover(str(repo))
    add_agents(layout, [], agents_md=True)
    assert ".tmem/MEMORIES.md" in path.read_text(encoding="utf-8")
    path.write_bytes(path.read_bytes() + b"more\n")
    add_agents(layout, [], agents_md=True)
    assert path.read_bytes().count(b"git-tmem:begin") == 1
    remove_agents(layout)
    assert without_blanks(path.read_text(encoding="utf-8")) == without_blanks(text) + "more"


def test_agents_are_found_by_their_files_or_named(repo: Path) -> None:
    layout = discover(str(repo))
    assert chosen(layout, "", {}) == []
    (repo / "CLAUDE.md").write_text("x\n", encoding="utf-8")
    (repo / ".cursor").mkdir()
    assert chosen(layout, "", {}) == ["claude-code", "cursor"]
    assert chosen(layout, "pi, dsh", {}) == ["pi", "dsh"]
    assert chosen(layout, "none", {}) == []
    assert chosen(layout, "all", {}) == known()
    with pytest.raises(InputError, match="nobody"):
        chosen(layout, "nobody", {})


def test_no_hook_line_holds_a_path_or_anything_a_shell_reads(repo: Path) -> None:
    layout = discover(str(repo))
    add_agents(layout, known())
    callers = {name for name in known() if list(commands_of(layout, name))}
    assert callers == set(known())
    for name in known():
        for _, lines in commands_of(layout, name):
            for line in lines:
                assert line.split()[:4] == ["git", "tmem", "hook", name]
                assert not set(line) & set("\"'\\$`&|;<>*?~(){}!#%^")


def test_doctor_calls_each_hook_by_the_line_in_the_settings(repo: Path, on_path: Path) -> None:
    layout = discover(str(repo))
    install(layout)
    add_agents(layout, ["claude-code", "opencode"])
    assert agents_findings(repo) == [("claude-code", OK), ("opencode", OK)]
    on_path.write_text("#!/bin/sh\nexit 3\n", encoding="utf-8")
    assert agents_findings(repo) == [("claude-code", NEEDS_YOU), ("opencode", NEEDS_YOU)]


def agents_findings(repo: Path) -> list[tuple[str, str]]:
    with Repository(discover(str(repo))) as repository:
        return [(check.name, check.state) for check in examine(repository) if check.name in known()]


def test_a_moved_repository_is_taken_out_of_as_well(repo: Path, tmp_path: Path) -> None:
    path = settings_file(repo)
    path.write_text('{"a":  1}', encoding="utf-8")
    add_agents(discover(str(repo)), ["claude-code"])
    moved = tmp_path / "moved"
    repo.rename(moved)
    remove_agents(discover(str(moved)))
    assert (moved / ".claude" / "settings.local.json").read_text(encoding="utf-8") == '{"a":  1}'


def test_every_skill_and_command_has_what_agents_ask_for(repo: Path) -> None:
    layout = discover(str(repo))
    add_agents(layout, known())
    for name in known():
        for target in targets_of(name):
            text = (repo / target.path).read_text(encoding="utf-8")
            if target.path.endswith("SKILL.md"):
                assert text.startswith(f"---\nname: {Path(target.path).parent.name}\n")
            if target.path.endswith(".json"):
                json.loads(text)


values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(min_size=1, max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)
groups = st.lists(st.fixed_dictionaries({"hooks": st.lists(values, max_size=2)}), max_size=2)
documents = st.fixed_dictionaries(
    {},
    optional={
        "before": values,
        "hooks": st.dictionaries(st.sampled_from(["Stop", "PostToolUse", "Other"]), groups),
        "after": values,
    },
)


@settings(max_examples=60, deadline=None)
@given(documents, st.sampled_from([None, 1, 2, 4, "\t"]), st.booleans(), st.booleans())
def test_out_after_in_is_what_was_there(
    document: dict[str, object], indent: int | str | None, crlf: bool, changed: bool
) -> None:
    text = json.dumps(document, indent=indent, ensure_ascii=False)
    data = (text.replace("\n", "\r\n") if crlf else text).encode()
    with tempfile.TemporaryDirectory() as folder:
        top = os.path.realpath(folder)
        layout = Layout(f"{top}/.git", f"{top}/.git", top)
        path = settings_file(Path(top))
        path.write_bytes(data)
        add_agents(layout, ["claude-code"])
        merged = json.loads(path.read_bytes())
        assert {key: merged[key] for key in document if key != "hooks"} == {
            key: value for key, value in document.items() if key != "hooks"
        }
        if changed:
            path.write_bytes(path.read_bytes() + b"\n")
        remove_agents(layout)
        if not changed:
            assert path.read_bytes() == data
        else:
            assert json.loads(path.read_bytes()).keys() | {"hooks"} == document.keys() | {"hooks"}


HARNESS = Path(__file__).resolve().parent / "data" / "plugins"


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
@pytest.mark.parametrize("name", ["opencode", "pi", "dsh"])
def test_a_plugin_hands_on_what_the_hook_says(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Each plugin is loaded by node and its events are fired, as its agent documents it."""
    program = tmp_path / "bin" / "git-tmem"
    program.parent.mkdir()
    program.write_text(
        f'#!/bin/sh\n{{ echo "$@"; cat; echo; }} >> "{tmp_path}/calls"\n'
        'printf \'{"additionalContext": "memory of %s"}\' "$3"\n',
        encoding="utf-8",
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    add_agents(discover(str(repo)), [name])
    plugin = next(
        repo / target.path
        for target in targets_of(name)
        if target.path.endswith((".js", ".ts")) and target.kind == "file"
    )
    loaded = tmp_path / "plugin.mjs"
    source = plugin.read_text(encoding="utf-8")
    loaded.write_text(plain_javascript(source) if plugin.suffix == ".ts" else source)
    done = subprocess.run(
        ["node", str(HARNESS / f"{name}.mjs"), str(loaded), str(repo)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    gold = json.loads((HARNESS / f"{name}.json").read_text(encoding="utf-8"))
    assert json.loads(done.stdout) == gold
    calls = (tmp_path / "calls").read_text(encoding="utf-8").splitlines()
    assert all(line.startswith(f"hook {name} ") for line in calls[::2])
    assert all(json.loads(line)["cwd"] == str(repo) for line in calls[1::2])


def plain_javascript(source: str) -> str:
    """TypeScript without its types, for a node that cannot leave them out itself."""
    for words in (": Promise<string>", ": string", ": unknown", ": any"):
        source = source.replace(words, "")
    return source
