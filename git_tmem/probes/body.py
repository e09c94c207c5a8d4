"""Guard: the symbol says what it said; comments and layout do not count."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from git_tmem.playbook import EDITED, FRESH, Outcome, Step
from git_tmem.probes import blob, symbol
from git_tmem.probes.base import CachedView, Unknowable

KIND = "body"
NEEDS = (*symbol.NEEDS, "fingerprint")

#: A name with more definitions than this (generated overloads) is guarded by its presence.
_DEFINITIONS = 20


def build(step: Step, view: CachedView) -> Iterator[dict[str, str]]:
    """``{path, name, blob, scheme, fingerprint}`` for each symbol that was changed; a name with
    several definitions (a property and its setter) has their fingerprints side by side."""
    found = symbol.changed(step, view)
    for args in symbol.build(step, view):
        prints = dict.fromkeys(item.fingerprint for item in found[args["name"]])
        if len(prints) <= _DEFINITIONS:
            yield {**args, "fingerprint": " ".join(prints)}


def check(args: Mapping[str, str], view: CachedView) -> Outcome:
    """Fresh, edited or gone; an equal blob needs no parsing. Raises Unknowable when the
    fingerprints were made in different ways."""
    whole = blob.check(args, view)
    if whole.state != EDITED:
        return whole
    found = symbol.present(args, view)
    if not found:
        return symbol.missing(args)
    if any(item.scheme != args["scheme"] for item in found):
        raise Unknowable("it does not parse as it did")
    if set(args["fingerprint"].split()) <= {item.fingerprint for item in found}:
        return Outcome(FRESH, path=args["path"])
    return Outcome(EDITED, f"{args['path']}: {args['name']} was changed since", args["path"])
