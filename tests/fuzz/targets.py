"""All targets: a function of bytes that must return, or raise a ConvragError, whatever the bytes
are.
"""

import atexit
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from convrag.api.errors import ConvragError
from fuzz.document_readers import DOCUMENT_NAMES, DOCUMENT_READERS
from fuzz.file_readers import FILE_READERS, Reader
from fuzz.published_readers import PUBLISHED_NAMES, PUBLISHED_READERS
from fuzz.reply_readers import REPLY_READERS, Check


@dataclass(frozen=True)
class Target:
    """A reader, and some valid inputs to start from.

    Args:
        read: reads bytes; what it raises for those that are not valid is a ConvragError.
        check: reads bytes that may not be valid, and raises nothing where that ends well.
        seeds: inputs that are read without an error.
    """

    read: Callable[[bytes], object]
    check: Callable[[bytes], None]
    seeds: list[bytes]


@cache
def make_folder() -> Path:
    """Make the folder of this process's inputs, in memory where that can be had; it is removed at
    the end.
    """
    memory = Path("/dev/shm")
    made = tempfile.TemporaryDirectory(
        prefix="convrag-fuzz-", dir=memory if memory.is_dir() else None
    )
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
    **PUBLISHED_NAMES,
    **DOCUMENT_NAMES,
}


def _make_file_target(name: str, read: Reader, seeds: list[bytes]) -> Target:
    path = make_folder() / name / _FILE_NAMES.get(name, "mine.jsonl")

    def read_bytes(data: bytes) -> object:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return read(path)

    def check(data: bytes) -> None:
        try:
            read_bytes(data)
        except ConvragError as error:
            others = str(make_folder() / name)  # a file beside it may be what the message is about
            if path.name not in str(error) and others not in str(error):
                raise AssertionError(f"the message does not name the file: {error}") from error

    return Target(read_bytes, check, seeds)


def _make_reply_target(read: Check, seeds: list[str]) -> Target:
    def read_bytes(data: bytes) -> object:
        return read(data.decode("utf-8", "replace"))

    def check(data: bytes) -> None:
        with suppress(ConvragError):
            read_bytes(data)

    return Target(read_bytes, check, [seed.encode() for seed in seeds])


TARGETS = {
    **{
        name: _make_file_target(name, *reader)
        for name, reader in (FILE_READERS | PUBLISHED_READERS | DOCUMENT_READERS).items()
    },
    **{name: _make_reply_target(*reader) for name, reader in REPLY_READERS.items()},
}
