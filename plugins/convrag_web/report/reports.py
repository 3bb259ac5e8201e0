"""report.html of a run, with its scores and all of its turns, and of a grid or a comparison."""

import logging
import os
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any
from urllib.parse import quote

from omegaconf import OmegaConf

from convrag import ConvragError, Report, Run, RunSummary, TurnRecord
from convrag.sdk.data.jsonl import read_lines
from convrag.sdk.files import write_atomically
from convrag.sdk.groups import OPTION_KEY
from convrag.sdk.identity import digest
from convrag.sdk.output.printable import count
from convrag.sdk.tasks.grids import find_cell_name
from convrag.sdk.tasks.runs import PassageLookup, read_hydra_config, read_records
from convrag.sdk.tasks.scores import (
    describe_ending,
    list_remarks,
    make_score_rows,
    make_usage_rows,
    read_summary,
)
from convrag.sdk.tasks.turns import Wiring
from convrag_web.report.page import (
    LIMIT,
    REPORT,
    Need,
    RunTurns,
    TurnBlocks,
    pack_turns,
    write_page,
)
from convrag_web.report.turn_rows import FindPassages

log = logging.getLogger(__name__)

ROOM = LIMIT - 500_000
"""What turns may take; the rest is for the page itself and the scores of the run."""

_WRITTEN = ".report"
"""The file that says from what a comparison's report was written: the board, and its plots, runs
and code as files.
"""
_READ = ("metrics.json", "*.jsonl", REPORT)
"""Of the files of a run."""

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
    plots = {
        path.stem: b64encode(path.read_bytes()).decode("ascii")
        for path in sorted(folder.glob("*.svg"))
    }
    facts = {**describe_run(run, summary), "plots": plots}
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
    if not packed.without_record:
        return []
    turns = count(packed.without_record, f"{which} turn")
    limit = f"to keep this file within {LIMIT // 1_000_000} MB; intermediate/ has them"
    return [f"All but the scores was left out of {turns} {limit}."]


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
    """Describe what the page needs of each run that it shows turns of: how it ended, and its
    measures.
    """
    measured = {"overall": dict(summary.overall), "main": list(summary.main_measures)}
    return {"state": summary.state, "turns": summary.turns, **measured}


def _list_slices(slices: Mapping[str, Any]) -> list[list[Any]]:
    return [[value, part.turns, dict(part.scores)] for value, part in slices.items()]


def _list_stages(config: Mapping[str, Any]) -> list[list[str]]:
    """The option of each group that the run chose: [["rewriter", "mmr"]]; of `metrics`, all."""
    nodes = [(str(group), node) for group, node in config.items() if isinstance(node, Mapping)]
    return [[group, str(node[OPTION_KEY])] for group, node in nodes if OPTION_KEY in node]


MOST_TURNS = 20_000
"""Turns of all runs together that a comparison shows: reading them takes some 40 seconds."""


def write_comparison_report(
    report: Report,
    runs: Mapping[str, Path],
    folder: Path,
    most_turns: int = MOST_TURNS,
    room: int = ROOM,
) -> None:
    """Write the report of a comparison into its folder, unless it stands there; see the hook
    `convrag_runs_compared`.

    Raises:
        DataError: a file of a run is broken.
        OSError: the file cannot be written.
    """
    board = dict(report.numbers)
    names = [row["name"] for row in board.get("rows", ()) if row["name"] in runs]
    files = [*Path(__file__).parents[1].glob("*/*.*"), *folder.glob("*.png")]
    files += [path for name in names for kind in _READ for path in runs[name].rglob(kind)]
    stated = sorted((str(path), path.stat().st_mtime_ns, path.stat().st_size) for path in files)
    source, written = (
        digest([repr(board), report.lines, most_turns, room, stated]),
        folder / _WRITTEN,
    )
    if (
        (folder / REPORT).exists()
        and written.exists()
        and written.read_text("utf-8", "replace") == source
    ):
        return
    summaries = {name: read_summary(runs[name] / "metrics.json") for name in names}
    shown = choose_runs(names, summaries, _find_baseline(board), most_turns)
    plots = {
        path.stem: b64encode(path.read_bytes()).decode("ascii")
        for path in list_plots(folder, board.get("metrics", ()))
    }
    scores = [_read_scores(runs[name]) for name in shown]
    configs = {name: read_hydra_config(runs[name]) for name in shown}
    packed = pack_turns(
        [
            RunTurns(_FinishedTurns(runs[name]), own, _find_lookup(configs[name]))
            for name, own in zip(shown, scores, strict=True)
        ],
        rank_by_difference(scores, board.get("metrics", ())),
        room - sum(map(len, plots.values())),
    )
    remarks = list_cuts(packed, "similar")
    if others := ", ".join(name for name in names if name not in shown):
        remarks.append(
            f"The turns of {others} are not in this file, which holds at most {most_turns:,}."
        )
    for line in remarks:
        log.warning("%s: %s", folder / REPORT, line)
    head = {
        "kind": "comparison",
        "title": folder.name,
        "board": board,
        "lines": [
            line for line in report.lines if str(folder) not in line
        ],  # that the files are there
        "shown": shown,
        "links": {name: link for name in names if (link := _link_to_report(runs[name], folder))},
        "plots": list(plots),
        "runs": [_describe_run(board, name, configs[name], summaries[name]) for name in shown],
        "left_out": remarks,
    }
    blocks = packed.blocks | {f"plot-{number}": plot for number, plot in enumerate(plots.values())}
    write_page(folder / REPORT, f"{folder.name}: runs of convrag compared", head, blocks)
    write_atomically(written, source)


def list_plots(folder: Path, measures: Sequence[str]) -> list[Path]:
    """List the plots in a folder, in the order of the measures that they show: what is compared
    first comes first.
    """

    def find_place(path: Path) -> tuple[int, str]:
        shown = (
            place for place, measure in enumerate(measures) if f"_{measure}_" in f"{path.stem}_"
        )
        return next(shown, len(measures)), path.stem

    return sorted(folder.glob("*.png"), key=find_place)


def choose_runs(
    names: Sequence[str], summaries: Mapping[str, RunSummary], baseline: str, most_turns: int
) -> list[str]:
    """Choose the runs whose turns are shown, in the order of the leaderboard: the baseline and the
    best ones.

    Args:
        names: of the runs, best first.
        summaries: of the runs.
        baseline: the name of the run to compare with; empty for none.
        most_turns: of all of them together. Two runs are shown in any case.
    """
    chosen: list[str] = []
    turns = 0
    for name in sorted(names, key=lambda name: name != baseline):
        turns += summaries[name].turns
        if len(chosen) < 2 or turns <= most_turns:
            chosen.append(name)
        else:
            break
    return [name for name in names if name in chosen]


def rank_by_difference(
    scores: Sequence[Mapping[str, Mapping[str, float]]], measures: Sequence[str]
) -> Need:
    """How urgent a turn is: the turns in which runs differ most come first.

    Args:
        scores: of each run, turn id -> measure -> value.
        measures: by which the runs are compared.
    """
    return lambda turn_id: -max((_spread(scores, turn_id, name) for name in measures), default=-inf)


def _spread(
    scores: Sequence[Mapping[str, Mapping[str, float]]], turn_id: str, measure: str
) -> float:
    values = [own[turn_id][measure] for own in scores if measure in own.get(turn_id, {})]
    return max(values) - min(values) if values else 0.0


@dataclass(frozen=True)
class _FinishedTurns:
    """The records of a finished run, read anew at each pass; they come as their files hold them."""

    folder: Path

    def __iter__(self) -> Iterator[TurnRecord]:
        return read_records(self.folder / "intermediate")


def _find_lookup(config: Mapping[str, Any]) -> FindPassages:
    """Find the lookup that a run's own report had; where its data set cannot be had any more, none
    is known.
    """
    try:
        wiring = Wiring(OmegaConf.create(dict(config)))
        return PassageLookup(wiring.get("dataset"), wiring.store).find
    except (ConvragError, KeyError):
        return lambda domain, ids: ()


def _read_scores(folder: Path) -> dict[str, Mapping[str, float]]:
    """Read turn id -> measure -> value; empty where the run measured nothing. Raises DataError."""
    path = folder / "scores.jsonl"
    rows = [line.json() for line in read_lines(path)] if path.exists() else []
    return {row["turn_id"]: row["scores"] for row in rows}


def _describe_run(
    board: Mapping[str, Any], name: str, config: Mapping[str, Any], summary: RunSummary
) -> dict[str, Any]:
    """What the page needs of a run; its turns saw their generated history where the run does not
    say another.
    """
    history = str(config.get("history", "generated"))
    return {"name": _find_label(board, name), "history": history, **describe_scores(summary)}


def _find_baseline(board: Mapping[str, Any]) -> str:
    """The name of the run that the leaderboard compares with; empty for none."""
    for row in board.get("rows", ()):
        if any(score["difference"] == "baseline" for score in row["compared"].values()):
            return str(row["name"])
    return ""


def _find_label(board: Mapping[str, Any], name: str) -> str:
    """What people call a run: the levels in which it differs from others, or its name where nothing
    was varied.
    """
    row = next(row for row in board["rows"] if row["name"] == name)
    return (
        " ".join(
            f"{factor}={level}"
            for factor, level in zip(board["factors"], row["levels"], strict=False)
        )
        or name
    )


def _link_to_report(run: Path, folder: Path) -> str:
    """The address of a run's own report as seen from a page in the folder; empty where it has none."""
    path = run / REPORT
    return quote(os.path.relpath(path, folder).replace(os.sep, "/")) if path.is_file() else ""
