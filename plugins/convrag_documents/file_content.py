"""The bytes of a file, up to a limit."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from convrag_documents.unreadable import Unreadable


def read_bytes(path: Path | str, limit: int) -> tuple[bytes, os.stat_result]:
    """Read a file whole.

    Args:
        path: a regular file; pipes and devices are not waited for.
        limit: bytes; a larger file is not read.

    Returns:
        Its bytes, and what the system said of it before it was read, so that a later change shows.

    Raises:
        Unreadable: it is larger, is no regular file, or the system refuses to read it.
    """
    try:
        status = Path(path).stat()
        if not stat.S_ISREG(status.st_mode):
            raise Unreadable("it is a pipe, a socket or a device")
        if status.st_size > limit:
            size = f"{status.st_size / 1e6:.{1 if status.st_size < 1e7 else 0}f} MB"
            raise Unreadable(f"{size} is more than dataset.max_megabytes={limit / 1e6:g}")
        return Path(path).read_bytes(), status
    except OSError as error:
        raise Unreadable(describe_os_error(error)) from error


def describe_os_error(error: OSError) -> str:
    """Say why the system refuses to open a file or to list a folder: "Permission denied"."""
    return error.strerror or str(error)
