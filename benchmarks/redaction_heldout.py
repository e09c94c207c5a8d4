"""Kinds of secrets and places for them that the rules of redaction were not fitted to.

Written after the rules and not tuned against them since: the kinds are shapes that vendors
document and that are not in ``redaction.KINDS``, whether or not a rule happens to know them;
the contexts are places where keys are found in practice. Whoever wrote this had seen a part of
the rules for kinds, and none of those for places. What is missed here is for the table to say;
a rule that is added for one of these moves it to ``redaction.py``.
"""

from __future__ import annotations

KINDS = {
    "asana": "2/{d16}/{d16}:{h32}",
    "cerebras": "csk-{a48}",
    "cloudflare origin": "v1.0-{h24}-{h146}",
    "databento": "db-{w29}",
    "defined networking": "dnkey-{A26}-{A52}",
    "deno deploy": "ddp_{w36}",
    "duffel": "duffel_test_{u43}",
    "fireworks": "fw_{w24}",
    "frame.io": "fio-u-{u64}",
    "harness": "pat.{w22}.{h24}.{w20}",
    "infracost": "ico-{w32}",
    "intra42": "s-s4t2ud-{h64}",
    "launchdarkly": "sdk-{h8}-{h4}-{h4}-{h4}-{h12}",
    "lob": "live_{h35}",
    "mapbox": "sk.eyJ1Ijoi{u60}.{u22}",
    "octopus deploy": "API-{A26}",
    "okta": "00{u40}",
    "pinecone": "pcsk_{w5}_{w63}",
    "plaid": "access-sandbox-{h8}-{h4}-{h4}-{h4}-{h12}",
    "readme": "rdme_{a70}",
    "resend": "re_{w8}_{w24}",
    "scalingo": "tk-us-{u48}",
    "settlemint": "sm_pat_{w16}",
    "shippo": "shippo_live_{h40}",
    "sourcegraph": "sgp_{h40}",
    "sumologic": "su{w12}",
    "tavily": "tvly-{w32}",
    "typeform": "tfp_{u59}",
    "yandex api": "AQVN{u35}",
    "yandex iam": "t1.{u80}.{u86}",
}
CONTEXTS = {
    "header": "> Authorization: Bearer {}\n> Accept: */*\n",
    "own header": "X-Api-Key: {}\nContent-Length: 12\n",
    "connection string": "DATABASE_URL=postgresql://app:{}@db.internal:5432/app\n",
    "URL query": "GET https://api.example.com/v2/items?page=2&access_token={}&sort=asc 200\n",
    "npmrc": "//registry.example.com/:_authToken={}\nsave-exact=true\n",
    "netrc": "machine git.example.com login ci password {}\n",
    "kubernetes": "kind: Secret\nstringData:\n  api-token: {}\n",
    "shell history": " 1042  curl -u deploy:{} https://example.com/hook\n",
    "docker": "docker run --rm -e SERVICE_SECRET={} image:latest\n",
    "terraform": 'provider "thing" {{\n  api_key = "{}"\n}}\n',
    "ini": "[remote]\nclient_secret = {}\nregion = eu\n",
    "escaped JSON": '{{"out": "{{\\"apiKey\\": \\"{}\\", \\"ok\\": true}}"}}\n',
    "Python": 'client = Client(token="{}", retries=3)\n',
    "Chinese": "请使用这个密钥：{}，不要提交到仓库。\n",
}
