"""``git tmem scan``: are there secrets in what is already stored?"""

from __future__ import annotations

import click

from git_tmem.commands.terminal import count, say, say_json
from git_tmem.repo import Repository
from git_tmem.scan import scan
from git_tmem.store import Store


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list for scripts.")
def command(as_json: bool) -> int:
    """Look for secrets in what is stored: records, notes, raw traces, .tmem/ and the journal.

    Everything is redacted before it is written. This looks again, with the rules as they are
    now and with those of tmem.redact, and says where something is and of what kind, never what
    it is. The exit status is 1 when there is something.

    \b
    Examples:
      git tmem scan
      git config --add tmem.redact 'ACME-[0-9]+' && git tmem scan
    """
    with Repository.open() as repository:
        found = scan(Store(repository))
    if as_json:
        say_json([finding._asdict() for finding in found])
    elif not found:
        say("nothing that looks like a secret is stored")
    else:
        for place, path, _, kind, number in found:
            say(f"{place} {path}: {number} x {kind}")
        records = sorted({finding.record[:12] for finding in found if finding.record})
        say(f"{count(len(found), 'finding')}; revoke what is real, then remove it:")
        for record in records[:20]:
            say(f"  git tmem purge --id {record} --yes     the whole record")
        say("  git tmem purge --yes                        asks for the string, whatever holds it")
    return 1 if found else 0
