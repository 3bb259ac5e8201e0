"""Which files are as they were when they were read last, told by their sizes and times.

As in git's index, a file that changed shortly before it was read is not trusted the next time: it may have changed once
more within the same tick of the clock, without another time.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from typing import NamedTuple

from convrag import Store

_TICK = 2_000_000_000
"""Nanoseconds of the coarsest clock of a file system: FAT's."""


class FileTimes(NamedTuple):
    """What the system says of a file, and what was known when it was read: times are nanoseconds since 1970."""

    size: int
    modified: int
    changed: int
    inode: int
    read: int
    content: str

    def is_current(self, status: os.stat_result) -> bool:
        """Whether the file is as it was read."""
        same = (self.size, self.modified, self.changed, self.inode) == _describe(status)
        return same and max(self.modified, self.changed) + _TICK < self.read


def note_times(status: os.stat_result, content: str) -> FileTimes:
    """Make the entry of a file that is going to be read now; `content` is the hash of what was read then."""
    return FileTimes(*_describe(status), time.time_ns(), content)


def load_times(store: Store, key: str) -> dict[str, FileTimes]:
    """Load the entries of a folder's files: id -> entry. None where nothing is known."""
    if not (found := store.get([key]).get(key)):
        return {}
    return {file_id: FileTimes(*row) for file_id, row in json.loads(found).items()}


def save_times(store: Store, key: str, entries: Mapping[str, FileTimes]) -> None:
    """Keep the entries of a folder's files, in place of those that were kept."""
    store.put("documents.times", {key: json.dumps(entries).encode("utf-8", "surrogatepass")})


def _describe(status: os.stat_result) -> tuple[int, int, int, int]:
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino
