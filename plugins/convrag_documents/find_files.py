"""Lists the files of folders, and single files, without what is hidden, ignored by git or excluded."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import NamedTuple

from pathspec import GitIgnoreSpec

from convrag import ConfigError, DataError
from convrag_documents.unreadable import Unreadable, UnreadFile, describe_os_error, read_bytes

_LARGEST_IGNORE_FILE = 1_000_000  # bytes of a .gitignore
_HIDDEN = (".", "~$")  # Office keeps a file such as "~$leave.docx" beside one that is open


class FoundFile(NamedTuple):
    """A file. Its `id` is its path below the corpus's folder, with slashes.

    `named` says that the user named it, or its kind, so that it is read whatever its suffix is.
    """

    id: str
    path: str
    named: bool = False


class FoundFiles(NamedTuple):
    """The files that were found, by id, and what cannot be listed."""

    files: list[FoundFile]
    unread: list[UnreadFile]


@dataclass(frozen=True)
class Selection:
    """Which files of a folder are wanted.

    Args:
        include: patterns as in .gitignore; where there are any, only files that one of them fits.
        exclude: patterns of the files and folders to leave out.
        ignored: also list what is hidden, or ignored by git.
        store: the run's store, which is left out, as the folders of runs are.
    """

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    ignored: bool = False
    store: Path | None = None


def find_files(paths: Sequence[Path], selection: Selection) -> FoundFiles:
    """List the files below some paths.

    Ids are paths below the folder, where one is given; below the deepest folder that holds all of
    them, where several are. Symbolic links to folders are not followed, since what they lead to
    within the folder is found anyway; those to files are followed within the folder. Links that
    lead out of it are listed as not read.

    Args:
        paths: folders or files.
        selection: which of the files below them.

    Raises:
        DataError: a path does not exist.
        ConfigError: a pattern is none, or no folder holds all paths.
    """
    named = [os.path.abspath(path.expanduser()) for path in paths]  # noqa: PTH100 - a link keeps its name
    for path, each in zip(paths, named, strict=True):
        if not os.path.exists(each):  # noqa: PTH110
            raise DataError(
                "there is no such file or folder (dataset.include takes patterns)", path=path
            )
    try:
        folders = [each if os.path.isdir(each) else os.path.dirname(each) for each in named]  # noqa: PTH112, PTH120
        base = os.path.commonpath(folders)
    except ValueError as error:
        raise ConfigError(
            f"dataset.path: no folder holds all of these: {', '.join(map(str, paths))}"
        ) from error
    finder = _Finder(base, selection)
    for each in named:
        finder.add(each)
    return finder.finish()


class _Finder:
    """Collects files.

    Args:
        base: the folder that ids are relative to.
        selection: which files are wanted.
    """

    def __init__(self, base: str, selection: Selection) -> None:
        self._base = base
        self._ignored = selection.ignored
        self._store = selection.store and os.path.realpath(selection.store)
        self._include = make_patterns(selection.include, "include") if selection.include else None
        self._exclude = make_patterns(selection.exclude, "exclude") if selection.exclude else None
        self._files: dict[str, FoundFile] = {}  # by path
        self._unread: list[UnreadFile] = []
        self._links: list[tuple[str, str, str]] = []  # id, target, the folder that it may lead into

    def add(self, named: str) -> None:
        """Add a file, or the files below a folder."""
        real = os.path.realpath(named)
        file_id = _clean_name(PurePath(os.path.relpath(named, self._base)).as_posix())
        if not os.path.isdir(real):  # noqa: PTH112
            self._add_file(FoundFile(file_id, real, named=True))
            return
        prefix = "" if file_id == "." else f"{file_id}/"
        for entry, inner in self._walk(real, prefix):
            inner_id = _clean_name(prefix + inner)
            if self._include is not None and not self._include.match_file(inner_id):
                continue
            if entry.is_symlink():
                self._links.append((inner_id, os.path.realpath(entry.path), real))
            else:
                self._add_file(FoundFile(inner_id, entry.path, named=self._include is not None))

    def finish(self) -> FoundFiles:
        """Follow the links, and return all files."""
        for file_id, target, folder in self._links:
            if not os.path.exists(target) or os.path.commonpath([target, folder]) != folder:  # noqa: PTH110
                self._unread.append(
                    UnreadFile(file_id, "it is a symbolic link out of the folder, or to nothing")
                )
            elif os.path.isfile(target):  # noqa: PTH113
                self._add_file(FoundFile(file_id, target, named=self._include is not None))
        by_id = {file.id: file for file in self._files.values()}
        return FoundFiles(sorted(by_id.values()), sorted(self._unread))

    def _add_file(self, file: FoundFile) -> None:
        self._files.setdefault(file.path, file)

    def _walk(self, root: str, prefix: str) -> Iterator[tuple[os.DirEntry[str], str]]:
        """Yield the entries below a folder that are no folders, with their paths below it.

        Args:
            root: the folder.
            prefix: its own id, with a slash at its end.
        """
        rules = [] if self._ignored else read_rules_above(root)
        waiting: list[tuple[str, str, list[IgnoreRules]]] = [(root, "", rules)]
        while waiting:
            folder, inner, rules = waiting.pop()
            if not self._ignored and (own := read_rules(folder)):
                rules = [*rules, own]
            for entry in self._list(folder, prefix + inner):
                path = f"{inner}{entry.name}"
                is_folder = entry.is_dir(follow_symlinks=False)
                if self._is_left_out(entry, prefix + path, is_folder, rules):
                    continue
                if is_folder:
                    waiting.append((entry.path, f"{path}/", rules))
                else:
                    yield entry, path

    def _list(self, folder: str, inner: str) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(folder) as entries:
                return list(entries)
        except OSError as error:
            self._unread.append(UnreadFile(_clean_name(inner) or folder, describe_os_error(error)))
            return []

    def _is_left_out(
        self, entry: os.DirEntry[str], path: str, is_folder: bool, rules: Sequence[IgnoreRules]
    ) -> bool:
        end = "/" if is_folder else ""
        made = is_folder and (entry.path == self._store or os.path.isdir(f"{entry.path}/.hydra"))  # noqa: PTH112
        return (
            made
            or (not self._ignored and entry.name.startswith(_HIDDEN))
            or (bool(rules) and is_ignored(PurePath(entry.path).as_posix() + end, rules))
            or (self._exclude is not None and self._exclude.match_file(path + end))
        )


def _clean_name(name: str) -> str:
    r"""A name as text: bytes that are no UTF-8 are written as \xe9."""
    return os.fsencode(name).decode("utf-8", "backslashreplace") if not name.isascii() else name


class IgnoreRules(NamedTuple):
    """The patterns of one file, which hold below a folder (an absolute path, with slashes at its end)."""

    folder: str
    spec: GitIgnoreSpec

    def decide(self, path: str) -> bool | None:
        """Whether a path is ignored; None where no pattern fits it, or where it is not below the
        folder.
        """
        if not path.startswith(self.folder):
            return None
        decision: bool | None = self.spec.check_file(path[len(self.folder) :]).include
        return decision


def read_rules_above(root: str) -> list[IgnoreRules]:
    """Read what the repository that a folder stands in says of it: of the folders above it, the
    highest first.

    Nothing where it stands in none, or where git ignores the folder itself: whoever names it wants
    it.
    """
    above = Path(root).parents
    top = next((place for place, folder in enumerate(above) if (folder / ".git").exists()), None)
    if top is None or Path(root, ".git").exists():
        return []
    folders = list(reversed(above[: top + 1]))
    found = [read_rules(str(folders[0]), ".git/info/exclude")]
    found += [read_rules(str(folder)) for folder in folders]
    rules = [each for each in found if each]
    parts = [*folders[1:], Path(root)]
    return [] if any(is_ignored(f"{part}/", rules) for part in parts) else rules


def is_ignored(path: str, rules: Sequence[IgnoreRules]) -> bool:
    """Whether git ignores an entry of a folder that it does not; the deepest file with a fitting
    pattern decides.

    Args:
        path: absolute; the path of a folder ends with a slash.
        rules: those that hold for it, the highest first. Rules of folders beside its own are passed
            over.
    """
    decisions = (each.decide(path) for each in reversed(rules))
    return next((decision for decision in decisions if decision is not None), False)


def make_patterns(patterns: Iterable[str], parameter: str) -> GitIgnoreSpec:
    """Read a user's patterns, which are written as in .gitignore. Raises ConfigError for one that
    is none.
    """
    lines = list(patterns)
    try:
        return GitIgnoreSpec.from_lines(lines)
    except ValueError as error:
        given = ", ".join(lines)
        raise ConfigError(
            f"dataset.{parameter}={given}: this is no pattern as in .gitignore: {error}"
        ) from error


def read_rules(folder: str, name: str = ".gitignore") -> IgnoreRules | None:
    """Read the patterns of a file in a folder; None where there is none that can be read."""
    try:
        text = read_bytes(Path(folder, name), _LARGEST_IGNORE_FILE)[0].decode(
            "utf-8-sig", "surrogateescape"
        )
    except Unreadable:
        return None
    sound = []
    for line in text.splitlines():
        with suppress(ValueError):  # git passes over a line that is no pattern without a word
            GitIgnoreSpec.from_lines([line])
            sound.append(line)
    return IgnoreRules(f"{folder.rstrip('/')}/", GitIgnoreSpec.from_lines(sound))
