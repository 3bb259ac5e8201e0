"""The answers that are assessed: their words and passages, and pairs of them at equal length."""

import re
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

from convrag import DataError, Passage, TurnRecord
from convrag.sdk.identity import digest, file_hash
from convrag.sdk.lazy import Lazy

_CITATIONS = re.compile(r"\s*\[\s*\d+(?:\s*[,;]\s*\d+)*\s*\](?=(\w?))")


def has_answer(record: TurnRecord) -> bool:
    """Whether the turn has an answer, which may be empty; task=evaluate may have been given rankings alone."""
    given = record.trace.get("evaluate", {}).get("given")
    return given is None or "answer" in given


def shown_passages(record: TurnRecord) -> list[Passage]:
    """The passages that the system showed its model, each once, in order."""
    return list({item.passage.id: item.passage for item in record.evidence.items if item.passage.text}.values())


def rests_on_few_nuggets(record: TurnRecord, min_nuggets: int) -> bool:
    """Whether the generator's trace (generator=ginger) says that it detected fewer than `min_nuggets` nuggets."""
    nuggets = record.trace.get("generator", {}).get("nuggets")
    return nuggets is not None and len(nuggets) < min_nuggets


def split_words(answer: str) -> list[str]:
    """The words of an answer, separated by white space; citations such as [1] or [2, 3] are not words."""
    return _CITATIONS.sub(lambda found: " " if found[1] else "", answer).split()


def truncate_answer(answer: str, max_words: int | None) -> str:
    """The first `max_words` words of an answer, without citations; an answer that is no longer stays as it is."""
    words = split_words(answer)
    return answer if max_words is None or len(words) <= max_words else " ".join(words[:max_words])


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
        return digest([file_hash(path) for path in sorted((self.folder / "intermediate").glob("*.jsonl"))])


def read_answer_lengths(folder: Path) -> Mapping[str, int]:
    """Turn id -> words of the answer in a finished run. Raises DataError where the folder holds none."""
    from convrag.sdk.tasks.runs import read_records

    lengths = {record.turn_id: len(split_words(record.answer.text)) for record in read_records(folder / "intermediate")}
    if not lengths:
        raise DataError("this is no folder of a finished run: there is no turn in its intermediate/", path=folder)
    return lengths
