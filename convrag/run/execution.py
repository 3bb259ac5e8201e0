"""Executes a run: collects the records of its turns, measures them, and writes its files."""

import logging
import sys
import time
import traceback
from collections.abc import Callable, Generator
from contextlib import closing
from typing import Protocol

from convrag.api.errors import ConvragError
from convrag.api.records import Report, Run, RunSummary, TurnRecord
from convrag.api.secrets import redact
from convrag.concurrency.cancellation import cleanup_at_exit
from convrag.config.settings import DEFAULT_METRICS, STAND_IN
from convrag.run.manifest import MANIFEST, format_manifest
from convrag.run.passage_lookup import PassageLookup
from convrag.run.records import TurnRecords
from convrag.run.run_folder import RunFolder, open_run_folder
from convrag.run.writers import Writers
from convrag.score.measuring import MetricResults, join_reports, keep_sound, measure
from convrag.score.scoring import Scores
from convrag.score.summary import format_score_lines, format_summary, summarize
from convrag.score.summary_page import format_markdown
from convrag.store.files import write_atomically
from convrag.store.folders import describe_files
from convrag.turn.observers import Observers
from convrag.turn.turn import Audience
from convrag.turn.wiring import Wiring

log = logging.getLogger(__name__)

Show = Callable[[Run, RunSummary], None]
"""Prints the results of a run."""


class TurnSource(Protocol):
    """Answers the turns of a run, or has them already."""

    @property
    def stopped(self) -> str:
        """Why the run stopped before its last turn; empty if it did not."""

    def records(self, audience: Audience) -> Generator[TurnRecord]:
        """Yield the records of the turns."""


def execute_run(
    run: Run,
    wiring: Wiring,
    source: TurnSource,
    *own_observers: object,
    top_level: str = "",
    show: Show | None = None,
) -> RunSummary:
    """Execute a run. Its files take their places only if all has gone well.

    Args:
        run: the run.
        wiring: its stages.
        source: has its turns.
        own_observers: observers of this run besides the tracker and the plugins.
        top_level: see `Writers`.
        show: prints the results.
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
                summary = _Execution(run, wiring, source, observers, files).execute()
                if show:
                    show(run, summary)
                lines = observers.collect("convrag_run_finished", run=run, summary=summary)
            except (KeyboardInterrupt, SystemExit):
                tell_of_interruption()
                raise
        if show:
            sys.stdout.writelines(f"{line}\n" for line in lines)
        return summary


class _Execution:
    """The execution of a run.

    Args:
        run: the run.
        wiring: its stages.
        source: has its turns.
        observers: are told of the run.
        files: its folder.
    """

    def __init__(
        self,
        run: Run,
        wiring: Wiring,
        source: TurnSource,
        observers: Observers,
        files: RunFolder,
    ) -> None:
        self._run = run
        self._wiring = wiring
        self._source = source
        self._observers = observers
        self._files = files
        self._records = TurnRecords()

    def execute(self) -> RunSummary:
        """Collect, measure, write and publish. Observers are told of a failure."""
        try:
            self._observers.notify("convrag_run_started", run=self._run)
            started = time.perf_counter()
            self._collect()
            measured = self._measure()
            scores = Scores(self._records, self._wiring.get_all("metrics"), measured.values)
            reports = self._collect_reports(measured)
            summary = summarize(
                self._records,
                scores,
                reports,
                measuring=measured.usage,
                seconds=time.perf_counter() - started,
                stopped=self._source.stopped,
                failed_metrics=measured.failures,
            )
            self._write(summary, scores, reports)
            self._publish()
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            text = repr(error) if isinstance(error, ConvragError) else traceback.format_exc()
            self._observers.notify(
                "convrag_run_failed", run=self._run, error=redact(text), interrupted=False
            )
            raise
        finally:
            self._records.close()
        return summary

    def _collect(self) -> None:
        """Collect the records of the turns."""
        audience = Audience(self._observers, self._run.config)
        with closing(self._source.records(audience)) as finished:
            for record in finished:
                self._records.add(record)
                self._observers.notify("convrag_turn_finished", run=self._run, record=record)

    def _measure(self) -> MetricResults:
        """Let the metrics measure the turns."""
        metrics = self._wiring.get_all("metrics")
        are_default = tuple(metrics) == DEFAULT_METRICS
        measured = measure(metrics, self._records, stand_in=STAND_IN if are_default else "")
        self._observers.notify("convrag_run_measured", run=self._run, replies=measured.replies)
        return measured

    def _collect_reports(self, measured: MetricResults) -> list[Report]:
        """Collect the reports of stages, metrics and observers; those with one title are joined."""
        of_observers = self._observers.collect(
            "convrag_report", run=self._run, records=self._records
        )
        of_stages = self._wiring.collect_reports(self._records)
        return join_reports(keep_sound([*of_stages, *measured.reports, *of_observers]))

    def _write(self, summary: RunSummary, scores: Scores, reports: list[Report]) -> None:
        """Write the files that belong to the whole run."""
        self._files.append("scores.jsonl", format_score_lines(scores))
        for report in reports:
            for name, text in report.files.items():
                self._files.append(name, text.removesuffix("\n").split("\n"))
        self._files.append("metrics.json", [format_summary(summary)])
        self._files.append("summary.md", [format_markdown(self._run, summary)])
        self._observers.notify(
            "convrag_run_written",
            run=self._run,
            summary=summary,
            records=self._records,
            scores={turn.turn_id: turn.scores for turn in scores.turns},
            find_passages=PassageLookup(self._wiring.get("dataset"), self._wiring.store).find,
            folder=self._files.unfinished,
        )

    def _publish(self) -> None:
        """Move the files to their places; run.json comes last, and makes the run a finished one."""
        manifest = self._run.folder / MANIFEST
        manifest.unlink(missing_ok=True)
        described = describe_files(self._files.unfinished)
        self._files.publish()
        write_atomically(manifest, f"{format_manifest(self._run, described)}\n")
