"""Lists the files to read, without those that are hidden, ignored by git or excluded."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import NamedTuple

from pathspec import GitIgnoreSpec

from convrag import ConfigError, DataError
from convrag.sdk.files import find_stored_path
from convrag.sdk.text.unreadable import Unreadable
from convrag_documents.file_names import clean_name, compose, decompose, is_composed
from convrag_documents.unreadable import UnreadFile, describe_os_error, read_bytes

_LARGEST_IGNORE_FILE = 1_000_000
"""Bytes of a .gitignore."""

_HIDDEN = (".", "~$")  # Office keeps a file such as "~$leave.docx" next to one that is open


class FoundFile(NamedTuple):
    """A file.

    Args:
        id: its path below the corpus's folder, with slashes, in Unicode's composed form.
        path: its path on this machine.
        named: whether the user named it, or its kind, so that it is read whatever its suffix is.
    """

    id: str
    path: str
    named: bool = False


class FoundFiles(NamedTuple):
    """The files that were found.

    Args:
        files: the files to read, sorted by id.
        unread: those that cannot be listed.
        includable: the paths of the files that a document may include: all that are not hidden,
            ignored, excluded or outside of the folder.
    """

    files: list[FoundFile]
    unread: list[UnreadFile]
    includable: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Selection:
    """The choice of files in a folder.

    Args:
        include: patterns as in .gitignore; only files that match one are listed, if there is any.
            Names match in any of Unicode's normal forms.
        exclude: patterns of the files and folders to leave out.
        ignored: whether to list hidden files, and files that git ignores.
        text: endings of names, such as ".inc" and ".rst.txt"; files with one of them are read as
            text if their kind has no reader.
        store: the run's store, which is left out, as the folders of runs are.
    """

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    ignored: bool = False
    text: tuple[str, ...] = ()
    store: Path | None = None


def find_files(paths: Sequence[Path], selection: Selection) -> FoundFiles:
    """List the files below some paths.

    Ids are paths below the folder. Of several folders, they are paths below the deepest folder that
    contains all of them. Symbolic links to files are followed within the folder. Links to folders
    are not followed, since the files behind them are found anyway. Links that lead out of the
    folder are listed as not read.

    Args:
        paths: folders or files.
        selection: the choice of files below them.

    Raises:
        DataError: a path does not exist.
        ConfigError: a pattern is malformed, or no folder contains all paths.
    """
    # abspath: a link keeps its name
    named = [os.path.abspath(find_stored_path(path.expanduser())) for path in paths]  # noqa: PTH100
    folders = []
    for path, name in zip(paths, named, strict=True):
        if not os.path.exists(name):  # noqa: PTH110
            raise DataError(
                "there is no such file or folder (dataset.include takes patterns)", path=path
            )
        folders.append(name if os.path.isdir(name) else os.path.dirname(name))  # noqa: PTH112, PTH120
    try:
        base = os.path.commonpath(folders)
    except ValueError as error:
        listed = ", ".join(str(path) for path in paths)
        raise ConfigError(f"dataset.path: no folder holds all of these: {listed}") from error
    finder = _Finder(base, selection)
    for name in named:
        finder.add(name)
    return finder.finish()


class _Link(NamedTuple):
    """A symbolic link.

    Args:
        id: as of a file.
        target: the path that it leads to.
        folder: the folder that it may lead into.
    """

    id: str
    target: str
    folder: str

    def leads_out(self) -> bool:
        """Whether it leads out of the folder, or to nothing."""
        if not os.path.exists(self.target):  # noqa: PTH110
            return True
        return os.path.commonpath([self.target, self.folder]) != self.folder


class _Finder:
    """Collects files.

    Args:
        base: the folder that ids are relative to.
        selection: the choice of files.
    """

    def __init__(self, base: str, selection: Selection) -> None:
        self._base = base
        self._ignored = selection.ignored
        self._text = selection.text
        self._store = os.path.realpath(selection.store) if selection.store else None
        self._include = _make_optional_patterns(selection.include, "include")
        self._exclude = _make_optional_patterns(selection.exclude, "exclude")
        self._files: dict[str, FoundFile] = {}  # by path
        self._includable: set[str] = set()
        self._unread: list[UnreadFile] = []
        self._links: list[_Link] = []

    def add(self, named: str) -> None:
        """Add a file, or the files below a folder."""
        real = os.path.realpath(named)
        file_id = clean_name(PurePath(os.path.relpath(named, self._base)).as_posix())
        if not os.path.isdir(real):  # noqa: PTH112
            self._add_file(FoundFile(file_id, real, named=True))
            return
        prefix = "" if file_id == "." else f"{file_id}/"
        for entry, inner in self._walk(real, prefix):
            inner_id = clean_name(prefix + inner)
            if not entry.is_symlink():
                self._includable.add(entry.path)
            if self._include is not None and not self._include.match_file(inner_id):
                continue
            if entry.is_symlink():
                self._links.append(_Link(inner_id, os.path.realpath(entry.path), real))
            else:
                self._add_file(FoundFile(inner_id, entry.path, named=self._is_named(inner_id)))

    def finish(self) -> FoundFiles:
        """Follow the links, and return all files."""
        for link in self._links:
            if link.leads_out():
                self._unread.append(
                    UnreadFile(link.id, "it is a symbolic link out of the folder, or to nothing")
                )
            elif os.path.isfile(link.target):  # noqa: PTH113
                self._add_file(FoundFile(link.id, link.target, named=self._is_named(link.id)))
        files = sorted(self._name_apart())
        return FoundFiles(files, sorted(self._unread), frozenset(self._includable))

    def _name_apart(self) -> list[FoundFile]:
        """Return the files with different ids.

        Where the names of two files differ in their normal form alone, the composed one has the
        composed id.
        """
        by_id: dict[str, FoundFile] = {}
        composed_first = sorted(self._files.values(), key=lambda file: not is_composed(file.path))
        for file in composed_first:
            file_id = decompose(file.id) if file.id in by_id else file.id
            if file_id in by_id:
                reason = "another file's name differs from its own in the form of accents alone"
                self._unread.append(UnreadFile(file.id, reason))
            else:
                by_id[file_id] = file._replace(id=file_id)
        return list(by_id.values())

    def _is_named(self, file_id: str) -> bool:
        """Whether the user named a file's kind."""
        return self._include is not None or file_id.lower().endswith(self._text)

    def _add_file(self, file: FoundFile) -> None:
        self._files.setdefault(file.path, file)

    def _walk(self, root: str, prefix: str) -> Iterator[tuple[os.DirEntry[str], str]]:
        """Yield the entries below a folder that are not folders, with their paths below it.

        Args:
            root: the folder.
            prefix: its own id, with a slash at its end.
        """
        rules = [] if self._ignored else read_rules_above(root)
        waiting: list[tuple[str, str, list[IgnoreRules]]] = [(root, "", rules)]
        while waiting:
            folder, inner, rules = waiting.pop()
            own = None if self._ignored else read_rules(folder)
            if own is not None:
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
            self._unread.append(UnreadFile(clean_name(inner) or folder, describe_os_error(error)))
            return []

    def _is_left_out(
        self, entry: os.DirEntry[str], path: str, is_folder: bool, rules: Sequence[IgnoreRules]
    ) -> bool:
        end = "/" if is_folder else ""
        if is_folder and self._is_made_by_convrag(entry):
            return True
        if self._exclude is not None and self._exclude.match_file(compose(path) + end):
            return True
        if self._ignored:
            return False
        is_hidden = entry.name.startswith(_HIDDEN)
        return is_hidden or is_ignored(PurePath(entry.path).as_posix() + end, rules)

    def _is_made_by_convrag(self, folder: os.DirEntry[str]) -> bool:
        """Whether a folder is the store, or that of a run."""
        return folder.path == self._store or os.path.isdir(f"{folder.path}/.hydra")  # noqa: PTH112


class IgnoreRules(NamedTuple):
    """The patterns of one file.

    Args:
        folder: the patterns apply below it; an absolute path with a slash at its end.
        spec: the patterns.
    """

    folder: str
    spec: GitIgnoreSpec

    def decide(self, path: str) -> bool | None:
        """Return whether a path is ignored; None where no pattern matches it.

        No pattern matches a path that is not below the folder.
        """
        if not path.startswith(self.folder):
            return None
        decision: bool | None = self.spec.check_file(path[len(self.folder) :]).include
        return decision


def read_rules_above(root: str) -> list[IgnoreRules]:
    """Read the patterns of the repository around a folder, the highest folder first.

    There are none where no repository is around it, or where git ignores the folder itself: a user
    who names such a folder wants it.
    """
    above = Path(root).parents
    repository = next((folder for folder in above if (folder / ".git").exists()), None)
    if repository is None or Path(root, ".git").exists():
        return []
    folders = [folder for folder in reversed(above) if folder.is_relative_to(repository)]
    found = [read_rules(str(repository), ".git/info/exclude")]
    found += [read_rules(str(folder)) for folder in folders]
    rules = [each for each in found if each is not None]
    below_repository = [*folders[1:], Path(root)]
    if any(is_ignored(f"{folder}/", rules) for folder in below_repository):
        return []
    return rules


def is_ignored(path: str, rules: Sequence[IgnoreRules]) -> bool:
    """Return whether git ignores an entry of a folder that it does not ignore.

    The deepest file with a matching pattern decides.

    Args:
        path: absolute; the path of a folder ends with a slash.
        rules: of the folders above it, the highest first; rules of other folders have no effect.
    """
    for each in reversed(rules):
        decision: bool | None = each.decide(path)
        if decision is not None:
            return decision
    return False


def make_suffixes(kinds: Sequence[str]) -> tuple[str, ...]:
    """Read the kinds of files that a user names: "inc", ".inc" and "*.inc" are ".inc".

    Raises ConfigError for what is not the end of a name.
    """
    suffixes = []
    for kind in kinds:
        suffix = compose(kind.strip().removeprefix("*").removeprefix(".").lower())
        if not suffix or re.search(r"[*?/\\\[\]]", suffix):
            raise ConfigError(
                f"dataset.text={kind}: name the ends of names, as in dataset.text=[inc,conf.in]"
            )
        suffixes.append(f".{suffix}")
    return tuple(suffixes)


def _make_optional_patterns(patterns: Sequence[str], parameter: str) -> GitIgnoreSpec | None:
    return make_patterns(patterns, parameter) if patterns else None


def make_patterns(patterns: Iterable[str], parameter: str) -> GitIgnoreSpec:
    """Read a user's patterns, written as in .gitignore, in composed form.

    Raises ConfigError for a malformed one.
    """
    lines = [compose(pattern) for pattern in patterns]
    try:
        return GitIgnoreSpec.from_lines(lines)
    except ValueError as error:
        given = ", ".join(lines)
        raise ConfigError(
            f"dataset.{parameter}={given}: this is no pattern as in .gitignore: {error}"
        ) from error


def read_rules(folder: str, name: str = ".gitignore") -> IgnoreRules | None:
    """Read the patterns of a file in a folder; None where there is no file that can be read."""
    try:
        content, _ = read_bytes(Path(folder, name), _LARGEST_IGNORE_FILE)
    except Unreadable:
        return None
    text = content.decode("utf-8-sig", "surrogateescape")
    sound = []
    for line in text.splitlines():
        with suppress(ValueError):  # git skips a malformed pattern silently
            GitIgnoreSpec.from_lines([line])
            sound.append(line)
    return IgnoreRules(f"{folder.rstrip('/')}/", GitIgnoreSpec.from_lines(sound))
