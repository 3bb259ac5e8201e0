"""The lines of files of judgements, and the ids of turns and annotators in them."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import AliasChoices, Field

from convrag import DataError
from convrag.sdk.data.jsonl import Line, read_lines

T = TypeVar("T")

TurnId = Annotated[
    str | int,
    Field(
        validation_alias=AliasChoices(
            "turn_id", "qid", "query_id", "topic_id", "task_id", "_id", "id"
        )
    ),
]
"""The id of the turn, under any of the names that files have for it."""


def name_annotators(paths: Sequence[Path]) -> list[str]:
    """Name the annotator of each file: its name without suffix, or its path if names repeat."""
    stems = [path.stem for path in paths]
    return [
        stem if stems.count(stem) == 1 else str(path)
        for stem, path in zip(stems, paths, strict=True)
    ]


def parse_lines(path: Path, kind: type[T], what: str) -> Iterator[tuple[Line, T]]:
    """Yield the lines of a JSONL file, each with what it says.

    Args:
        path: the file.
        kind: the dataclass that a line is read as.
        what: what a line is, for messages.

    Raises:
        DataError: a line is broken, or the file has none.
    """
    empty = True
    for line in read_lines(path):
        empty = False
        yield line, line.parse(kind, what)
    if empty:
        raise DataError("this file is empty", path=path)
