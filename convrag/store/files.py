"""Files that are written whole or not at all, safe names for them, and errors of the disk.

encode_name("clapnq") == "clapnq"
encode_name("sales/eu") == "sales%2Feu"
"""

import errno
import re
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import IO, Any, Literal
from urllib.parse import quote

from convrag.api.errors import ConvragError, RunStopped
from convrag.api.records import EXIT_STATUS
from convrag.concurrency.cancellation import cleanup_at_exit

_LONGEST = 120
"""Characters of a name. File systems allow 255 bytes; the rest is for suffixes and longer names."""

_KEPT_CHARACTERS = 60
"""Characters of a name that is too long which stay before its hash."""

_CAPITALS = "%="
_HASHED = "%+"
"""Marks that no percent-encoded text has."""

_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\.|$)", re.IGNORECASE)
"""Names of devices on Windows, whatever follows the dot."""

_ROOM = "Make room there, or choose another folder"
_RIGHTS = "Choose a folder that you may write to"
_OPEN = (
    "See that its folder is there and is yours, and that this process may open more files "
    "(ulimit -n)"
)
_REASONS = {
    errno.ENOSPC: ("the disk is full", _ROOM),
    errno.EDQUOT: ("the quota of the disk is used up", _ROOM),
    errno.EFBIG: ("the file would be larger than this process may write (ulimit -f)", _ROOM),
    errno.EROFS: ("the file system is read-only", _RIGHTS),
    errno.EACCES: ("you have no right to", _RIGHTS),
    errno.EPERM: ("you have no right to", _RIGHTS),
    errno.EMFILE: ("it cannot be opened", _OPEN),
    errno.EIO: ("the disk reports an error", "Choose a folder on another disk"),
}
"""The number of an error -> the reason, and what to do."""

_SQLITE = {
    sqlite3.SQLITE_FULL: errno.ENOSPC,
    sqlite3.SQLITE_READONLY: errno.EROFS,
    sqlite3.SQLITE_IOERR: errno.EIO,
    sqlite3.SQLITE_CANTOPEN: errno.EMFILE,
}


class DiskError(RunStopped):
    """A file cannot be written; the message names it, and says what to do."""

    exit_status = EXIT_STATUS["failed"]


def write_atomically(path: Path, text: str) -> None:
    """Write a text file in UTF-8, replacing an existing one.

    Raises:
        OSError: the folder is missing or cannot be written to; an existing file stays as it was.
    """
    with open_atomically(path) as file:
        file.write(text)


@contextmanager
def open_atomically(path: Path, mode: Literal["w", "wb"] = "w") -> Iterator[IO[Any]]:
    r"""Open a new file next to `path`, and rename it to `path` at the end of the block.

    If the block fails, the new file is removed. Each call writes a new file, so two processes may
    write the same path at the same time: the last one to finish wins.

    Args:
        path: the file to write; its folder must exist.
        mode: "w" for text, in UTF-8 and with plain line feeds on every system, or "wb" for bytes.
            Half a surrogate pair is written as JSON does it, \ud83d.

    Raises:
        OSError: the folder is missing, or cannot be written to; an existing file stays as it was.
    """
    unfinished = path.with_name(f".{path.name}.{secrets.token_hex(4)}.unfinished")

    def discard() -> None:
        unfinished.unlink(missing_ok=True)

    with cleanup_at_exit(discard):
        options: dict[str, Any] = {} if mode == "wb" else _TEXT_OPTIONS
        try:  # open(), because only the owner can read the files of tempfile
            with unfinished.open(mode.replace("w", "x"), **options) as file:
                yield file
            unfinished.replace(path)
        except OSError as error:
            if error.filename in (None, str(unfinished)):  # a name that nobody knows
                error.filename = str(path)
            raise
        finally:
            discard()


_TEXT_OPTIONS = {"encoding": "utf-8", "errors": "backslashreplace", "newline": "\n"}


@contextmanager
def writing(path: Path | str) -> Iterator[None]:
    """Raise DiskError with this path if the disk is why the block cannot write a file."""
    try:
        yield
    except ConvragError:
        raise
    except Exception as error:  # perhaps a library's own, which an error of the disk led to
        if message := describe_disk_error(error, path):
            raise DiskError(message) from error
        raise


def describe_disk_error(error: BaseException | None, path: Path | str = "") -> str:
    """Say which file cannot be written, why, and what to do.

    Args:
        error: the error; the errors that led to it are looked at, too.
        path: the file, for errors that do not name it.

    Returns:
        The message; empty for an error that has another cause than the disk.
    """
    while error is not None:
        if isinstance(error, DiskError):
            return str(error)
        number = _find_error_number(error)
        if number in _REASONS:
            reason, advice = _REASONS[number]
            place = getattr(error, "filename", None) or path or "a file of this command"
            return (
                f"{place} cannot be written: {reason}. {advice}: "
                "the same command goes on from what is kept."
            )
        error = error.__cause__ or error.__context__
    return ""


def _find_error_number(error: BaseException) -> int | None:
    """Return the number of an error of the system, or of SQLite's for the same reason."""
    if isinstance(error, OSError):
        return error.errno
    code = getattr(error, "sqlite_errorcode", 0)
    if type(code) is not int:  # an error of another library has something else there
        return None
    return _SQLITE.get(code & 0xFF)


def encode_name(name: str) -> str:
    """Make the name of a file or folder, without suffix, from any text: ASCII, 120 characters.

    A user's name (of a domain, a conversation, a measure) never becomes a path. Letters, digits,
    inner dots and any of "-_@=+," stay as they are, all else is percent-encoded. Different texts
    have different names even where the file system ignores case: the number in "Sales%=1" says
    which letters are capitals. A name that would be too long is cut, and ends with a hash.
    """
    encoded = quote(name, safe="@=+,", errors="surrogatepass").replace("~", "%7E")
    if encoded.startswith(".") or _RESERVED.match(encoded):
        encoded = f"%{ord(encoded[0]):02X}{encoded[1:]}"
    if encoded.endswith("."):
        encoded = f"{encoded[:-1]}%2E"
    letters = [sign.isupper() for sign in name if sign.isascii() and sign.isalpha()]
    if any(letters) or not name:
        capitals = sum(1 << place for place, is_capital in enumerate(letters) if is_capital)
        encoded += f"{_CAPITALS}{capitals:x}"
    if len(encoded) <= _LONGEST:
        return encoded
    full = blake2b(name.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
    return f"{encoded[:_KEPT_CHARACTERS]}{_HASHED}{full}"
