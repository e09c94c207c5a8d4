"""``git tmem audit``: which commits have a record, and why the others have none."""

from __future__ import annotations

from typing import NamedTuple

import click

from git_tmem import hooklog
from git_tmem.commands.terminal import count, say, say_json
from git_tmem.index import Index
from git_tmem.lookup import decode
from git_tmem.repo import Repository
from git_tmem.store import Store

#: Commits that are looked at without a range and without an upstream, and at most.
_DEFAULT = 20
_MOST = 1000
_UNKNOWN = "no session was captured"


class Finding(NamedTuple):
    """A commit, the (id, title) of its live records, and without any the reason."""

    commit: str
    subject: str
    records: tuple[tuple[str, str], ...]
    reason: str


@click.command()
@click.argument("revisions", metavar="[REVISION-RANGE]", default="")
@click.option("--fail", is_flag=True, help="Exit with status 1 when a commit has no record.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON for scripts.")
def command(revisions: str, fail: bool, as_json: bool) -> int:
    """List commits with their records, and those without with the reason.

    Looks at REVISION-RANGE (default: what your branch has that its upstream has not, or the
    last 20 commits), newest first, at most 1000 commits; merges are left out. The reason is
    the hook's own, from its log in this clone. With --fail the exit status is 1 when a
    commit has no record, for a check before a merge.

    \b
    Examples:
      git tmem audit
      git tmem audit --fail origin/main..HEAD
    """
    with Repository.open() as repository:
        findings = _findings(repository, revisions)
    missing = sum(not finding.records for finding in findings)
    if as_json:
        say_json([_document(finding) for finding in findings])
    else:
        _report(findings, missing)
    return int(fail and missing > 0)


def _findings(repository: Repository, revisions: str) -> list[Finding]:
    commits = _commits(repository, revisions)
    notes = Store(repository).notes(commit for commit, _ in commits)
    findings = []
    with Index(repository.layout) as index:
        for commit, subject in commits:
            records = _records(index, commit, notes.get(commit, []))
            said = hooklog.about(repository.layout, commit[:12])
            reason = "" if records else said or _UNKNOWN
            findings.append(Finding(commit, subject, records, reason))
    return findings


def _commits(repository: Repository, revisions: str) -> list[tuple[str, str]]:
    """The (id, subject) of the commits to look at."""
    if revisions:
        asked = [f"--max-count={_MOST}", repository.span(revisions)]
    elif not repository.head():
        return []
    elif repository.git.output("rev-parse", "--verify", "--quiet", "@{upstream}")[0] == 0:
        asked = [f"--max-count={_MOST}", "@{upstream}..HEAD"]
    else:
        asked = [f"--max-count={_DEFAULT}", "HEAD"]
    data = repository.git.run("log", "--no-merges", "--format=%H %s", *asked, "--")
    lines = data.decode("utf-8", "replace").splitlines()
    return [(line.partition(" ")[0], line.partition(" ")[2]) for line in lines]


def _records(index: Index, commit: str, lines: list[str]) -> tuple[tuple[str, str], ...]:
    """Live records that a commit's note names or that name the commit; the note is a view."""
    noted = [row for line in lines for row in index.by_prefix(line.split(" ", 1)[0]) if row.live]
    rows = noted or [row for row in index.naming(commit) if commit in decode(row).anchor.commits]
    return tuple(dict.fromkeys((row.id, row.title) for row in rows))


def _report(findings: list[Finding], missing: int) -> None:
    for finding in findings:
        say(f"{finding.commit[:12]} {finding.subject}")
        for record, title in finding.records:
            say(f"    {record[:12]} {title}", "green")
        if finding.reason:
            say(f"    no record: {finding.reason}", "yellow")
    say(f"{missing} of {count(len(findings), 'commit')} without a record")


def _document(finding: Finding) -> dict[str, object]:
    return {
        "commit": finding.commit,
        "subject": finding.subject,
        "records": [{"id": record, "title": title} for record, title in finding.records],
        "reason": finding.reason,
    }
