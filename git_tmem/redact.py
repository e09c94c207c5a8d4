"""Takes secrets out of text: everything that is stored passes here first.

A secret is known by its shape (a vendor's prefix and alphabet), by its place (a header, a
URL, a command's password option) or by the name it is given to. What is taken out leaves a
typed marker such as ``[REDACTED:github-token]``. Placeholders, variables, hashes, ids, paths
and code stay. The work is done on UTF-8 bytes, where lower case keeps every position.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, NamedTuple

from git_tmem.errors import InputError

#: Shapes by vendor, as their documentation or their public secret scanning rules give them.
_SHAPES: tuple[tuple[str, bytes], ...] = (
    ("aws-access-key", rb"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])"),
    ("github-token", rb"gh[opsru]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{22,}"),
    ("gitlab-token", rb"gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|oas|soat|ffct)-[\w.-]{18,}"),
    ("slack-token", rb"xox[abcdeoprs]-[\w.-]{10,}|xapp-\d-[\w-]{10,}"),
    ("stripe-key", rb"[prs]k_(?:live|test|prod)_[A-Za-z0-9]{10,}|whsec_[A-Za-z0-9+/]{24,}"),
    ("google-key", rb"AIza[\w-]{35}|GOCSPX-[\w-]{20,}|ya29\.[\w.-]{20,}"),
    ("anthropic-key", rb"sk-ant-[\w-]{16,}"),
    ("openai-key", rb"sk-(?:proj|svcacct|admin|or-v1|None)-[\w-]{16,}|sk-[A-Za-z0-9]{20,}"),
    ("npm-token", rb"npm_[A-Za-z0-9]{30,}"),
    ("pypi-token", rb"pypi-[\w-]{40,}"),
    ("huggingface-token", rb"(?:hf|api_org)_[A-Za-z0-9]{30,}"),
    ("jwt", rb"eyJ[\w-]{10,}(?:\.[\w-]{4,}){2,4}"),
    ("digitalocean-token", rb"do[opr]_v1_[a-f0-9]{64}"),
    ("shopify-token", rb"shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{32}"),
    ("sendgrid-key", rb"SG\.[\w-]{16,32}\.[\w-]{16,64}"),
    ("twilio-key", rb"SK[a-f0-9]{32}(?![A-Za-z0-9])"),
    ("mailgun-key", rb"key-[a-f0-9]{32}(?![A-Za-z0-9])"),
    ("mailchimp-key", rb"[a-f0-9]{32}-us\d{1,2}(?![A-Za-z0-9])"),
    ("discord-token", rb"[MNO][A-Za-z0-9_-]{23,27}\.[\w-]{6}\.[\w-]{27,}"),
    ("databricks-token", rb"dapi[a-f0-9]{32}"),
    ("grafana-token", rb"glsa_[A-Za-z0-9_]{30,}"),
    ("vault-token", rb"hv[brs]\.[\w-]{20,}"),
    ("terraform-token", rb"[A-Za-z0-9]{14}\.atlasv1\.[\w-]{40,}"),
    ("linear-key", rb"lin_(?:api|oauth)_[A-Za-z0-9]{32,}"),
    ("notion-token", rb"ntn_[A-Za-z0-9]{40,}|secret_[A-Za-z0-9]{43}(?![A-Za-z0-9])"),
    ("postman-key", rb"PMAK-[a-f0-9]{24}-[a-f0-9]{34}"),
    ("pulumi-token", rb"pul-[a-f0-9]{40}"),
    ("doppler-token", rb"dp\.(?:pt|st|ct|sa|scim|audit)\.[\w.-]{40,}"),
    ("atlassian-token", rb"AT(?:ATT|CTT)3[\w=-]{50,}|ATBB[A-Za-z0-9]{28,}"),
    ("airtable-token", rb"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}"),
    ("age-key", rb"AGE-SECRET-KEY-1[A-Z0-9]{50,}"),
    ("planetscale-token", rb"pscale_(?:tkn|pw|oauth)_[\w.-]{30,}"),
    ("supabase-token", rb"sb(?:p|_secret)_[A-Za-z0-9_]{20,}"),
    ("replicate-token", rb"r8_[A-Za-z0-9]{30,}"),
    ("groq-key", rb"gsk_[A-Za-z0-9]{40,}"),
    ("perplexity-key", rb"pplx-[A-Za-z0-9]{40,}"),
    ("xai-key", rb"xai-[A-Za-z0-9]{40,}"),
    ("langsmith-key", rb"lsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{8,}"),
    ("sentry-token", rb"sntry[su]_[\w+/=-]{40,}"),
    ("newrelic-key", rb"NR(?:AK|AL|II|JS)-[A-Za-z0-9]{19,}"),
    ("square-token", rb"sq0(?:atp|csp|idp)-[\w-]{22,}|EAAA[\w-]{56,}"),
    ("facebook-token", rb"EAA[A-Z][A-Za-z0-9]{60,}"),
    ("rubygems-key", rb"rubygems_[a-f0-9]{48}"),
    ("crates-token", rb"cio[A-Za-z0-9]{32}(?![A-Za-z0-9])"),
    ("nuget-key", rb"oy2[a-z0-9]{43}(?![A-Za-z0-9])"),
    ("docker-token", rb"dckr_(?:pat|oat)_[\w-]{20,}"),
    ("jfrog-token", rb"AKCp[A-Za-z0-9]{60,}|cmVmdGtuO[A-Za-z0-9]{50,}"),
    ("circleci-token", rb"CCIPAT_[A-Za-z0-9_]{40,}"),
    ("buildkite-token", rb"bkua_[a-f0-9]{40}"),
    ("clojars-token", rb"CLOJARS_[a-f0-9]{60}"),
    ("alibaba-key", rb"LTAI[A-Za-z0-9]{16,20}(?![A-Za-z0-9])"),
    ("tencent-key", rb"AKID[A-Za-z0-9]{28,32}(?![A-Za-z0-9])"),
    ("volcengine-key", rb"AKLT[A-Za-z0-9_-]{30,}"),
    ("figma-token", rb"figd_[\w-]{38,}"),
    ("tailscale-key", rb"tskey-[a-z]+-[\w-]{20,}"),
    ("contentful-token", rb"CFPAT-[\w-]{40,}"),
    ("sendinblue-key", rb"x(?:key|smtp)sib-[a-f0-9]{64}-[A-Za-z0-9]{16}"),
    ("netlify-token", rb"nfp_[A-Za-z0-9]{36,}"),
    ("fly-token", rb"fo1_[\w-]{40,}|fm[12][ar]?_[A-Za-z0-9+/=]{80,}"),
    ("onepassword-token", rb"ops_eyJ[\w-]{100,}"),
    ("heroku-key", rb"HRKU-[\w-]{36,}"),
    ("dynatrace-token", rb"dt0[a-z]\d\d\.[A-Z0-9]{24}\.[A-Z0-9]{64}"),
    ("prefect-key", rb"pn[ub]_[A-Za-z0-9]{36}"),
    ("easypost-key", rb"EZ[AT]K[A-Za-z0-9]{54}"),
    ("flutterwave-key", rb"FLWSECK(?:_TEST)?-[A-Za-z0-9-]{20,}"),
    ("razorpay-key", rb"rzp_(?:live|test)_[A-Za-z0-9]{14}"),
    ("adafruit-key", rb"aio_[A-Za-z0-9]{28}(?![A-Za-z0-9])"),
    ("azure-secret", rb"[\w.~-]{3}\dQ~[\w.~-]{31,34}"),
)
#: Where a key may start: not after a letter, a digit or a joining character, unless that
#: letter belongs to an escape such as ``\n``.
_START = rb"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt]))"
_SHAPE = _START + rb"(?:" + rb"|".join(rb"(" + shape + rb")" for _, shape in _SHAPES) + rb")[\w-]*"
#: Characters that keys are made of become ``a``, all others a space: a run long enough to be a
#: key is then found by a plain search, four times faster than by a pattern.
_ALPHABET = b"_.~-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_OUTLINE = bytes(97 if byte in _ALPHABET else 32 for byte in range(256))
_RUN = b"a" * 19

#: What may stand between the lines of a key block: line ends, also as JSON escapes, quotes,
#: commas, indentation, the marks of diffs and of quoted mail.
_GAP = rb"[\s\\\"',>|#*-]"
_KEY_BLOCK = (
    rb"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    rb"(?:" + _GAP + rb"+[A-Za-z][A-Za-z-]{3,20}: [^\n\\]{1,120})*"  # Proc-Type and the like
    rb"(?:" + _GAP + rb"+[A-Za-z0-9+/=]{16,})+"
    rb"(?:(?:" + _GAP + rb"+[A-Za-z0-9+/=]{1,15})?"
    rb"[\s\\\"',>|#*+nr]*-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)?"
)

#: Words that make a name's value a secret: how they begin, how they go on, and what must stand
#: before the shorter ones.
_NAMES = (
    (b"pass", rb"word|wd|phrase|code", rb""),
    (b"pwd", rb"", rb""),
    (b"secret", rb"", rb""),
    (b"token", rb"", rb""),
    (b"credential", rb"", rb""),
    (b"auth", rb"orization", rb""),
    (b"_auth", rb"", rb"[^a-z]$"),
    (b'"auth"', rb"", rb""),
    (
        b"key",
        rb"",
        rb"(?:api|access|account|app|client|encryption|license|master|private|service|shared"
        rb"|signing|ssh|storage|webhook|auth)[ _-]{0,2}$",
    ),
)
_CHINESE_NAMES = tuple(
    (name.encode(), rb"", rb"") for name in ("密码", "口令", "密钥", "秘钥", "令牌", "凭证")
)
_ASSIGNED = (
    rb"(?P<rest>[\w-]{0,40})(?:(?P<mark>\\{0,3}[\"'`]?\]?[ \t]{0,8}"
    rb"(?:(?::|string|String) ?(?:&?(?:'static )?[Ss]tr(?:ing)? ?)?=|=>|={1,3}|:"
    rb"|"
    + "：|是|为".encode()
    + rb")\s{0,8}|>|\"?[ {]{0,3}\n\s{1,16}(?:value|default)\s{0,8}[:=]\s{0,4})"
    rb"|(?P<loose>[ \t]{1,4}(?:is )?|[\"'`], {0,4}|\())"
    rb"(?P<quote>\\{0,3}[\"'`])?(?P<scheme>(?i:bearer|basic|token|apikey|digest) +)?"
    rb"(?P<value>(?(quote)[^\s\"'`\\]+(?=\\{0,3}[\"'`])|[^\s\"'`<>;,&|()\[\]{}\\=:\x80-\xff]+={0,2}))"
    rb"(?P<code>[(\[{=:])?"
)
#: Names that speak about a secret without holding it, by how they end and how they begin.
_ABOUT = (
    rb"s?[_-]?(?:s|ids?|names?|types?|counts?|len|length|limit|size|urls?|uri|endpoint|fields?|hash"
    rb"|hasher|hashers|files?|path|dir|ttl|timeout|expir\w*|lifetime|age|class|index|usage|cost"
    rb"|budget|validators?|policy|prefix|pattern|regex|label|help|text|input|form|reset\w*"
    rb"|change\w*|confirm\w*|status|version|algorithm|format|issuer|scope|header|param|hint"
    rb"|rotation|store|manager|provider|helper|ref|arn|min|max|used|per\w*|iz\w*)$"
)
_OTHER = (
    rb"(?:public|foreign|primary|cache|csrf|xsrf|middleware|page|next|continuation|cancel|cursor"
    rb"|pad|eos|bos|cls|sep|mask|unk|special|stop|max|min|total|num|input|output|prompt|completion"
    rb"|cached|no|sort|hash|is|has|idempotency)[_-]?$"
)
_PLACEHOLDER = (
    rb"^[$<{%\[&]|\$\{|\{\{|^x{3,}$|x{4,}|\*{3,}|\.{3}|redacted|example|placeholder|change.?me|your"
    rb"|dummy|sample|fake|mock|insert|replace|todo|fixme|123456|abcdef|qwerty|^(?:sha\d*|md5)[:-]"
    rb"|^(?:none|null|nil|true|false|undefined|str|string|bytes|int|optional|any)\b"
)
#: Words that test data calls its secrets; what is left without them is not one.
_DUMMY = (
    rb"test(?:ing|er)?|pass(?:word|wd|phrase)?|secret|token|users?|admin|root|foo|bar|baz|qux|abc"
    rb"|xyz|key|demo|my|new|old|good|bad|wrong|right|correct|valid|invalid|default|some|the|api"
    rb"|auth|login|hello|world|postgres|mysql|guest|local|dev|raw|value|first|second|other"
)
_KINDS = (rb"[a-z]", rb"[A-Z]", rb"\d", rb"[!@#$%^&*?+~]")
_WORD = rb"(?:[A-Za-z]{2,}\d{0,3}|[A-Za-z]?\d{1,4})"
_WORDLIKE = rb"[-_./:@+~]*" + _WORD + rb"(?:[-_./:@+~]+" + _WORD + rb")*[-_./:@+~]*$"

#: A password typed on a command line or in an rc file.
_TYPED = rb"([^\s\"'`:\[\]]{4,200})"
#: From the first long value of a cookie header to its last.
_PAIR = rb"[\w.-]{1,60}=[^\s;\"'\\\[\]]"
_COOKIES = (
    rb"(?:" + _PAIR + rb"{0,15}; ?){0,20}[\w.-]{1,60}="
    rb"([^\s;\"'\\\[\]]{16,}(?:; ?" + _PAIR + rb"+)*)"
)
#: Secrets known by their place: a literal that must be there in lower case, the pattern whose
#: groups are the secret, and the kind.
_PLACES = (
    (b"private key", rb"(" + _KEY_BLOCK + rb")", "private-key"),
    (b"ls0tls1crudjti", rb"(LS0tLS1CRUdJTi(?!BDRVJU|BQVUJM)[A-Za-z0-9+/=]{40,})", "private-key"),
    (b"://", rb"://[^\s/:@\"'`<>\[\]]{0,80}:([^\s/@\"'`<>\[\]]{3,200})@[\w\[]", "url-password"),
    (b"hooks.slack", rb"hooks\.slack\.com/(?:services|workflows)/([\w/-]{20,})", "slack-webhook"),
    (b"/webhooks/", rb"discord(?:app)?\.com/api/webhooks/\d+/([\w-]{40,})", "discord-webhook"),
    (b":aa", rb"(?<![\d:])(\d{8,10}:AA[\w-]{33,})", "telegram-token"),
    (b"glc_", rb"(?<!\w)(glc_[\w+/=]{30,})", "grafana-token"),
    (b"sig=", rb"[?&]sig=([\w%+/=-]{24,})", "url-signature"),
    (b"-signature=", rb"[?&]X-(?:Amz|Goog)-Signature=([\w%+/=-]{24,})", "url-signature"),
    (b"cookie", rb"[Cc]ookie\\?[\"']?: ?\\?[\"']?" + _COOKIES, "cookie"),
    (
        b"curl",
        rb"curl\b[^\n]{0,200}?\s(?:-u|--user)[ =]?[\"']?[\w.@%+-]{1,80}:" + _TYPED,
        "password",
    ),
    (b"sshpass", rb"sshpass\s+-p\s?[\"']?" + _TYPED, "password"),
    (b"mysql", rb"mysql(?:dump|admin)?\b[^\n]{0,200}?\s-p" + _TYPED, "password"),
    (b"redis-cli", rb"redis-cli\b[^\n]{0,200}?\s-a\s[\"']?" + _TYPED, "password"),
    (b"docker login", rb"docker login\b[^\n]{0,200}?\s-p\s[\"']?" + _TYPED, "password"),
    (b"login ", rb"\blogin\s+\S{1,80}\s+password\s+" + _TYPED, "password"),
)


#: How far from a marker text is looked at again, in bytes, and how often.
_NEAR = 4096
_ROUNDS = 20


#: Patterns are compiled when first used, since most processes need few of them.
_compiled = cache(re.compile)


#: A user's own patterns.
Own = tuple[re.Pattern[str], ...]


class _Secret(NamedTuple):
    """A stretch of bytes to take out."""

    start: int
    end: int
    kind: str


def own_patterns(texts: Iterable[str]) -> Own:
    """A user's own patterns, ready for use. Raises InputError for one that cannot be."""
    found = []
    for text in texts:
        try:
            pattern = re.compile(text)
        except (re.error, OverflowError, RecursionError) as error:
            raise InputError(
                f"tmem.redact holds {text!r}, which is no pattern: {error}",
                "correct it: git config --edit",
            ) from error
        found.append(pattern)
    return tuple(found)


def redact(text: str, own: Own = ()) -> str:
    """The text with secrets replaced by typed markers; lone surrogates become U+FFFD. What
    one of the ``own`` patterns matches is one too.

    Idempotent: no marker is ever part of a secret, and what a marker uncovers (the word that
    it cut off a longer one) is looked at again.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    text = _without_known(text)
    return _without_known(_without_own(text, own)) if own else text


def _without_known(text: str) -> str:
    data = text.encode()
    secrets = _merged(sorted(_secrets(data)))
    if not secrets:
        return text
    data, seams = _without(data, secrets)
    for _ in range(_ROUNDS):
        secrets = _merged(sorted(_uncovered(data, seams)))
        if not secrets:
            break
        data, seams = _without(data, secrets)
    return data.decode()


_MARKER = r"(\[REDACTED:[\w-]+\])"


def _without_own(text: str, own: Own) -> str:
    """The text without what a user's patterns match between markers."""
    for pattern in own:
        parts = re.split(_MARKER, text)
        parts[::2] = [pattern.sub(_own_marked, part) for part in parts[::2]]
        text = "".join(parts)
    return text


def _own_marked(found: re.Match[str]) -> str:
    """The match with a marker for its first group, or for the whole where there is none."""
    start, end = found.span(1 if found.re.groups else 0)
    if start == end:
        return found[0]
    before, after = start - found.start(), end - found.start()
    return f"{found[0][:before]}[REDACTED:own]{found[0][after:]}"


def redact_value(value: Any, own: Own = (), name: str = "") -> Any:
    """Every string in nested dicts, lists and tuples redacted, the keys of dicts too.

    ``name`` is the key that leads to the value: a string under ``password`` is one.
    """
    if isinstance(value, str):
        return _redact_named(name, redact(value, own))
    if isinstance(value, dict):
        return {
            redact_value(key, own): redact_value(item, own, str(key)) for key, item in value.items()
        }
    if isinstance(value, list):
        return [redact_value(item, own, name) for item in value]
    if isinstance(value, tuple):
        return tuple(redact_value(item, own, name) for item in value)
    return value


def _redact_named(name: str, text: str) -> str:
    """The text, or a marker when its name makes the whole of it a secret."""
    lowered = name.lower().encode(errors="replace")
    if len(text) > 400 or not any(stem in lowered for stem, *_ in (*_NAMES, *_CHINESE_NAMES)):
        return text
    prefix = f'"{redact(name)}": "'
    whole = redact(f'{prefix}{text}"')
    return whole[len(prefix) : -1] if whole.startswith(prefix) else text


def _merged(secrets: list[_Secret]) -> list[_Secret]:
    """Overlapping stretches as one, named by the first."""
    merged: list[_Secret] = []
    for secret in secrets:
        if merged and secret.start < merged[-1].end:
            merged[-1] = merged[-1]._replace(end=max(merged[-1].end, secret.end))
        else:
            merged.append(secret)
    return merged


def _without(data: bytes, secrets: list[_Secret]) -> tuple[bytes, list[int]]:
    """The data with markers for the secrets, and where the markers are."""
    parts: list[bytes] = []
    seams: list[int] = []
    end = size = 0
    for secret in secrets:
        marker = f"[REDACTED:{secret.kind}]".encode()
        size += secret.start - end
        seams.append(size)
        size += len(marker)
        parts += [data[end : secret.start], marker]
        end = secret.end
    return b"".join([*parts, data[end:]]), seams


def _uncovered(data: bytes, seams: list[int]) -> Iterator[_Secret]:
    """What the markers uncovered: only their neighbourhood can have changed its meaning."""
    end = -1
    for seam in seams:
        if seam < end:
            continue
        start = max(0, seam - _NEAR)
        end = seam + 2 * _NEAR
        # A window must not begin or end within a character.
        while start and data[start] & 0xC0 == 0x80:
            start -= 1
        for secret in _secrets(data[start:end]):
            yield secret._replace(start=secret.start + start, end=secret.end + start)


def _secrets(data: bytes) -> Iterator[_Secret]:
    """All stretches to take out, in no order, perhaps overlapping."""
    yield from _by_shape(data)
    lowered = data.lower()
    yield from _by_name(data, lowered)
    for literal, pattern, kind in _PLACES:
        if literal in lowered:
            yield from _by_place(data, lowered, literal, pattern, kind)


def _by_shape(data: bytes) -> Iterator[_Secret]:
    """Vendors' keys. Only runs with a digit are looked at: keys have one, long words rarely."""
    digit, shape = _compiled(rb"\d"), _compiled(_SHAPE)
    for start, end in _runs(data):
        if not digit.search(data, start, end):
            continue
        while start < end and (found := shape.search(data, start, end)):
            whole = shape.match(data, found.start()) or found  # a run ends at + / and =
            start = whole.end()
            if not _compiled(_PLACEHOLDER).search(whole[0].lower()):
                yield _Secret(whole.start(), start, _SHAPES[(whole.lastindex or 1) - 1][0])


def _runs(data: bytes) -> Iterator[tuple[int, int]]:
    """Where unbroken runs of key characters start and end, the long ones only."""
    outline = data.translate(_OUTLINE) + b" "
    start = outline.find(_RUN)
    while start >= 0:
        end = outline.find(b" ", start)
        yield start, end
        start = outline.find(_RUN, end)


def _by_place(
    data: bytes, lowered: bytes, literal: bytes, pattern: bytes, kind: str
) -> Iterator[_Secret]:
    for found in _matches(data, lowered, literal, _compiled(pattern)):
        secret = found[1]
        if len(secret) > 200 or not _is_dummy(secret):
            yield _Secret(*found.span(1), kind)


def _matches(
    data: bytes, lowered: bytes, literal: bytes, pattern: re.Pattern[bytes]
) -> Iterator[re.Match[bytes]]:
    """The pattern's matches. Where it begins with the literal, a plain search finds them, many
    times faster than a pattern that may begin anywhere."""
    if (
        not pattern.pattern.lower()
        .removeprefix(b"\\b")
        .startswith((literal, re.escape(literal), b"[cc]ookie"))
    ):
        yield from pattern.finditer(data)
        return
    at = lowered.find(literal)
    while at >= 0:
        found = pattern.match(data, at)
        if found:
            yield found
        at = lowered.find(literal, max(found.end() if found else 0, at + 1))


def _by_name(data: bytes, lowered: bytes) -> Iterator[_Secret]:
    """Values given to names such as ``API_KEY``: assignments, JSON, YAML, flags, headers, XML."""
    for name in _NAMES if data.isascii() else (*_NAMES, *_CHINESE_NAMES):
        if name[0] in lowered:
            yield from _by_one_name(data, lowered, *name)


def _by_one_name(
    data: bytes, lowered: bytes, stem: bytes, rest: bytes, lead: bytes
) -> Iterator[_Secret]:
    assigned, ending = _compiled(_ASSIGNED), _compiled(rest)
    start = lowered.find(stem)
    while start >= 0:
        end = start + len(stem)
        whole = ending.match(lowered, end)
        end = whole.end() if whole else end
        found = assigned.match(data, end) if whole else None
        if found and _holds(lowered[max(0, start - 40) : start], lead, found):
            word = lowered[start:end]
            if _is_secret(word, found):
                yield _Secret(*found.span("value"), _kind_of(word))
            if found.end() - end > 400:  # never read a long value twice
                end = found.end()
        start = lowered.find(stem, end)


def _kind_of(word: bytes) -> str:
    """The marker's word for a value under this name."""
    if word.startswith((b"pass", b"pwd", "密码".encode(), "口令".encode())):
        return "password"
    return "authorization" if word == b"authorization" else "secret"


def _holds(before: bytes, lead: bytes, found: re.Match[bytes]) -> bool:
    """Whether the name, as far as its spelling and what follows tell, holds a secret."""
    if found["code"] or (lead and not _compiled(lead).search(before)):
        return False
    if found["mark"] == b">" and not _compiled(rb"<[\w-]*$").search(before):
        return False
    if _compiled(_OTHER).search(before) or _compiled(_ABOUT).match(found["rest"].lower()):
        return False
    option = _compiled(rb"(?<![\w-])--?[\w-]*$").search(before) and not found["rest"]
    return found["loose"] is None or bool(option) or _is_random(found["value"])


def _is_random(value: bytes) -> bool:
    """Whether a value that nothing but a space ties to its name still can only be a secret."""
    kinds = sum(bool(_compiled(kind).search(value)) for kind in _KINDS)
    mixed = _compiled(_KINDS[-1]).search(value) or len(_compiled(rb"\d+").findall(value)) > 1
    if len(value) < 8 or kinds < 3 or not mixed or b"/" in value:
        return False
    return not _is_wordlike(value)


def _is_secret(word: bytes, found: re.Match[bytes]) -> bool:
    """Whether a named value looks like a secret and not like code, a variable or a dummy."""
    value = found["value"]
    if _is_dummy(value) or value.startswith((b"/", b"./", b"~/")):
        return False
    digit, letter = _compiled(rb"\d").search(value), _compiled(rb"[A-Za-z]").search(value)
    if _kind_of(word) == "password":
        odd = _compiled(rb"[!@#$%^&*?+~]").search(value, 1)
        return len(value) >= 6 and bool(letter) and bool(digit or odd)
    if found["scheme"]:
        mixed = _compiled(rb"[a-z][A-Z]|=$").search(value)
        return len(value) >= 8 and bool(digit or mixed)
    return len(value) >= 12 and bool(digit and letter) and not _is_wordlike(value)


def _is_dummy(value: bytes) -> bool:
    """Whether a value is a placeholder, a variable, a marker, or made of words for tests."""
    lowered = value.lower()
    if _compiled(rb"[A-Z]+(?:_[A-Z]+)*$").match(value):  # the name of a variable
        return True
    if _compiled(_PLACEHOLDER).search(lowered):
        return True
    left = _compiled(_DUMMY).sub(b"", lowered)
    return len(_compiled(rb"[a-z]").findall(left)) < 3 and len(left) < 6


def _is_wordlike(value: bytes) -> bool:
    """Whether a value reads as an identifier, a version, a date or a path."""
    return bool(_compiled(_WORDLIKE).match(value))
