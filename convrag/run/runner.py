"""Runs a configuration over its data set, or measures turns that were answered before."""

from collections.abc import Generator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from omegaconf import DictConfig

from convrag.api.conversations import Conversation
from convrag.api.errors import ConfigError
from convrag.api.groups import GROUPS
from convrag.api.records import Run, RunSummary, TurnRecord
from convrag.api.stages import Dataset
from convrag.config.compose import read_settings
from convrag.config.settings import Settings
from convrag.run.execution import Show, execute_run
from convrag.run.manifest import read_finished_summary
from convrag.run.truths import add_truths
from convrag.run.workers import ConversationWorkers
from convrag.score.measuring import check_measures_differ
from convrag.sdk.data.simulated import count_turns
from convrag.sdk.output.progress import show_step
from convrag.turn.pipeline import Pipeline
from convrag.turn.turn import Audience
from convrag.turn.wiring import Wiring

NO_CONVERSATIONS = (
    "the data set has no conversations to run: ask questions of your own with task=chat or "
    "task=serve, or let task=questions write conversations with relevance judgements from its "
    "passages"
)


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
        top_level: a stage whose trace's entries are at the top level of the lines of
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
    _check_stages(wiring)
    conversations = _read_conversations(dataset, settings)
    turns = sum(map(count_turns, conversations))
    run = _make_run(wiring, folder, len(conversations), turns, sweep)
    if reuse:
        finished = read_finished_summary(run)
        if finished:
            return replace(run, reused=True), finished
    qrels = dataset.qrels()
    wiring.prepare(show_step)
    source = ConversationWorkers(pipeline, conversations, settings, qrels)
    return run, execute_run(run, wiring, source, *observers, top_level=top_level, show=show)


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
    _check_stages(wiring)
    wiring.prepare(show_step)
    conversations = len({record.conversation_id for record in records})
    run = replace(
        _make_run(wiring, folder, conversations, len(records)),
        config=_list_used_config(wiring),
        notes=(*notes, *wiring.collect_notes()),
    )
    source = _FinishedTurns(add_truths(records, dataset), stopped)
    return run, execute_run(run, wiring, source, show=show)


def _check_stages(wiring: Wiring) -> None:
    """Build what a run needs besides its pipeline, and check all stages. Raises ConvragError."""
    metrics = wiring.get_all("metrics")
    wiring.get("tracker")
    wiring.check()
    check_measures_differ(metrics)


def _list_used_config(wiring: Wiring) -> dict[str, Any]:
    """Return the configuration without the groups of which no stage was built."""
    used = {"task", *(place.partition(".")[0] for place in wiring.stages)}
    return {
        name: node
        for name, node in wiring.logged_config.items()
        if name in used or name not in GROUPS
    }


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
        """Yield the records; there is nothing to watch."""
        yield from self.turns


def _read_conversations(dataset: Dataset, settings: Settings) -> list[Conversation]:
    """Read the conversations to run.

    Raises:
        ConfigError: there are none, or no answers for `history=gold`.
    """
    conversations = list(islice(dataset.conversations(), settings.limit))
    if not conversations:
        raise ConfigError(NO_CONVERSATIONS)
    has_answers = any(turn.answer for each in conversations for turn in each.turns)
    if settings.history == "gold" and not has_answers:
        raise ConfigError(
            "history=gold needs reference answers, and the data set has none: use generated or none"
        )
    return conversations
