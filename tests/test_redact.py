"""Secrets go, everything else stays."""

from __future__ import annotations

import random
import string
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from git_tmem.errors import InputError
from git_tmem.redact import own_patterns, redact, redact_value

ALNUM = string.ascii_letters + string.digits
HEX = "0123456789abcdef"
URLSAFE = ALNUM + "_-"


def drawn(length: int, alphabet: str = ALNUM, seed: int = 7) -> str:
    """Random characters with at least one digit, the same on each run."""
    chosen = random.Random(f"{seed}{length}{alphabet}")
    return "7" + "".join(chosen.choice(alphabet) for _ in range(length - 1))


SHAPES = {
    "aws-access-key": "AKIA" + drawn(16, string.ascii_uppercase + "234567"),
    "github-token": "ghp_" + drawn(36),
    "gitlab-token": "glpat-" + drawn(20, URLSAFE),
    "slack-token": "xoxb-" + drawn(12, string.digits) + "-" + drawn(24),
    "stripe-key": "sk_live_" + drawn(24),
    "google-key": "AIza" + drawn(35, URLSAFE),
    "anthropic-key": "sk-ant-api03-" + drawn(95, URLSAFE),
    "openai-key": "sk-proj-" + drawn(48, URLSAFE),
    "npm-token": "npm_" + drawn(36),
    "pypi-token": "pypi-AgEIcHlwaS5vcmc" + drawn(120, URLSAFE),
    "huggingface-token": "hf_" + drawn(34),
    "jwt": f"eyJ{drawn(33, URLSAFE)}.eyJ{drawn(60, URLSAFE)}.{drawn(43, URLSAFE)}",
    "digitalocean-token": "dop_v1_" + drawn(64, HEX),
    "sendgrid-key": f"SG.{drawn(22, URLSAFE)}.{drawn(43, URLSAFE)}",
    "vault-token": "hvs." + drawn(90, URLSAFE),
    "azure-secret": drawn(3) + "8Q~" + drawn(34, ALNUM + "_.~-"),
    "alibaba-key": "LTAI" + drawn(20),
    "terraform-token": drawn(14) + ".atlasv1." + drawn(67),
}
PLACES = (
    "{}",
    "export KEY={}\n",
    '{{"key": "{}", "n": 1}}',
    '"line one\\n{}\\nline two"',
    "key: {}  # note",
    "tool --key {} run",
    "2026-01-01T00:00:00Z INFO using {}, retrying",
    "-old\n+value = '{}'\n",
    "curl https://example.org/?k={}&page=2",
    "密钥{}泄露了",
)

PASSWORD = "hV7!kq2Zp"
TOKEN = drawn(32)
NAMED = (
    "DB_PASSWORD={p}",
    "export MYSQL_PWD='{p}'",
    '"password": "{p}"',
    '\\"password\\": \\"{p}\\"',
    "password: {p}",
    "  postgres_password : {p}",
    "passphrase => '{p}'",
    "<password>{p}</password>",
    "mysqldump --password {p} shop",
    "mysql -u root -p{p} shop",
    "sshpass -p '{p}' ssh host",
    "curl -s -u deploy:{p} https://host.example",
    "machine host.example login deploy password {p}",
    "postgres://shop:{p}@db.internal:5432/shop",
    "Server=db;User Id=shop;Password={p};Encrypt=yes",
    "密码是{p}",
    "数据库密码：{p}，请勿外传",
    '+  password = "{p}"',
    "const password: string = '{p}'",
    "api_key = '{t}'",
    "apiKey: '{t}',",
    "X-Api-Key: {t}",
    "Authorization: Bearer {t}",
    "'Authorization': 'token {t}'",
    '-H "Authorization: Basic {t}="',
    "Proxy-Authorization: Basic {t}",
    "PRIVATE-TOKEN: {t}",
    "//registry.npmjs.org/:_authToken={t}",
    '"auth": "{t}"',
    "AWS_SECRET_ACCESS_KEY={t}",
    "aws_session_token = {t}",
    "AccountName=x;AccountKey={t}==;EndpointSuffix=core.windows.net",
    "client_secret={t}&grant_type=x",
    "https://host.example/cb?access_token={t}&state=1",
    "secret_key_base: {t}",
    "headers['x-auth-token'] = '{t}'",
    "tool --api-key={t}",
    "tool --token {t}",
    "令牌：{t}",
    "API key 是 {t}",
    "Cookie: theme=dark1; sid={t}",
    "Set-Cookie: sessionid={t}; HttpOnly",
    "- name: DB_PASSWORD\n  value: {p}",
    'variable "db_password" {{\n  default = "{p}"\n}}',
    "ENV API_TOKEN {t}",
    "config.set('api_key', '{t}')",
    "client.setPassword('{p}')",
    "the api key is {t}, keep it",
    "my password {p} works",
    "密钥 {t}",
    "os.environ['API_KEY'] = '{t}'",
    "aws configure set aws_secret_access_key {t}",
)

HARMLESS = (
    "API_KEY=<your-api-key>",
    "API_KEY=your_api_key_here_1234",
    "password: ${DB_PASSWORD}",
    "password=$DB_PASSWORD",
    "TOKEN=${{ secrets.GITHUB_TOKEN }}",
    "token: {{ vault_token_2 }}",
    "secret=xxxxxxxxxxxxxxxxxxxx",
    "password: changeme",
    "password: ********",
    "api_key: None",
    "token = get_token()",
    "token = self._tokens[index1]",
    "token = os.environ['TOKEN_2']",
    "password: str",
    "password = forms.CharField(max_length=128)",
    "def login(user: str, password: str = '') -> None:",
    "the password is wrong, api key is missing",
    "token 4b825dc642cb6eb9a060e54bf8d69288fbee4904 seen",
    "unexpected token TestCase2Error",
    "max_tokens: 4096",
    '"input_tokens": 123456, "output_tokens": 99',
    "token_url: https://example.org/oauth2/v1/token",
    "AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE",
    "commit 4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    "key: 4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "integrity sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP==",
    "session 123e4567-e89b-12d3-a456-426614174000",
    "/home/me/secrets/token/file1.txt",
    "public_key: MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE7",
    '"token": "+refs/heads/main1"',
    "if '-----BEGIN RSA PRIVATE KEY-----' in text:",
    "https://user@host.example/path",
    "docker run -u 1000:1000 image",
    "git push -u origin feature1:feature1",
    "密码错误，请重试",
    "test_password_reset_view_2 PASSED",
    "ssh://git@host.example:22/x.git",
    "http://[::1]:8080/a@b",
    "authoredDate: 2026-02-15T10:20:13Z",
    "curl -u user:GITHUB_TOKEN https://host.example",
)

BODY = "\n".join(drawn(64, ALNUM + "+/", seed) for seed in range(4)) + "\nabcd=="
KEY_BLOCK = f"-----BEGIN RSA PRIVATE KEY-----\n{BODY}\n-----END RSA PRIVATE KEY-----"


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", SHAPES)
def test_a_known_shape_becomes_its_typed_marker_wherever_it_stands(kind: str, place: str) -> None:
    assert redact(place.format(SHAPES[kind])) == place.format(f"[REDACTED:{kind}]")


@pytest.mark.parametrize("text", NAMED)
def test_the_value_of_a_telling_name_or_place_goes_and_the_rest_stays(text: str) -> None:
    clean = redact(text.format(p=PASSWORD, t=TOKEN))
    sample = text.format(p=PASSWORD, t=TOKEN)
    before, _, after = sample.partition(PASSWORD if "{p}" in text else TOKEN)
    assert clean.startswith(before + "[REDACTED:")
    assert clean.endswith(after.lstrip("="))
    assert PASSWORD not in clean
    assert TOKEN not in clean


@pytest.mark.parametrize("text", HARMLESS)
def test_placeholders_variables_hashes_ids_paths_and_code_stay(text: str) -> None:
    assert redact(text) == text


@pytest.mark.parametrize(
    "block",
    [
        KEY_BLOCK,
        KEY_BLOCK.replace("RSA ", ""),
        KEY_BLOCK.replace("\n", "\\n"),
        KEY_BLOCK.replace("\n", "\\\\n"),
        KEY_BLOCK.replace("\n", "\r\n"),
        KEY_BLOCK.replace("\n", "\n    "),
        KEY_BLOCK.replace("\n", "\n+"),
        KEY_BLOCK.replace("\n", " "),
        KEY_BLOCK.replace("\n", '",\n"'),
        KEY_BLOCK.replace("\n", "\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,A1B2C3\n\n", 1),
        KEY_BLOCK[: -len("\nabcd==\n-----END RSA PRIVATE KEY-----")],
        KEY_BLOCK.replace("RSA PRIVATE KEY", "PGP PRIVATE KEY BLOCK"),
    ],
)
def test_a_private_key_goes_whole_in_every_way_it_is_written(block: str) -> None:
    assert redact(f"before {block}\nafter") == "before [REDACTED:private-key]\nafter"


def test_a_certificate_stays() -> None:
    certificate = KEY_BLOCK.replace("RSA PRIVATE KEY", "CERTIFICATE")
    assert redact(certificate) == certificate


def test_lone_surrogates_become_the_replacement_character_and_pairs_join() -> None:
    assert redact("a\ud800b") == "a\ufffdb"
    assert redact("\ud83d\ude00") == "\U0001f600"


def test_every_string_of_a_nested_value_is_redacted_keys_too() -> None:
    secret = SHAPES["github-token"]
    value = {secret: [1, None, (f"a {secret}", {"b": secret})], "n": 2.5}
    marker = "[REDACTED:github-token]"
    assert redact_value(value) == {marker: [1, None, (f"a {marker}", {"b": marker})], "n": 2.5}


def test_a_string_under_a_telling_key_is_a_secret_by_its_place() -> None:
    value = {"password": PASSWORD, "user": "ada", "api_key": [TOKEN], "note": PASSWORD}
    assert redact_value(value) == {
        "password": "[REDACTED:password]",
        "user": "ada",
        "api_key": ["[REDACTED:secret]"],
        "note": PASSWORD,
    }


def test_a_shape_is_no_secret_inside_a_longer_word() -> None:
    word = "prefix" + SHAPES["github-token"]
    assert redact(word) == word


FRAGMENTS = st.sampled_from(
    [
        *SHAPES.values(),
        *(
            "password",
            "token=",
            ": ",
            " = ",
            '"',
            "'",
            "\\",
            "\\n",
            "\n",
            " ",
            "-",
            "_",
            "@",
            "://",
        ),
        *(
            "[REDACTED:jwt]",
            "[REDACTED:password]",
            "Authorization: ",
            "Bearer ",
            "api_key",
            "<",
            ">",
        ),
        *(
            PASSWORD,
            TOKEN,
            KEY_BLOCK,
            "-----BEGIN PRIVATE KEY-----",
            "curl -u a:",
            "密码",
            "是",
            "=",
        ),
        *("--secret", "u:", "abc123", "sk-", ".", "Cookie: a=", ";", "\ud800", "é"),
    ]
)


@settings(max_examples=600)
@given(st.lists(FRAGMENTS, max_size=14).map("".join))
def test_redacting_again_changes_nothing(text: str) -> None:
    once = redact(text)
    assert redact(once) == once


@given(st.text(st.characters(exclude_categories=())))
def test_any_text_passes_and_can_be_stored(text: str) -> None:
    redact(text).encode()


@pytest.mark.parametrize("unit", ["a", "(", '"', " ", "\\", "-", "token=", "password: '"])
def test_a_megabyte_of_anything_takes_about_a_second(unit: str) -> None:
    assert seconds(unit * (1_000_000 // len(unit))) < 3


@pytest.mark.parametrize(
    "unit",
    ["eyJ.", "1.", "-----BEGIN PRIVATE KEY-----", "://a:", "curl -u ", "key-", "cookie: a=",
     "token='token", "login x password ", "-----BEGIN PRIVATE KEY----- aaaaaaaaaaaaaaaa "],
)  # fmt: skip
def test_time_grows_with_length_alone(unit: str) -> None:
    short, long = (seconds(unit * (size // len(unit))) for size in (100_000, 400_000))
    assert long < max(8 * short, 0.5)


def seconds(text: str) -> float:
    """The processor's time that redacting a text takes, the least of three tries."""

    def once() -> float:
        start = time.process_time()
        redact(text)
        return time.process_time() - start

    return min(once() for _ in range(3))


def test_real_logs_hold_next_to_nothing_to_redact(corpus: Path) -> None:
    logs = [*corpus.glob("claude-code/*.jsonl"), *corpus.glob("codex/*.jsonl")]
    texts = [log.read_text("utf-8", errors="replace") for log in logs]
    hits = sum(redact(text).count("[REDACTED:") - text.count("[REDACTED:") for text in texts)
    assert hits <= sum(map(len, texts)) / 1_000_000


def test_a_users_own_patterns_are_secrets_too_and_their_first_group_is_what_goes() -> None:
    own = own_patterns(["ACME-[0-9]{4}", "pin (\\d+)", "项目[甲乙]"])
    text = redact("ACME-1234 pin 77 项目甲 ACME-x", own)
    assert text == "[REDACTED:own] pin [REDACTED:own] [REDACTED:own] ACME-x"
    assert redact(text, own) == text
    assert redact_value({"ACME-1234": ["pin 77"]}, own) == {
        "[REDACTED:own]": ["pin [REDACTED:own]"]
    }


@pytest.mark.parametrize("pattern", ["REDACTED", "x*", ".", "[A-Z]+", "(?s).*"])
def test_own_patterns_that_match_anything_end_and_leave_markers_alone(pattern: str) -> None:
    own = own_patterns([pattern])
    text = redact("some REDACTED text ghp_" + drawn(36), own)
    assert "ghp_" not in text
    assert redact(text, own) == text


def test_an_own_pattern_that_is_none_is_refused_in_one_line() -> None:
    with pytest.raises(InputError, match=r"tmem.redact holds '\(', which is no pattern"):
        own_patterns(["("])
