"""Objects and refs by the git binary, for repositories that dulwich cannot or must not write.

Those are repositories with SHA-256 object names, with reftable refs, or with an extension
that dulwich does not know. The bytes of each object are made here, so its id is known
before it is written; ``flush`` hands all of them to git as one pack on standard input.
So an append costs one process for the objects and one for the ref, however many there are.
"""

from __future__ import annotations

import hashlib
import os
import struct
import time
import zlib
from collections.abc import Collection, Iterable, Mapping

from git_tmem.errors import StoreError, Unreadable
from git_tmem.git import Git, Layout

#: One level of a tree: name -> (mode, object id).
Level = dict[bytes, tuple[int, str]]

#: Flush objects and refs to the disk; a git that does not know the setting ignores it.
_DURABLE = ("-c", "core.fsync=committed")
#: More new objects than this stay one pack: loose ones cost eight times the disk.
LOOSE = 100
#: Seconds after which git, too, takes the note of a running gc for one that was left behind.
_GC_TIME = 12 * 3600
#: Numbers of the object kinds in a pack.
_KINDS = {b"commit": 1, b"tree": 2, b"blob": 3}
#: What git says when a ref cannot be locked for a reason that trying again will not cure.
_FINAL = (b"Permission denied", b"Read-only file system", b"No space left", b"Not a directory")


class Plumbing:
    """The objects and refs of one repository, by processes of git."""

    def __init__(self, git: Git) -> None:
        self._git = git
        self._format = git.run("rev-parse", "--show-object-format").decode("ascii").strip()
        self._new: dict[str, tuple[bytes, bytes]] = {}
        self._fresh: dict[str, tuple[bytes, bytes]] = {}
        self._seen: dict[str, tuple[bytes, bytes]] = {}
        self.empty_tree = self._id(b"tree", b"")

    def close(self) -> None:
        """Nothing is held open between two calls."""

    # Reading.

    def ref(self, name: str) -> str:
        """The object id a ref points at, '' when there is no such ref."""
        shape = "--format=%(objectname) %(refname)"
        lines = self._git.output("for-each-ref", shape, name)[1].decode("utf-8").splitlines()
        found = (line.partition(" ") for line in lines)
        return next((oid for oid, _, full in found if full == name), "")

    def tree_of(self, commit: str) -> str:
        """The tree id of a commit. Raises StoreError when it is no readable commit."""
        return self._read(commit, b"commit").partition(b"\n")[0][5:].decode("ascii")

    def time_of(self, commit: str) -> int:
        """The committer's time of a commit, in seconds since the epoch."""
        lines = self._read(commit, b"commit").partition(b"\n\n")[0].splitlines()
        signed = next((line for line in lines if line.startswith(b"committer ")), b"- 0 -")
        return int(signed.rsplit(b" ", 2)[1])

    def blob(self, blob_id: str) -> bytes:
        """The bytes of a blob. Raises StoreError when it is missing."""
        return self._read(blob_id, b"blob")

    def entry(self, tree: str, path: str) -> str:
        """The object id at a path below a tree, '' when there is none."""
        oid = tree
        try:
            for name in path.encode().split(b"/"):
                oid = self.level(oid)[name][1]
        except Unreadable:
            raise
        except (KeyError, StoreError):
            return ""
        return oid

    def level(self, tree: str) -> Level:
        """The entries directly in a tree. Raises StoreError when it is no readable tree."""
        if tree == self.empty_tree:
            return {}
        data, at, width = self._read(tree, b"tree"), 0, len(self.empty_tree) // 2
        found: Level = {}
        while at < len(data):
            end = data.index(b"\0", at)
            mode, _, name = data[at:end].partition(b" ")
            at = end + 1 + width
            found[name] = (int(mode, 8), data[end + 1 : at].hex())
        return found

    def _read(self, oid: str, kind: bytes) -> bytes:
        known, data = self._new.get(oid) or self._seen.get(oid) or self._ask(oid)
        if known != kind:
            raise StoreError(f"{oid[:12]} is not a {kind.decode()}", "see: git fsck")
        return data

    def _ask(self, oid: str) -> tuple[bytes, bytes]:
        status, out, _ = self._git.attempt("cat-file", "--batch", data=f"{oid}\n".encode())
        head, _, rest = out.partition(b"\n")
        words = head.split(b" ")
        if status != 0 or len(words) != 3 or words[1] not in _KINDS:
            raise Unreadable(f"git object {oid[:12]} cannot be read", "git tmem doctor")
        found = (words[1], rest[: int(words[2])])
        if words[1] != b"blob":  # names and commits are asked for again and again
            self._seen[oid] = found
        return found

    # Writing.

    def add_blob(self, data: bytes) -> str:
        """The id of a new blob."""
        return self._keep(b"blob", data)

    def add_tree(self, level: Mapping[bytes, tuple[int, str]]) -> str:
        """The id of a new tree with the given entries, in git's order."""
        items = sorted(level.items(), key=_tree_order)
        parts = (b"%o %s\0%s" % (mode, name, bytes.fromhex(oid)) for name, (mode, oid) in items)
        return self._keep(b"tree", b"".join(parts))

    def add_commit(
        self, tree: str, parents: Iterable[str], signed: bytes, time: int, zone: int, message: bytes
    ) -> str:
        """The id of a new commit; ``signed`` is ``name <email>``, ``zone`` in seconds."""
        minutes = abs(zone) // 60
        moment = b"%d %c%02d%02d" % (time, b"-+"[zone >= 0], minutes // 60, minutes % 60)
        head = [f"tree {tree}".encode(), *(f"parent {parent}".encode() for parent in parents)]
        head += [b"author %s %s" % (signed, moment), b"committer %s %s" % (signed, moment)]
        return self._keep(b"commit", b"\n".join(head) + b"\n\n" + message)

    def discard(self) -> None:
        """Drop remembered objects that turned out not to be needed."""
        self._new = {}

    def flush(self) -> None:
        """Put remembered objects on the disk. Raises StoreError when git or the disk refuses."""
        new, self._new = self._new, {}
        if not new:
            return
        self._fresh |= new
        if len(new) > LOOSE:
            write_pack(self._git, self._format, new.values())
        else:
            _give(self._git, self._format, new.values(), "unpack-objects", "-q")

    def settle(self) -> None:
        """To be called once a ref reaches what was flushed: see :func:`make_safe`."""
        fresh, self._fresh = self._fresh, {}
        make_safe(self._git, self._format, fresh)

    def _keep(self, kind: bytes, data: bytes) -> str:
        oid = self._id(kind, data)
        self._new[oid] = (kind, data)
        return oid

    def _id(self, kind: bytes, data: bytes) -> str:
        whole = b"%s %d\0%s" % (kind, len(data), data)
        return hashlib.new(self._format, whole, usedforsecurity=False).hexdigest()

    # Refs.

    def move_ref(self, name: str, old: str, new: str, reason: str, by: tuple[str, str]) -> bool:
        """Move a ref from ``old`` ('' for: must not exist) to ``new``, noted in the reflog by
        ``by`` (name, email); False when it is not at ``old``. Raises StoreError when git or
        the disk refuses."""
        signed = ("-c", f"committer.name={by[0]}", "-c", f"committer.email={by[1]}")
        expected = old or "0" * len(self.empty_tree)
        asked = ("update-ref", "--create-reflog", "-m", reason, name, new, expected)
        status, _, error = self._git.attempt(*_DURABLE, *signed, *asked)
        if status == 0:
            return True
        if b"nonexistent object" in error:  # git gc took it: nothing referred to it yet
            return False
        if b"cannot lock ref" in error and not any(words in error for words in _FINAL):
            return False
        raise StoreError(f"{name} could not be moved: {_last(error)}")

    def drop_ref(self, name: str, old: str) -> bool:
        """Delete a ref that still points at ``old``."""
        return self._git.attempt("update-ref", "-d", name, old)[0] == 0


def make_safe(
    git: Git, form: str, objects: Mapping[str, tuple[bytes, bytes]], loose: bool = False
) -> None:
    """Write objects (id -> kind, data) again where ``git gc --prune=now`` took them, or is about
    to, because no ref reached them yet when it looked; now one does. ``loose``: the caller has
    seen each of them as a file of its own. Raises StoreError when git or the disk refuses.

    A pack that is made now is safe: a gc that knows of it was not yet looking for what is
    reachable. One that starts from now on finds the ref.
    """
    if not objects or (not is_tidying(git.layout) and (loose or _are_there(git, objects))):
        return
    write_pack(git, form, [*objects.values(), (b"blob", os.urandom(20))])


def _are_there(git: Git, ids: Collection[str]) -> bool:
    asked = "".join(f"{oid}\n" for oid in ids).encode("ascii")
    status, out, _ = git.attempt("cat-file", "--batch-check", data=asked)
    return status == 0 and b" missing\n" not in out


def is_tidying(layout: Layout) -> bool:
    """Whether ``git gc`` is running, by the note that it leaves while it does."""
    path = os.path.join(layout.common_dir, "gc.pid")
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            number, _, host = stream.read().strip().partition(" ")
        age = time.time() - os.stat(path).st_mtime
    except OSError:
        return False
    here = hasattr(os, "uname") and host == os.uname().nodename and number.isdigit()
    if here and int(number) > 0:
        try:
            os.kill(int(number), 0)
        except ProcessLookupError:
            return False
        except OSError:  # somebody else's process
            pass
    return age < _GC_TIME


def write_pack(git: Git, form: str, objects: Collection[tuple[bytes, bytes]]) -> None:
    """Write (kind, data) objects as one pack. Raises StoreError when git or the disk refuses."""
    _give(git, form, objects, "index-pack", "--stdin")


def _give(git: Git, form: str, objects: Collection[tuple[bytes, bytes]], *how: str) -> None:
    entries = [_entry(_KINDS[kind], data) for kind, data in objects]
    pack = b"PACK" + struct.pack(">LL", 2, len(entries)) + b"".join(entries)
    pack += hashlib.new(form, pack, usedforsecurity=False).digest()
    status, _, error = git.attempt(*_DURABLE, *how, data=pack)
    if status != 0:
        raise StoreError(f"git objects could not be written: {_last(error)}")


def _tree_order(item: tuple[bytes, tuple[int, str]]) -> bytes:
    """Git sorts a folder as if its name ended in a slash."""
    name, (mode, _) = item
    return name + b"/" if mode == 0o040000 else name


def _entry(kind: int, data: bytes) -> bytes:
    """One object in a pack: kind and size, seven bits a byte after the first four, then zlib."""
    left, byte, head = len(data) >> 4, kind << 4 | len(data) & 15, bytearray()
    while left:
        head.append(byte | 128)
        left, byte = left >> 7, left & 127
    return bytes([*head, byte]) + zlib.compress(data)


def _last(error: bytes) -> str:
    lines = error.decode("utf-8", "replace").strip().splitlines() or ["no reason given"]
    return lines[-1]
