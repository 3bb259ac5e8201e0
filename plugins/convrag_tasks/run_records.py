"""The records and scores of a finished run, and the turns of a data set by id."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from omegaconf import DictConfig

from convrag import ConfigError, Conversation, DataError, Dataset, Passage, Turn, TurnRecord
from convrag.sdk.tasks.runs import read_records, read_scores
from convrag.sdk.tasks.scores import read_summary


def read_run_records(folder: Path) -> list[TurnRecord]:
    """Read the records of a run, in the order of its files.

    Raises:
        DataError: the folder holds none.
    """
    intermediate = folder / "intermediate"
    if not intermediate.is_dir():
        raise DataError(
            "this is not the folder of a finished run: it has no intermediate/", path=folder
        )
    records = list(read_records(intermediate))
    if not records:
        raise DataError("this run has no turns", path=intermediate)
    return records


def find_reason_of_stop(folder: Path) -> str:
    """Find why a run ended early; empty if it did not, or its folder does not say.

    Raises:
        DataError: the metrics are broken.
    """
    path = folder / "metrics.json"
    return read_summary(path).stopped if path.is_file() else ""


def mark_reused(record: TurnRecord) -> TurnRecord:
    """Mark the calls of a record as reused: an earlier run made them, and they cost nothing now."""
    reused = {}
    for stage, usage in record.usage.items():
        count = usage.calls - usage.failed + usage.reused
        reused[stage] = replace(usage, calls=0, failed=0, reused=count, spent_usd=0.0)
    return replace(record, usage=reused)


def read_run_scores(folder: Path) -> dict[str, dict[str, float]]:
    """Read a run's scores.jsonl, turn id -> measure -> value.

    Raises:
        DataError: the file is missing or broken.
    """
    return {turn.turn_id: turn.scores for turn in read_scores(folder / "scores.jsonl")}


class DatasetTurn(NamedTuple):
    """A turn, its conversation, and its number in it, from 1; the given history counts, too."""

    conversation: Conversation
    number: int
    turn: Turn


def read_dataset_turns(dataset: Dataset, limit: int | None = None) -> dict[str, DatasetTurn]:
    """Read the turns of a data set by id; at most those of `limit` conversations."""
    return {
        turn.id: DatasetTurn(conversation, number, turn)
        for conversation in islice(dataset.conversations(), limit)
        for number, turn in enumerate(conversation.turns, 1 + len(conversation.history))
    }


class ExportInputs:
    """The run and the data set of an export.

    Args:
        config: the configuration of the command, which names the data set.
        folder: the folder of the run; None where none is named.

    Attributes:
        remarks: lines to print at the end.
    """

    def __init__(self, config: DictConfig, folder: Path | None) -> None:
        self._config = config
        self._folder = folder
        self.remarks: list[str] = []

    @property
    def folder(self) -> Path:
        """The folder of the run. Raises ConfigError where none is named."""
        if self._folder is None:
            raise ConfigError("this format is of a run: name its folder, task.records=outputs/...")
        return self._folder

    @cached_property
    def records(self) -> list[TurnRecord]:
        """The records of the run, in its order. Raises DataError."""
        records = read_run_records(self.folder)
        self.remarks.append(f"{len(records)} turns of {self.folder}.")
        failed = sum(bool(record.error) for record in records)
        if failed:
            self.remarks.append(
                f"{failed} of them failed, and have no answer: its command, run again, asks for "
                "them."
            )
        return records

    @cached_property
    def answered(self) -> list[TurnRecord]:
        """The records of turns that did not fail. Raises DataError where there are none."""
        answered = [record for record in self.records if not record.error]
        if not answered:
            raise DataError("every turn of this run failed: nothing is written", path=self.folder)
        return answered

    @cached_property
    def dataset(self) -> Dataset:
        """The data set that the command names."""
        from convrag.sdk.tasks.turns import Wiring

        dataset: Dataset = Wiring(self._config).get("dataset")
        return dataset

    @cached_property
    def all_turns(self) -> Mapping[str, DatasetTurn]:
        """The turns of the data set by id."""
        return read_dataset_turns(self.dataset)

    @cached_property
    def turns(self) -> Mapping[str, DatasetTurn]:
        """The turns of the data set. Raises DataError where it lacks a turn of the run."""
        for record in self.records:
            if record.turn_id not in self.all_turns:
                raise DataError(
                    f"the data set has no turn {record.turn_id!r}: choose the one that it was a "
                    "run of (dataset=..., dataset.domain=...)",
                    path=self.folder,
                )
        return self.all_turns

    @property
    def histories(self) -> Mapping[str, Sequence[Turn]]:
        """Conversation id -> the turns that the data set gives before the first that is asked."""
        conversations = [place.conversation for place in self.all_turns.values()]
        return {each.id: each.history for each in conversations if each.history}

    def find_references(self, records: Sequence[TurnRecord]) -> dict[str, list[Passage]]:
        """Find the relevant passages of turns, by turn id; a turn without any is left out.

        They are the passages with texts that the data set names for a turn, or else those of its
        relevance judgements.

        Raises:
            DataError: a judged turn is not in the data set.
        """
        found: dict[str, list[Passage]] = {}
        judged: dict[str, list[str]] = {}
        for record in records:
            if not record.gold and not record.reference:
                continue
            named = self.turns[record.turn_id].turn.passages
            if any(passage.text for passage in named):
                found[record.turn_id] = list(named)
            else:
                judged[record.turn_id] = [id for id, grade in record.gold.items() if grade > 0]
        passages = self._read_passages(judged)
        for turn_id, ids in judged.items():
            relevant = [passages[id] for id in ids if id in passages]
            if relevant:
                found[turn_id] = relevant
        return found

    def _read_passages(self, judged: Mapping[str, Sequence[str]]) -> dict[str, Passage]:
        """Read passages from the corpora of turns, id -> passage.

        Args:
            judged: turn id -> the ids of its passages.
        """
        wanted = {id for ids in judged.values() for id in ids}
        if not wanted:
            return {}
        domains = dict.fromkeys(self.turns[turn_id].conversation.domain for turn_id in judged)
        return {
            passage.id: passage
            for domain in domains
            for passage in self.dataset.corpus(domain)
            if passage.id in wanted
        }
