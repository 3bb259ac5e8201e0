"""The bytes of a file; and the files that could not be read, with their reasons and the sentences
that say so.
"""

import os
import stat
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from convrag.sdk.output.printable import make_printable

_LONGEST_REASON = 200


class Unreadable(Exception):
    """A file, or a part of it, that cannot be read. The text says why: "it is encrypted, and needs a password".

    A reader that raises it after it has yielded documents has read a part of the file: "line 7:
    this is not JSON".
    """

    def __init__(self, reason: str) -> None:
        self.reason = shorten_reason(reason)
        super().__init__(self.reason)


class UnreadFile(NamedTuple):
    """A file that was not read, or not all of it.

    `other_kind` says that no reader is for its kind, as with a picture; such files are counted, not
    named one by one.
    """

    id: str
    reason: str
    other_kind: bool = False


def shorten_reason(reason: str) -> str:
    """Put a reason, such as the message of a library, into one line of bounded length."""
    line = " ".join(make_printable(reason[: 10 * _LONGEST_REASON]).split())
    return line if len(line) <= _LONGEST_REASON else f"{line[: _LONGEST_REASON - 1]}…"


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


def describe_unread(
    unread: Sequence[UnreadFile], read: Iterable[str], known: str | None = None
) -> str:
    """Say which files were not read and why; empty where all were.

        2 of 9 files could not be read, or not all of it:
          broken.pdf: it is no PDF
          memo.docx: it needs a password
        31 files are of other kinds: .png (29), .zip (2).

    Args:
        unread: these files.
        read: the ids of the files that were read, in part at least.
        known: said instead of the files, where they were listed before.
    """
    named = [each for each in unread if not each.other_kind]
    others = Counter(_describe_kind(each.id) for each in unread if each.other_kind)
    sentences = []
    if named:
        total = len({*read, *(each.id for each in named)})
        listed = (
            [f"\n  {make_printable(each.id)}: {each.reason}" for each in named]
            if known is None
            else [known]
        )
        sentences.append(
            f"{len(named)} of {total} files could not be read, or not all of it:{''.join(listed)}"
        )
    if others:
        kinds = ", ".join(
            f"{kind} ({count})" for kind, count in sorted(others.items(), key=lambda kind: -kind[1])
        )
        count = sum(others.values())
        sentences.append(
            f"{count} {'file is' if count == 1 else 'files are'} of other kinds: {kinds}."
        )
    return "\n".join(sentences)


def _describe_kind(file_id: str) -> str:
    return make_printable(PurePosixPath(file_id).suffix.lower()) or "without suffix"
