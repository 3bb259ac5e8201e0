"""Which entries of a folder git ignores, by the .gitignore files in it, above it up to its repository, and nested."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from convrag import ConfigError
from convrag_documents.file_content import read_bytes
from convrag_documents.unreadable import Unreadable

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

_FILE = ".gitignore"
_LARGEST = 1_000_000  # bytes of a .gitignore


class IgnoreRules(NamedTuple):
    """The patterns of one file, which hold below a folder (an absolute path, with slashes at its end)."""

    folder: str
    spec: GitIgnoreSpec

    def decide(self, path: str) -> bool | None:
        """Whether a path is ignored; None where no pattern fits it, or where it is not below the folder."""
        if not path.startswith(self.folder):
            return None
        decision: bool | None = self.spec.check_file(path[len(self.folder) :]).include
        return decision


def read_rules(folder: str) -> IgnoreRules | None:
    """Read the .gitignore of a folder; None where it has none that can be read."""
    return _read_rules_file(Path(folder, _FILE), folder)


def read_rules_above(root: str) -> list[IgnoreRules]:
    """Read what the repository that a folder stands in says of it: of the folders above it, the highest first.

    Nothing where it stands in none, or where git ignores the folder itself: whoever names it wants it.
    """
    above = Path(root).parents
    top = next((place for place, folder in enumerate(above) if (folder / ".git").exists()), None)
    if top is None or Path(root, ".git").exists():
        return []
    folders = list(reversed(above[: top + 1]))
    found = [_read_rules_file(folders[0] / ".git" / "info" / "exclude", str(folders[0]))]
    found += [read_rules(str(folder)) for folder in folders]
    rules = [each for each in found if each]
    parts = [*folders[1:], Path(root)]
    return [] if any(is_ignored(f"{part}/", rules) for part in parts) else rules


def is_ignored(path: str, rules: Sequence[IgnoreRules]) -> bool:
    """Whether git ignores an entry of a folder that it does not; the deepest file with a fitting pattern decides.

    Args:
        path: absolute; the path of a folder ends with a slash.
        rules: those that hold for it, the highest first. Rules of folders beside its own are passed over.
    """
    decisions = (each.decide(path) for each in reversed(rules))
    return next((decision for decision in decisions if decision is not None), False)


def make_patterns(patterns: Iterable[str], parameter: str) -> GitIgnoreSpec:
    """Read a user's patterns, which are written as in .gitignore. Raises ConfigError for one that is none."""
    from pathspec import GitIgnoreSpec

    lines = list(patterns)
    for line in lines:
        try:
            GitIgnoreSpec.from_lines([line])
        except ValueError as error:
            raise ConfigError(f"dataset.{parameter}={line}: this is no pattern as in .gitignore: {error}") from error
    return GitIgnoreSpec.from_lines(lines)


def _read_rules_file(path: Path, folder: str) -> IgnoreRules | None:
    from pathspec import GitIgnoreSpec

    try:
        text = read_bytes(path, _LARGEST)[0].decode("utf-8-sig", "surrogateescape")
    except Unreadable:
        return None
    sound = []
    for line in text.splitlines():
        with suppress(ValueError):  # git passes over a line that is no pattern without a word
            GitIgnoreSpec.from_lines([line])
            sound.append(line)
    return IgnoreRules(f"{folder.rstrip('/')}/", GitIgnoreSpec.from_lines(sound))
