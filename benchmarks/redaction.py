"""How much of made secrets redaction takes out, what it takes by mistake, and how fast.

A secret counts as caught when at least four fifths of its characters are gone from the text.
Shapes are those that the vendors document; ``{w20}`` stands for 20 random letters and digits,
``u`` for those and ``-_``, ``h`` hexadecimal, ``A`` capitals and 2-7, ``a`` small letters and
digits, ``d`` digits, ``b`` base64. Held-out kinds and contexts are in ``redaction_heldout.py``,
written without looking at the rules.
"""

from __future__ import annotations

import difflib
import random
import re
import string
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from data import options, require, sessions
from timing import table

from git_tmem.redact import redact

ALPHABETS = {
    "w": string.ascii_letters + string.digits,
    "u": string.ascii_letters + string.digits + "-_",
    "h": "0123456789abcdef",
    "A": string.ascii_uppercase + "234567",
    "a": string.ascii_lowercase + string.digits,
    "d": string.digits,
    "b": string.ascii_letters + string.digits + "+/",
}

KINDS = {
    "1password": "ops_eyJ{u240}",
    "adafruit": "aio_{w28}",
    "age": "AGE-SECRET-KEY-1{A58}",
    "airtable": "pat{w14}.{h64}",
    "alibaba": "LTAI{w20}",
    "anthropic": "sk-ant-api03-{u93}AA",
    "artifactory": "AKCp8{w68}",
    "atlassian": "ATATT3xFfGF0{u180}={h8}",
    "aws id": "AKIA{A16}",
    "aws temporary id": "ASIA{A16}",
    "azure client secret": "{w3}8Q~{w34}",
    "bitbucket": "ATBB{w32}",
    "buildkite": "bkua_{h40}",
    "circleci": "CCIPAT_{w22}_{h40}",
    "clojars": "CLOJARS_{h60}",
    "contentful": "CFPAT-{u43}",
    "crates": "cio{w32}",
    "databricks": "dapi{h32}",
    "digitalocean": "dop_v1_{h64}",
    "digitalocean oauth": "doo_v1_{h64}",
    "discord bot": "M{w25}.{u6}.{u38}",
    "docker": "dckr_pat_{u27}",
    "doppler": "dp.pt.{w43}",
    "dynatrace": "dt0c01.{A24}.{A64}",
    "easypost": "EZAK{w54}",
    "facebook": "EAAC{w120}",
    "figma": "figd_{u40}",
    "flutterwave": "FLWSECK_TEST-{h32}-X",
    "fly": "fo1_{u43}",
    "github classic": "ghp_{w36}",
    "github fine-grained": "github_pat_{w22}_{w59}",
    "github oauth": "gho_{w36}",
    "github app": "ghs_{w36}",
    "gitlab": "glpat-{u20}",
    "gitlab runner": "glrt-{u20}",
    "gitlab trigger": "glptt-{h40}",
    "google api": "AIza{u35}",
    "google oauth": "GOCSPX-{u28}",
    "google access": "ya29.{u120}",
    "grafana cloud": "glc_{b60}",
    "grafana service": "glsa_{w32}_{h8}",
    "groq": "gsk_{w52}",
    "heroku": "HRKU-{h8}-{h4}-{h4}-{h4}-{h12}",
    "huggingface": "hf_{w34}",
    "jwt": "eyJhbGciOiJIUzI1NiJ9.eyJ{u80}.{u43}",
    "langsmith": "lsv2_pt_{h32}_{h10}",
    "linear": "lin_api_{w40}",
    "mailchimp": "{h32}-us14",
    "mailgun": "key-{h32}",
    "netlify": "nfp_{w36}",
    "new relic": "NRAK-{A27}",
    "notion": "ntn_{w46}",
    "notion old": "secret_{w43}",
    "npm": "npm_{w36}",
    "nuget": "oy2{a43}",
    "openai project": "sk-proj-{u74}T3BlbkFJ{u74}",
    "openai": "sk-{w20}T3BlbkFJ{w20}",
    "openrouter": "sk-or-v1-{h64}",
    "perplexity": "pplx-{w48}",
    "planetscale": "pscale_tkn_{u43}",
    "postman": "PMAK-{h24}-{h34}",
    "prefect": "pnu_{w36}",
    "pulumi": "pul-{h40}",
    "pypi": "pypi-AgEIcHlwaS5vcmc{u130}",
    "razorpay": "rzp_live_{w14}",
    "replicate": "r8_{w37}",
    "rubygems": "rubygems_{h48}",
    "sendgrid": "SG.{u22}.{u43}",
    "sendinblue": "xkeysib-{h64}-{w16}",
    "sentry user": "sntryu_{h64}",
    "shopify": "shpat_{h32}",
    "shopify shared": "shpss_{h32}",
    "slack bot": "xoxb-{d12}-{d13}-{w24}",
    "slack user": "xoxp-{d12}-{d12}-{d13}-{h32}",
    "slack app": "xapp-1-A{A10}-{d13}-{h64}",
    "square": "sq0atp-{u22}",
    "square access": "EAAA{u60}",
    "stripe": "sk_live_{w24}",
    "stripe restricted": "rk_live_{w24}",
    "stripe webhook": "whsec_{w32}",
    "supabase": "sbp_{h40}",
    "tailscale": "tskey-auth-{w12}-{w32}",
    "telegram": "{d10}:AA{u33}",
    "tencent": "AKID{w32}",
    "terraform": "{w14}.atlasv1.{u67}",
    "twilio": "SK{h32}",
    "vault": "hvs.{u95}",
    "volcengine": "AKLT{w40}",
    "xai": "xai-{w80}",
}
CONTEXTS = {
    "environment": "export SERVICE_VALUE={}\n",
    "JSON": '{{"name": "ci", "value": "{}", "n": 3}}\n',
    "YAML": "service:\n  value: {}\n  retries: 3\n",
    "option": "$ deploy --with {} --yes\n",
    "log line": "2026-03-01T10:11:12Z INFO client ready, using {}; 3 retries\n",
    "diff": "--- a/conf.py\n+++ b/conf.py\n@@ -3 +3 @@\n-VALUE = ''\n+VALUE = '{}'\n",
}
SEEDS = range(3)


def main() -> None:
    """Print recall in and out of sample, false redactions, and speed."""
    import redaction_heldout as heldout

    chosen = options(__doc__).parse_args()
    rows = [
        row("known kinds, known contexts", KINDS, CONTEXTS),
        row("held-out kinds, known contexts", heldout.KINDS, CONTEXTS),
        row("known kinds, held-out contexts", KINDS, heldout.CONTEXTS),
        row("held-out kinds and contexts", heldout.KINDS, heldout.CONTEXTS),
    ]
    print(table(["secrets", "made", "recall", "missed most"], rows))
    require(chosen.data, "sessions.jsonl.xz")
    print(f"\n{negatives(chosen.data, chosen.quick)}")


def row(name: str, kinds: Mapping[str, str], contexts: Mapping[str, str]) -> list[str]:
    """One line of the first table."""
    missed: Counter[str] = Counter()
    made = 0
    for kind, shape in kinds.items():
        for place, context in contexts.items():
            for seed in SEEDS:
                made += 1
                secret = drawn(shape, f"{kind}{place}{seed}")
                if not is_caught(secret, redact(context.format(secret))):
                    missed.update([kind if len(kinds) > len(contexts) else place])
    worst = ", ".join(f"{kind} {count}" for kind, count in missed.most_common(4)) or "none"
    return [name, str(made), f"{1 - missed.total() / made:.3f}", worst]


def drawn(shape: str, seed: str) -> str:
    """A secret of a shape, the same on each run; at least one digit where a digit may be."""
    chance = random.Random(seed)

    def some(match: re.Match[str]) -> str:
        alphabet, size = ALPHABETS[match[1]], int(match[2])
        text = "".join(chance.choice(alphabet) for _ in range(size - 1))
        return text + chance.choice("234567")

    return re.sub(r"\{([a-zA-Z])(\d+)\}", some, shape)


def is_caught(secret: str, left: str) -> bool:
    """Whether four fifths of the secret's characters are gone: no piece of it that is longer
    than a fifth is left."""
    match = difflib.SequenceMatcher(None, secret, left, autojunk=False)
    return match.find_longest_match().size <= len(secret) / 5 or (
        secret not in left
        and sum(b.size for b in match.get_matching_blocks() if b.size > 6) <= len(secret) / 5
    )


def negatives(folder: Path, quick: bool) -> str:
    """What is taken out of real outputs, every hit for a person to judge, and the speed."""
    texts = ["\n".join(step.out for step in one.steps) for one in sessions(folder, quick)]
    size = sum(len(text.encode()) for text in texts) / 1e6
    start = time.perf_counter()
    redacted = [redact(text) for text in texts]
    seconds = time.perf_counter() - start
    hits = [hit for pair in zip(texts, redacted, strict=True) for hit in taken(*pair)]
    lines = "\n".join(f"    {hit}" for hit in hits)
    return (
        f"{size:.1f} MB of outputs of commands: {len(hits)} redactions,"
        f" {len(hits) / size:.2f} per MB, at {size / seconds:.0f} MB/s\n{lines}"
    )


def taken(before: str, after: str) -> Sequence[str]:
    """The lines that were changed, shortened."""
    if before == after:
        return []
    pairs = zip(before.splitlines(), after.splitlines(), strict=False)
    return [new.strip()[:110] for old, new in pairs if old != new and "[REDACTED:" in new]


if __name__ == "__main__":
    main()
