"""Records find their commits again after history was rewritten: by content alone.

A record keeps what outlives a rewrite: the stable patch id and the tree of its newest
commit, and the blob id that each of its files came to. Rules, the strongest first:

``patch``
    a commit makes the same change (amended message, rebase, cherry-pick);
``tree``
    a commit that touches its files came to the same tree (squash at the end of a branch);
``blobs``
    a commit has all its files exactly as recorded, and brought at least one of them;
``squash``
    a commit makes the same change as the vanished commits together, from where they left
    the branches (a server's squash merge); only while this clone still has those commits.

A revert is none of these: it makes the opposite change and comes to other files. Neither a
commit's place nor its message ever counts. Of several commits that match, the oldest is
taken, for it is the one that brought the work.

The link is the record's line in the note of the commit found, and nothing else: records
never change, notes merge by union, and running again finds the same from the same ids.
Notes on vanished commits stay where they are.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from git_tmem import history
from git_tmem.changes import Commit
from git_tmem.git import Git
from git_tmem.index import Index, Row
from git_tmem.merge import NOTE_ABBREV
from git_tmem.playbook import Playbook, from_document
from git_tmem.repo import Repository
from git_tmem.store import Store, note_line

#: Commits that are looked at, and vanished tips that are taken for a squashed branch.
_DEPTH = 500
_TIPS = 20
#: Seconds by which a commit's clock may be behind the log's.
_CLOCK_SLACK = 24 * 3600


class Link(NamedTuple):
    """A record's way from a vanished commit to the one that holds its work, with the proof:
    the rule by name, and in words the ids that were equal."""

    record: str
    title: str
    rule: str
    old: str
    new: str
    proof: str


class Relinked(NamedTuple):
    """New links, and the records (id, title) whose work no commit that was looked at holds."""

    links: tuple[Link, ...]
    lost: tuple[tuple[str, str], ...]


class _Record(NamedTuple):
    """A record some of whose commits vanished; ``gone`` are those, the newest first. Of one that
    was captured before its work was committed, it is the commit '' that is still missing."""

    row: Row
    playbook: Playbook
    gone: tuple[str, ...]

    @property
    def astray(self) -> bool:
        """Whether the newest of its commits is among them."""
        commit = self.playbook.anchor.commit
        return bool(commit) and commit in self.gone


class _Field(NamedTuple):
    """Where to look: candidate commits, oldest first; patch ids of them and of vanished
    commits; vanished commit -> the commit that squashed it."""

    commits: tuple[Commit, ...]
    patches: Mapping[str, str]
    squashed: Mapping[str, str]


def relink(repository: Repository, revisions: Sequence[str] = ()) -> Relinked:
    """Link records whose commits no branch, tag or HEAD reaches, or whose work was committed
    only after it was captured, to the commits that hold it now, searching ``revisions``
    (default: all branches, tags and remotes)."""
    with Index(repository.layout) as index:
        rows = index.rows()
    records = _vanished(repository.git, rows)
    if not records:
        return Relinked((), ())
    field = _field(repository.git, records, revisions)
    found = {record.row.id: _search(repository, record, field) for record in records}
    lost = [record for record in records if record.astray and not found[record.row.id]]
    noted = _noted(repository, field.commits) if lost else set()
    return Relinked(
        _annotate(repository, [link for links in found.values() for link in links]),
        tuple(
            (record.row.id, record.row.title)
            for record in lost
            if record.row.id[:NOTE_ABBREV] not in noted
        ),
    )


def _noted(repository: Repository, commits: Iterable[Commit]) -> set[str]:
    """Abbreviated ids of the records that the notes of commits name."""
    notes = Store(repository).notes(commit.id for commit in commits)
    return {line.split(" ", 1)[0] for lines in notes.values() for line in lines}


def _vanished(git: Git, rows: Iterable[Row]) -> list[_Record]:
    anchored = {row.id: (row, _commits(row)) for row in rows}
    known = (commit for _, ids in anchored.values() for commit in ids)
    commits = list(dict.fromkeys(filter(None, known)))
    here = history.readable(git, commits)
    off = {commit for commit, _ in history.off_branch(git, here)} if here else set()
    gone = {*commits} - {*here} | off
    return [
        _Record(row, from_document(json.loads(row.document)), left)
        for row, ids in anchored.values()
        if (left := tuple(commit for commit in ids if not commit or commit in gone))
    ]


def _commits(row: Row) -> list[str]:
    anchor = json.loads(row.document).get("anchor", {})
    commits = list(anchor.get("commits", ()) or filter(None, [anchor.get("commit", "")]))
    return commits or ([""] if anchor.get("blobs") else [])


def _field(git: Git, records: Sequence[_Record], revisions: Sequence[str]) -> _Field:
    """The commits that touch any file of the records; the others need no patch id."""
    since = min(record.playbook.started for record in records) - _CLOCK_SLACK
    everywhere = ["--branches", "--tags", "--remotes", *history.heads(git)]
    asked = [*revisions] or everywhere
    known = {commit for record in records for commit in record.gone}
    files = {path for record in records for path in _files(record.playbook)}
    commits = tuple(
        commit
        for commit in reversed(history.commits_since(git, asked, int(since), _DEPTH))
        if commit.id not in known and any(change.path in files for change in commit.changes)
    )
    old = history.readable(git, known - {""})
    patches = history.patch_ids(git, [*(commit.id for commit in commits), *old])
    return _Field(commits, patches, _squashed(git, commits, patches, old))


def _files(playbook: Playbook) -> set[str]:
    return {*playbook.files, *playbook.anchor.blobs}


def _squashed(
    git: Git, commits: Sequence[Commit], patches: Mapping[str, str], old: Sequence[str]
) -> dict[str, str]:
    """Vanished commit -> the commit that makes the same change as its whole line together."""
    if not old or not commits:
        return {}
    by_patch = {
        patches[commit.id]: commit.id for commit in reversed(commits) if commit.id in patches
    }
    off = history.off_branch(git, [*old, "--reflog"])
    parents = {parent for _, theirs in off for parent in theirs}
    tips = [commit for commit, _ in off if commit not in parents]
    found: dict[str, str] = {}
    for tip in list(dict.fromkeys([*tips[:_TIPS], *old]))[: 2 * _TIPS]:
        line = history.off_branch(git, [tip])
        if len(line) < 2:
            continue
        start = line[-1][1][0] if line[-1][1] else history.empty_tree(git)
        new = by_patch.get(history.joined_patch_id(git, start, tip), "")
        for commit, _ in line if new else ():
            found.setdefault(commit, new)
    return found


def _search(repository: Repository, record: _Record, field: _Field) -> list[Link]:
    """A link for each vanished commit of a record that the rules find again."""
    links: list[Link] = []
    for old in record.gone:
        rule, new, proof = _rule(repository, record.playbook, old, field)
        if new and all(link.new != new for link in links):
            links.append(Link(record.row.id, record.row.title, rule, old, new, proof))
    return links


def _rule(
    repository: Repository, playbook: Playbook, old: str, field: _Field
) -> tuple[str, str, str]:
    """The first rule that holds: (rule, commit, proof), three times '' for none.

    The record's tree and blobs are those of its newest commit, so they speak for it alone.
    """
    anchor = playbook.anchor
    patch = field.patches.get(old, anchor.patch if old == anchor.commit else "")
    for commit in field.commits if patch else ():
        if field.patches.get(commit.id) == patch:
            return "patch", commit.id, f"patch id {patch[:12]}"
    if old == anchor.commit:
        for commit in field.commits:
            if commit.tree == anchor.tree and _touches(commit, playbook):
                return "tree", commit.id, f"tree {anchor.tree[:12]}"
        for commit in field.commits:
            if holds(repository, commit, anchor.blobs):
                blobs = ", ".join(f"{blob[:12]} {path}" for path, blob in anchor.blobs.items())
                return "blobs", commit.id, f"blobs {blobs}"
    if old in field.squashed:
        new = field.squashed[old]
        return "squash", new, f"joined patch id {field.patches[new][:12]}"
    return "", "", ""


def _touches(commit: Commit, playbook: Playbook) -> bool:
    files = _files(playbook)
    return any(change.path in files for change in commit.changes)


def holds(repository: Repository, commit: Commit, blobs: Mapping[str, str]) -> bool:
    """Whether a commit brought one of the blobs to its path, and has all the others too."""
    brought = any(
        change.new_blob and blobs.get(change.path) == change.new_blob for change in commit.changes
    )
    return brought and all(
        repository.entry(commit.tree, path) == blob for path, blob in blobs.items()
    )


def _annotate(repository: Repository, links: Sequence[Link]) -> tuple[Link, ...]:
    """Write the links that are not there yet into the notes; those."""
    store = Store(repository)
    notes = store.notes(dict.fromkeys(link.new for link in links))
    fresh = []
    lines: dict[str, list[str]] = {}
    for link in links:
        line = note_line(link.record, link.title)
        if line not in notes.get(link.new, ()) and line not in lines.get(link.new, ()):
            lines.setdefault(link.new, []).append(line)
            fresh.append(link)
    if lines:
        store.annotate(lines)
    return tuple(fresh)


def follow(repository: Repository, pairs: Sequence[tuple[str, str]]) -> tuple[Link, ...]:
    """Take note lines from rewritten commits to the new ones that git names, each only where
    the content bears git out. ``pairs`` are (old, new), in the order git gives them.

    Git names as one group all that was melted into a commit, so a group may be proved as a
    whole, and a change that a conflict altered by more than half of its added lines.
    """
    store = Store(repository)
    notes = store.notes(dict.fromkeys(old for old, _ in pairs))
    groups: dict[str, list[str]] = {}
    for old, new in pairs:
        groups.setdefault(new, []).append(old)
    groups = {new: group for new, group in groups.items() if not notes.keys().isdisjoint(group)}
    ids = dict.fromkeys([*groups, *(old for group in groups.values() for old in group)])
    here = set(history.readable(repository.git, ids))
    patches = history.patch_ids(repository.git, [commit for commit in ids if commit in here])
    links: list[Link] = []
    with Index(repository.layout) as index:
        for new, group in groups.items():
            for old in group if here.issuperset((new, *group)) else ():
                rule, proof = _borne_out(repository, old, group, new, patches)
                lines = _live(index, notes.get(old, ())) if rule else []
                links += [Link(record, title, rule, old, new, proof) for record, title in lines]
    return _annotate(repository, links)


def _live(index: Index, lines: Iterable[str]) -> list[tuple[str, str]]:
    """The (id, title) of the live records that note lines name."""
    rows = [index.by_prefix(line.split(" ", 1)[0]) for line in lines]
    return [(row.id, row.title) for found in rows for row in found if row.live]


def _borne_out(
    repository: Repository, old: str, group: Sequence[str], new: str, patches: Mapping[str, str]
) -> tuple[str, str]:
    """The rule and the proof that ``new`` holds the work of ``old``, one of a group."""
    git = repository.git
    if old in patches and patches[old] == patches.get(new):
        return "patch", f"patch id {patches[old][:12]}"
    tree = repository.tree_of(new)
    if repository.tree_of(group[-1]) == tree:
        return "tree", f"tree {tree[:12]}"
    made = history.exactly(git, [*group, new])
    blobs = {change.path: change.new_blob for commit in made[:-1] for change in commit.changes}
    if made and made[-1].id == new and holds(repository, made[-1], blobs):
        return "blobs", f"{len(blobs)} blobs of {len(group)} commits"
    wanted = history.added_lines(git, old)
    common = wanted & history.added_lines(git, new)
    if 2 * len(common) > len(wanted):
        return "lines", f"{len(common)} of {len(wanted)} added lines"
    return "", ""
