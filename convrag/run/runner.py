"""Runs a configuration over its data set, measures the turns and writes the files of the run."""

import logging
import sys
import time
import traceback
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from omegaconf import DictConfig

from convrag.api.conversations import Conversation
from convrag.api.errors import ConfigError, ConvragError
from convrag.api.groups import GROUPS
from convrag.api.records import Run, RunSummary, TurnRecord
from convrag.api.secrets import redact
from convrag.api.stages import Dataset
from convrag.concurrency.cancellation import cleanup_at_exit
from convrag.config.compose import read_settings
from convrag.config.settings import DEFAULT_METRICS, STAND_IN, Settings
from convrag.run.manifest import MANIFEST, format_manifest, read_finished_summary
from convrag.run.records import RunFolder, TurnRecords, Writers, open_run_folder
from convrag.run.workers import ConversationWorkers, PassageLookup, add_truths
from convrag.score.measuring import check_measures_differ, join_reports, keep_sound, measure
from convrag.score.scoring import Scores
from convrag.score.summary import format_score_lines, format_summary, summarize
from convrag.score.summary_page import format_markdown
from convrag.sdk.data.simulated import count_turns
from convrag.sdk.output.progress import show_step
from convrag.store.files import write_atomically
from convrag.store.folders import describe_files
from convrag.turn.observers import Observers
from convrag.turn.pipeline import Pipeline
from convrag.turn.turn import Audience
from convrag.turn.wiring import Wiring

log = logging.getLogger(__name__)

NO_CONVERSATIONS = (
    "the data set has no conversations to run: ask questions of your own with task=chat or task=serve, or let "
    "task=questions write conversations with relevance judgements from its passages"
)

Show = Callable[[Run, RunSummary], None]


def run_experiment(
    config: DictConfig,
    folder: Path,
    *observers: object,
    sweep: str = "",
    reuse: bool = False,
    top_level: str = "",
    show: Show | None = None,
) -> tuple[Run, RunSummary]:
    """Run a configuration over its data set and write the results below `folder`.

    Args:
        config: the composed configuration.
        folder: the folder for the files of the run.
        observers: further observers of this run (see convrag.api.hookspecs). An error in one of
            them ends the run.
        sweep: the id of the sweep that this run belongs to; empty for a single run.
        reuse: whether to return the results that a finished run with the same stages and settings
            left in `folder`.
        top_level: a stage whose trace's entries stand at the top level of the lines of
            intermediate/ too.
        show: prints the results when the files are written, before the tracker logs them, which may
            take seconds; what observers have to say of where the run is kept is then printed too.
            Not called for a reused run.

    Raises:
        ConvragError: the configuration or the data are not valid; raised before the first turn.
    """
    settings = read_settings(config)
    wiring = Wiring(config)
    dataset: Dataset = wiring.get("dataset")
    pipeline = Pipeline.from_wiring(wiring, settings)
    metrics = wiring.get_all("metrics")
    wiring.get("tracker")
    wiring.check()
    check_measures_differ(metrics)
    conversations = _read_conversations(dataset, settings)
    run = _make_run(wiring, folder, len(conversations), sum(map(count_turns, conversations)), sweep)
    if reuse and (summary := read_finished_summary(run)):
        return replace(run, reused=True), summary
    qrels = dataset.qrels()
    wiring.prepare(show_step)
    source = ConversationWorkers(pipeline, conversations, settings, qrels)
    return run, _execute_run(run, wiring, source, *observers, top_level=top_level, show=show)


def evaluate_records(
    config: DictConfig,
    folder: Path,
    records: Sequence[TurnRecord],
    notes: Sequence[str] = (),
    *,
    stopped: str = "",
    show: Show | None = None,
) -> tuple[Run, RunSummary]:
    """Measure the records of finished turns, and write the same files as a run does below `folder`.

    Args:
        config: the composed configuration, whose data set, metrics and tracker are used.
        folder: the folder for the files.
        records: the records, conversation by conversation.
        notes: notes on the records for readers of the summary.
        stopped: why the run that made them ended early; empty if it did not.
        show: prints the results, as for `run_experiment`.

    Raises:
        ConvragError: the configuration or the data are not valid.
    """
    wiring = Wiring(config)
    dataset: Dataset = wiring.get("dataset")
    metrics = wiring.get_all("metrics")
    wiring.get("tracker")
    wiring.check()
    check_measures_differ(metrics)
    wiring.prepare(show_step)
    conversations = len({record.conversation_id for record in records})
    used = {"task", *(place.partition(".")[0] for place in wiring.stages)}
    run = replace(
        _make_run(wiring, folder, conversations, len(records)),
        config={
            name: node
            for name, node in wiring.logged_config.items()
            if name in used or name not in GROUPS
        },
        notes=(*notes, *wiring.collect_notes()),
    )
    source = _FinishedTurns(add_truths(records, dataset), stopped)
    return run, _execute_run(run, wiring, source, show=show)


def _make_run(wiring: Wiring, folder: Path, conversations: int, turns: int, sweep: str = "") -> Run:
    return Run(
        folder=folder,
        config=wiring.logged_config,
        conversations=conversations,
        turns=turns,
        fingerprints=wiring.collect_fingerprints(),
        notes=tuple(wiring.collect_notes()),
        prompts=wiring.collect_prompts(),
        sweep=sweep,
    )


class _FinishedTurns(NamedTuple):
    """The records of finished turns, and why the run that made them ended early."""

    turns: Sequence[TurnRecord]
    stopped: str

    def records(self, audience: Audience) -> Generator[TurnRecord]:
        yield from self.turns


_Source = ConversationWorkers | _FinishedTurns


def _execute_run(
    run: Run,
    wiring: Wiring,
    source: _Source,
    *own_observers: object,
    top_level: str = "",
    show: Show | None = None,
) -> RunSummary:
    """Collect the records, measure them and write the files, which take their places only if all
    has gone well.
    """
    with open_run_folder(run.folder) as files:
        observers = Observers(Writers(files, top_level), wiring.get("tracker"), *own_observers)

        def tell_of_interruption() -> None:
            try:
                observers.notify(
                    "convrag_run_failed", run=run, error="interrupted", interrupted=True
                )
            except Exception:  # of a library whose import was interrupted, say
                log.info("the interruption was not noted everywhere", exc_info=True)

        with cleanup_at_exit(tell_of_interruption, slow=True):
            try:
                summary = _write_run(files, run, wiring, source, observers)
                if show:
                    show(run, summary)
                lines = observers.collect("convrag_run_finished", run=run, summary=summary)
            except (KeyboardInterrupt, SystemExit):
                tell_of_interruption()
                raise
        if show:
            sys.stdout.writelines(f"{line}\n" for line in lines)
        return summary


def _write_run(
    files: RunFolder, run: Run, wiring: Wiring, source: _Source, observers: Observers
) -> RunSummary:
    records = TurnRecords()
    try:
        observers.notify("convrag_run_started", run=run)
        start = time.perf_counter()
        with closing(source.records(Audience(observers, run.config))) as finished:
            for record in finished:
                records.add(record)
                observers.notify("convrag_turn_finished", run=run, record=record)
        metrics = wiring.get_all("metrics")
        measured = measure(
            metrics, records, stand_in=STAND_IN if tuple(metrics) == DEFAULT_METRICS else ""
        )
        observers.notify("convrag_run_measured", run=run, replies=measured.replies)
        reports_of_observers = observers.collect("convrag_report", run=run, records=records)
        reports = [*wiring.collect_reports(records), *measured.reports, *reports_of_observers]
        reports = join_reports(keep_sound(reports))
        scores = Scores(records, metrics, measured.values)
        summary = summarize(
            records,
            scores,
            reports,
            measuring=measured.usage,
            seconds=time.perf_counter() - start,
            stopped=source.stopped,
            failed_metrics=measured.failures,
        )
        files.append("scores.jsonl", format_score_lines(scores))
        for name, text in (item for report in reports for item in report.files.items()):
            files.append(name, text.removesuffix("\n").split("\n"))
        files.append("metrics.json", [format_summary(summary)])
        files.append("summary.md", [format_markdown(run, summary)])
        observers.notify(
            "convrag_run_written",
            run=run,
            summary=summary,
            records=records,
            scores={turn.turn_id: turn.scores for turn in scores.turns},
            find_passages=PassageLookup(wiring.get("dataset"), wiring.store).find,
            folder=files.unfinished,
        )
        (run.folder / MANIFEST).unlink(
            missing_ok=True
        )  # what is published in part is no finished run
        described = describe_files(files.unfinished)
        files.publish()
        write_atomically(run.folder / MANIFEST, f"{format_manifest(run, described)}\n")
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        text = repr(error) if isinstance(error, ConvragError) else traceback.format_exc()
        observers.notify("convrag_run_failed", run=run, error=redact(text), interrupted=False)
        raise
    finally:
        records.close()
    return summary


def _read_conversations(dataset: Dataset, settings: Settings) -> list[Conversation]:
    """Read the conversations to run. Raises ConfigError if there are none, or no answers for
    `history=gold`.
    """
    conversations = list(islice(dataset.conversations(), settings.limit))
    if not conversations:
        raise ConfigError(NO_CONVERSATIONS)
    if settings.history == "gold" and not any(
        turn.answer for each in conversations for turn in each.turns
    ):
        raise ConfigError(
            "history=gold needs reference answers, and the data set has none: use generated or none"
        )
    return conversations
