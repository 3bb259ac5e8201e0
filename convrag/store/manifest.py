"""Manifests: what a built folder holds, so that damaged and missing files are found."""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from convrag.store.atomic import write_atomically

MANIFEST = ".manifest.json"
TRUSTED = 24 * 3600
"""Seconds for which a file counts as sound after its checksum was computed, if its size and time are the same."""


def write_manifest(folder: Path) -> None:
    """Write the manifest of a folder into it."""
    write_atomically(folder / MANIFEST, json.dumps(describe_files(folder), indent=1))


def describe_files(folder: Path) -> dict[str, dict[str, int]]:
    """Describe the files of a folder and its subfolders: path -> size, time of change (mtime_ns), checksum (crc32)."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != MANIFEST)
    return {path.relative_to(folder).as_posix(): _describe_file(path) for path in files}


def find_damage(folder: Path) -> str:
    """Compare a folder with its manifest, and return what is wrong with it; empty if it is as it was built.

    A file whose size and time of change are those of the manifest is not read again for a day. Damage that changes
    neither (a failing disk) is found on the next day.
    """
    manifest = folder / MANIFEST
    try:
        rows = json.loads(manifest.read_text(encoding="utf-8"))
        is_old = time.time() - manifest.stat().st_mtime > TRUSTED
    except FileNotFoundError:
        return f"there is no {MANIFEST} in it"
    except (OSError, ValueError) as error:
        return f"{MANIFEST} cannot be read ({error})"
    damage, was_read = check_files(folder, rows, read_all=is_old)
    if was_read and not damage:
        with suppress(OSError):  # a store that cannot be written to: the next process reads the files again
            write_atomically(manifest, json.dumps(rows, indent=1))
    return damage


def check_files(folder: Path, rows: Any, *, read_all: bool = False) -> tuple[str, bool]:
    """Compare the files of a folder with what `describe_files` said of them.

    Args:
        folder: the folder.
        rows: the description, perhaps damaged itself. That of a file that had to be read is updated.
        read_all: whether to read files whose size and time of change are the same, too.

    Returns:
        What is wrong, empty if nothing is; and whether any file was read.
    """
    try:
        suspect = [name for name, row in rows.items() if read_all or not _is_untouched(folder / name, row)]
        for name in suspect:
            described = _describe_file(folder / name)
            if described["crc32"] != rows[name]["crc32"]:
                return f"{name} is damaged", True
            rows[name] = described
    except FileNotFoundError as error:
        return f"{Path(str(error.filename)).name} is missing", False
    except (OSError, ValueError, AttributeError, TypeError, KeyError) as error:
        return f"its files cannot be checked ({error!r})", False
    return "", bool(suspect)


def _is_untouched(path: Path, row: Mapping[str, int]) -> bool:
    status = path.stat()
    return status.st_size == row["size"] and status.st_mtime_ns == row["mtime_ns"]


def _describe_file(path: Path) -> dict[str, int]:
    status, checksum = path.stat(), 0
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            checksum = zlib.crc32(block, checksum)
    return {"size": status.st_size, "mtime_ns": status.st_mtime_ns, "crc32": checksum}
