"""Write the manual pages from the commands' own help: ``python3 scripts/man.py``.

``man.txt`` beside this file has the parts of ``git-tmem.1`` that no command's help holds.
A test keeps the pages and the commands in step.
"""

from __future__ import annotations

import re
from pathlib import Path

import click

from git_tmem import __version__
from git_tmem.commands.group import COMMANDS, group

HERE = Path(__file__).resolve().parent


def main() -> None:
    """Write every page."""
    for name, text in pages().items():
        (HERE.parent / "man" / name).write_text(text, encoding="utf-8")


def pages() -> dict[str, str]:
    """File name -> text of every manual page."""
    return {
        "git-tmem.1": _main_page(),
        **{f"git-tmem-{name}.1": _command_page(name) for name in COMMANDS if name != "inspect"},
    }


def _main_page() -> str:
    lines = [_head("git-tmem"), ".SH NAME", r"git\-tmem \- memory for coding agents, kept in git"]
    lines += [".SH SYNOPSIS", r".B git tmem", r"\fICOMMAND\fR [\fIOPTIONS\fR]"]
    section = ""
    for line in (HERE / "man.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            section = line[3:]
            lines.append(f".SH {section}")
            if section == "COMMANDS":
                lines += _command_list()
        elif re.match(r"\S.*: {2,}\S", line):
            term, _, rest = line.partition(":")
            lines += [".TP", rf"\fB{_escape(term)}\fR", _escape(rest.strip())]
        elif line.startswith("    "):
            lines += (
                [".br", _escape(line.strip())] if lines[-1] != ".PP" else [_escape(line.strip())]
            )
        else:
            lines.append(_escape(line.strip()) or ".PP")
    return "\n".join(lines) + "\n"


def _command_list() -> list[str]:
    lines = []
    for name, command in _commands().items():
        lines += [".TP", rf"\fBgit\-tmem\-{name}\fR(1)", _escape(command.get_short_help_str(100))]
    return lines


def _command_page(name: str) -> str:
    command = _commands()[name]
    context = click.Context(command, info_name=f"git tmem {name}", **command.context_settings)
    usage = " ".join(command.collect_usage_pieces(context))
    summary, _, body = (command.help or "").partition("\n")
    lines = [_head(f"git-tmem-{name}"), ".SH NAME"]
    lines += [rf"git\-tmem\-{name} \- {_escape(summary.rstrip('.'))}", ".SH SYNOPSIS"]
    lines += [rf".B git tmem {name}", _escape(usage), ".SH DESCRIPTION", *_body(body)]
    lines += [".SH OPTIONS", *_options(command, context)]
    lines += _subcommands(command, context)
    lines += [".SH SEE ALSO", r"\fBgit\-tmem\fR(1), also for exit statuses and files"]
    return "\n".join(lines) + "\n"


def _subcommands(command: click.Command, context: click.Context) -> list[str]:
    """What a group of commands has, each with its arguments and options."""
    lines = []
    for name in command.list_commands(context) if isinstance(command, click.Group) else ():
        child = command.get_command(context, name)
        if child is None:
            continue
        inner = click.Context(
            child, parent=context, info_name=name, **context.command.context_settings
        )
        usage = " ".join(
            piece for piece in child.collect_usage_pieces(inner) if piece != "[OPTIONS]"
        )
        lines += [".SH " + name.upper(), rf".B {context.info_name} {name}", _escape(usage)]
        lines += [*_body(child.help or ""), *_options(child, inner)]
    return lines


def _body(text: str) -> list[str]:
    """Paragraphs as they are; after the mark for kept line ends, line by line."""
    lines: list[str] = []
    for paragraph in re.split(r"\n\s*\n", text.strip("\n")):
        kept = paragraph.lstrip().startswith("\b")
        words = paragraph.replace("\b", "").strip("\n")
        rows = [row for row in words.splitlines() if row.strip()]
        if not kept:
            lines += [".PP", _escape(" ".join(" ".join(rows).split()))]
            continue
        head, *rest = rows
        lines += [f".SS {_escape(head.strip().rstrip(':'))}", ".nf"]
        lines += [f"  {_escape(row.strip())}" for row in rest]
        lines.append(".fi")
    return lines


def _options(command: click.Command, context: click.Context) -> list[str]:
    lines = []
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record:
            lines += [".TP", rf"\fB{_escape(record[0])}\fR", _escape(record[1])]
    return lines


def _commands() -> dict[str, click.Command]:
    context = click.Context(group)
    found = {name: group.get_command(context, name) for name in COMMANDS if name != "inspect"}
    return {name: command for name, command in found.items() if command is not None}


def _head(name: str) -> str:
    return f'.TH "{name.upper()}" "1" "" "git-tmem {__version__}" "Git Manual"'


def _escape(text: str) -> str:
    escaped = text.replace("\\", r"\e").replace("-", r"\-")
    return rf"\&{escaped}" if escaped.startswith((".", "'")) else escaped


if __name__ == "__main__":
    main()
