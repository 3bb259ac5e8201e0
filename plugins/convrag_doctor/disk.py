"""What lies on the disk: the store, and databases that are configured. Everything is read, nothing written."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from convrag.store.store import FILE
from convrag_doctor.chosen import Chosen
from convrag_doctor.finding import Finding

_LOW = 1 << 30  # bytes that should be free
_SQLITE = "sqlite:///"


def store(path: Path) -> Iterator[Finding]:
    """Whether results can be kept, and those that are there can be read."""
    about, place = f"store.path={path}", _nearest(path)
    if not _writable(place):
        yield Finding("fail", about, f"{place} cannot be written to: choose another folder, store.path=...")
        return
    if free := _low(place):
        yield Finding("warn", about, f"only {free} are free there")
    if not path.exists():
        yield Finding("ok", about, "is not there yet: the first run makes it")
        return
    size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    if not (path / FILE).exists():
        yield Finding("ok", about, f"has {_shown(size)}, and remembers nothing yet")
    elif problem := _damage(path / FILE):
        yield Finding("fail", about, f"{problem}: choose another folder, store.path=..., or move this one away")
    else:
        count = _count(path / FILE, "entries")
        yield Finding("ok", about, f"has {_shown(size)}, remembers {count} results, and can be read")


def databases(chosen: Chosen) -> Iterator[Finding]:
    """The databases in files that the chosen stages name, such as that of the tracker."""
    for place, name, value in chosen.values():
        if not value.startswith(_SQLITE):
            continue
        path, about = Path(value.removeprefix(_SQLITE)), f"{place}.{name}={value}"
        near = _nearest(path.parent)
        if not _writable(near):
            yield Finding("fail", about, f"{near} cannot be written to: choose another place, {place}.{name}=...")
        elif not path.exists():
            yield Finding("ok", about, "is not there yet: the first run makes it")
        elif problem := _damage(path):
            yield Finding("fail", about, f"{problem}: choose another one, {place}.{name}=..., or move this one away")
        else:
            yield Finding("ok", about, f"has {_shown(path.stat().st_size)}, and can be read")


def _damage(file: Path) -> str:
    """What is wrong with a database; empty where it is whole."""
    if not os.access(file, os.R_OK | os.W_OK):
        return f"{file} cannot be read and written"
    try:
        with closing(_reading(file)) as connection:
            (said,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.Error as error:
        return f"{file.name} is damaged ({error})"
    return "" if said == "ok" else f"{file.name} is damaged ({said})"


def _count(file: Path, table: str) -> int:
    with closing(_reading(file)) as connection:
        return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


def _reading(file: Path) -> sqlite3.Connection:
    """A connection that makes no file beside the database, unless somebody works with it just now."""
    in_use = file.with_name(f"{file.name}-wal").exists()
    return sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro{'' if in_use else '&immutable=1'}", uri=True, timeout=2)


def _nearest(path: Path) -> Path:
    """The path itself, or what there is above it."""
    path = path.absolute()
    while not path.exists():
        path = path.parent
    return path


def _writable(place: Path) -> bool:
    """Whether a file can be made in a folder: tried with one that has no name, since permissions do not tell all."""
    try:
        tempfile.TemporaryFile(dir=place).close()
    except OSError:
        return False
    return True


def _low(place: Path) -> str:
    free = shutil.disk_usage(place).free
    return _shown(free) if free < _LOW else ""


def _shown(size: int) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.1f} MB"
