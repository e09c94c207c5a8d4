"""What the user wanted: prompts without confirmations, commands and injected blocks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

#: Prompts kept of a session, and characters kept of each.
_PROMPTS = 5
_LENGTH = 600
#: Characters of a title, and of a prompt that are read at all.
_TITLE = 80
_READ = 60_000

#: Blocks that agents and hooks put into a user's turn; our own memories are one of them.
_INJECTED = (
    "tmem-memory", "system-reminder", "system_reminder", "reminder", "environment_context",
    "user_instructions", "INSTRUCTIONS", "permissions", "collaboration_mode", "session_context",
    "local-command-stdout", "local-command-stderr", "local-command-caveat", "command-name",
    "command-message", "bash-input", "bash-stdout", "bash-stderr", "user-prompt-submit-hook",
    "session-start-hook", "task-notification", "subagent_notification", "system_notification",
    "turn_aborted", "ide_opened_file", "ide_selection", "ide_diagnostics", "new-diagnostics",
    "attached_files", "open_and_recently_viewed_files", "cursor_commands", "additional_data",
    "current_datetime", "sql_tables", "skill", "skills_instructions", "apps_instructions",
    "plugins_instructions", "project_doc", "editor_context", "environment_details",
)  # fmt: skip
#: Marks around words of the user: the marks go, the words stay.
_WRAPPED = "command-args|user_query|user-query|user_input|task|issue|pr_description|feedback"
#: Texts that no user wrote, known by how they begin.
_MACHINE = (
    "This session is being continued from a previous conversation",
    "Caveat: The messages below were generated",
    "# AGENTS.md instructions for ",
    "Your task is to create a detailed summary of the conversation",
)
_PLACEHOLDER = re.compile(
    r"\[(?:Request interrupted by user[^\]\n]*|Image(?: #\d+|: [^\]\n]*)?"
    r"|Pasted text[^\]\n]*|image\d*)\]|<image(?: [^>\n]*)?/?>|</image>"
)
_COMMAND = re.compile(r"/[a-z][\w:.-]*(?=\s|$)")
#: Commands of the agents themselves: what comes after one is no wish about the code.
_OWN_COMMANDS = {
    "/clear", "/compact", "/model", "/login", "/logout", "/help", "/resume", "/exit", "/quit",
    "/status", "/cost", "/config", "/new", "/undo", "/add", "/drop", "/run", "/memory", "/mcp",
}  # fmt: skip
_YES = (
    r"ok(?:ay|ey)?|k|y|ye[sps]|yeah|yup|sure|please|thanks?|thank you|thx|great|perfect|nice|cool"
    r"|awesome|good|excellent|right|correct|exactly|agreed|approved?|lgtm|done|next|proceed"
    r"|continue|carry on|go(?: on| ahead| for it)?|keep going|do (?:it|that|so)|sounds good"
    r"|looks? good(?: to me)?|that works|that's (?:fine|good|right)|fine|hi|hello|hey|no|nope|stop"
    r"|try again|again|retry|resume|commit(?: (?:it|this|that|all|everything))?"
    r"|(?:and )?push(?: (?:it|this))?"
    r"|好(?:的|吧|了|啊|呀|滴)?|行(?:吧)?|可以(?:的|了)?|嗯|哦|噢|对(?:的)?|是(?:的)?|没(?:问题|事)|不用"
    r"|(?:请|那就|那)?继续(?:吧|执行|做)?|接着(?:做|来)?|往下(?:做)?|下一步|开始(?:吧)?|做吧|来吧"
    r"|谢谢(?:你)?|谢了|多谢|辛苦了|收到|明白(?:了)?|了解|知道了|确认|同意|没错|你好|您好|再试(?:一下|一次)?"
    r"|重试|提交(?:吧)?|推送(?:吧)?|はい|続けて|ありがとう|네|계속"
)
_CONFIRMED = re.compile(rf"(?:(?:{_YES})[\s,.!?;:~，。！？；：、…—-]*)+", re.IGNORECASE)
#: How the lines of a log begin.
_LOGGED = re.compile(
    r"[ \t]*(?:\[?\d{4}-\d\d-\d\d[T ]|\[?\d\d:\d\d:\d\d|\[(?:INFO|WARN|ERROR|DEBUG|\+|\d)|#\d+ "
    r"|(?:INFO|WARN(?:ING)?|ERROR|DEBUG|TRACE)\b|[$❯➜%>+-] |at \S+ ?\(|File \"|Traceback|=> "
    r"|\d+[:|] |E  +|---|===|\.\.\.|[{}\]<|│┃╭╰├]|\S+@\S+[:~]|npm |(?:\S+/)+\S+:\d+|\S*\.\w+:\d+:"
    r"|[⠋⠙⠹✓✗✔✖•])"
)
#: Where machine text begins inside a line.
_TAIL = re.compile(r"\{\s*\"|\[\{|\d{4}-\d\d-\d\dT\d\d:|\x1b\[")


def clean_prompts(texts: Iterable[str]) -> tuple[str, ...]:
    """What the user asked for, in order: at most 5 prompts of at most 600 characters.

    Confirmations ("ok", "继续"), slash commands and injected blocks go; of a pasted log the
    sentences around it stay. Each prompt is cleaned by itself, and equal ones are kept once.
    """
    cleaned = dict.fromkeys(filter(None, map(_clean, texts)))
    return tuple(cleaned)[:_PROMPTS]


def title_of(intents: Sequence[str], files: Sequence[str]) -> str:
    """One line of at most 80 characters, never empty: the first intent, or else the files."""
    for intent in intents:
        title = _first_line(intent)
        if title:
            return _cut(title, _TITLE)
    if not files:
        return "Session without a stated goal"
    names = [_unmarked(file).rpartition("/")[2] or "file" for file in files]
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return _cut(f"Change {', '.join(names[:3])}", _TITLE - len(more)) + more


def _clean(text: str) -> str:
    """One prompt as its user meant it, or ''."""
    text = text[:_READ]
    for name in _INJECTED:
        text = _without_block(text, name)
    text = re.sub(rf"</?(?:{_WRAPPED})>", "\n", text)
    text = _PLACEHOLDER.sub(" ", text).strip()
    if text.startswith(_MACHINE):
        return ""
    text = _without_command(text)
    if len(text) > _LENGTH or len(re.findall(r"(?m)^.{3,}$", text)) > 5:
        text = _sentences(text)
    text = re.sub(r"[ \t]*\n\s*\n\s*", "\n\n", text).strip()
    wordless = not re.search(r"[^\W\d_]{2}|[^\W\d_A-Za-z]", text)
    return "" if wordless or _CONFIRMED.fullmatch(text[:200]) else _cut(text, _LENGTH)


def _without_block(text: str, name: str) -> str:
    """The text without ``<name ...> ... </name>`` blocks; one without an end takes the rest."""
    start = text.find(f"<{name}")
    while start >= 0:
        after = text[start + len(name) + 1 : start + len(name) + 2]
        if after and after not in "> \n\t/":
            start = text.find(f"<{name}", start + 1)
            continue
        end = text.find(f"</{name}>", start)
        text = text[:start] + (text[end + len(name) + 3 :] if end >= 0 else "")
        start = text.find(f"<{name}", start)
    return text


def _without_command(text: str) -> str:
    """The text without a leading slash command; an agent's own commands take all with them."""
    found = _COMMAND.match(text)
    if not found:
        return text
    return "" if found[0] in _OWN_COMMANDS else text[found.end() :].strip()


def _sentences(text: str) -> str:
    """A long text without the lines of pasted logs and code."""
    kept: list[str] = []
    fenced = False
    for line in text.split("\n"):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced and not line.strip():
            kept.append("")
        elif not fenced and not _LOGGED.match(line):
            said = _TAIL.split(line, maxsplit=1)[0].rstrip()
            kept += [said] if _is_said(said) else []
    return "\n".join(kept) or text[:_LENGTH]


def _is_said(line: str) -> bool:
    """Whether a line is mostly words of a language."""
    letters = sum(character.isalpha() or character.isspace() for character in line)
    return bool(line.strip()) and letters >= 0.7 * len(line)


def _first_line(text: str) -> str:
    """The first line that says what is wanted, without marks of lists and headings."""
    lines = [_unmarked(line) for line in text.split("\n")]
    lines = [line for line in lines if line]
    if len(lines) > 1 and lines[0].endswith((":", "：")):
        return lines[1]
    return lines[0] if lines else ""


def _unmarked(line: str) -> str:
    line = " ".join(re.sub(r"[^\w\s]", _shown, line).split())
    line = re.sub(r"^(?:[#>*-]+ +|\d+[.)] +)+", "", line)
    return re.sub(
        r"^(?:please|can you|could you|请|帮我|麻烦)[,， ]*(?=\w)", "", line, flags=re.IGNORECASE
    )


def _shown(found: re.Match[str]) -> str:
    """A character that is no word's, a space when it cannot be seen."""
    return found[0] if found[0].isprintable() else " "


def _cut(text: str, length: int) -> str:
    """The text, cut at a word's end when it is longer."""
    if len(text) <= length:
        return text
    head = text[: length - 3]
    at = head.rfind(" ", length // 2)
    return (head[:at] if at > 0 else head).rstrip(" ,;:，；：") + "..."
