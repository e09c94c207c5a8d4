"""Memories that somebody wrote: remembered, and replaced by better ones.

An insight is about files and symbols of the work tree, or about nothing in particular. What
it is about guards it: once all of that is gone, it is shown no more.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from git_tmem import probes, trust
from git_tmem.errors import InputError
from git_tmem.index import Row
from git_tmem.intent import title_of
from git_tmem.playbook import INSIGHT, NOTE, Anchor, Playbook, Probe, Step, from_document
from git_tmem.playbook import to_document as document_of
from git_tmem.probes.base import CachedView, Unknowable
from git_tmem.repo import Repository
from git_tmem.schema import parse
from git_tmem.store import FORGOTTEN, Put, Store, note_line
from git_tmem.worktree import WorktreeView

#: Characters of the text, as in the schema.
TEXT_LIMIT = 4000


class About(NamedTuple):
    """A file of the work tree, relative to its top with ``/``, and a symbol in it or ''."""

    path: str
    symbol: str = ""


def remember(
    repository: Repository, text: str, about: Sequence[About] = (), title: str = ""
) -> Put:
    """Store what somebody wrote. Raises InputError for a text that is empty or too long, and for
    a file or symbol that is not there."""
    return _store(repository, _written(repository, text, about, title))


def replace(
    repository: Repository, row: Row, text: str, about: Sequence[About] = (), title: str = ""
) -> Put:
    """Store an insight that takes the place of a record, in one commit of the store.

    Without ``about``, it is about what the old one was about and is still there; the commits
    that the old one was noted on name the new one. Raises InputError as :func:`remember` does,
    and for a record that was replaced before.
    """
    if not row.live:
        raise InputError(
            f"{row.id[:12]} was superseded before", f"see by what: git tmem show {row.id[:12]}"
        )
    old = from_document(parse(row.document, "the record"))
    new = _written(repository, text, about or _inherited(repository, old), title)
    return _store(repository, new._replace(supersedes=(row.id,), anchor=old.anchor))


def _written(repository: Repository, text: str, about: Sequence[About], title: str) -> Playbook:
    text = "".join(sign for sign in text if sign in "\n\t" or sign.isprintable()).strip()
    if not text:
        raise InputError("there is nothing to remember: the text is empty", "write some words")
    if len(text) > TEXT_LIMIT:
        raise InputError(
            f"the text has {len(text)} characters, and may have {TEXT_LIMIT}",
            "keep what the next reader needs, or remember it in parts",
        )
    view = CachedView(_view(repository))
    moment = int(time.time())
    files = tuple(dict.fromkeys(place.path for place in about))
    symbols = tuple(dict.fromkeys(place.symbol for place in about if place.symbol))
    guards = [guard for place in about for guard in _guards(place, view)]
    return Playbook(
        title=title.strip() or title_of([text], files),
        agent="",
        session="",
        author=repository.identity().line,
        branch=repository.branch(),
        started=moment,
        ended=moment,
        steps=(Step(NOTE, symbols=symbols, reason=text),),
        files=files,
        anchor=Anchor(),
        probes=tuple(guards),
        kind=INSIGHT,
    )


def _view(repository: Repository) -> Any:
    """The work tree; of a bare repository, HEAD."""
    if repository.layout.top:
        return WorktreeView(repository.layout)
    return repository.view(repository.resolve("HEAD"))


def _guards(place: About, view: CachedView) -> Iterator[Probe]:
    """What must still be there. Raises InputError for what is not there now."""
    path, name = place
    if not probes.safe_path(path) or not view.exists(path):
        raise InputError(f"{path} is not in this repository", "name a file that is there")
    blob = view.blob(path) or ""
    if not name:
        yield Probe("path", {"path": path}, (0,))
        if blob:
            yield Probe("blob", {"path": path, "blob": blob}, (0,))
        return
    try:
        known = view.symbols(path)
    except Unknowable as error:
        raise InputError(f"the symbols of {path} cannot be told: {error}") from error
    if name not in known:
        some = ", ".join(list(known)[:8]) or "none"
        raise InputError(f"{path} defines no {name}", f"it defines: {some}")
    scheme = known[name][0].scheme
    yield Probe("symbol", {"path": path, "name": name, "blob": blob, "scheme": scheme}, (0,))


def _inherited(repository: Repository, old: Playbook) -> list[About]:
    """The files of a record, as far as they are there."""
    view = _view(repository)
    return [About(path) for path in old.files if probes.safe_path(path) and view.blob(path)]


def _store(repository: Repository, playbook: Playbook) -> Put:
    store = Store(repository)
    words = [path.rpartition("/")[2] for path in playbook.files]
    put = store.put(document_of(playbook), keywords=[*words, *playbook.steps[0].symbols][:12])
    if put.outcome == FORGOTTEN:
        return put
    trust.mark_own(store, [put.id])
    lines = {commit: [note_line(put.id, playbook.title)] for commit in playbook.anchor.commits}
    if lines:
        store.annotate(lines, gone=playbook.supersedes)
    return put
