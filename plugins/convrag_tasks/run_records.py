"""What tasks read: the records and scores of a finished run, and the turns of a data set by id."""

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
    """Read the records of a run, in the order of its files. Raises DataError where the folder holds none."""
    intermediate = folder / "intermediate"
    if not intermediate.is_dir():
        raise DataError("this is no folder of a finished run: it has no intermediate/", path=folder)
    records = list(read_records(intermediate))
    if not records:
        raise DataError("this run has no turns", path=intermediate)
    return records


def find_reason_of_stop(folder: Path) -> str:
    """Why a run ended early; empty if it did not, or its folder does not say. Raises DataError for broken metrics."""
    path = folder / "metrics.json"
    return read_summary(path).stopped if path.is_file() else ""


def mark_reused(record: TurnRecord) -> TurnRecord:
    """A record whose calls count as reused, and cost nothing now, because an earlier run made them."""
    usage = {
        stage: replace(usage, calls=0, failed=0, reused=usage.calls - usage.failed + usage.reused, spent_usd=0.0)
        for stage, usage in record.usage.items()
    }
    return replace(record, usage=usage)


def read_run_scores(folder: Path) -> dict[str, dict[str, float]]:
    """Read a run's scores.jsonl: turn id -> measure -> value. Raises DataError where it is missing or broken."""
    return {turn.turn_id: turn.scores for turn in read_scores(folder / "scores.jsonl")}


class DatasetTurn(NamedTuple):
    """A turn, its conversation, and its position in it, from 1; the history that is given counts too."""

    conversation: Conversation
    number: int
    turn: Turn


def read_dataset_turns(dataset: Dataset, limit: int | None = None) -> dict[str, DatasetTurn]:
    """The turns of the data set by id; with a `limit`, the turns of so many conversations."""
    return {
        turn.id: DatasetTurn(conversation, number, turn)
        for conversation in islice(dataset.conversations(), limit)
        for number, turn in enumerate(conversation.turns, 1 + len(conversation.history))
    }


class ExportInputs:
    """The run and the data set of an export.

    Args:
        config: of the command; it names the data set.
        folder: of the run; None where none is named.

    Attributes:
        remarks: what to say at the end, a line each.
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
        if failed := sum(bool(record.error) for record in records):
            self.remarks.append(f"{failed} of them failed, and have no answer: its command, run again, asks for them.")
        return records

    @cached_property
    def answered(self) -> list[TurnRecord]:
        """The records of turns that did not fail. Raises DataError where there are none."""
        if answered := [record for record in self.records if not record.error]:
            return answered
        raise DataError("every turn of this run failed, so that there is nothing to write", path=self.folder)

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
        if unknown := next((record.turn_id for record in self.records if record.turn_id not in self.all_turns), ""):
            raise DataError(
                f"the data set has no turn {unknown!r}: choose the one that it was a run of (dataset=..., "
                "dataset.domain=...)",
                path=self.folder,
            )
        return self.all_turns

    @property
    def histories(self) -> Mapping[str, Sequence[Turn]]:
        """Conversation id -> the turns that the data set gives before the first that is asked."""
        return {
            place.conversation.id: place.conversation.history
            for place in self.all_turns.values()
            if place.conversation.history
        }

    def find_references(self, records: Sequence[TurnRecord]) -> Mapping[str, list[Passage]]:
        """The relevant passages of turns, by turn id: as the data set's turns name them, else its qrels.

        A turn without any is left out. Raises DataError where a judged turn of the run is not in the data set.
        """
        judged = [record for record in records if record.gold or record.reference]
        if not judged:
            return {}
        named = {record.turn_id: self.turns[record.turn_id].turn.passages for record in judged}
        graded = {
            record.turn_id: [name for name, grade in record.gold.items() if grade > 0]
            for record in judged
            if not any(passage.text for passage in named[record.turn_id])
        }
        wanted = {name for names in graded.values() for name in names}
        domains = dict.fromkeys(self.turns[record.turn_id].conversation.domain for record in judged) if wanted else ()
        texts = {each.id: each for domain in domains for each in self.dataset.corpus(domain) if each.id in wanted}
        found = {turn: [texts[name] for name in names if name in texts] for turn, names in graded.items()}
        found |= {turn: list(passages) for turn, passages in named.items() if turn not in graded}
        return {turn: passages for turn, passages in found.items() if passages}
