"""The log of unread files: all of them once, later those that have changed."""

import logging
from collections.abc import Sequence
from pathlib import Path

from convrag.sdk.files import write_atomically
from convrag.sdk.output.printable import make_printable
from convrag_documents.unreadable import UnreadFile, describe_unread, name_kind

log = logging.getLogger(__name__)

_logged: dict[str, tuple[UnreadFile, ...]] = {}
"""Key of a folder -> its unread files that this process has logged last."""


class UnreadLog:
    """Logs the unread files of a folder.

    The first start lists them, and writes the list to a file. A later start with the same list
    gives their number alone. A process that reads its folder again, such as a server, logs what has
    changed; the cells of a grid, which read the same, log nothing.

    Args:
        key: of the folder and the selection of files.
        path: the file of the list.
    """

    def __init__(self, key: str, path: Path) -> None:
        self._key = key
        self.path = path

    def log(self, unread: Sequence[UnreadFile], read: Sequence[str]) -> None:
        """Log what this process has not logged yet.

        Args:
            unread: the files that were not read, or not whole.
            read: the ids of the files that were read.
        """
        current = tuple(unread)
        last = _logged.get(self._key)
        _logged[self._key] = current
        if last == current:
            return
        listed = describe_unread(current, read)
        is_known = self._read_list() == listed
        if last is not None:
            self._log_lines(describe_changes(last, current))
        elif is_known:
            self._log_lines([self.describe_briefly(current, read)])
        else:
            self._log_lines([listed])
        is_written = self.path.is_file()
        if not is_known and (current or is_written):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(self.path, listed)

    def describe_briefly(self, unread: Sequence[UnreadFile], read: Sequence[str]) -> str:
        """Say how many files were not read, and where they are listed."""
        return describe_unread(unread, read, f" {self.path} lists them.")

    def _read_list(self) -> str:
        return self.path.read_text("utf-8") if self.path.is_file() else ""

    def _log_lines(self, lines: Sequence[str]) -> None:
        text = "\n".join(line for line in lines if line)
        if text:
            log.warning("%s", text)


def describe_changes(last: Sequence[UnreadFile], current: Sequence[UnreadFile]) -> list[str]:
    """Say which files are newly unread, and which are unread no more; a line for each."""
    before, now = _describe_each(last), _describe_each(current)
    new = [text for file_id, text in now.items() if before.get(file_id) != text]
    gone = [make_printable(file_id) for file_id in before if file_id not in now]
    new_kinds = sorted(_list_kinds(current) - _list_kinds(last))
    lines = []
    if new:
        lines += ["Newly unread, or not read completely:", *(f"  {text}" for text in new)]
    if gone:
        lines += ["Read now, or gone:", *(f"  {name}" for name in gone)]
    if new_kinds:
        lines.append(f"New kinds of files that have no reader: {', '.join(new_kinds)}.")
    return lines


def _describe_each(unread: Sequence[UnreadFile]) -> dict[str, str]:
    """Describe the files that have a reader: id -> a line."""
    named = [file for file in unread if not file.other_kind]
    return {file.id: f"{make_printable(file.id)}: {file.reason}" for file in named}


def _list_kinds(unread: Sequence[UnreadFile]) -> set[str]:
    return {name_kind(file.id) for file in unread if file.other_kind}
