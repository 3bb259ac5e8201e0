"""Where secrets are found below a folder: in files, and in what databases keep compressed."""

import sqlite3
import subprocess
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path


def find_secrets(
    folder: Path,
    done: subprocess.CompletedProcess[str],
    secrets: Sequence[str],
    *,
    planted: Iterable[Path] = (),
) -> list[str]:
    """Where a secret is found: in what a command printed, in a file's name or content, in a
    database.

    Args:
        folder: all files below it are read.
        done: the command.
        secrets: the secrets.
        planted: files that the test wrote, which have them.
    """
    places = [("the terminal", (done.stdout + done.stderr).encode())]
    for path in sorted(set(folder.rglob("*")) - set(planted)):
        places.append(("a name", str(path).encode()))
        if path.is_file():
            content = path.read_bytes()
            places.append((str(path), content))
            if content.startswith(b"SQLite format 3"):
                places.append((f"{path}, read", _read_values(path)))
    return [
        f"{secret} in {place}"
        for secret in secrets
        for place, content in places
        if secret.encode() in content
    ]


def _read_values(path: Path) -> bytes:
    """All values of all tables, those of the store unpacked."""
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
        tables = [
            name
            for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        ]
        values = [
            value
            for table in tables
            for row in database.execute(f"SELECT * FROM '{table}'")
            for value in row
        ]
    database.close()
    return b"\n".join(
        _unpack(value) if isinstance(value, bytes) else str(value).encode() for value in values
    )


def _unpack(value: bytes) -> bytes:
    try:
        return zlib.decompress(value)
    except zlib.error:
        return value
