"""The bytes of a file, and the report of the files that could not be read, with the reasons."""

import codecs
import os
import stat
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from convrag.sdk.output.printable import make_printable
from convrag.sdk.text.unreadable import Unreadable

_MOST_ADVISED = 5
"""The kinds that the advice to read files as text names."""

_SAMPLE = 2000
"""Bytes of a file that tell whether it is text."""


class UnreadFile(NamedTuple):
    """A file that was not read, or not all of it.

    Args:
        id: of the file.
        reason: why it was not read.
        other_kind: whether there is no reader for files of its kind, such as pictures. Such files
            are counted, not named one by one.
        is_text: whether a file of another kind is text.
    """

    id: str
    reason: str
    other_kind: bool = False
    is_text: bool = False


def read_bytes(path: Path | str, limit: int) -> tuple[bytes, os.stat_result]:
    """Read a file whole.

    Args:
        path: a regular file; pipes and devices are not waited for.
        limit: bytes; a larger file is not read.

    Returns:
        Its bytes, and its status before it was read, so that a later change shows.

    Raises:
        Unreadable: it is larger, is not a regular file, or the system refuses to read it.
    """
    try:
        status = Path(path).stat()
        if not stat.S_ISREG(status.st_mode):
            raise Unreadable("it is a pipe, a socket or a device")
        if status.st_size > limit:
            size = _format_megabytes(status.st_size)
            raise Unreadable(f"{size} is more than dataset.max_megabytes={limit / 1e6:g}")
        return Path(path).read_bytes(), status
    except OSError as error:
        raise Unreadable(describe_os_error(error)) from error


def begins_with_text(path: str) -> bool:
    """Whether the beginning of a file is text in UTF-8."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):  # noqa: PTH116 - as in the catalog
            return False
        with open(path, "rb") as file:  # noqa: PTH123
            sample = file.read(_SAMPLE)
    except OSError:
        return False
    if not sample or b"\0" in sample:
        return False
    decoder = codecs.getincrementaldecoder("utf-8")()  # the sample may end within a letter
    try:
        decoder.decode(sample)
    except UnicodeDecodeError:
        return False
    return True


def _format_megabytes(size: int) -> str:
    megabytes = size / 1e6
    return f"{megabytes:.1f} MB" if megabytes < 10 else f"{megabytes:.0f} MB"


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
        34 files are of other kinds: .png (29), .inc (5). dataset.text=[inc] reads them as text.

    Args:
        unread: these files.
        read: the ids of the files that were read, in part at least.
        known: stands in place of the files where they were listed before.
    """
    named = [file for file in unread if not file.other_kind]
    others = [file for file in unread if file.other_kind]
    sentences = []
    if named:
        total = len({*read, *(file.id for file in named)})
        if known is None:
            listed = "".join(f"\n  {make_printable(file.id)}: {file.reason}" for file in named)
        else:
            listed = known
        sentences.append(
            f"{len(named)} of {total} files could not be read, or not all of it:{listed}"
        )
    if others:
        sentences.append(_describe_other_kinds(others))
    return "\n".join(sentences)


def _describe_other_kinds(files: Sequence[UnreadFile]) -> str:
    """Count the files of each kind, the most frequent kind first."""
    counts = Counter(name_kind(file.id) for file in files)
    kinds = [kind for kind, _ in counts.most_common()]
    counted = ", ".join(f"{kind} ({counts[kind]})" for kind in kinds)
    number = "1 file is" if len(files) == 1 else f"{len(files)} files are"
    return f"{number} of other kinds: {counted}.{_advise_text(files, kinds)}"


def _advise_text(files: Sequence[UnreadFile], kinds: Sequence[str]) -> str:
    """Say how to read the kinds of files that are text; empty where none is."""
    text_kinds = {name_kind(file.id) for file in files if file.is_text}
    named = [kind.removeprefix(".") for kind in kinds if kind in text_kinds]
    if not named:
        return ""
    return f" dataset.text=[{','.join(named[:_MOST_ADVISED])}] reads them as text."


def name_kind(file_id: str) -> str:
    """Return the suffix of a file in small letters, or "without suffix"."""
    suffix = PurePosixPath(file_id).suffix.lower()
    return make_printable(suffix) or "without suffix"
