"""Built folders (indexes, copies of corpora): each is built once, and removed when it is replaced.

A manifest lists the files of a folder, so that damaged and missing ones are found. A process holds
the folders that it uses, so that no other process removes them meanwhile.
"""

import json
import logging
import os
import shutil
import time
import weakref
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any

from convrag.concurrency.cancellation import cleanup_at_exit
from convrag.concurrency.locks import ForkAware, KeyLocks
from convrag.store.files import write_atomically, writing

try:
    import fcntl
except ImportError:
    fcntl = None  # type: ignore[assignment,unused-ignore]

log = logging.getLogger(__name__)

MANIFEST = ".manifest.json"
TRUSTED = 24 * 3600
"""Seconds after its checksum for which a file with the same size and time counts as sound."""


class BuiltFolders:
    """The folders below a path, by kind ("indexes") and key.

    The folders of one data set, before and after its files change, are a series: the newest
    replaces the others. A replaced folder is removed by the next command that finds it unused: no
    process holds it, and it is not the newest of another series (two data sets with the same
    passages share an index).

    Args:
        path: the folder of the store.
        locks: the locks of this folder.
    """

    def __init__(self, path: Path, locks: KeyLocks) -> None:
        self._path = path
        self._locks = locks
        self._holds = FolderHolds()

    def get(self, kind: str, key: str, build: Callable[[Path], None], series: str) -> Path:
        """Return a folder, built if it is missing or damaged, and held from now on.

        See `Store.folder` for the arguments.
        """
        folder = self._path / kind / key
        self._get_whole(kind, folder, build)
        while not self._holds.hold(folder):
            self._get_whole(kind, folder, build)
        if series:
            self._supersede(kind, series, key)
        return folder

    def lock(self, keys: Iterable[str]) -> AbstractContextManager[None]:
        """Lock keys against other threads, and processes that use this folder. Raises DiskError."""
        with writing(self._path):
            self._path.mkdir(parents=True, exist_ok=True)
        return self._locks.lock_keys(keys)

    def find_newest(self, kind: str, series: str) -> Path | None:
        """Find the folder of a series that was used last; None where there is none."""
        keys = self._read_series(kind).get(series)
        return self._path / kind / keys[0] if keys else None

    @contextmanager
    def reading(self, folder: Path) -> Iterator[bool]:
        """Hold an earlier folder while its contents are copied; False if it is gone or damaged."""
        holds = FolderHolds()
        try:
            yield holds.hold(folder) and not find_damage(folder)
        finally:
            holds.release()

    def _get_whole(self, kind: str, folder: Path, build: Callable[[Path], None]) -> None:
        if not find_damage(folder):
            return
        with self.lock([f"{kind}/{folder.name}"]):
            damage = find_damage(folder)
            if not damage:
                return  # another process has built it
            if folder.exists():
                log.warning("%s: %s; it is built again", folder, damage)
            _build(folder, build)

    def _supersede(self, kind: str, series: str, key: str) -> None:
        """Make a folder the newest of a series, and remove the unused others of the series."""
        with self.lock([f"{kind}.series"]):
            all_series = self._read_series(kind)
            known = all_series.get(series, [])
            newest_of_others = {
                keys[0] for name, keys in all_series.items() if keys and name != series
            }
            replaced = [old for old in known if old != key and old not in newest_of_others]
            remaining = [old for old in replaced if not try_removing(self._path / kind / old)]
            if known != [key, *remaining]:
                all_series[series] = [key, *remaining]
                with writing(self._path):
                    write_atomically(self._series_file(kind), json.dumps(all_series, indent=1))

    def _read_series(self, kind: str) -> dict[str, list[str]]:
        """Return series -> the keys of its folders, the newest first.

        A file that cannot be read counts as empty, so that nothing is removed.
        """
        try:
            found = json.loads(self._series_file(kind).read_text(encoding="utf-8"))
            return {name: [key for key in keys if _is_name(key)] for name, keys in found.items()}
        except (OSError, ValueError, AttributeError, TypeError):
            return {}

    def _series_file(self, kind: str) -> Path:
        return self._path / f"{kind}.series.json"


class FolderHolds(ForkAware):
    """The folders that this object holds until it is dropped or its process ends.

    Several processes may hold the same folder. A hold is a shared lock (flock) on the folder
    itself, which the system frees when a process is killed. Forked children hold what their parent
    held. Where the system knows no such locks nothing is held, and nothing removed.
    """

    def __init__(self) -> None:
        self._files: dict[Path, int] = {}
        weakref.finalize(self, _close_all, self._files)
        super().__init__()

    def hold(self, folder: Path) -> bool:
        """Hold a folder; False if another process has just removed it."""
        try:
            file = os.open(folder, os.O_RDONLY)
        except OSError:
            return folder.is_dir()  # perhaps it can be read, and not be locked: on Windows, say
        with suppress(OSError):  # a file system without locks: nobody can remove it either
            fcntl.flock(file, fcntl.LOCK_SH)
        is_there = False
        with self._guard:
            with suppress(OSError):
                is_there = os.path.samestat(os.fstat(file), folder.stat())
            unwanted = self._files.get(folder) if is_there else file
            if is_there:
                self._files[folder] = file
        if unwanted is not None:
            os.close(unwanted)
        return is_there

    def release(self) -> None:
        """Let go of all folders."""
        with self._guard:
            _close_all(self._files)


def try_removing(folder: Path) -> bool:
    """Remove a folder that nobody holds; False if it still exists.

    It is renamed first, so that nobody finds half of it.
    """
    doomed = folder.with_name(f"{folder.name}.superseded")
    shutil.rmtree(doomed, ignore_errors=True)  # left by a process that was killed
    if not folder.exists():
        return True
    try:
        file = os.open(folder, os.O_RDONLY)
    except OSError:  # also on Windows, which opens no folder
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        folder.rename(doomed)
    except OSError:  # it is held, or the file system has no locks, or it is another user's
        return False
    finally:
        os.close(file)
    shutil.rmtree(doomed, ignore_errors=True)
    return True


def _close_all(files: dict[Path, int]) -> None:
    for file in files.values():
        os.close(file)
    files.clear()


def _is_name(key: str) -> bool:
    """Whether a key is the plain name of a folder, which leads nowhere else."""
    return Path(key).name == key and bool(key.strip("."))


def _build(folder: Path, build: Callable[[Path], None]) -> None:
    """Build a folder next to its place, and rename it; the lock of its key must be held."""
    unfinished = folder.with_name(f"{folder.name}.unfinished")

    def discard() -> None:
        shutil.rmtree(unfinished, ignore_errors=True)

    discard()  # left by a process that was killed, since this one holds the lock
    with cleanup_at_exit(discard):
        try:
            with writing(folder):
                unfinished.mkdir(parents=True)
                build(unfinished)
                manifest = json.dumps(describe_files(unfinished), indent=1)
                write_atomically(unfinished / MANIFEST, manifest)
        except BaseException:
            discard()
            raise
    shutil.rmtree(folder, ignore_errors=True)  # if it exists, it is damaged
    unfinished.rename(folder)


def describe_files(folder: Path) -> dict[str, dict[str, int]]:
    """Describe the files below a folder: path -> size, mtime_ns (time of change), crc32."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != MANIFEST)
    return {path.relative_to(folder).as_posix(): _describe_file(path) for path in files}


def find_damage(folder: Path) -> str:
    """Compare a folder with its manifest, and return what is wrong; empty if it is as built.

    A file with the manifest's size and time of change is not read again for a day. Damage that
    changes neither (a failing disk) is found on the next day.
    """
    manifest = folder / MANIFEST
    try:
        rows = json.loads(manifest.read_text(encoding="utf-8"))
        is_old = time.time() - manifest.stat().st_mtime > TRUSTED
    except (OSError, ValueError) as error:
        return f"{MANIFEST} cannot be read ({error})"
    damage, was_read = check_files(folder, rows, read_all=is_old)
    if was_read and not damage:
        # In a store that cannot be written to, the next process reads the files again
        with suppress(OSError):
            write_atomically(manifest, json.dumps(rows, indent=1))
    return damage


def check_files(folder: Path, rows: Any, *, read_all: bool = False) -> tuple[str, bool]:
    """Compare the files of a folder with what `describe_files` returned.

    Args:
        folder: the folder.
        rows: the description, perhaps damaged itself. The row of each file that is read is updated.
        read_all: whether to read also files whose size and time of change are the same.

    Returns:
        What is wrong, empty if nothing is; and whether any file was read.
    """
    was_read = False
    try:
        for name, row in rows.items():
            status = (folder / name).stat()
            is_same = (status.st_size, status.st_mtime_ns) == (row["size"], row["mtime_ns"])
            if is_same and not read_all:
                continue
            was_read = True
            described = _describe_file(folder / name)
            if described["crc32"] != row["crc32"]:
                return f"{name} is damaged", True
            row.update(described)
    except FileNotFoundError as error:
        return f"{Path(str(error.filename)).name} is missing", was_read
    except (OSError, ValueError, AttributeError, TypeError, KeyError) as error:
        return f"its files cannot be checked ({error!r})", was_read
    return "", was_read


def _describe_file(path: Path) -> dict[str, int]:
    status = path.stat()
    checksum = 0
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            checksum = zlib.crc32(block, checksum)
    return {"size": status.st_size, "mtime_ns": status.st_mtime_ns, "crc32": checksum}
