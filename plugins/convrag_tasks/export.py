"""`task=export`: writes a finished run in a format that other tools read."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from omegaconf import DictConfig

from convrag import ConfigError, DataError, Dataset, Task
from convrag.store.atomic import open_atomically

if TYPE_CHECKING:
    from convrag_tasks.dataset_turns import DatasetTurn


class ExportTask(Task):
    """Write a finished run for others to read: MTRAG's predictions, InspectorRAGet's JSON, TREC or CSV.

    mtrag is the JSONL that MTRAG's evaluation scripts and SemEval 2026 task 8's format checker read; inspectorraget is
    the JSON of IBM's InspectorRAGet. For both the data set must be that of the run. docs/metrics.md says where the
    formats are from.

    Args:
        records: the folder of the run.
        path: the file to write; it appears whole, in place of one that is there.
        format: mtrag (JSONL), inspectorraget (JSON), trec (a run, six columns) or csv (a row for each turn).
        contexts: mtrag: the passages that stand for the turn's contexts, at most 10: evidence (what the answer was
            given; SemEval's tasks B and C) or hits (the ranking; task A).
        compare: inspectorraget: folders of further runs over the same turns, which become further models.
        measures: inspectorraget: only these, as numbers, and only the turns that have all of them. By default all,
            those that some turn lacks as text, for InspectorRAGet drops a turn that lacks a number.

    Raises:
        ConfigError: the file's name is none that MTRAG's checker accepts, or a parameter belongs to another format.
        DataError: a folder holds no finished run, or one of other turns.
    """

    def __init__(
        self,
        *,
        records: Path,
        path: Path,
        format: Literal["mtrag", "inspectorraget", "csv", "trec"] = "mtrag",
        contexts: Literal["evidence", "hits"] = "evidence",
        compare: list[Path] | None = None,
        measures: list[str] | None = None,
    ) -> None:
        if format == "mtrag" and path.suffix != ".jsonl":
            raise ConfigError(f"task.path={path}: MTRAG's format checker wants a name that ends in .jsonl")
        if (compare or measures) and format != "inspectorraget":
            raise ConfigError("task.compare and task.measures are for task.format=inspectorraget")
        self.records = records
        self.path = path
        self.format = format
        self.contexts: Literal["evidence", "hits"] = contexts
        self.compare = list(compare or ())
        self.measures = list(measures or ())

    def execute(self, config: DictConfig, folder: Path) -> int:
        """Write the file and say what is in it."""
        from convrag.sdk.console import make_console

        lines, remarks = self._format_lines(config)
        _write_lines(self.path, lines)
        console = make_console()
        for line in [*remarks, f"Written: {self.path}"]:
            console.print(line, soft_wrap=True)
        return 0

    def _format_lines(self, config: DictConfig) -> tuple[Iterable[str], list[str]]:
        from convrag_tasks.run_records import read_run_records

        records = read_run_records(self.records)
        remarks = [f"{len(records)} turns of {self.records}."]
        if failed := sum(bool(record.error) for record in records):
            remarks.append(f"{failed} of them failed, and have no answer: its command, run again, asks for them.")
        if self.format == "trec":
            from convrag.run.writers import format_trec_lines

            return [line for record in records for line in format_trec_lines(record)], remarks
        if self.format == "csv":
            from convrag_tasks.export_csv import format_csv_lines
            from convrag_tasks.run_records import read_run_scores

            return format_csv_lines(records, read_run_scores(self.records)), remarks
        turns = self._read_turns(config)
        if unknown := next((record.turn_id for record in records if record.turn_id not in turns), ""):
            raise DataError(
                f"the data set has no turn {unknown!r}: choose the one that it was a run of (dataset=..., "
                "dataset.domain=...)",
                path=self.records,
            )
        if self.format == "mtrag":
            from convrag_tasks.export_mtrag import LIMIT, exceeds_limit, format_mtrag_lines

            if cut := sum(exceeds_limit(record, self.contexts) for record in records):
                remarks.append(f"{cut} turns have more contexts than the checker allows: the first {LIMIT} are kept.")
            return format_mtrag_lines(records, turns, self.contexts), remarks
        from convrag_tasks.export_inspector import format_inspector_lines

        return format_inspector_lines([self.records, *self.compare], turns, self.measures, remarks), remarks

    def _read_turns(self, config: DictConfig) -> dict[str, DatasetTurn]:
        from convrag.turn.wiring import Wiring
        from convrag_tasks.dataset_turns import read_dataset_turns

        dataset: Dataset = Wiring(config).get("dataset")
        return read_dataset_turns(dataset)


def _write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write a file whole, or not at all. Raises ConfigError where it cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open_atomically(path) as file:
            file.writelines(f"{line}\n" for line in lines)
    except OSError as error:
        raise ConfigError(f"task.path={path} cannot be written: {error.strerror}") from error
