"""Built folders (indexes, copies of corpora): each is built once, and removed when another one has taken its place."""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from convrag.store.abandonment import if_abandoned
from convrag.store.atomic import write_atomically
from convrag.store.disk import writing
from convrag.store.holds import FolderHolds, hold_briefly, try_removing
from convrag.store.locks import KeyLocks
from convrag.store.manifest import find_damage, write_manifest

log = logging.getLogger(__name__)


class BuiltFolders:
    """The folders below a path, by kind ("indexes") and key.

    A series is what one data set's folders have in common before and after its files change: the newest supersedes
    the others. A superseded folder is removed by the next command that finds it unused: no process holds it, and it is
    not the newest of another series (two data sets with the same passages share an index).

    Args:
        path: the folder of the store.
        locks: those of this folder.
    """

    def __init__(self, path: Path, locks: KeyLocks) -> None:
        self._path = path
        self._locks = locks
        self._holds = FolderHolds()

    def get(self, kind: str, key: str, build: Callable[[Path], None], series: str) -> Path:
        """Return a folder, built where it is missing or damaged, and held from now on; see `Store.folder`."""
        folder = self._path / kind / key
        self._get_whole(kind, folder, build)
        while not self._holds.hold(folder):
            self._get_whole(kind, folder, build)
        if series:
            self._supersede(kind, series, key)
        return folder

    def lock(self, keys: Iterable[str]) -> AbstractContextManager[None]:
        """Lock keys against other threads, and other processes that use this folder.

        It is for files in it; `Store.lock` is for values, and also against machines that do not have this folder.

        Raises:
            DiskError: the folder cannot be made.
        """
        with writing(self._path):
            self._path.mkdir(parents=True, exist_ok=True)
        return self._locks.lock_keys(keys)

    def find_newest(self, kind: str, series: str) -> Path | None:
        """Find the folder of a series that was used last; None where there is none."""
        keys = self._read_series(kind).get(series)
        return self._path / kind / keys[0] if keys else None

    @contextmanager
    def reading(self, folder: Path) -> Iterator[bool]:
        """Hold an earlier folder in a block, to take over what is in it; False where it is gone or damaged."""
        with hold_briefly(folder) as is_there:
            yield is_there and not find_damage(folder)

    def _get_whole(self, kind: str, folder: Path, build: Callable[[Path], None]) -> None:
        if folder.exists() and not find_damage(folder):
            return
        with self.lock([f"{kind}/{folder.name}"]):
            damage = find_damage(folder) if folder.exists() else ""
            if folder.exists() and not damage:
                return  # another process has built it
            if damage:
                log.warning("%s: %s; it is built again", folder, damage)
            _build(folder, build, damage)

    def _supersede(self, kind: str, series: str, key: str) -> None:
        """Note that a folder is the newest of a series, and remove the others of the series that nobody uses."""
        with self.lock([f"{kind}.series"]):
            all_series = self._read_series(kind)
            known = all_series.get(series, [])
            used = {key for name, keys in all_series.items() if name != series for key in keys[:1]}
            others = [old for old in known if old != key and old not in used]
            left = [old for old in others if not try_removing(self._path / kind / old)]
            if known != [key, *left]:
                all_series[series] = [key, *left]
                with writing(self._path):
                    write_atomically(self._series_file(kind), json.dumps(all_series, indent=1))

    def _read_series(self, kind: str) -> dict[str, list[str]]:
        """Series -> the keys of its folders, the newest first. What cannot be read is forgotten: nothing is removed."""
        try:
            found = json.loads(self._series_file(kind).read_text(encoding="utf-8"))
            return {name: [key for key in keys if _is_name(key)] for name, keys in found.items()}
        except (OSError, ValueError, AttributeError, TypeError):
            return {}

    def _series_file(self, kind: str) -> Path:
        return self._path / f"{kind}.series.json"


def _is_name(key: str) -> bool:
    """Whether a key is the plain name of a folder, which leads nowhere else."""
    return Path(key).name == key and bool(key.strip("."))


def _build(folder: Path, build: Callable[[Path], None], damage: str) -> None:
    """Build a folder beside its place, and rename it; the lock of its key must be held."""
    unfinished, damaged = (folder.with_name(f"{folder.name}.{suffix}") for suffix in ("unfinished", "damaged"))
    for left in (unfinished, damaged):  # by a process that was killed: we hold the lock
        shutil.rmtree(left, ignore_errors=True)
    with writing(folder):
        unfinished.mkdir(parents=True)

    def discard() -> None:
        shutil.rmtree(unfinished, ignore_errors=True)

    with if_abandoned(discard):
        try:
            with writing(folder):
                build(unfinished)
                write_manifest(unfinished)
        except BaseException:
            discard()
            raise
    if damage:
        folder.rename(damaged)
    unfinished.rename(folder)
    shutil.rmtree(damaged, ignore_errors=True)
