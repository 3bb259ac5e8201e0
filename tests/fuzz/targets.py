"""All targets: a function of bytes that must return, or raise a ConvragError, whatever the bytes are."""

from __future__ import annotations

import atexit
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from convrag.api.errors import ConvragError
from fuzz.file_readers import FILE_READERS, Reader
from fuzz.reply_readers import REPLY_READERS, Check


@dataclass(frozen=True)
class Target:
    """A reader, and some valid inputs to start from."""

    check: Callable[[bytes], None]
    seeds: list[bytes]


@cache
def make_folder() -> Path:
    """Make the folder of this process's inputs, in memory where that can be had; it is removed at the end."""
    memory = Path("/dev/shm")
    made = tempfile.TemporaryDirectory(prefix="convrag-fuzz-", dir=memory if memory.is_dir() else None)
    atexit.register(made.cleanup)
    return Path(made.name)


_FILE_NAMES = {
    "sweep": "sweep.json",
    "preset": "mine.yaml",
    "csv_turns": "mine.csv",
    "csv_messages": "mine.csv",
    "tsv_corpus": "mine.tsv",
    "parquet": "mine.parquet",
    "recorded_trec": "mine.trec",
    "run_scores": "scores.jsonl",
}


def _check_file(name: str, read: Reader) -> Callable[[bytes], None]:
    def check(data: bytes) -> None:
        path = make_folder() / name / _FILE_NAMES.get(name, "mine.jsonl")
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
        try:
            read(path)
        except ConvragError as error:
            if path.name not in str(error):
                raise AssertionError(f"the message does not name the file: {error}") from error

    return check


def _check_reply(read: Check) -> Callable[[bytes], None]:
    def check(data: bytes) -> None:
        try:
            read(data.decode("utf-8", "replace"))
        except ConvragError:
            return

    return check


TARGETS = {name: Target(_check_file(name, read), seeds) for name, (read, seeds) in FILE_READERS.items()} | {
    name: Target(_check_reply(read), [seed.encode() for seed in seeds]) for name, (read, seeds) in REPLY_READERS.items()
}
