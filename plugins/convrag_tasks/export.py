"""`task=export`: writes a finished run, or a data set, in a format that other tools read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from omegaconf import DictConfig

from convrag import ConfigError, Task
from convrag.sdk.files import open_atomically

if TYPE_CHECKING:
    from convrag_tasks.run_records import ExportInputs

Format = Literal["mtrag", "inspectorraget", "ragas", "deepeval", "beir", "trec", "csv"]

_FORMATS: Mapping[str, tuple[Format, ...]] = {
    "compare": ("inspectorraget",),
    "measures": ("inspectorraget",),
    "subtask": ("mtrag",),
    "tasks": ("mtrag",),
    "contexts": ("mtrag", "ragas", "deepeval"),
    "samples": ("ragas", "deepeval"),
    "queries": ("ragas", "deepeval", "beir"),
    "tag": ("trec",),
    "escape_formulas": ("csv",),
}
"""Parameter -> the formats that it is for."""


@dataclass(kw_only=True, eq=False)
class ExportTask(Task):
    """Write a finished run for other tools, such as MTRAG's scripts, RAGAS, DeepEval, BEIR or TREC.

    mtrag is the JSONL that MTRAG's evaluation scripts and SemEval 2026 task 8's format checker
    read; inspectorraget is the JSON of IBM's InspectorRAGet. For these, and for references in ragas
    and deepeval, the data set must be that of the run. beir writes the data set; with task.records,
    its questions are those of the run. docs/metrics.md says where the formats are from.

    Args:
        records: the folder of the run.
        path: the file or folder to write. A file appears whole, in place of one that is there; a
            folder must be new.
        format: mtrag or ragas (JSONL), inspectorraget or deepeval (JSON), trec (a run, six
            columns), csv (a row for each turn), or beir (a folder).
        contexts: mtrag, ragas, deepeval: the passages that are the turn's contexts: evidence (what
            the answer was given) or hits (the ranking); in mtrag at most 10.
        subtask: mtrag: a submission to SemEval 2026 task 8: retrieval (A: the ranking), reference
            (B: the answer, and the task's own passages) or rag (C: the answer, and what it was
            given).
        tasks: mtrag: the benchmark's file of tasks; only these turns are written, with the file's
            input and Collection.
        samples: ragas, deepeval: a sample for each of the turns, or of the conversations.
        queries: ragas, deepeval, beir: rewritten (the query that can be understood by itself) or
            asked.
        tag: trec: the name of the run, its last column.
        escape_formulas: csv: write an apostrophe before texts that a spreadsheet would compute (=,
            +, -, @, tab).
        compare: inspectorraget: folders of further runs over the same turns, which become further
            models.
        measures: inspectorraget: only these, as numbers, and only the turns that have all of them.
            By default all, those that some turn lacks as text, for InspectorRAGet drops a turn that
            lacks a number.

    Raises:
        ConfigError: the file's name is none that MTRAG's checker accepts, a parameter belongs to
            another format, or the folder exists.
        DataError: a folder holds no finished run, or one of other turns.
    """

    path: Path
    records: Path | None = None
    format: Format = "mtrag"
    contexts: Literal["evidence", "hits"] = "evidence"
    subtask: Literal["retrieval", "reference", "rag"] | None = None
    tasks: Path | None = None
    samples: Literal["turns", "conversations"] = "turns"
    queries: Literal["rewritten", "asked"] = "rewritten"
    tag: str = "convrag"
    escape_formulas: bool = False
    compare: list[Path] | None = None
    measures: list[str] | None = None

    def __post_init__(self) -> None:
        for name, formats in _FORMATS.items():
            is_given = getattr(self, name) != getattr(ExportTask, name)
            if is_given and self.format not in formats:
                wanted = " or ".join(f"task.format={format}" for format in formats)
                raise ConfigError(f"task.{name} is for {wanted}, not for {self.format}")
        if self.samples == "conversations" and self.queries == "asked":
            raise ConfigError(
                "task.queries is for task.samples=turns: conversations have the user's words"
            )
        if self.format == "mtrag" and self.path.suffix != ".jsonl":
            raise ConfigError(
                f"task.path={self.path}: MTRAG's format checker wants a name that ends in .jsonl"
            )
        if self.tasks is not None and self.subtask is None:
            raise ConfigError("task.tasks needs task.subtask=retrieval, reference or rag")
        if not self.tag or self.tag.split() != [self.tag]:
            raise ConfigError(f"task.tag={self.tag!r}: the name of a TREC run has no blanks")

    def execute(self, config: DictConfig, folder: Path) -> int:
        """Write the file or folder and say what is in it."""
        from convrag.sdk.output.console import make_console
        from convrag_tasks.run_records import ExportInputs

        inputs = ExportInputs(config, self.records)
        if self.format == "beir":
            from convrag_tasks.export_beir import write_beir

            write_beir(self.path, inputs, self.queries, with_run=self.records is not None)
        else:
            _write_file(self.path, self._format_lines(inputs))
        console = make_console()
        for line in [*inputs.remarks, f"Written: {self.path}"]:
            console.print(line, soft_wrap=True)
        return 0

    def _format_lines(self, inputs: ExportInputs) -> Iterable[str]:
        """Format the lines of the file, with their line ends."""
        if self.format == "csv":
            from convrag_tasks.export_csv import format_csv_lines
            from convrag_tasks.run_records import read_run_scores

            scores = read_run_scores(inputs.folder)
            return format_csv_lines(inputs.records, scores, escape_formulas=self.escape_formulas)
        if self.format == "trec":
            from convrag.sdk.data.trec import format_trec_lines

            lines: Iterable[str] = [
                line for record in inputs.records for line in format_trec_lines(record, self.tag)
            ]
        elif self.format == "mtrag":
            lines = self._format_mtrag(inputs)
        elif self.format in ("ragas", "deepeval"):
            lines = self._format_samples(inputs)
        else:
            from convrag_tasks.export_inspectorraget import format_inspector_lines

            folders = [inputs.folder, *(self.compare or ())]
            lines = format_inspector_lines(
                folders, inputs.turns, self.measures or (), inputs.remarks
            )
        return (f"{line}\n" for line in lines)

    def _format_samples(self, inputs: ExportInputs) -> Iterable[str]:
        from convrag_tasks import export_samples

        records = inputs.answered
        if self.samples == "turns":
            format_turns = export_samples.format_deepeval_turns
            if self.format == "ragas":
                format_turns = export_samples.format_ragas_turns
            references = inputs.find_references(records)
            return format_turns(records, references, self.contexts, self.queries)
        if self.format == "ragas":
            return export_samples.format_ragas_conversations(records, inputs.histories)
        return export_samples.format_deepeval_conversations(
            records, inputs.histories, self.contexts
        )

    def _format_mtrag(self, inputs: ExportInputs) -> Iterable[str]:
        from convrag_tasks.export_mtrag import format_mtrag_lines
        from convrag_tasks.export_submission import (
            count_other_evidence,
            format_submission_lines,
            make_tasks,
            read_tasks,
        )

        if self.subtask is None:
            _remark_cut_contexts(inputs, self.contexts)
            return format_mtrag_lines(inputs.records, inputs.turns, self.contexts)
        tasks = read_tasks(self.tasks) if self.tasks else make_tasks(inputs.records, inputs.turns)
        if self.subtask == "reference":
            others = count_other_evidence(tasks, inputs.records)
            if others:
                inputs.remarks.append(
                    f"{others} answers were given passages that are not the task's: B is about "
                    "its own alone."
                )
        else:
            _remark_cut_contexts(inputs, "hits" if self.subtask == "retrieval" else self.contexts)
        return format_submission_lines(self.subtask, tasks, inputs.records, inputs.folder)


def _remark_cut_contexts(inputs: ExportInputs, contexts: Literal["evidence", "hits"]) -> None:
    """Remark how many turns have more contexts than MTRAG's checker allows."""
    from convrag_tasks.export_mtrag import LIMIT, exceeds_limit

    cut = sum(exceeds_limit(record, contexts) for record in inputs.records)
    if cut:
        inputs.remarks.append(
            f"{cut} turns have more contexts than the checker allows: the first {LIMIT} are kept."
        )


def _write_file(path: Path, lines: Iterable[str]) -> None:
    """Write a file whole, or not at all. Raises ConfigError where it cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open_atomically(path) as file:
            file.writelines(lines)
    except OSError as error:
        raise ConfigError(f"task.path={path} cannot be written: {error.strerror}") from error
