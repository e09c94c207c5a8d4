"""Whose record is whose: what this clone knows of origins, and what it lets an agent see.

Format of the tree of ``refs/tmem-local/trust``, which never leaves this clone (history: 1
is the first)::

    own/<xx>/<id>        made in this clone; empty
    accepted/<xx>/<id>   accepted here: empty by hand, or ``signed by <signer>``
    refused/<xx>/<id>    accepted once and taken back, so that no signature accepts it again
    seen/<xx>/<id>       the name of the remote that a record first came from

A record is trusted when it is in ``own`` or ``accepted``; everything else waits for review.
A record's author is a claim and decides nothing. The configuration ``tmem.trust`` says who
may be shown: ``own`` (the default; what was accepted counts), ``signed`` (what an allowed
signer signed is accepted at a fetch), ``all``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from git_tmem.git import Git
from git_tmem.merge import RECORD_PATH

if TYPE_CHECKING:  # hooks come this way, and the store imports what is slow to import
    from git_tmem.store import Store

TRUST = "refs/tmem-local/trust"
OWN, ACCEPTED, REFUSED, SEEN = "own", "accepted", "refused", "seen"
SIGNED, ALL = "signed", "all"
POLICIES = (OWN, SIGNED, ALL)
MADE_HERE = "made here"

#: The only names that the tree may have.
MARK_PATH = re.compile(
    r"(?P<room>own|accepted|refused|seen)/(?P<fan>[0-9a-f]{2})/(?P<id>(?P=fan)[0-9a-f]{62})"
)
#: Bytes of one mark.
MARK_LIMIT = 400
#: Seconds one signature may take to check.
_TIMEOUT = 20.0
_SSH = re.compile(r'^Good "git" signature for (.+?) with \S+ key ', re.MULTILINE)
_GPG = re.compile(r"^\[GNUPG:\] GOODSIG \S+ (.+)$", re.MULTILINE)


def mark_path(room: str, record: str) -> str:
    """Where the mark of a record lies in the tree."""
    return f"{room}/{record[:2]}/{record}"


def policy(git: Git) -> str:
    """own, signed or all, as configured; a word nobody knows is the careful ``own``."""
    word = configured(git).lower()
    return word if word in POLICIES else OWN


def configured(git: Git) -> str:
    """The configured word as it stands, '' without any."""
    return git.config("tmem.trust")


def overwritten(git: Git) -> bool:
    """Whether the user's own fetches write over the trust ref, as in a mirror clone: then what
    it says may be the remote's word, and counts for nothing."""
    _, data = git.output("config", "--get-regexp", r"^remote\..*\.fetch$")
    specs = data.decode("utf-8", "replace").splitlines()
    return any(_covers(spec.rpartition(":")[2]) for spec in specs if ":" in spec)


def _covers(target: str) -> bool:
    start, star, end = target.strip().partition("*")
    if not star:
        return start == TRUST
    return TRUST.startswith(start) and TRUST.endswith(end)


def describe(marks: Mapping[str, str]) -> str:
    """Where a record is from, from its marks (room -> text), in words."""
    if OWN in marks:
        return MADE_HERE
    origin = f"from {marks[SEEN]}" if marks.get(SEEN) else "from elsewhere"
    if ACCEPTED in marks:
        return f"{origin}, {marks[ACCEPTED] or 'accepted here'}"
    return origin


def mark_own(store: Store, records: Iterable[str]) -> None:
    """Remember that records were made here."""
    marks = {mark_path(OWN, record): "" for record in records}
    store.mark(TRUST, marks, f"trust: {len(marks)} made here")


def mark_seen(store: Store, remote: str, records: Iterable[str]) -> None:
    """Remember the remote that records came from, for those that were not made here and did
    not come from another one before."""
    known = marks_of(store)
    new = [record for record in records if not known.get(record, {}).keys() & {OWN, SEEN}]
    marks = {mark_path(SEEN, record): remote for record in new}
    store.mark(TRUST, marks, f"trust: {len(marks)} came from {remote}")


def accept(store: Store, records: Mapping[str, str]) -> None:
    """Trust records: id -> why, '' when the user said so."""
    marks: dict[str, str | None] = {}
    for record, why in records.items():
        marks |= {mark_path(ACCEPTED, record): why, mark_path(REFUSED, record): None}
    store.mark(TRUST, marks, f"trust: {len(records)} accepted")


def take_back(store: Store, records: Iterable[str]) -> None:
    """Undo :func:`accept`, for good until a person accepts again."""
    marks: dict[str, str | None] = {}
    for record in records:
        marks |= {mark_path(ACCEPTED, record): None, mark_path(REFUSED, record): ""}
    store.mark(TRUST, marks, "trust: taken back")


def marks_of(store: Store) -> dict[str, dict[str, str]]:
    """Every mark of this clone: record -> room -> blob id."""
    repository = store.repository
    tip = repository.ref(TRUST)
    found: dict[str, dict[str, str]] = {}
    for path, (_, blob) in repository.files(repository.tree_of(tip) if tip else "").items():
        if match := MARK_PATH.fullmatch(path):
            found.setdefault(match["id"], {})[match["room"]] = blob
    return found


def accept_signed(store: Store, tip: str) -> int:
    """Accept the records below ``tip`` that an allowed signer's commit brought; how many.

    A signature counts for what its commit adds, not for all that lies in its tree: a signer
    who merged others' records does not vouch for them.
    """
    git = store.repository.git
    if not tip or policy(git) != SIGNED:
        return 0
    marks = marks_of(store)
    decided = {record for record, rooms in marks.items() if rooms.keys() - {SEEN}}
    signers: dict[str, str] = {}
    accepted: dict[str, str] = {}
    for commit, records in _additions(git, tip):
        waiting = [record for record in records if record not in decided | accepted.keys()]
        if waiting and commit not in signers:
            signers[commit] = signer(git, commit)
        if waiting and signers[commit]:
            accepted |= dict.fromkeys(waiting, f"signed by {signers[commit]}")
    if accepted:
        accept(store, accepted)
    return len(accepted)


def _additions(git: Git, tip: str) -> list[tuple[str, list[str]]]:
    """Commits below ``tip`` with the records that each adds to its one parent. What a commit
    without parents holds is left out: in a shallow clone it is everything."""
    quiet = ["-c", "log.showRoot=false", "-c", "log.showSignature=false", "--no-replace-objects"]
    shape = ["log", "-z", "--no-merges", "--no-renames", "--diff-filter=A", "--name-only"]
    _, data = git.output(*quiet, *shape, "--format=%x01%H", tip, "--")
    found = []
    for block in data.split(b"\x01")[1:]:
        commit, *paths = block.decode("utf-8", "replace").split("\0")
        matches = (RECORD_PATH.fullmatch(path.strip("\n")) for path in paths)
        records = [match["id"] for match in matches if match and match["room"] == "mem"]
        if records:
            found.append((commit.strip(), records))
    return found


def signer(git: Git, commit: str) -> str:
    """Who signed a commit, as git's own check names them; '' when that check does not pass."""
    status, out, err = git.attempt("verify-commit", "--raw", commit, timeout=_TIMEOUT)
    if status != 0:
        return ""
    text = (out + err).decode("utf-8", "replace")
    found = _SSH.search(text) or _GPG.search(text)
    name = " ".join(found[1].split()) if found else "an unnamed key"
    return "".join(sign for sign in name if sign.isprintable())[:200]
