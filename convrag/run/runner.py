"""One run: the turns of a conversation in order, conversations side by side, and what they came to."""

from __future__ import annotations

import json
import logging
import time
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from itertools import islice
from pathlib import Path
from typing import Protocol

from omegaconf import DictConfig

from convrag.api.errors import ConfigError, ConvragError
from convrag.api.groups import GROUPS
from convrag.api.records import Run, RunSummary, TurnRecord
from convrag.api.stages import Dataset
from convrag.api.types import Conversation
from convrag.config.compose import settings_of
from convrag.config.settings import Settings
from convrag.run.observers import Observers
from convrag.run.records import TurnRecords
from convrag.run.workers import ConversationWorkers
from convrag.run.writers import RunFolder, Writers
from convrag.score.measuring import measure
from convrag.score.scoring import Scores
from convrag.score.summary import join_reports, read_summary, score_lines, summarize
from convrag.score.summary_page import markdown
from convrag.store.fingerprint import digest
from convrag.turn.pipeline import Pipeline
from convrag.turn.wiring import Wiring

log = logging.getLogger(__name__)


MANIFEST = "run.json"


def run(
    config: DictConfig, folder: Path, *watching: object, sweep: str = "", reuse: bool = False
) -> tuple[Run, RunSummary]:
    """Run a configuration over its data set and write the results below `folder`.

    Args:
        config: as composed.
        folder: where the files go.
        watching: further observers of this run (see convrag.api.hookspecs); what they raise ends it.
        sweep: id of the sweep that this run is a cell of.
        reuse: whether results of the very same stages and settings that are there already will do.

    Raises:
        ConvragError: before the first turn, for whatever is wrong with the configuration or the data.
    """
    settings = settings_of(config)
    wiring = Wiring(config)
    dataset: Dataset = wiring.get("dataset")
    pipeline = Pipeline.from_wiring(wiring, settings)
    wiring.get_all("metrics")
    wiring.get("tracker")
    wiring.check()
    conversations = _conversations(dataset, settings)
    turns = sum(len(conversation.turns) for conversation in conversations)
    this = _run(wiring, folder, len(conversations), turns, sweep)
    if reuse and (summary := finished(this)):
        return this, summary
    wiring.prepare()
    return this, _carry_out(this, wiring, ConversationWorkers(pipeline, conversations, settings), *watching)


def evaluate(
    config: DictConfig, folder: Path, records: Sequence[TurnRecord], notes: Sequence[str] = ()
) -> tuple[Run, RunSummary]:
    """Measure turns that are there already as a run would be measured, and write the same files below `folder`.

    Args:
        config: as composed; its data set, metrics and tracker are used.
        folder: where the files go.
        records: the turns, conversation by conversation.
        notes: what a reader of the summary should know about them.

    Raises:
        ConvragError: for whatever is wrong with the configuration or the data.
    """
    wiring = Wiring(config)
    wiring.get("dataset")
    wiring.get_all("metrics")
    wiring.get("tracker")
    wiring.check()
    wiring.prepare()
    conversations = len({record.conversation_id for record in records})
    used = {"task", *(place.partition(".")[0] for place in wiring.stages)}
    this = replace(
        _run(wiring, folder, conversations, len(records)),
        config={name: node for name, node in wiring.config.items() if name in used or name not in GROUPS},
        notes=(*notes, *wiring.collect_notes()),
    )
    return this, _carry_out(this, wiring, _GivenRecords(records))


def _run(wiring: Wiring, folder: Path, conversations: int, turns: int, sweep: str = "") -> Run:
    return Run(
        folder=folder,
        config=wiring.config,
        conversations=conversations,
        turns=turns,
        fingerprints=wiring.collect_fingerprints(),
        notes=tuple(wiring.collect_notes()),
        prompts=wiring.collect_prompts(),
        sweep=sweep,
    )


class _Source(Protocol):
    """Where the records of a run come from; `stopped` says why there are no more, where there should be."""

    stopped: str

    def records(self) -> Iterator[TurnRecord]: ...


class _GivenRecords:
    """Records that are there already."""

    stopped = ""

    def __init__(self, records: Sequence[TurnRecord]) -> None:
        self._records = records

    def records(self) -> Iterator[TurnRecord]:
        return iter(self._records)


def _carry_out(this: Run, wiring: Wiring, source: _Source, *watching: object) -> RunSummary:
    """Gather the records, measure them, and put all files into their places when everything has ended well."""
    files = RunFolder(this.folder)
    observers = Observers(Writers(files), wiring.get("tracker"), *watching)
    records = TurnRecords()
    try:
        observers.notify("convrag_run_started", run=this)
        start = time.perf_counter()
        for record in source.records():
            records.add(record)
            observers.notify("convrag_turn_finished", run=this, record=record)
        measured = measure(wiring.get_all("metrics"), records)
        observers.notify("convrag_run_measured", run=this, replies=measured.replies)
        observed = observers.collect("convrag_report", run=this, records=records)
        reports = join_reports([*wiring.collect_reports(records), *measured.reports, *observed])
        scores = Scores(records, measured.values)
        summary = summarize(
            records,
            scores,
            reports,
            measuring=measured.usage,
            seconds=time.perf_counter() - start,
            stopped=source.stopped or measured.stopped,
        )
        files.append("scores.jsonl", score_lines(scores))
        for name, text in (item for report in reports for item in report.files.items()):
            files.append(name, text.removesuffix("\n").split("\n"))
        files.append("metrics.json", [json.dumps(asdict(summary), indent=2)])
        files.append("summary.md", [markdown(this, summary)])
        files.append(MANIFEST, [json.dumps({"identity": _identity(this), "fingerprints": this.fingerprints}, indent=2)])
        files.publish()
    except BaseException as error:
        known = isinstance(error, (ConvragError, KeyboardInterrupt))
        observers.notify("convrag_run_failed", run=this, error=repr(error) if known else traceback.format_exc())
        raise
    finally:
        files.discard()
        records.close()
    observers.notify("convrag_run_finished", run=this, summary=summary)
    return summary


def finished(this: Run) -> RunSummary | None:
    """The summary of the same run, where its folder holds one that came to its end."""
    try:
        manifest = json.loads((this.folder / MANIFEST).read_text(encoding="utf-8"))
        summary = read_summary(this.folder / "metrics.json")
    except (OSError, ValueError):
        return None
    return summary if manifest.get("identity") == _identity(this) and not summary.stopped else None


def _identity(this: Run) -> str:
    """What decides a run's results: its stages, and those settings that are no matter of operation."""
    settings = {name: this.config.get(name) for name in ("top_k", "top_n", "history", "limit")}
    return digest([this.fingerprints, settings])


def _conversations(dataset: Dataset, settings: Settings) -> list[Conversation]:
    """The conversations to run. Raises ConfigError where there are none, or no answers for `history=gold`."""
    conversations = list(islice(dataset.conversations(), settings.limit))
    if not conversations:
        raise ConfigError("the data set has no conversations to run: task=chat needs none")
    if settings.history == "gold" and not any(turn.answer for each in conversations for turn in each.turns):
        raise ConfigError("history=gold needs reference answers, and the data set has none: use generated or none")
    return conversations
