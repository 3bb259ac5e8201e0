"""report.html of a run: its scores and all of its turns."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from math import inf
from pathlib import Path
from typing import Any

from convrag import Run, RunSummary, TurnRecord
from convrag.sdk.groups import OPTION_KEY
from convrag.sdk.printable import count
from convrag.sdk.tasks.grids import find_cell_name
from convrag.sdk.tasks.scores import describe_ending, list_remarks, make_score_rows, make_usage_rows
from convrag_web.report.page import LIMIT, REPORT, write_page
from convrag_web.report.turn_blocks import Need, RunTurns, TurnBlocks, pack_turns
from convrag_web.report.turn_rows import FindPassages

log = logging.getLogger(__name__)

ROOM = LIMIT - 500_000
"""What turns may take; the rest is for the page itself and the scores of the run."""

Scores = Mapping[str, Mapping[str, float]]


def write_run_report(
    run: Run,
    summary: RunSummary,
    records: Iterable[TurnRecord],
    scores: Scores,
    find_passages: FindPassages,
    folder: Path,
    room: int = ROOM,
) -> None:
    """Write the report of a run into a folder; see the hook `convrag_run_written`.

    Raises:
        OSError: the file cannot be written.
    """
    turns = RunTurns(records, scores, find_passages)
    packed = pack_turns([turns], rank_by_scores(scores, summary.main_measures), room)
    facts = describe_run(run, summary)
    head = {"kind": "run", "title": facts["name"], "runs": [facts], "left_out": list_cuts(packed)}
    for line in head["left_out"]:
        log.warning("%s: %s", run.folder / REPORT, line)
    write_page(folder / REPORT, f"{facts['name']}: a run of convrag", head, packed.blocks)


def rank_by_scores(scores: Scores, measures: Sequence[str]) -> Need:
    """How urgent a turn is: the mean of its main measures. Turns without any come last.

    Args:
        scores: turn id -> measure -> value.
        measures: the main measures of the run.
    """

    def need(turn_id: str) -> float:
        own = scores.get(turn_id, {})
        values = [own[name] for name in measures if name in own]
        return sum(values) / len(values) if values else inf

    return need


def list_cuts(packed: TurnBlocks, which: str = "well-answered") -> list[str]:
    """What was left out for the size of the file, in sentences; empty for nothing."""
    lines = []
    why = f"to keep this file within {LIMIT // 1_000_000} MB; intermediate/ has them"
    if packed.without_texts:
        lines.append(f"Texts of passages were left out of {count(packed.without_texts, f'{which} turn')} {why}.")
    if packed.without_record:
        lines.append(f"All but the scores was left out of {count(packed.without_record, f'{which} turn')} {why}.")
    return lines


def describe_run(run: Run, summary: RunSummary) -> dict[str, Any]:
    """Describe a run as plain data for the head of its report."""
    return {
        **describe_scores(summary),
        "name": find_cell_name(run.folder) or run.folder.name,
        "folder": run.folder.name,
        "history": str(run.config.get("history", "generated")),
        "ending": describe_ending(summary),
        "remarks": list_remarks(run, summary),
        "table": make_score_rows(summary),
        "usage": make_usage_rows(summary),
        "timings": dict(summary.timings),
        "slices": {name: _list_slices(slices) for name, slices in summary.slices.items()},
        "stages": _list_stages(run.config),
        "config": dict(run.config),
    }


def describe_scores(summary: RunSummary) -> dict[str, Any]:
    """Describe what the page needs of each run that it shows turns of: how it ended, and its measures."""
    return {
        "state": summary.state,
        "turns": summary.turns,
        "overall": dict(summary.overall),
        "main": list(summary.main_measures),
    }


def _list_slices(slices: Mapping[str, Any]) -> list[list[Any]]:
    return [[value, part.turns, dict(part.scores)] for value, part in slices.items()]


def _list_stages(config: Mapping[str, Any]) -> list[list[str]]:
    """The option of each group that the run chose: [["rewriter", "mmr"]]; of `metrics`, all."""
    nodes = [(str(group), node) for group, node in config.items() if isinstance(node, Mapping)]
    return [[group, str(node[OPTION_KEY])] for group, node in nodes if OPTION_KEY in node]
