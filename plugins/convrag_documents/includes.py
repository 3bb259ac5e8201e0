"""The files that a reStructuredText file includes, put in its place before it is read.

Only a file that the data set finds is included: none that is hidden, ignored, excluded or outside
of the folder. Any other include stays in the text, and the reader names it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Set
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import dedent, indent

from convrag.sdk.text.encodings import decode
from convrag.sdk.text.unreadable import Unreadable
from convrag_documents.file_times import Status, describe_status
from convrag_documents.unreadable import read_bytes

_MARK = b"include::"
_DIRECTIVE = re.compile(
    r"^( *)\.\. (literal)?include:: +(\S[^\n]*)\n?((?: *:[\w-]+:[^\n]*\n?)*)", re.M
)
_OPTION = re.compile(r":([\w-]+):[ \t]*([^\n]*)")
_CODE_OPTIONS = frozenset(["literal", "code"])
_PART_OPTIONS = frozenset(["start-line", "end-line", "start-after", "end-before"])
_DEEPEST = 10
"""Files that include each other."""

_MOST_FILES = 500
_MOST_CHARACTERS = 5_000_000
"""Characters that a file may include."""


@dataclass
class Includes:
    """The files that one file includes.

    Args:
        path: of the file.
        includable: the paths of the files that may be included.
        limit: bytes; larger files are not included.

    Attributes:
        statuses: path -> status of each file that was looked for; None for one that may not be
            included, or cannot be read.
    """

    path: str
    includable: Set[str]
    limit: int
    statuses: dict[str, Status | None] = field(default_factory=dict)
    _characters: int = 0

    def expand(self, content: bytes) -> bytes:
        """Return the contents of the file with those of the included files in place."""
        if _MARK not in content:
            return content
        try:
            text = decode(content)
        except Unreadable:  # its reader will say so
            return content
        expanded = self._expand(text, self.path, (self.path,))
        return content if expanded == text else expanded.encode("utf-8", "surrogatepass")

    def _expand(self, text: str, path: str, above: tuple[str, ...]) -> str:
        """Expand the text of a file, below the files that include it."""

        def replace(found: re.Match[str]) -> str:
            included = self._read(found, path, above)
            return found[0] if included is None else included

        return _DIRECTIVE.sub(replace, text)

    def _read(self, found: re.Match[str], path: str, above: tuple[str, ...]) -> str | None:
        """Return what takes the place of an include; None where the file cannot be included."""
        margin, literal, name, option_lines = found.groups()
        options = dict(_OPTION.findall(option_lines))
        target = self._find(name.strip(), path)
        if target is None or target in above or len(above) > _DEEPEST:
            return None
        text = self._load(target)
        if text is None:
            return None
        part = _choose_part(text, options)
        if part is None:
            return None
        self._characters += len(part)
        if self._characters > _MOST_CHARACTERS:
            return None
        if literal or not _CODE_OPTIONS.isdisjoint(options):
            part = f".. code-block:: text\n\n{indent(dedent(part), '   ')}\n"
        else:
            part = self._expand(part, target, (*above, target))
        return f"\n{indent(part, margin)}\n\n"

    def _find(self, name: str, path: str) -> str | None:
        """Return the path of an included file; None where there is none that may be included.

        A name that begins with a slash is one below the file's folder, or a folder above it, such
        as the source folder of Sphinx.
        """
        folders = [os.path.dirname(path)]  # noqa: PTH120 - as in find_files
        if name.startswith("/"):
            folders += [str(folder) for folder in Path(folders[0]).parents]
        for folder in folders:
            target = os.path.realpath(os.path.join(folder, name.lstrip("/")))  # noqa: PTH118
            if target in self.includable:
                return target
            self.statuses[target] = None
        return None

    def _load(self, target: str) -> str | None:
        """Read an included file; None where it cannot be read, or too many were."""
        if len(self.statuses) >= _MOST_FILES and target not in self.statuses:
            return None
        try:
            content, status = read_bytes(target, self.limit)
            self.statuses[target] = describe_status(status)
            return decode(content)
        except Unreadable:
            self.statuses[target] = None
            return None


def _choose_part(text: str, options: dict[str, str]) -> str | None:
    """Return the part of a file that options choose; None where an option cannot be followed."""
    others = options.keys() - _PART_OPTIONS
    if others & {"lines", "pyobject", "diff", "start-at", "end-at"}:
        return None
    lines = text.split("\n")
    try:
        first = int(options.get("start-line") or 0)
        last = int(options.get("end-line") or len(lines))
    except ValueError:
        return None
    part = "\n".join(lines[first:last])
    after, before = options.get("start-after"), options.get("end-before")
    if after:
        part = part.partition(after)[2]
    if before:
        part = part.partition(before)[0]
    return part
