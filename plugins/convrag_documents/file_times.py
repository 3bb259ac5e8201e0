"""The times and sizes of files when they were read, by which a later change is noticed."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import NamedTuple

from convrag import Store

_TICK = 2_000_000_000
"""Nanoseconds between two ticks of the coarsest clock of a file system, FAT's."""


class FileTimes(NamedTuple):
    """The status of a file when it was read.

    Args:
        size: in bytes.
        modified: nanoseconds since 1970, as all times here.
        changed: when its status last changed.
        inode: its number in the file system.
        read: when it was read.
        content: a hash of its contents.
    """

    size: int
    modified: int
    changed: int
    inode: int
    read: int
    content: str

    def is_current(self, status: os.stat_result) -> bool:
        """Whether the file is as it was read.

        A file that changed within a tick of being read may have changed again in the same tick.
        """
        same = (self.size, self.modified, self.changed, self.inode) == describe_status(status)
        return same and max(self.modified, self.changed) + _TICK < self.read


def describe_status(status: os.stat_result) -> tuple[int, int, int, int]:
    """Return the size, the times of both changes and the inode of a file."""
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


def load_times(store: Store, key: str) -> dict[str, FileTimes]:
    """Load the entries of a folder's files by id; none for a folder that was never read."""
    stored = store.get([key]).get(key, b"{}")
    return {file_id: FileTimes(*row) for file_id, row in json.loads(stored).items()}


def save_times(store: Store, key: str, entries: Mapping[str, FileTimes]) -> None:
    """Save the entries of a folder's files, in place of the earlier ones."""
    store.put("documents.times", {key: json.dumps(entries).encode("utf-8", "surrogatepass")})
