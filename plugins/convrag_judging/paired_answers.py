"""Pairs of answers at equal length: each answer is cut to that of another run where this is shorter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

from convrag import DataError, TurnRecord
from convrag.sdk.identity import digest, file_hash
from convrag.sdk.lazy import Lazy
from convrag_judging.answers import split_words


class PairedAnswers:
    """The lengths of the answers of a finished run, with which those of another run are paired.

    Args:
        folder: of the finished run.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lengths = Lazy(partial(read_answer_lengths, folder))

    def find_problems(self) -> Iterator[str]:
        """Say what keeps the run from being read."""
        try:
            self._lengths()
        except DataError as error:
            yield str(error)

    def has_pair(self, record: TurnRecord) -> bool:
        """Whether the run has an answer to the same turn, be it an empty one."""
        return record.turn_id in self._lengths()

    def limit_words(self, record: TurnRecord, max_words: int | None) -> int:
        """The most words of the answer to a turn that has a pair: those of the paired answer, and `max_words` at most.

        The paired answer is limited in the same way when its run is measured with this one.
        """
        length = self._lengths()[record.turn_id]
        return length if max_words is None else min(length, max_words)

    def content_hash(self) -> str:
        """A hash of the run's records."""
        return digest([file_hash(path) for path in _list_files(self.folder)])


def read_answer_lengths(folder: Path) -> Mapping[str, int]:
    """Turn id -> words of the answer in a finished run. Raises DataError where the folder holds none."""
    from convrag.sdk.tasks.runs import read_records

    lengths = {record.turn_id: len(split_words(record.answer.text)) for record in read_records(folder / "intermediate")}
    if not lengths:
        raise DataError("this is no folder of a finished run: there is no turn in its intermediate/", path=folder)
    return lengths


def _list_files(folder: Path) -> list[Path]:
    return sorted((folder / "intermediate").glob("*.jsonl"))
