"""Guard: the file still defines this symbol."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from git_tmem.languages.base import Symbol
from git_tmem.playbook import EDITED, FRESH, GONE, MUTATE, Outcome, Step
from git_tmem.probes import blob
from git_tmem.probes.base import CachedView, Unknowable, safe_path

KIND = "symbol"
NEEDS = ("path", "name", "blob", "scheme")

#: Symbols of one step that are guarded.
_MOST = 5


def build(step: Step, view: CachedView) -> Iterator[dict[str, str]]:
    """``{path, name, blob, scheme}`` for each symbol that was changed."""
    for name, found in changed(step, view).items():
        place = {"path": step.path, "blob": view.blob(step.path) or ""}
        yield {**place, "name": name, "scheme": found[0].scheme}


def check(args: Mapping[str, str], view: CachedView) -> Outcome:
    """Fresh when a symbol of that name is there; else gone."""
    whole = blob.check(args, view)
    if whole.state != EDITED:
        return whole
    return Outcome(FRESH, path=args["path"]) if present(args, view) else missing(args)


def changed(step: Step, view: CachedView) -> dict[str, Sequence[Symbol]]:
    """The step's symbols as the file has them, without those that only enclose another one:
    a class is not what changed when one of its methods did."""
    if step.kind != MUTATE or not step.symbols or not safe_path(step.path):
        return {}
    if view.blob(step.path) is None:
        return {}
    try:
        known = view.symbols(step.path)
    except Unknowable:
        return {}
    named = {name: known[name] for name in step.symbols if name in known}
    inner = {
        name: found
        for name, found in named.items()
        if not any(_encloses(found, named[other]) for other in named if other != name)
    }
    return dict(list(inner.items())[:_MOST])


def _encloses(outer: Sequence[Symbol], inner: Sequence[Symbol]) -> bool:
    return any(
        one.start <= other.start and other.end <= one.end and one[1:3] != other[1:3]
        for one in outer
        for other in inner
    )


def present(args: Mapping[str, str], view: CachedView) -> Sequence[Symbol]:
    """The symbols of the probe's name. Raises Unknowable when the file could not be parsed the
    way it was, so that a missing name proves nothing."""
    known = view.symbols(args["path"], args["scheme"])
    found = known.get(args["name"], ())
    if not found and any(item.scheme != args["scheme"] for some in known.values() for item in some):
        raise Unknowable("it does not parse now")
    return found


def missing(args: Mapping[str, str]) -> Outcome:
    """The outcome for a symbol that its file no longer defines."""
    return Outcome(GONE, f"{args['path']}: {args['name']} is gone", args["path"])
