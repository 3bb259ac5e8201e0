"""`task=evaluate`: what others, or we, computed before is scored; nothing is searched for or generated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from omegaconf import DictConfig

from convrag import ConfigError, DataError, Dataset, Task, TurnRecord

if TYPE_CHECKING:
    from convrag_tasks.given_turns import Given


class EvaluateTask(Task):
    """Score given files with the chosen metrics, running no pipeline: a TREC run, answers, or a finished run.

    `task.run` and `task.answers` may come together. Answers are JSONL, in MTRAG's form for its evaluation scripts
    ({"task_id", "predictions": [{"text"}], "contexts"}), as {"turn_id", "answer"}, or as a run's datasets/ hold them.
    Contexts are the ranking too where there is no run. The evidence of an answer without contexts is the top_n of the
    run, else the data set's relevant passages. The data set says what is right: dataset=mtrag dataset.domain=clapnq.

    Args:
        run: a TREC run (six columns), or a folder of *.trec files.
        answers: a JSONL file of answers, or a folder of them.
        records: the folder of a finished run, which is scored again.
        missing: turns that no file has, though the data set says what would be right: skip leaves them out of the
            means, as trec_eval and MTRAG's scripts do; zero counts them as turns that found and said nothing.
        unknown: turns that the data set does not have: error, or skip.

    Raises:
        ConfigError: no file is given, or `records` beside others.
        DataError: a file is broken, or about other turns.
    """

    def __init__(
        self,
        *,
        run: Path | None = None,
        answers: Path | None = None,
        records: Path | None = None,
        missing: Literal["skip", "zero"] = "skip",
        unknown: Literal["error", "skip"] = "error",
    ) -> None:
        if records is not None and (run is not None or answers is not None):
            raise ConfigError("task.records is a whole run: leave out task.run and task.answers")
        self.run = run
        self.answers = answers
        self.records = records
        self.missing = missing
        self.unknown = unknown

    def execute(self, config: DictConfig, folder: Path) -> int:
        """Score them and print the summary; 1 where a metric failed."""
        from rich.console import Console

        from convrag.config.compose import settings_of
        from convrag.run.runner import evaluate
        from convrag.score.summary_page import remarks, table
        from convrag.turn.wiring import Wiring

        if self.run is None and self.answers is None and self.records is None:
            raise ConfigError("task=evaluate needs task.run=run.trec, task.answers=FILE.jsonl or task.records=FOLDER")
        settings = settings_of(config)
        dataset: Dataset = Wiring(config).get("dataset")
        if self.records is not None:
            records, notes = self._finished(self.records, dataset)
        else:
            records, notes = self._given(dataset, settings.limit, settings.top_n)
        this, summary = evaluate(config, folder, records, notes)
        console = Console()
        if summary.overall:
            console.print(table(summary))
        for line in [*remarks(this, summary), f"Results: {this.folder}"]:
            console.print(line, highlight=False, markup=False, soft_wrap=True)
        return int(bool(summary.stopped))

    def _given(self, dataset: Dataset, limit: int | None, top_n: int) -> tuple[list[TurnRecord], list[str]]:
        from convrag_tasks.given_records import absent, put_together, with_texts
        from convrag_tasks.given_turns import asked, read_given

        given = read_given(self.run, self.answers, asked(dataset), skip=self.unknown == "skip")
        turns = asked(dataset, limit)
        lacking = absent(given, turns, dataset.qrels())
        records = put_together(given, turns, lacking if self.missing == "zero" else {}, top_n)
        notes = [*_unknown(given.unknown), *self._absent(lacking), *_evidence(given, top_n)]
        return with_texts(records, dataset), notes

    def _finished(self, folder: Path, dataset: Dataset) -> tuple[list[TurnRecord], list[str]]:
        from convrag_tasks.finished_runs import as_reused, read_finished
        from convrag_tasks.given_turns import asked

        records, turns = read_finished(folder), asked(dataset)
        known = [as_reused(record) for record in records if record.turn_id in turns]
        if (others := len(records) - len(known)) and (self.unknown == "error" or not known):
            raise DataError(
                f"{others} of its {len(records)} turns are not in the data set: choose the one that it was a run of "
                "(dataset=..., dataset.domain=...), or leave them out: task.unknown=skip",
                path=folder,
            )
        return known, [*_unknown({folder: others}), f"The turns are those of {folder}; this run made none."]

    def _absent(self, lacking: Mapping[str, Sequence[str]]) -> Iterator[str]:
        truths = {"ranking": "qrels", "answer": "a reference answer"}
        what = "count as 0" if self.missing == "zero" else "are left out of the means (task.missing=zero counts them)"
        for kind, turns in lacking.items():
            if turns:
                yield f"{len(turns)} turns with {truths[kind]} have no {kind} in the files: they {what}."


def _unknown(counts: Mapping[Path, int]) -> Iterator[str]:
    for path, count in counts.items():
        if count:
            yield f"{count} turns of {path} are not in the data set and were left out."


def _evidence(given: Given, top_n: int) -> Iterator[str]:
    """What answers are compared with that came without contexts."""
    bare = sum(answer.passages is None for answer in (given.answers or {}).values())
    if bare:
        taken = f"the first {top_n} passages of the run" if given.rankings is not None else "the relevant passages"
        yield f"{bare} answers came without contexts: {taken} stand for what they were given."
