"""Every adapter's throughput, against one plain ``json.loads`` pass over the same bytes.

For text, which is no JSON, the pass that is compared with splits it into lines and decodes them.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import tracemalloc
from collections import defaultdict

from timing import side_by_side, table

from git_tmem import adapters
from git_tmem.errors import InputError

#: Bytes that are read of each format at least; a smaller corpus is gone through several times.
_LEAST = 4 << 20
_ZSTD = b"\x28\xb5\x2f\xfd"


def main() -> None:
    """Print a row for each format of which the folder holds a log."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", help="a folder of session logs, looked through to its depth")
    parser.add_argument("--runs", type=int, default=11)
    options = parser.parse_args()
    logs = found(options.folder)
    rows = [row(agent, logs[agent], options.runs) for agent in adapters.ADAPTERS if agent in logs]
    head = ["format", "logs", "size", "json.loads", "parse", "ratio", "peak memory"]
    print(table(head, rows))


def found(folder: str) -> dict[str, list[bytes]]:
    """The contents of the logs below a folder that give a session, by agent."""
    logs: dict[str, list[bytes]] = defaultdict(list)
    for place, _, names in sorted(os.walk(folder)):
        for path in (os.path.join(place, name) for name in sorted(names)):
            with contextlib.suppress(InputError), open(path, "rb") as stream:
                data = stream.read()
                if data.startswith(_ZSTD):  # the same sessions, and not what is compared
                    continue
                logs[adapters.parse(io.BytesIO(data)).agent].append(data)
    return logs


def row(agent: str, logs: list[bytes], runs: int) -> list[str]:
    """One line of the table."""
    size = sum(map(len, logs))
    times = max(1, _LEAST // size)
    bare, parsed = side_by_side(
        runs,
        lambda: [load(data) for _ in range(times) for data in logs],
        lambda: [adapters.parse(io.BytesIO(data)) for _ in range(times) for data in logs],
    )
    speed = [f"{size * times / seconds / 1e6:.0f} MB/s" for seconds in (bare, parsed)]
    peak = max(peak_of(data) for data in logs) / 1e6
    cells = [*speed, f"{parsed / bare:.2f}x", f"{peak:.1f} MB"]
    return [agent, str(len(logs)), f"{size / 1e6:.2f} MB", *cells]


def load(data: bytes) -> None:
    """The pass that is compared with: a document at once, else each line by itself."""
    lines = io.BytesIO(data)
    first = next(filter(None, map(bytes.strip, io.BytesIO(data))), b"")
    if first in (b"{", b"[") or first.startswith(b"[") or data.count(b"\n") < 2:
        json.loads(data)
    elif first.startswith(b"{"):
        for line in lines:
            with contextlib.suppress(ValueError):  # torn
                json.loads(line)
    else:
        for line in lines:
            line.decode("utf-8", "replace")


def peak_of(data: bytes) -> int:
    """The most bytes that parsing a log held at a time."""
    tracemalloc.start()
    try:
        adapters.parse(io.BytesIO(data))
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


if __name__ == "__main__":
    main()
