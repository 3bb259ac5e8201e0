"""One run: the turns of a conversation in order, conversations side by side, and what they came to."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict
from itertools import islice
from pathlib import Path

from omegaconf import DictConfig

from convrag.config import settings_of
from convrag.conversation import Conversation, turn_of
from convrag.errors import ConfigError
from convrag.observers import Observers
from convrag.pipeline import Pipeline
from convrag.progress import bar
from convrag.records import read_records
from convrag.settings import Settings
from convrag.stages import Dataset
from convrag.summary import markdown, summarize
from convrag.types import Conversation as Script
from convrag.types import Run, RunSummary, TurnRecord
from convrag.wiring import Wiring
from convrag.writers import RunFolder, Writers

log = logging.getLogger(__name__)


def run(config: DictConfig, folder: Path) -> tuple[Run, RunSummary]:
    """Run a configuration over its data set and write the results below `folder`.

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
    observers = Observers(Writers(files), tracker)
    start = time.perf_counter()
    try:
        observers.notify("convrag_run_started", run=this)
        for record in _records(pipeline, scripts, settings):
            observers.notify("convrag_turn_finished", run=this, record=record)
        records = _Records(files.unfinished / "intermediate")
        measured = [metric.measure(records) for metric in metrics.values()]
        summary = summarize(records, measured, time.perf_counter() - start)
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


def _scripts(dataset: Dataset, settings: Settings) -> list[Script]:
    """The conversations to run. Raises ConfigError where there are none, or no answers for `history=gold`."""
    scripts = list(islice(dataset.conversations(), settings.limit))
    if not scripts:
        raise ConfigError("the data set has no conversations")
    if settings.history == "gold" and not any(turn.answer for script in scripts for turn in script.turns):
        raise ConfigError("history=gold needs reference answers, and the data set has none: use generated or none")
    return scripts


def _records(pipeline: Pipeline, scripts: list[Script], settings: Settings) -> Iterator[TurnRecord]:
    """The records of all turns, in the data set's order whichever conversation is done first."""
    display = bar()
    task = display.add_task("Turns", total=sum(len(script.turns) for script in scripts)) if display else None
    stop = threading.Event()

    def advance() -> None:
        if display and task is not None:
            display.advance(task)

    def converse(script: Script) -> list[TurnRecord]:
        return list(_converse(pipeline, script, settings, stop, advance))

    waiting: deque[Future[list[TurnRecord]]] = deque()
    pool = ThreadPoolExecutor(settings.workers, thread_name_prefix="conversation")
    try:
        if display:
            display.start()
        for script in scripts:
            waiting.append(pool.submit(converse, script))
            if len(waiting) > 2 * settings.workers:
                yield from waiting.popleft().result()
        while waiting:
            yield from waiting.popleft().result()
    finally:
        stop.set()
        pool.shutdown(cancel_futures=True)
        if display:
            display.stop()


def _converse(
    pipeline: Pipeline, script: Script, settings: Settings, stop: threading.Event, advance: Callable[[], None]
) -> Iterator[TurnRecord]:
    """The turns of one conversation, each with the history that the settings give it."""
    conversation = Conversation(script.id, script.domain)
    for turn in script.turns:
        if stop.is_set():
            return
        record = pipeline.answer(conversation.question(turn.question, turn.id, blind=settings.history == "none"))
        conversation.add(turn if settings.history == "gold" else turn_of(record))
        advance()
        yield record
