"""The files that a run keeps: the store, and the databases in the configuration. They are read, never written."""

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from convrag import ConvragError
from convrag.sdk.secrets import redact_address
from convrag.sdk.storage import FILE
from convrag.sdk.tasks.options import plugins
from convrag_kit.doctor_stages import ConfiguredStages, Finding

_LOW_SPACE = 1 << 30  # bytes
_SQLITE = "sqlite:///"


def check_store(path: Path, url: str = "") -> Iterator[Finding]:
    """Whether the store can be written to, and what it holds can be read; whether its server answers."""
    if url:  # nothing is made on its server
        try:
            found = plugins.open_database(url, "store.url").check()
            yield Finding("ok", f"store.url={redact_address(url)}", f"answers: {found}")
        except ConvragError as error:
            yield Finding("fail", "store.url", str(error))
    subject, place = f"store.path={path}", _find_nearest_existing(path)
    if not _is_writable(place):
        yield Finding("fail", subject, f"{place} cannot be written to: choose another folder, store.path=...")
        return
    if (free := shutil.disk_usage(place).free) < _LOW_SPACE:
        yield Finding("warn", subject, f"only {_format_size(free)} are free there")
    if not path.exists():
        yield Finding("ok", subject, "is not there yet: the first run makes it")
        return
    size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    if not (path / FILE).exists():
        yield Finding("ok", subject, f"has {_format_size(size)}, and remembers nothing yet")
    elif problem := _find_damage(path / FILE):
        yield Finding("warn", subject, f"{problem}: the next run renames it, and begins anew")
    else:
        count = _count_rows(path / FILE, "entries")
        yield Finding("ok", subject, f"has {_format_size(size)}, remembers {count} results, and can be read")


def check_databases(stages: ConfiguredStages) -> Iterator[Finding]:
    """The SQLite databases that stages of the configuration name, such as the tracker's."""
    for place, name, value in stages.text_parameters():
        if not value.startswith(_SQLITE):
            continue
        path, subject = Path(value.removeprefix(_SQLITE)), f"{place}.{name}={value}"
        folder = _find_nearest_existing(path.parent)
        if not _is_writable(folder):
            yield Finding("fail", subject, f"{folder} cannot be written to: choose another place, {place}.{name}=...")
        elif not path.exists():
            yield Finding("ok", subject, "is not there yet: the first run makes it")
        elif problem := _find_damage(path):
            yield Finding("fail", subject, f"{problem}: choose another one, {place}.{name}=..., or move this one away")
        else:
            yield Finding("ok", subject, f"has {_format_size(path.stat().st_size)}, and can be read")


def _find_damage(file: Path) -> str:
    """What is wrong with a database; empty where nothing is."""
    if not os.access(file, os.R_OK | os.W_OK):
        return f"{file} cannot be read and written"
    try:
        with closing(_open_read_only(file)) as connection:
            (answer,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.Error as error:
        return f"{file.name} is damaged ({error})"
    return "" if answer == "ok" else f"{file.name} is damaged ({answer})"


def _count_rows(file: Path, table: str) -> int:
    with closing(_open_read_only(file)) as connection:
        return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


def _open_read_only(file: Path) -> sqlite3.Connection:
    """A connection that creates no file beside the database, unless another process has it open."""
    in_use = file.with_name(f"{file.name}-wal").exists()
    return sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro{'' if in_use else '&immutable=1'}", uri=True, timeout=2)


def _find_nearest_existing(path: Path) -> Path:
    """The path itself, or the nearest folder above it that exists."""
    path = path.absolute()
    while not path.exists():
        path = path.parent
    return path


def _is_writable(place: Path) -> bool:
    """Whether a file can be made in a folder. A temporary file is made there, since permissions do not tell all."""
    try:
        tempfile.TemporaryFile(dir=place).close()
    except OSError:
        return False
    return True


def _format_size(size: int) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.1f} MB"
