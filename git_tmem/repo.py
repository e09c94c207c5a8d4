"""Objects and refs of a repository as our own values, in hex and text; the one door to dulwich.

Dulwich writes where it can: it needs no process. Where it cannot (SHA-256 object names,
reftable, an extension it does not know), ``plumbing`` does the same by git itself; both
make the same bytes, so a clone written by one and a clone written by the other agree.

Objects are written first and freely; a ref moves last, by compare-and-swap. So a failure
leaves at most objects that nobody refers to. Objects go through a writer of our own,
because dulwich takes a lock file per object (which a killed process leaves behind for
ever) and does not flush it to the disk; its temporary names are git's, so ``git gc``
sweeps what a crash leaves.
"""

from __future__ import annotations

import contextlib
import os
import re
import zlib
from collections.abc import Iterable, Mapping
from typing import NamedTuple, Protocol

from dulwich.errors import ChecksumMismatch, FileFormatException, NotGitRepository, NotTreeError
from dulwich.file import FileLocked
from dulwich.object_store import tree_lookup_path
from dulwich.objects import ZERO_SHA, Blob, Commit, ObjectID, RawObjectID, ShaFile, Tree
from dulwich.refs import Ref
from dulwich.repo import Repo, UnsupportedExtension, UnsupportedVersion

from git_tmem.errors import InputError, RepositoryError, StoreError, Unreadable
from git_tmem.git import Git, Layout, discover, environment
from git_tmem.plumbing import LOOSE, Level, Plumbing, is_tidying, make_safe, write_pack
from git_tmem.probes.base import Unknowable

_ID = re.compile("[0-9a-f]{40}(?:[0-9a-f]{24})?")
#: What reading a missing or damaged object raises.
_DAMAGE = (
    KeyError,
    ValueError,
    OSError,
    AssertionError,
    zlib.error,
    ChecksumMismatch,
    FileFormatException,
)
_FILE = 0o100644
_FOLDER = 0o040000
#: How often the folder of a loose object is made again before its absence is an error.
_FOLDER_TRIES = 5
#: Seconds one signature may take, a passphrase typed by a person included.
_SIGNING = 60.0


class Identity(NamedTuple):
    """Who writes a commit, and the time zone offset in seconds."""

    name: str
    email: str

    @property
    def line(self) -> str:
        """``name <email>`` of :attr:`clean`."""
        return "{} <{}>".format(*self.clean)

    @property
    def clean(self) -> tuple[str, str]:
        """Name and email, free of what git's own checks refuse."""
        bad = str.maketrans(dict.fromkeys("<>\n\r\0", ""))
        name = self.name.translate(bad).strip(" .,:;\"'") or "unknown"
        return name, self.email.translate(bad).strip()


#: Who signs a record when git knows no identity.
NOBODY = Identity("git-tmem", "git-tmem@localhost")


class Backend(Protocol):
    """What a repository needs of git; see :class:`Plumbing` for each. New objects are remembered
    and can be read at once, but reach the disk with ``flush`` alone."""

    @property
    def empty_tree(self) -> str: ...
    def close(self) -> None: ...
    def ref(self, name: str) -> str: ...
    def tree_of(self, commit: str) -> str: ...
    def time_of(self, commit: str) -> int: ...
    def blob(self, blob_id: str) -> bytes: ...
    def entry(self, tree: str, path: str) -> str: ...
    def level(self, tree: str) -> Level: ...
    def add_blob(self, data: bytes) -> str: ...
    def add_tree(self, level: Mapping[bytes, tuple[int, str]]) -> str: ...
    def add_commit(
        self, tree: str, parents: Iterable[str], signed: bytes, time: int, zone: int, message: bytes
    ) -> str: ...
    def discard(self) -> None: ...
    def flush(self) -> None: ...
    def settle(self) -> None: ...
    def move_ref(self, name: str, old: str, new: str, reason: str, by: tuple[str, str]) -> bool: ...
    def drop_ref(self, name: str, old: str) -> bool: ...


class Repository:
    """One repository, opened lazily; use as a context manager so that files are closed."""

    def __init__(self, layout: Layout, plumbing: bool = False) -> None:
        self.layout = layout
        self.git = Git(layout)
        self._plumbing = plumbing
        self._chosen: Backend | None = None
        self._identity: Identity | None = None

    @classmethod
    def open(cls, folder: str = "", plumbing: bool = False) -> Repository:
        """The repository that git would use from ``folder``; ``plumbing`` does without dulwich
        even where it could be used. Raises RepositoryError."""
        return cls(discover(folder), plumbing)

    def __enter__(self) -> Repository:
        return self

    def __exit__(self, *_: object) -> None:
        if self._chosen is not None:
            self._chosen.close()
            self._chosen = None

    @property
    def _back(self) -> Backend:
        if self._chosen is None:
            self._chosen = Plumbing(self.git) if self._plumbing else _choose(self.layout, self.git)
        return self._chosen

    # Reading.

    def resolve(self, revision: str) -> str:
        """The commit id a revision names, in git's own syntax. Raises InputError."""
        asked = ["rev-parse", "--verify", "--quiet", "--end-of-options"]
        status, data = self.git.output(*asked, f"{revision}^{{commit}}")
        if status != 0:
            raise InputError(f"{revision!r} names no commit here", "see: git log --oneline --all")
        return data.decode("ascii").strip()

    def span(self, revisions: str) -> str:
        """A range (or one revision) that ``git log`` understands. Raises InputError."""
        asked = ["rev-list", "--max-count=1", "--end-of-options", revisions, "--"]
        if revisions.startswith("-") or self.git.output(*asked)[0] != 0:
            raise InputError(f"{revisions!r} is no range of commits here", "such as: main..HEAD")
        return revisions

    def head(self) -> str:
        """The commit HEAD is at, '' before the first commit."""
        status, data = self.git.output("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
        return data.decode("ascii").strip() if status == 0 else ""

    def branch(self) -> str:
        """The branch HEAD is on, '' when detached."""
        status, data = self.git.output("symbolic-ref", "--short", "--quiet", "HEAD")
        return data.decode("utf-8", "replace").strip() if status == 0 else ""

    def identity(self) -> Identity:
        """The user as git knows them, NOBODY when it does not; asked once."""
        if self._identity is None:
            self._identity = self._ask_identity()
        return self._identity

    def _ask_identity(self) -> Identity:
        status, data = self.git.output("var", "GIT_AUTHOR_IDENT")
        name, bracket, rest = data.decode("utf-8", "replace").partition(" <")
        if status != 0 or not bracket:
            return NOBODY
        return Identity(name, rest.partition(">")[0])

    def ref(self, name: str) -> str:
        """The object id a ref points at, '' when there is no such ref. Raises Unreadable when
        its file holds none."""
        found = self._back.ref(name)
        if _ID.fullmatch(found) or (not found and not os.path.isfile(self.ref_file(name))):
            return found
        if not found and (found := self._again(name)):  # made a moment ago
            return found
        raise Unreadable(f"{name} holds no object id", "git tmem doctor")

    def _again(self, name: str) -> str:
        try:
            with open(self.ref_file(name), encoding="latin-1") as stream:
                text = stream.read(128).strip()
        except OSError:
            return ""
        return text if _ID.fullmatch(text) else ""

    def ref_file(self, name: str) -> str:
        """Where a ref lies when it is not packed."""
        return os.path.join(self.layout.common_dir, *name.split("/"))

    @property
    def empty_tree(self) -> str:
        """The id of the tree with nothing in it, which depends on the object format."""
        return self._back.empty_tree

    def tree_of(self, commit: str) -> str:
        """The tree id of a commit. Raises StoreError when it is no readable commit."""
        return self._back.tree_of(commit)

    def time_of(self, commit: str) -> int:
        """The committer's time of a commit, in seconds since the epoch."""
        return self._back.time_of(commit)

    def blob(self, blob_id: str) -> bytes:
        """The bytes of a blob. Raises StoreError when it is missing."""
        return self._back.blob(blob_id)

    def entry(self, tree: str, path: str) -> str:
        """The blob id at a path below a tree, '' when there is none. Raises Unreadable when a
        folder on the way cannot be read."""
        return self._back.entry(tree, path) if tree else ""

    def level(self, tree: str) -> Level:
        """The entries directly in a tree. Raises StoreError when it is not in this clone."""
        return self._back.level(tree)

    def files(self, tree: str) -> dict[str, tuple[int, str]]:
        """Every entry below a tree: path -> (mode, object id). Names as git stores them."""
        if not tree:
            return {}
        data = self.git.run("ls-tree", "-r", "-z", "--full-tree", tree)
        entries = (entry.partition(b"\t") for entry in data.split(b"\0") if entry)
        return {
            os.fsdecode(path): (int(head.split()[0], 8), head.split()[2].decode("ascii"))
            for head, _, path in entries
        }

    def names(self, tree: str) -> list[str]:
        """The names at the top of a tree."""
        return [os.fsdecode(name) for name in self._back.level(tree)]

    def salvage(self, commit: str) -> dict[str, str]:
        """Whatever of a commit's tree can still be read: path -> blob id."""
        found: dict[str, str] = {}
        with contextlib.suppress(StoreError):
            self._gather(self.tree_of(commit), "", found)
        return found

    def _gather(self, tree: str, folder: str, found: dict[str, str]) -> None:
        with contextlib.suppress(StoreError):
            for name, (mode, oid) in self._back.level(tree).items():
                path = folder + os.fsdecode(name)
                if mode == _FOLDER:
                    self._gather(oid, f"{path}/", found)
                else:
                    found[path] = oid

    def view(self, commit: str) -> RevisionView:
        """A commit's tree as a view for probes, without a checkout."""
        return RevisionView(self, self.tree_of(commit))

    # Writing.

    def write_blob(self, data: bytes) -> str:
        """The id of a new blob."""
        return self._back.add_blob(data)

    def write_commit(
        self,
        tree: str,
        parents: Iterable[str],
        message: str,
        identity: Identity = NOBODY,
        time: int = 0,
        zone: int = 0,
    ) -> str:
        """The id of a new commit; ``time`` in seconds, ``zone`` in seconds east of UTC."""
        signed = identity.line.encode("utf-8", "replace")
        text = message.replace("\0", "").encode("utf-8", "replace")
        return self._back.add_commit(tree, parents, signed, time, zone, text)

    def write_raw_commit(
        self, tree: str, parents: Iterable[str], signed: bytes, time: int, zone: int, text: bytes
    ) -> str:
        """As :meth:`write_commit`, with ``name <email>`` and message as bytes of another commit."""
        return self._back.add_commit(tree, parents, signed, time, zone, text)

    def write_tree(self, level: Level) -> str:
        """The id of a new tree."""
        return self._back.add_tree(level)

    def signs(self) -> bool:
        """Whether the user wants commits of records signed (``tmem.sign``)."""
        _, data = self.git.output("config", "--type=bool", "--get", "tmem.sign")
        return data.strip() == b"true"

    def sign_commit(
        self,
        tree: str,
        parents: Iterable[str],
        message: str,
        identity: Identity = NOBODY,
        time: int = 0,
        zone: int = 0,
    ) -> str:
        """As :meth:`write_commit`, signed by git with the user's key. What the commit refers to
        is flushed first. Raises StoreError when git cannot sign."""
        self.flush()
        asked = ["-c", "i18n.commitEncoding=UTF-8", "commit-tree", "-S", "-F", "-", tree]
        asked += [word for parent in parents for word in ("-p", parent)]
        data = message.replace("\0", "").encode("utf-8", "replace")
        env = {**environment(), **_signature(identity, time, zone)}
        status, out, err = self.git.attempt(*asked, data=data, timeout=_SIGNING, env=env)
        if status != 0:
            lines = err.decode("utf-8", "replace").split("\n") if err else []
            reason = next(filter(None, map(str.strip, lines)), "no reason given")
            raise StoreError(
                f"the record could not be signed: {reason}",
                "see user.signingKey and gpg.format, or: git config tmem.sign false",
            )
        return out.decode("ascii").strip()

    def edit_tree(self, tree: str, edits: Mapping[str, str]) -> str:
        """A tree with blobs put at (or, for '', taken from) paths; only touched folders are
        read and written. An empty tree is a tree too; '' stands for one that is not there."""
        here = dict(self._back.level(tree)) if tree else {}
        below: dict[str, dict[str, str]] = {}
        for path, blob_id in edits.items():
            name, slash, rest = path.partition("/")
            if slash:
                below.setdefault(name, {})[rest] = blob_id
            else:
                _place(here, name, _FILE, blob_id)
        for name, inner in below.items():
            left = self.edit_tree(here.get(name.encode(), (0, ""))[1], inner)
            _place(here, name, _FOLDER, "" if left == self.empty_tree else left)
        return self._back.add_tree(here)

    def discard(self) -> None:
        """Drop remembered objects that turned out not to be needed."""
        self._back.discard()

    def flush(self) -> None:
        """Put remembered objects on the disk, contents before what refers to them.

        Raises StoreError when the disk refuses; the refs still say what they said.
        """
        self._back.flush()

    def move_ref(self, name: str, old: str, new: str, reason: str, by: Identity = NOBODY) -> bool:
        """Move a ref from ``old`` ('' for: must not exist) to ``new``; False when it is not there
        any more. Raises StoreError when the disk refuses."""
        moved = self._back.move_ref(name, old, new, reason.replace("\n", " "), by.clean)
        if moved:
            self._back.settle()
        return moved

    def put_aside(self, oid: str) -> None:
        """Move the file of an object that cannot be read to our own folder: git's own commands
        stop at it. A readable or missing object is left as it is."""
        path = os.path.join(self.layout.common_dir, "objects", oid[:2], oid[2:])
        with contextlib.suppress(OSError):
            if self.git.output("cat-file", "-p", oid)[0] != 0:
                os.replace(path, os.path.join(self.layout.own_dir, f"rescued-{oid}"))

    def clear_garbage(self, name: str) -> bytes:
        """Take away a ref's file that holds no object id, under git's own lock; what it held.
        Raises StoreError when it is locked or the disk refuses."""
        path = self.ref_file(name)
        try:
            os.close(os.open(f"{path}.lock", os.O_CREAT | os.O_EXCL | os.O_WRONLY))
            try:
                with open(path, "rb") as stream:
                    data = stream.read()
                if _ID.fullmatch(data.strip().decode("latin-1")):
                    return b""
                os.unlink(path)
            finally:
                os.unlink(f"{path}.lock")
        except OSError as error:
            raise StoreError(f"{name} cannot be repaired: {error.strerror}") from error
        return data

    def drop_ref(self, name: str, old: str) -> bool:
        """Delete a ref that still points at ``old``."""
        return self._back.drop_ref(name, old)


class _Dulwich:
    """Objects and refs by dulwich: no process, so the quick way for an append. Many objects at
    once go to git as one pack, which dulwich would read twice more, and not flush to the disk."""

    empty_tree = Tree().id.decode("ascii")

    def __init__(self, git: Git, opened: Repo) -> None:
        self._git = git
        self._objects = os.path.join(git.layout.common_dir, "objects")
        self._repo = opened
        self._new: dict[ObjectID, ShaFile] = {}
        self._fresh: dict[ObjectID, ShaFile] = {}

    def close(self) -> None:
        self._repo.close()

    def ref(self, name: str) -> str:
        try:
            found: bytes = self._repo.refs[_ref(name)]
            return found.decode("latin-1")
        except KeyError:
            return ""

    def tree_of(self, commit: str) -> str:
        return str(self._commit(commit).tree, "ascii")

    def time_of(self, commit: str) -> int:
        return int(self._commit(commit).commit_time)

    def _commit(self, commit: str) -> Commit:
        found = self._object(commit)
        if not isinstance(found, Commit):
            raise StoreError(f"{commit[:12]} is not a commit", "see: git fsck")
        return found

    def blob(self, blob_id: str) -> bytes:
        found = self._object(blob_id)
        if not isinstance(found, Blob):
            raise StoreError(f"{blob_id[:12]} is not a blob", "see: git fsck")
        return found.as_raw_string()

    def entry(self, tree: str, path: str) -> str:
        try:
            _, oid = tree_lookup_path(self._known, _oid(tree), path.encode())
        except (KeyError, NotTreeError):
            return ""
        return oid.decode("ascii")

    def level(self, tree: str) -> Level:
        if tree == self.empty_tree:
            return {}
        found = self._object(tree)
        if not isinstance(found, Tree):
            raise StoreError(f"{tree[:12]} is not a tree", "see: git fsck")
        return {name: (mode, oid.decode("ascii")) for name, mode, oid in found.items()}

    def _known(self, oid: ObjectID | RawObjectID) -> ShaFile:
        """An object by either form of its id; the empty tree is one everywhere."""
        name = oid.hex() if len(oid) == 20 else oid.decode("ascii")
        return Tree() if name == self.empty_tree else self._object(name)

    def _object(self, oid: str) -> ShaFile:
        try:
            found = self._new.get(_oid(oid)) or self._repo[_oid(oid)]
            found.as_raw_string()
        except _DAMAGE as error:
            raise Unreadable(f"git object {oid[:12]} cannot be read", "git tmem doctor") from error
        return found

    def add_blob(self, data: bytes) -> str:
        return self._keep(Blob.from_string(data))

    def add_tree(self, level: Mapping[bytes, tuple[int, str]]) -> str:
        made = Tree()
        for name, (mode, oid) in level.items():
            made.add(name, mode, _oid(oid))
        return self._keep(made)

    def add_commit(
        self, tree: str, parents: Iterable[str], signed: bytes, time: int, zone: int, message: bytes
    ) -> str:
        commit = Commit()
        commit.tree = _oid(tree)
        commit.parents = [_oid(parent) for parent in parents]
        commit.author = commit.committer = signed
        commit.author_time = commit.commit_time = time
        commit.author_timezone = commit.commit_timezone = zone
        commit.encoding = None
        commit.message = message
        return self._keep(commit)

    def _keep(self, made: ShaFile) -> str:
        """Remember an object until ``flush``; its id now."""
        self._new[made.id] = made
        return made.id.decode("ascii")

    def discard(self) -> None:
        self._new = {}

    def flush(self) -> None:
        new, self._new = self._new, {}
        self._fresh |= new
        if len(new) > LOOSE:
            write_pack(self._git, "sha1", list(map(_plain, new.values())))
            return
        try:
            for made in new.values():
                _write_loose(self._objects, made)
        except OSError as error:
            raise StoreError(f"git objects could not be written: {error.strerror}") from error

    def settle(self) -> None:
        fresh, self._fresh = self._fresh, {}
        loose = all(os.path.exists(_loose_path(self._objects, oid)) for oid in fresh)
        if not loose or is_tidying(self._git.layout):
            objects = {oid.decode("ascii"): _plain(made) for oid, made in fresh.items()}
            make_safe(self._git, "sha1", objects, loose)

    def move_ref(self, name: str, old: str, new: str, reason: str, by: tuple[str, str]) -> bool:
        try:
            return self._repo.refs.set_if_equals(
                _ref(name),
                _oid(old) if old else ZERO_SHA,
                _oid(new),
                committer=f"{by[0]} <{by[1]}>".encode("utf-8", "replace"),
                message=reason.encode("utf-8", "replace"),
            )
        except FileLocked:
            return False
        except FileNotFoundError:  # git gc took the empty folder away at this moment
            return False
        except OSError as error:
            raise StoreError(f"{name} could not be moved: {error.strerror}") from error

    def drop_ref(self, name: str, old: str) -> bool:
        return self._repo.refs.remove_if_equals(_ref(name), _oid(old))


class RevisionView:
    """Answers probes from a tree: nothing is checked out."""

    def __init__(self, repository: Repository, tree: str) -> None:
        self._repository = repository
        self._root = tree
        self._folders: dict[str, dict[str, tuple[int, str]] | None] = {}
        self._all: dict[str, tuple[int, str]] | None = None

    def prime(self, paths: Iterable[str]) -> None:
        """Nothing to do: folders are read once, when first asked for."""

    def blob(self, path: str) -> str | None:
        """The blob id at a path. Raises Unknowable below a submodule or in a partial clone."""
        mode, oid = self._entry(path)
        return oid if mode & 0o170000 in (0o100000, 0o120000) else None

    def read(self, path: str) -> bytes | None:
        """The file's bytes, None when no regular file is there."""
        mode, oid = self._entry(path)
        if mode & 0o170000 != 0o100000:
            return None
        try:
            return self._repository.blob(oid)
        except StoreError as error:
            raise Unknowable("its content is not in this clone") from error

    def is_dir(self, path: str) -> bool:
        """Whether a folder is there."""
        return self._entry(path)[0] == _FOLDER

    def find(self, blob_id: str) -> list[str]:
        """Paths that hold exactly this blob."""
        if self._all is None:
            self._all = self._repository.files(self._root)
        return [path for path, (_, oid) in self._all.items() if oid == blob_id]

    def _entry(self, path: str) -> tuple[int, str]:
        parent, _, name = path.rpartition("/")
        folder = self._folder(parent)
        return (folder or {}).get(name, (0, ""))

    def _folder(self, path: str) -> dict[str, tuple[int, str]] | None:
        if path not in self._folders:
            mode, oid = (_FOLDER, self._root) if not path else self._entry(path)
            if mode == 0o160000:
                raise Unknowable("it lies in a submodule")
            self._folders[path] = self._read_folder(oid) if mode == _FOLDER else None
        return self._folders[path]

    def _read_folder(self, tree: str) -> dict[str, tuple[int, str]]:
        try:
            items = self._repository.level(tree).items()
        except StoreError as error:
            raise Unknowable("its folder is not in this clone") from error
        return {os.fsdecode(name): entry for name, entry in items}


def _choose(layout: Layout, git: Git) -> Backend:
    """Dulwich where it may write; git where it cannot open, or would write what git cannot read.

    Raises RepositoryError when neither can.
    """
    try:
        opened = Repo(layout.common_dir)  # shared by all worktrees, as our refs are
    except (UnsupportedExtension, UnsupportedVersion):
        return Plumbing(git)
    except (NotGitRepository, OSError) as error:
        raise RepositoryError(f"this repository cannot be opened: {error}") from error
    if opened.object_format.name == "sha1" and not _reftable(opened):
        return _Dulwich(git, opened)
    opened.close()
    return Plumbing(git)


def _signature(identity: Identity, time: int, zone: int) -> dict[str, str]:
    """Who and when, as git takes them from its environment."""
    name, _, email = identity.line.removesuffix(">").partition(" <")
    sign, minutes = "-" if zone < 0 else "+", abs(zone) // 60
    date = f"@{time} {sign}{minutes // 60:02}{minutes % 60:02}"
    return {
        f"GIT_{role}_{part}": value
        for role in ("AUTHOR", "COMMITTER")
        for part, value in (("NAME", name), ("EMAIL", email), ("DATE", date))
    }


def _reftable(opened: Repo) -> bool:
    """Whether refs are in tables, which dulwich changes without a true compare-and-swap."""
    try:
        return opened.get_config().get((b"extensions",), b"refStorage").lower() == b"reftable"
    except KeyError:
        return False


def _place(level: Level, name: str, mode: int, oid: str) -> None:
    if oid:
        level[name.encode()] = (mode, oid)
    else:
        level.pop(name.encode(), None)


def _write_loose(folder: str, made: ShaFile) -> None:
    """One object as git writes it; ``git gc`` may take its empty folder away at any moment,
    so a folder that is gone is made again."""
    for _ in range(_FOLDER_TRIES):
        try:
            return _write_loose_once(folder, made)
        except FileNotFoundError:
            continue
    return _write_loose_once(folder, made)


def _write_loose_once(folder: str, made: ShaFile) -> None:
    """One object as git writes it: temporary file, flushed, moved into place."""
    name = made.id.decode("ascii")
    target = _loose_path(folder, made.id)
    if _is_whole(target, made):
        with contextlib.suppress(OSError):
            os.utime(target)  # so that a running gc takes it for new
            return
    os.makedirs(os.path.dirname(target), exist_ok=True)
    temporary = os.path.join(folder, name[:2], f"tmp_obj_{os.getpid()}_{name[2:10]}")
    try:
        with open(temporary, "wb") as stream:
            stream.write(made.as_legacy_object())
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(temporary, 0o444)
        os.replace(temporary, target)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _loose_path(folder: str, oid: ObjectID) -> str:
    name = oid.decode("ascii")
    return os.path.join(folder, name[:2], name[2:])


def _plain(made: ShaFile) -> tuple[bytes, bytes]:
    return made.type_name, made.as_raw_string()


def _is_whole(path: str, made: ShaFile) -> bool:
    """Whether an object's file says what it should; one cut short by a crash does not."""
    try:
        with open(path, "rb") as stream:
            return zlib.decompress(stream.read()).endswith(made.as_raw_string())
    except (OSError, zlib.error):
        return False


def _oid(text: str) -> ObjectID:
    return ObjectID(text.encode("ascii"))


def _ref(name: str) -> Ref:
    return Ref(name.encode("ascii"))
