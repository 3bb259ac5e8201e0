"""One run: the turns of a conversation in order, conversations side by side, and what they came to."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from itertools import islice
from pathlib import Path

from omegaconf import DictConfig

from convrag.config import settings_of
from convrag.conversing import Conversing
from convrag.errors import ConfigError
from convrag.observers import Observers
from convrag.pipeline import Pipeline
from convrag.records import read_records
from convrag.settings import Settings
from convrag.stages import Dataset
from convrag.summary import markdown, summarize
from convrag.types import Conversation, Run, RunSummary, TurnRecord
from convrag.wiring import Wiring
from convrag.writers import RunFolder, Writers

log = logging.getLogger(__name__)


def run(config: DictConfig, folder: Path, *watching: object) -> tuple[Run, RunSummary]:
    """Run a configuration over its data set and write the results below `folder`.

    Args:
        config: as composed.
        folder: where the files go.
        watching: further observers of this run (see convrag.hookspecs); what they raise ends it.

    Raises:
        ConvragError: before the first turn, for whatever is wrong with the configuration or the data.
    """
    settings = settings_of(config)
    wiring = Wiring(config)
    dataset: Dataset = wiring.get("dataset")
    pipeline = Pipeline.wired(wiring, settings)
    metrics = wiring.several("metrics")
    tracker = wiring.get("tracker")
    wiring.check()
    scripts = _scripts(dataset, settings)
    wiring.prepare()

    turns = sum(len(script.turns) for script in scripts)
    this = Run(folder, wiring.config, len(scripts), turns, wiring.fingerprints(), tuple(wiring.notes()))
    files = RunFolder(folder)
    observers = Observers(Writers(files), tracker, *watching)
    start = time.perf_counter()
    try:
        observers.notify("convrag_run_started", run=this)
        conversing = Conversing(pipeline, scripts, settings)
        for record in conversing.records():
            observers.notify("convrag_turn_finished", run=this, record=record)
        records = _Records(files.unfinished / "intermediate")
        measured = [metric.measure(records) for metric in metrics.values()]
        reports = observers.collect("convrag_report", run=this, records=records)
        for name, text in (item for report in reports for item in report.files.items()):
            files.append(name, text.splitlines())
        summary = summarize(records, measured, reports, time.perf_counter() - start, conversing.stopped)
        files.append("metrics.json", [json.dumps(asdict(summary), indent=2)])
        files.append("summary.md", [markdown(this, summary)])
        files.publish()
    finally:
        files.discard()
    observers.notify("convrag_run_finished", run=this, summary=summary)
    return this, summary


class _Records(Iterable[TurnRecord]):
    """The records of a run, read from disk each time: metrics may go through them as often as they like."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __iter__(self) -> Iterator[TurnRecord]:
        return read_records(self.folder)


def _scripts(dataset: Dataset, settings: Settings) -> list[Conversation]:
    """The conversations to run. Raises ConfigError where there are none, or no answers for `history=gold`."""
    scripts = list(islice(dataset.conversations(), settings.limit))
    if not scripts:
        raise ConfigError("the data set has no conversations")
    if settings.history == "gold" and not any(turn.answer for script in scripts for turn in script.turns):
        raise ConfigError("history=gold needs reference answers, and the data set has none: use generated or none")
    return scripts
