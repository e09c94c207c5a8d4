"""Everything that can go wrong in a way the user can act on.

::

    TmemError                 exit status
    ├── NothingFound     1    asked for something that is not there
    ├── UsageMistake     2    a command line that no command understands
    ├── InputError       3    a log, an id, a record or an argument is not usable
    │   └── NewerFormat  3    written by a newer git-tmem
    ├── RepositoryError  4    not a repository, or not one that can be used here
    ├── StoreError       5    git or the disk refused a write; the store is as it was
    │   └── Unreadable   5    an object or ref of the store is missing or damaged
    └── RemoteError      6    fetch or push did not succeed

A message says what is wrong and where; the hint says what to do about it.
Status 70 is a bug in git-tmem, 130 an interrupt.
"""

from __future__ import annotations


class TmemError(Exception):
    """The root: a one-line ``message``, an optional one-line ``hint``, an exit status."""

    exit_status = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class NothingFound(TmemError):
    """Asked for a record, a session or a match that is not there."""

    exit_status = 1


class UsageMistake(TmemError):
    """A command line that no command understands."""

    exit_status = 2


class InputError(TmemError):
    """A session log, an id, a record or an argument that cannot be used."""

    exit_status = 3


class NewerFormat(InputError):
    """A document written by a newer git-tmem than this one."""


class RepositoryError(TmemError):
    """Not a git repository, or one that git-tmem cannot work in."""

    exit_status = 4


class StoreError(TmemError):
    """Git or the disk refused a write; the store is as it was before."""

    exit_status = 5


class Unreadable(StoreError):
    """An object or a ref of the store is missing or damaged."""


class RemoteError(TmemError):
    """A fetch or a push did not succeed; local records are safe."""

    exit_status = 6
