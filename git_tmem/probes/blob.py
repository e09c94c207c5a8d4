"""Guard: the file has exactly the content it had; when it is gone, the content is looked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from git_tmem.playbook import EDITED, FRESH, GONE, MOVED, MUTATE, Outcome, Step
from git_tmem.probes.base import EMPTY_BLOBS, CachedView, safe_path

KIND = "blob"
NEEDS = ("path", "blob")


def build(step: Step, view: CachedView) -> Iterator[dict[str, str]]:
    """``{path, blob}`` for a changed file."""
    if step.kind == MUTATE and safe_path(step.path):
        blob_id = view.blob(step.path)
        if blob_id is not None:
            yield {"path": step.path, "blob": blob_id}


def check(args: Mapping[str, str], view: CachedView) -> Outcome:
    """Fresh, edited, moved (the same content is elsewhere) or gone."""
    path, blob_id = args["path"], args["blob"]
    now = view.blob(path)
    if now == blob_id:
        return Outcome(FRESH, path=path)
    if now is not None:
        return Outcome(EDITED, f"{path} was changed since", path)
    places = [] if blob_id in EMPTY_BLOBS else view.find(blob_id)
    if not places:
        return Outcome(GONE, f"{path} is gone")
    new = min(places, key=lambda place: _distance(path, place))
    return Outcome(MOVED, f"{path} moved to {new} (same content)", new)


def _distance(old: str, new: str) -> tuple[bool, int, str]:
    """The same name first, then the place with the most leading folders in common."""
    before, after = old.split("/"), new.split("/")
    common = 0
    while common < min(len(before), len(after)) and before[common] == after[common]:
        common += 1
    return before[-1] != after[-1], -common, new
