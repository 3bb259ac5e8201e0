"""What a report says of a run as a whole: scores, remarks, usage, the stages and their parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from convrag import Run, RunSummary
from convrag.sdk.groups import OPTION_KEY
from convrag.sdk.tasks.grids import find_cell_name
from convrag.sdk.tasks.scores import describe_ending, list_remarks, make_score_rows, make_usage_rows


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
    chosen = []
    for group, node in config.items():
        if isinstance(node, Mapping) and OPTION_KEY in node:
            chosen.append([str(group), str(node[OPTION_KEY])])
    return chosen
