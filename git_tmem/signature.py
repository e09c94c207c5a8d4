"""Names an error so that the same one is known again in another folder, run or machine.

A signature is ``family|code|masked message|innermost project frame``. The family is the tool
that speaks, the code its own word for the error (``KeyError``, ``TS2322``, ``E0308``). Of a
compiler's errors the first counts, of a chain of exceptions the last, because the others
follow from it. What differs between runs (numbers, addresses, times, temporary names, the way
to a file) is masked; codes and quoted identifiers stay, since they are what makes errors
differ. Line numbers are no part of it.
"""

from __future__ import annotations

import re
from typing import NamedTuple

#: Characters of an output that are read, at each end: an error further inside is not named.
_READ = 60_000
#: Characters of the readable message.
_SHOWN = 200


class Signature(NamedTuple):
    """``key`` is exact, ``near`` is the same without the frame.

    ``message`` is the error in one readable line of at most 200 characters, unmasked but with
    absolute paths cut to their last part.
    """

    key: str
    near: str
    family: str
    message: str


class _Fault(NamedTuple):
    """What a tool's output says: its code, its message, where."""

    code: str
    message: str
    frame: str = ""


def signature(output: str) -> Signature | None:
    """The signature of the error that an output shows, None when it shows none."""
    if len(output) > 2 * _READ:
        output = f"{output[:_READ]}\n{output[-_READ:]}"
    text = _plain(output)
    if not _hinted(text):
        return None
    for family, find in _FAMILIES:
        fault = find(text)
        if fault:
            return _named(family, fault)
    return _from_lines(text)


def _plain(output: str) -> str:
    """The text as a terminal without colours shows it, with one kind of line end."""
    if "\x1b" in output:
        output = re.sub(
            r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])", "", output
        )
    output = re.sub(r"(?m)^\[[a-z]\w*(?::[\w.-]+)+\] ", "", output)  # a task runner's prefix
    return output.replace("\r\n", "\n").replace("\r", "\n").replace("\xa0", " ")


def _named(family: str, fault: _Fault) -> Signature:
    message = " ".join(fault.message.split())
    parts = [family, fault.code, masked(message)[:_SHOWN]]
    near = "|".join(part.replace("|", "/") for part in parts)
    frame = masked(fault.frame).replace("|", "/")
    shown = message if not fault.code or fault.code in message else f"{fault.code}: {message}"
    return Signature(f"{near}|{frame}", near, family, _short_paths(shown)[:_SHOWN].strip(": "))


# What differs between two runs of the same failure.

_PATH = r"\w+://(?!/)[^\s'\"<>]+|(?<![\w.$~-])(?:file://)?(?:[A-Za-z]:)?(?:[/\\](?:[\w.@+~-]|[^\x00-\x7f])+){2,}[/\\]?"
_TEMPORARY = (
    r"(?:/private)?/(?:tmp|var/tmp|var/folders)(?:/[\w.@+~-]+)+/?|\btmp[a-z0-9_]{6,}\b"
    r"|\bcc[A-Za-z0-9]{6}\.o\b"
)
_MASKS = (
    (r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b", "<id>"),
    (
        r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d[:_]\d\d(?:[:_]\d\d)?(?:[.,_]\d+)?(?:Z|[+-]\d\d:?\d\d)?)?",
        "<time>",
    ),
    (r"\b\d\d:\d\d:\d\d(?:[.,]\d+)?\b", "<time>"),
    (r"\b0x[0-9a-fA-F]+\b", "<hex>"),
    (r"\b(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,64}\b", "<hex>"),
    (r"(?<![\w.])[-+]?\d+(?:[.,_]\d+)*(?=(?:ms|s|m|h|[kKMG]i?B|B|%)?\b)", "<n>"),
)


def masked(text: str) -> str:
    """The text without what differs between runs; paths keep their last part."""
    text = _short_paths(re.sub(_TEMPORARY, "<tmp>", text))
    for pattern, mask in _MASKS:
        text = re.sub(pattern, mask, text)
    return text


def _short_paths(text: str) -> str:
    """Absolute paths cut to their last part."""
    return re.sub(_PATH, _last_part, text)


def _last_part(found: re.Match[str]) -> str:
    path = found[0].removeprefix("file://")
    return path if "://" in path else _base(path.rstrip("/\\"))


def _base(path: str) -> str:
    return re.split(r"[/\\]", path)[-1]


# Python and its test runners.

_EXCEPTION = r"(?:[A-Za-z_]\w*\.)*[A-Z]\w*[a-z]\w*|(?:\w+\.)+error"
_RAISED = rf"(?P<name>{_EXCEPTION})(?:: (?P<said>.*))?$"
#: Frames that belong to nobody's project.
_FOREIGN = (
    r"site-packages|dist-packages|[/\\]lib[/\\]python\d|^<|importlib|node_modules|^node:"
    r"|^internal/|/usr/local/go/src|/libexec/src/|/rustc/|\.cargo[/\\]registry|/gems/"
)


def _python(text: str) -> _Fault | None:
    """The last exception of the first chain; a syntax error has no header of its own."""
    start = text.find("Traceback (most recent call last)")
    if start < 0:
        found = re.search(
            rf'(?m)^ *File "([^"\n]+)", line \d+.*\n(?: .*\n){{0,3}}(?P<last>{_EXCEPTION}): ', text
        )
        return _raised(text[found.start() :], text) if found else _lone_exception(text)
    fault = None
    for block in re.split(r"Traceback \(most recent call last\)", text[start:])[1:]:
        fault = _raised(block, text) or fault
        if not re.search(r"During handling of the above|direct cause of the following", block):
            break
    return fault


def _raised(block: str, text: str) -> _Fault | None:
    """The exception that ends a traceback's frames."""
    frames: list[str] = []
    for line in block.split("\n"):
        line = re.sub(r"^[ |+-]*\| ", "", line)
        frame = re.match(r' *File "([^"]+)", line \d+(?:, in (.+))?$', line)
        if frame:
            if not re.search(_FOREIGN, frame[1]):
                frames.append(f"{_base(frame[1])} {frame[2] or ''}".strip())
            continue
        found = re.match(_RAISED, line)
        if found:
            return _Fault(
                found["name"].split(".")[-1], found["said"] or "", frames[-1] if frames else ""
            )
    return None


def _lone_exception(text: str) -> _Fault | None:
    """An exception's last line when the frames above it were cut off."""
    found = re.search(
        r"(?m)^(?P<name>(?:\w+\.)*[A-Z]\w+(?:Error|Exception|Interrupt))(?:: (?P<said>.*))?$", text
    )
    if not found or re.search(r"(?m)^ +at ", text):
        return None
    return _Fault(found["name"].split(".")[-1], found["said"] or "")


def _pytest(text: str) -> _Fault | None:
    """The first failing test: its last ``E`` lines, or else the line of the short summary."""
    if not re.search(r"(?m)^E  +\S|^(?:FAILED|ERROR) \S+\.py|^\[XPASS", text):
        return None
    sections = re.split(r"(?m)^_{3,} (.+?) _{3,}$", text)
    for name, section in zip(sections[1::2], sections[2::2], strict=False):
        if re.search(r"(?m)^E  +\S|^\[XPASS", section):
            return _pytest_section(section, name.split()[-1])
    summary = re.search(
        r"(?m)^(?:FAILED|ERROR) (?P<file>[^\s:]+)(?:::(?P<test>\S+))?(?: - (?P<said>.*))?$", text
    )
    if re.search(r"(?m)^E  +\S", text):
        return _pytest_section(text, summary["test"] or "" if summary else "")
    if not summary or not summary["said"]:
        return (
            _Fault("", f"failed {summary['test'] or ''}", _base(summary["file"]))
            if summary
            else None
        )
    test = (summary["test"] or "").split("::")[-1]
    return _asserted(summary["said"], f"{_base(summary['file'])} {test}".strip())


def _pytest_section(section: str, test: str) -> _Fault:
    """One failure: the first line of its last run of ``E`` lines, and the place below it."""
    runs = re.findall(r"(?m)(?:^E(?:  .*)?\n?)+", section)
    said = [line[1:].strip() for run in runs for line in run.split("\n")[:1] if line[1:].strip()]
    spoken = [line for line in said if re.match(rf"(?:{_EXCEPTION})\b|assert|fixture", line)]
    places = re.findall(r"(?m)^([^\s:]+\.py):\d+: ?(?:in (\S+)|(\w*))", section)
    own = [place for place in places if not re.search(_FOREIGN, place[0])]
    function = own[-1][1] if own and own[-1][1] else _last_function(section) or test.split(".")[-1]
    frame = f"{_base(own[-1][0])} {function}" if own else test
    first = next((line for line in section.split("\n") if line.strip()), "")
    fault = _asserted((spoken or said or [first])[-1], frame)
    code = own[-1][2] if own and not fault.code else ""
    return fault._replace(code=fault.code or code)


def _last_function(section: str) -> str:
    names = re.findall(r"(?m)^ *(?:async )?def (\w+)\(", section)
    return names[-1] if names else ""


def _asserted(said: str, frame: str) -> _Fault:
    """An exception's own line as code and message; a bare assertion is an AssertionError."""
    found = re.match(_RAISED, said)
    if found and (
        found["said"] or re.search(r"(?:Error|Exception|Warning|Exit|Interrupt)$", found["name"])
    ):
        return _Fault(found["name"].split(".")[-1], found["said"] or "", frame)
    return _Fault("AssertionError" if said.startswith("assert") else "", said, frame)


# JavaScript and TypeScript.

_JS_FRAME = r"(?m)^ +at (?:async )?(?:(?P<function>[^\n(]+?) )?\(?(?P<file>(?:file://)?[^\s():]+(?::[\\/][^\s():]+)?):\d+:\d+\)?$"

_JS_ERROR = (
    r"(?m)^[ \t]*(?:Uncaught |\[?)(?P<name>(?:[A-Z]\w*)?Error|error(?=: expect\())"
    r"(?: \[(?P<code>\w+)\])?: (?P<said>.*)$"
)


def _javascript(text: str) -> _Fault | None:
    """Jest, vitest, mocha, node: the first error line that a stack or a failed test explains."""
    block = re.search(r"(?m)^ *● (.+)$\n+((?:.*\n){1,12})", text)
    if not (block or re.search(rf"{_JS_FRAME}|^ +❯ \S+:\d+:\d+|^ *✖ ", text)):
        return None
    found = re.search(_JS_ERROR, text)
    frame = _js_frame(text)
    if block and not (found and found.start() < block.end()):
        said = next((line.strip() for line in block[2].split("\n") if line.strip()), block[1])
        expected = " ".join(re.findall(r"(?m)^ *((?:Expected|Received)\b.*)$", block[2]))
        return _Fault("", f"{said} {expected}", frame or _base(block[1]))
    if not found:
        return None
    return _Fault(found["code"] or found["name"], found["said"], frame)


def _js_frame(text: str) -> str:
    """The first frame of a stack that is the project's own."""
    for found in re.finditer(_JS_FRAME, text):
        if not re.search(_FOREIGN, found["file"].removeprefix("file://")):
            return f"{_base(found['file'])} {(found['function'] or '').strip()}".strip()
    place = re.search(r"(?m)^ +❯ (?:(\S+) )?(\S+?):\d+:\d+", text)
    return f"{_base(place[2])} {place[1] or ''}".strip() if place else ""


# Go, Java, Rust, Ruby: tools that need more than one line to speak.


def _go(text: str) -> _Fault | None:
    """A panic, or the first failing test with the line that it logged."""
    panic = re.search(r"(?m)^(?:panic|fatal error): (?P<said>.+?)(?: \[recovered\].*)?$", text)
    if panic and "goroutine " in text:
        frames = re.findall(
            r"(?m)^([\w./*()-]+(?:\.[\w.*()-]+)+)\(.*\)\n\t(\S+):\d+", text[panic.end() :]
        )
        own = [frame for frame in frames if not re.search(_FOREIGN, frame[1])]
        frame = f"{_base(own[0][1])} {own[0][0].split('.')[-1]}" if own else ""
        return _Fault("panic", panic["said"], frame)
    failed = re.search(r"(?m)^ *--- FAIL: (?P<test>\S+)", text)
    if not failed:
        return None
    logged = r"(?m)^ +(?P<file>[\w.-]+_test\.go):\d+: ?(?P<said>.*)$"
    after = re.split(r"(?m)^ *(?:---|===) ", text[failed.end() :], maxsplit=1)[0]
    before = re.split(r"(?m)^=== RUN.*", text[: failed.start()])[-1]
    lines = list(re.finditer(logged, after)) or list(re.finditer(logged, before))
    if not lines:
        return _Fault("FAIL", failed["test"], failed["test"])
    said = lines[-1]  # the lines before it may be no more than remarks
    detail = re.search(r"(?m)^[ \t]+Error:[ \t]+(\S.*)$", text)
    return _Fault(
        "FAIL", said["said"] or (detail[1] if detail else ""), f"{said['file']} {failed['test']}"
    )


def _java(text: str) -> _Fault | None:
    """The last cause of a chain of exceptions, with the first frame that is the project's."""
    if not re.search(r"(?m)^[ \t]+at [\w.$/]+\([\w$]+\.(?:java|kt|scala|groovy):\d+\)", text):
        return None
    raised = (
        r"(?m)^(?:Exception in thread \"[^\"\n]*\" |Caused by: |\[ERROR\] )?"
        r"(?P<name>(?:[a-z]\w*\.)+[A-Z][\w$]*)(?:: (?P<said>.*))?$"
    )
    found = list(re.finditer(raised, text))
    if not found:
        return None
    caused = [match for match in found if match[0].startswith("Caused by")]
    last = (caused or found[:1])[-1]
    frame = ""
    for name, file in re.findall(
        r"(?m)^[ \t]+at ([\w.$/<>]+)\(([\w$]+\.\w+):\d+\)", text[last.end() :]
    ):
        if not re.match(
            r"(?:java|javax|jdk|sun|com\.sun|org\.junit|kotlin|scala|org\.gradle)[./]", name
        ):
            frame = f"{file} {name.split('.')[-1]}"
            break
    return _Fault(last["name"].split(".")[-1], last["said"] or "", frame)


def _rust(text: str) -> _Fault | None:
    """The compiler's first error, or a panic; both put the place on a line of its own."""
    found = re.search(
        r"(?m)^error(?:\[(?P<code>E\d{4})\])?: (?P<said>.+)\n *--> (?P<file>[^\s:]+)", text
    )
    if found:
        return _Fault(found["code"] or "", found["said"], _base(found["file"]))
    found = re.search(
        r"(?m)^thread '(?P<thread>[^'\n]*)'(?: \(\d+\))? panicked at "
        r"(?P<file>[^\s:']+):\d+:\d+:\n(?P<said>.+)$",
        text,
    )
    found = found or re.search(
        r"(?m)^thread '(?P<thread>[^'\n]*)' panicked at '(?P<said>.+)', (?P<file>[^\s:']+):\d+:\d+",
        text,
    )
    return (
        _Fault("panic", found["said"], f"{_base(found['file'])} {found['thread']}")
        if found
        else None
    )


_FAMILIES = (
    ("rust", _rust),
    ("pytest", _pytest),
    ("go", _go),
    ("java", _java),
    ("javascript", _javascript),
    ("python", _python),
)

_FILE = r"(?P<file>(?:[A-Za-z]:)?[^\s:()\[\]'\"<>|]+"
_SAID = r"(?P<said>\S.*)"
_CODE = r"(?P<code>[A-Z]+\d+)"
#: What a shell puts before its own words: its name, a line number.
_SHELL = r"(?:[\w./-]+: )?(?:line \d+: |-c: |\d+: )?"
_NPM = r"npm (?:ERR!|error) "
#: Tools that say all in one line: the first pattern that any line matches speaks. Order matters:
#: what runs inside something else comes before it (a compiler before make, npm before the shell).
_LINES = (
    (
        "typescript",
        rf"{_FILE}\.[cm]?[jt]sx?)(?:\(\d+,\d+\)|:\d+:\d+)(?: -|:) error {_CODE}: {_SAID}",
    ),
    ("typescript", rf"error (?P<code>TS\d+): {_SAID}"),
    ("csharp", rf"{_FILE}\.\w+)\(\d+,\d+\): error {_CODE}: (?P<said>[^\[\n]+).*"),
    ("go", rf"(?:vet: )?{_FILE}\.go):\d+(?::\d+)?: {_SAID}"),
    (
        "go",
        r"(?:go: |package \S+: )"
        r"(?P<said>.*(?:cannot find|no required module|not found|malformed|unknown).*)",
    ),
    ("java", rf"{_FILE}\.(?:java|kt|scala)):\d+: error: {_SAID}"),
    ("java", rf"\[ERROR\] {_FILE}\.(?:java|kt|scala)):\[\d+,\d+\] (?:error: )?{_SAID}"),
    ("kotlin", rf"e: (?:file://)?{_FILE}\.kts?):\d+:\d+:? {_SAID}"),
    ("java", rf"\[ERROR\] +(?P<file>[\w$.]+):\d+(?:->\S+)* {_SAID}"),
    ("mypy", rf"{_FILE}\.pyi?):\d+:(?:\d+:)? error: (?P<said>.+?)(?: +\[(?P<code>[a-z-]+)\])?"),
    ("c", rf"{_FILE}):\d+:(?:\d+:)? (?:fatal )?error: {_SAID}"),
    (
        "ld",
        r".*?(?P<said>(?:undefined reference to|multiple definition of|cannot find -l"
        r"|undefined symbol).+)",
    ),
    ("ld", r"(?:\S*/)?ld(?:\.\w+)?: (?P<said>(?:symbol|library|cannot|framework).+)"),
    (
        "cmake",
        r"CMake Error(?: at (?P<file>[^\s:]+):\d+)?(?: \((?P<code>\w+)\))?:?[ \t]*\n? *" + _SAID,
    ),
    (
        "ruby",
        rf"{_FILE}\.rb):\d+:in [`'](?P<where>[^'\n]+)': (?P<said>.+) \((?P<code>[A-Z][\w:]+)\)",
    ),
    ("ruby", rf" *Failure/Error: {_SAID}"),
    (
        "php",
        r"(?:PHP )?(?P<code>Fatal error|Parse error): +(?P<said>.+?) in (?P<file>\S+\.php)"
        r"(?::\d+| on line \d+)",
    ),
    ("phpunit", r"(?P<said>Failed asserting that .+)"),
    ("eslint", r" +\d+:\d+ +error +(?P<said>\S.*?) {2,}(?P<code>[@\w/-]+)"),
    (
        "lint",
        rf"{_FILE}\.\w+):\d+:(?:\d+:)? (?P<code>[A-Z]{{1,4}}\d{{2,5}}):? "
        r"(?P<said>.+?)(?: \([a-z-]+\))?",
    ),
    ("python", r"(?:\S*/)?python[\d.]*: (?P<said>(?:No module named|can't open file) .+)"),
    ("npm", rf"{_NPM}code (?P<code>E\w+)\n{_NPM}(?:\d{{3}} )?{_SAID}"),
    (
        "npm",
        rf"{_NPM}(?P<said>(?!code |errno |path |syscall |command |cwd|A complete log)\S.+)",
    ),
    ("pnpm", rf" *(?P<code>ERR_PNPM_\w+) +{_SAID}"),
    ("yarn", r"error (?P<said>(?:Command|An unexpected|Couldn't|Package|Missing) .+)"),
    (
        "cargo",
        r"error(?:\[\w+\])?: (?P<said>(?:could not compile|failed to|no matching package"
        r"|package ID|no such command|test failed).+)",
    ),
    (
        "pip",
        r"(?:ERROR|error): (?P<said>(?:Could not|No matching|Cannot install|Failed building"
        r"|subprocess|externally-managed|Package|ResolutionImpossible|pip's).*)",
    ),
    ("uv", r" *╰─▶ Because (?P<said>.+?)(?: and your project depends on .*)?"),
    ("uv", rf" *× {_SAID}"),
    ("poetry", r"Because (?P<said>.+ depends on .+?),? version solving failed\."),
    ("gradle", r"(?P<said>Task '[^'\n]+' not found in .+)"),
    ("docker", r"(?P<said>Cannot connect to the Docker daemon)\b.*"),
    ("docker", rf"(?:ERROR: failed to solve|(?:docker: )?Error response from daemon): {_SAID}"),
    ("git", rf"fatal: {_SAID}"),
    ("git", r"(?P<code>CONFLICT) \((?P<said>[^)\n]+)\).*"),
    ("shell", _SHELL + r"(?P<said>command not found: \S+|[^\s:]+: (?:command )?not found)"),
    (
        "shell",
        _SHELL + r"(?P<said>[^:\n]{1,200}: (?:Permission denied|No such file or directory"
        r"|Is a directory|Not a directory|Text file busy|cannot execute.*"
        r"|Operation not permitted))",
    ),
    ("shell", r"\(eval\):\d+: (?P<said>no matches found: .+)"),
    (
        "shell",
        r"[\w./-]+: (?:line \d+: |-c: |\d+: )(?P<said>(?i:syntax error).*|(?:unexpected"
        r"|bad substitution).*|\S+: (?:unbound variable|parameter null).*)",
    ),
    ("ninja", rf"ninja: error: {_SAID}"),
    ("make", r"g?make(?:\[\d+\])?: \*\*\* (?P<said>.+?)(?:\.  Stop\.)?"),
    ("gradle", r"(?:\* What went wrong:\n|> )(?P<said>(?:Execution failed|Could not|A problem).+)"),
    (
        "error",
        r"(?:[\w./-]+: )?(?:fatal |internal |unhandled )?(?i:error)"
        rf"(?: ?\[?(?P<code>[A-Z]+[-_]?\d+)\]?)?: {_SAID}",
    ),
)


#: What an output with an error says somewhere, in lower case.
_HINTS = (
    *("error", "err!", "fatal", "fail", "not found", "no such", "denied", "undefined", "cannot"),
    *("panic", "conflict", " directory", "not permitted", "definition of", "***", " × ", "e  "),
    *("no module", "no matches", "unbound", "exception", "missing", "disallowed", "unused"),
    *("can't", "line ", "traceback", "xpass", "interrupt", "expected"),
    *("err_pnpm", "solving failed"),
)  # fmt: skip


def _hinted(text: str) -> bool:
    lowered = text.lower()
    return any(hint in lowered for hint in _HINTS)


def _from_lines(text: str) -> Signature | None:
    """The first line that a tool of one-line errors would write."""
    lines = text.split("\n")
    telling = [_hinted(line) or bool(re.search(r":\d+: [A-Z]+\d", line)) for line in lines]
    shown = zip(lines, telling, [False, *telling], strict=False)  # and the line below a hint
    kept = [line for line, own, above in shown if own or above]
    text = "\n".join(kept)
    for family, pattern in _LINES:
        found = re.search(rf"(?m)^{pattern}$", text)
        if not found:
            continue
        groups = found.groupdict()
        said = groups["said"].strip()
        if re.match(r"0\b|none\b", said):
            continue
        frame = f"{_base(groups.get('file') or '')} {groups.get('where') or ''}".strip()
        return _named(family, _Fault(groups.get("code") or "", said, frame))
    return None
