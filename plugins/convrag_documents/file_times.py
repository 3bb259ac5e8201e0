"""The times and sizes of files when they were read, by which a later change is noticed."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence, Set
from typing import NamedTuple

from convrag import Store

_TICK = 2_000_000_000
"""Nanoseconds between two ticks of the coarsest clock of a file system, FAT's."""


Status = Sequence[int]
"""The size, the times of both changes and the inode of a file."""


class FileTimes(NamedTuple):
    """The status of a file when it was read.

    Args:
        size: in bytes.
        modified: nanoseconds since 1970, as all times here.
        changed: when its status last changed.
        inode: its number in the file system.
        read: when it was read.
        content: a hash of its contents, and of those of the files that it includes.
        included: path -> status of each file that it includes; None for one that it could not
            include.
    """

    size: int
    modified: int
    changed: int
    inode: int
    read: int
    content: str
    included: Mapping[str, Status | None] = {}

    def is_current(self, status: os.stat_result) -> bool:
        """Whether the file is as it was read.

        A file that changed within a tick of being read may have changed again in the same tick.
        """
        own = (self.size, self.modified, self.changed, self.inode)
        return own == describe_status(status) and self._is_settled(own)

    def are_included_current(self, includable: Set[str]) -> bool:
        """Whether the files that it includes are as they were read.

        Args:
            includable: the paths of the files that may be included.
        """
        return all(
            self._is_included_current(path, status, includable)
            for path, status in self.included.items()
        )

    def _is_included_current(self, path: str, status: Status | None, includable: Set[str]) -> bool:
        if path not in includable:
            return status is None
        try:
            current = describe_status(os.stat(path))  # noqa: PTH116
        except OSError:
            return status is None
        return status is not None and tuple(status) == current and self._is_settled(current)

    def _is_settled(self, status: Status) -> bool:
        """Whether a file had not changed for a tick when it was read."""
        _, modified, changed, _ = status
        return max(modified, changed) + _TICK < self.read


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
