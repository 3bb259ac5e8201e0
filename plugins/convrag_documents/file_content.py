"""The bytes of a file, up to a limit. Pipes and devices are not waited for, and links are not followed."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from convrag_documents.unreadable import Unreadable

_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NONBLOCK", 0)  # opening a pipe would wait for a writer
    | getattr(os, "O_NOFOLLOW", 0)  # a file that became a link after it was found
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)
_REASONS = {
    errno.EACCES: "you have no right to read it",
    errno.EPERM: "you have no right to read it",
    errno.ENOENT: "it was deleted meanwhile",
    errno.ENOTDIR: "it was deleted meanwhile",
    errno.ELOOP: "it is a symbolic link",
    errno.ENXIO: "it is a socket or the like",
    errno.EISDIR: "it is a folder now",
}


def read_bytes(path: Path | str, limit: int) -> bytes:
    """Read a file whole.

    Args:
        path: a regular file.
        limit: bytes; a larger file is not read.

    Raises:
        Unreadable: it is larger, is no regular file, or the system refuses to read it.
    """
    try:
        with os.fdopen(os.open(path, _FLAGS), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise Unreadable("it is a pipe, a socket or a device")
            size = status.st_size
            content = b"" if size > limit else file.read(size + 1)
            if len(content) > size:  # it grows while it is read
                content += file.read(limit)
            if max(size, len(content)) > limit:
                at_least = _format_size(max(size, len(content)))
                raise Unreadable(f"{at_least} is more than dataset.max_megabytes={limit / 1e6:g}")
            return content
    except OSError as error:
        raise Unreadable(describe_os_error(error)) from error


def describe_os_error(error: OSError) -> str:
    """Say why the system refuses to open a file or to list a folder."""
    return _REASONS.get(error.errno or 0) or error.strerror or str(error)


def _format_size(size: int) -> str:
    return f"{size / 1e6:.1f} MB" if size < 1e7 else f"{size / 1e6:.0f} MB"
