"""What recorded files hold, as a hash."""

from __future__ import annotations

from pathlib import Path

from convrag import DataError
from convrag.sdk.jsonl import list_files
from convrag.store.fingerprint import digest, file_hash


def hash_files(path: Path, *suffixes: str) -> str:
    """A hash of all that `files` finds; empty where it finds nothing."""
    try:
        return digest([[file.name, file_hash(file)] for file in list_files(path, *suffixes)])
    except DataError:
        return ""
