"""`task=evaluate`: scores rankings and answers in files, or a finished run."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from omegaconf import DictConfig

from convrag import ConfigError, DataError, Dataset, Task, TurnRecord

if TYPE_CHECKING:
    from convrag_tasks.predictions import Predictions


@dataclass(kw_only=True, eq=False)
class EvaluateTask(Task):
    """Score files with the chosen metrics: a TREC run, answers, or a finished run.

    No pipeline runs: nothing is retrieved or generated. `task.run` and `task.answers` may come
    together. Answers are JSONL, in MTRAG's form for its evaluation scripts ({"task_id",
    "predictions": [{"text"}], "contexts"}), as {"turn_id", "answer"}, or as a run's datasets/ hold
    them. Contexts are the ranking too where there is no run. The evidence of an answer without
    contexts is the top_n of the run, else the data set's relevant passages. The data set says what
    is right: dataset=mtrag dataset.domain=clapnq.

    Args:
        run: a TREC run (six columns), or a folder of *.trec files.
        answers: a JSONL file of answers, or a folder of them; or a JSON file of InspectorRAGet,
            such as MTRAG's reference_subset_with_human_evaluations.json.
        predictions: another name for `answers`, which MTRAG calls so.
        model: whose answers are scored, of a file of InspectorRAGet that has several.
        records: the folder of a finished run, which is scored again.
        missing: turns that no file has, though the data set says what would be right: zero counts
            them as turns that found and said nothing; skip leaves them out of the means, as
            trec_eval and MTRAG's scripts do.
        unknown: turns that the data set does not have: error, or skip.

    Raises:
        ConfigError: no file is given, or `records` beside others.
        DataError: a file is broken, or about other turns.
    """

    run: Path | None = None
    answers: Path | None = None
    predictions: Path | None = None
    model: str | None = None
    records: Path | None = None
    missing: Literal["zero", "skip"] = "zero"
    unknown: Literal["error", "skip"] = "error"

    def __post_init__(self) -> None:
        if self.answers is not None and self.predictions is not None:
            raise ConfigError("task.predictions is another name for task.answers: give one of them")
        self.answers = self.answers or self.predictions
        if self.records is not None and (self.run is not None or self.answers is not None):
            raise ConfigError("task.records is a whole run: leave out task.run and task.answers")

    def execute(self, config: DictConfig, folder: Path) -> int:
        """Score them and print the summary.

        Returns:
            3 where a metric or turns of the finished run failed, 1 where all did, else 0.
        """
        from convrag.sdk.tasks.configuration import read_settings
        from convrag.sdk.tasks.runs import evaluate_records
        from convrag.sdk.tasks.scores import print_summary
        from convrag.sdk.tasks.turns import Wiring
        from convrag_tasks.run_records import find_reason_of_stop

        if self.run is None and self.answers is None and self.records is None:
            raise ConfigError(
                "task=evaluate needs task.run=run.trec, task.answers=FILE.jsonl or "
                "task.records=FOLDER"
            )
        settings = read_settings(config)
        wiring = Wiring(config)
        dataset: Dataset = wiring.get("dataset")
        stopped = ""
        if self.records is not None:
            records, notes = self._read_run(self.records, dataset)
            stopped = find_reason_of_stop(self.records)
        else:
            parts = {part for metric in wiring.get_all("metrics").values() for part in metric.reads}
            records, notes = self._read_files(dataset, settings.limit, settings.top_n, parts)
        _, summary = evaluate_records(
            config, folder, records, notes, stopped=stopped, show=print_summary
        )
        return summary.exit_status

    def _read_files(
        self, dataset: Dataset, limit: int | None, top_n: int, parts: Collection[str]
    ) -> tuple[list[TurnRecord], list[str]]:
        """Make records of the files.

        Args:
            dataset: the data set that they are about.
            limit: the most conversations.
            top_n: passages of a ranking that are evidence where a file of answers names none.
            parts: the parts that metrics read, "ranking" and "answer"; only these have notes.

        Returns:
            The records, and notes for the summary.
        """
        from convrag_tasks.prediction_records import add_passage_texts, make_records
        from convrag_tasks.predictions import find_missing, read_predictions
        from convrag_tasks.run_records import read_dataset_turns

        qrels = dataset.qrels()
        predictions = read_predictions(
            self.run,
            self.answers,
            read_dataset_turns(dataset),
            skip=self.unknown == "skip",
            known={passage_id for grades in qrels.values() for passage_id in grades},
            model=self.model,
        )
        turns = read_dataset_turns(dataset, limit)
        missing = find_missing(predictions, turns, qrels)
        counted = missing if self.missing == "zero" else {}
        records = make_records(predictions, turns, counted, top_n)
        notes = [*_note_unknown(predictions.unknown)]
        notes += self._note_missing(
            {part: turn_ids for part, turn_ids in missing.items() if part in parts}
        )
        if "answer" in parts:
            notes += _note_evidence(predictions, top_n)
        return add_passage_texts(records, dataset), notes

    def _read_run(self, folder: Path, dataset: Dataset) -> tuple[list[TurnRecord], list[str]]:
        """Read the records of a finished run, and notes for the summary."""
        from convrag_tasks.run_records import mark_reused, read_dataset_turns, read_run_records

        records = read_run_records(folder)
        turns = read_dataset_turns(dataset)
        known = [mark_reused(record) for record in records if record.turn_id in turns]
        unknown = len(records) - len(known)
        if unknown and (self.unknown == "error" or not known):
            raise DataError(
                f"{unknown} of its {len(records)} turns are not in the data set: choose the one "
                "that it was a run of (dataset=..., dataset.domain=...), or leave them out: "
                "task.unknown=skip",
                path=folder,
            )
        own = f"The turns are those of {folder}; this run made none."
        return known, [*_note_unknown({folder: unknown}), own]

    def _note_missing(self, missing: Mapping[str, Sequence[str]]) -> Iterator[str]:
        truths = {"ranking": "qrels", "answer": "a reference answer"}
        effect = "are left out of the means"
        if self.missing == "zero":
            effect = (
                "count as 0 (task.missing=skip leaves them out, as trec_eval and published figures "
                "do)"
            )
        for part, turn_ids in missing.items():
            if turn_ids:
                yield (
                    f"{len(turn_ids)} turns with {truths[part]} have no {part} in the files: they "
                    f"{effect}."
                )


def _note_unknown(counts: Mapping[Path, int]) -> Iterator[str]:
    for path, count in counts.items():
        if count:
            yield f"{count} turns of {path} are not in the data set and were left out."


def _note_evidence(predictions: Predictions, top_n: int) -> Iterator[str]:
    """Say which passages are the evidence of answers without contexts."""
    answers = predictions.answers or {}
    lacking = [turn_id for turn_id, answer in answers.items() if answer.passages is None]
    if not lacking:
        return
    line = predictions.lines.get(lacking[0])
    first = f" (the first: {line.path}, line {line.number})" if line else ""
    passages = "the relevant passages"
    if predictions.rankings is not None:
        passages = f"the first {top_n} passages of the run"
    yield (
        f"{len(lacking)} answers came without contexts{first}: {passages} stand for what they were "
        "given."
    )
