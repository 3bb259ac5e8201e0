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
from convrag_web.report.page import LIMIT, REPORT, write_page
from convrag_web.report.turn_blocks import Need, RunTurns, TurnBlocks, pack_turns
from convrag_web.report.turn_rows import FindPassages

log = logging.getLogger(__name__)

ROOM = LIMIT - 500_000
"""The characters for turns; the rest is for the page itself and the scores of the run."""

_SOURCES = ".report"
"""The file with the digest of all that a comparison's report was written from."""

_RUN_FILES = ("metrics.json", "*.jsonl", REPORT)
"""The files of a run that the report of a comparison depends on."""

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
    plots = _encode_plots(sorted(folder.glob("*.svg")))
    described = {**describe_run(run, summary), "plots": plots}
    left_out = list_cuts(packed)
    for line in left_out:
        log.warning("%s: %s", run.folder / REPORT, line)
    name = described["name"]
    head = {"kind": "run", "title": name, "runs": [described], "left_out": left_out}
    write_page(folder / REPORT, f"{name}: a run of convrag", head, packed.blocks)


def rank_by_scores(scores: Scores, measures: Sequence[str]) -> Need:
    """Rank turns by the mean of their main measures, low ones first. Turns without any come last.

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
    """Say in sentences what was left out to limit the size of the file; empty for nothing.

    Args:
        packed: the turns of the report.
        which: the kind of the turns that are left out.
    """
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
    """Describe how a run ended, and its measures; the page needs that of each run with turns."""
    return {
        "state": summary.state,
        "turns": summary.turns,
        "overall": dict(summary.overall),
        "main": list(summary.main_measures),
    }


def _list_slices(slices: Mapping[str, Any]) -> list[list[Any]]:
    return [[value, part.turns, dict(part.scores)] for value, part in slices.items()]


def _list_stages(config: Mapping[str, Any]) -> list[list[str]]:
    """List the option of each group that the run chose: [["rewriter", "mmr"]]."""
    stages = []
    for group, node in config.items():
        if isinstance(node, Mapping) and OPTION_KEY in node:
            stages.append([str(group), str(node[OPTION_KEY])])
    return stages


def _encode_plots(paths: Iterable[Path]) -> dict[str, str]:
    """Return name -> the contents of a plot in base64."""
    return {path.stem: b64encode(path.read_bytes()).decode("ascii") for path in paths}


MOST_TURNS = 20_000
"""The most turns of all runs that a comparison shows; reading them takes some 40 seconds."""


def write_comparison_report(
    report: Report,
    runs: Mapping[str, Path],
    folder: Path,
    most_turns: int = MOST_TURNS,
    room: int = ROOM,
) -> None:
    """Write the report of a comparison into its folder; see the hook `convrag_runs_compared`.

    Nothing is written if the folder has the same report already.

    Raises:
        DataError: a file of a run is broken.
        OSError: the file cannot be written.
    """
    board = dict(report.numbers)
    names = [row["name"] for row in board.get("rows", ()) if row["name"] in runs]
    files = _list_sources(folder, [runs[name] for name in names])
    source = digest([repr(board), report.lines, most_turns, room, files])
    if _is_written(folder, source):
        return
    summaries = {name: read_summary(runs[name] / "metrics.json") for name in names}
    shown = choose_runs(names, summaries, _find_baseline(board), most_turns)
    measures = board.get("metrics", ())
    plots = _encode_plots(list_plots(folder, measures))
    configs = {name: read_hydra_config(runs[name]) for name in shown}
    turns_room = room - sum(map(len, plots.values()))
    packed = _pack_runs({name: runs[name] for name in shown}, configs, measures, turns_room)
    left_out = list_cuts(packed, "similar")
    others = [name for name in names if name not in shown]
    if others:
        left_out.append(
            f"The turns of {', '.join(others)} are not in this file, which holds at most "
            f"{most_turns:,}."
        )
    for line in left_out:
        log.warning("%s: %s", folder / REPORT, line)
    head = {
        "kind": "comparison",
        "title": folder.name,
        "board": board,
        # Lines with the folder say where the files are, which is here
        "lines": [line for line in report.lines if str(folder) not in line],
        "shown": shown,
        "links": _link_to_reports({name: runs[name] for name in names}, folder),
        "plots": list(plots),
        "runs": [_describe_run(board, name, configs[name], summaries[name]) for name in shown],
        "left_out": left_out,
    }
    blocks = packed.blocks | {f"plot-{number}": plot for number, plot in enumerate(plots.values())}
    write_page(folder / REPORT, f"{folder.name}: runs of convrag compared", head, blocks)
    write_atomically(folder / _SOURCES, source)


def _list_sources(folder: Path, runs: Iterable[Path]) -> list[tuple[str, int, int]]:
    """List the files that a comparison's report is written from, with their times and sizes."""
    paths = [*Path(__file__).parents[1].glob("*/*.*"), *folder.glob("*.png")]
    for run in runs:
        for pattern in _RUN_FILES:
            paths += run.rglob(pattern)
    sources = []
    for path in paths:
        status = path.stat()
        sources.append((str(path), status.st_mtime_ns, status.st_size))
    return sorted(sources)


def _is_written(folder: Path, source: str) -> bool:
    """Return whether the folder has a report that was written from these sources."""
    written = folder / _SOURCES
    if not (folder / REPORT).exists() or not written.exists():
        return False
    return written.read_text("utf-8", "replace") == source


def _pack_runs(
    runs: Mapping[str, Path],
    configs: Mapping[str, Mapping[str, Any]],
    measures: Sequence[str],
    room: int,
) -> TurnBlocks:
    """Pack the turns of finished runs; those in which the runs differ most are kept."""
    scores = {name: _read_scores(folder) for name, folder in runs.items()}
    turns = [
        RunTurns(_FinishedTurns(folder), scores[name], _find_lookup(configs[name]))
        for name, folder in runs.items()
    ]
    return pack_turns(turns, rank_by_difference(list(scores.values()), measures), room)


def list_plots(folder: Path, measures: Sequence[str]) -> list[Path]:
    """List the plots in a folder, in the order of the measures that they show."""

    def find_place(path: Path) -> tuple[int, str]:
        for place, measure in enumerate(measures):
            if f"_{measure}_" in f"{path.stem}_":
                return place, path.stem
        return len(measures), path.stem

    return sorted(folder.glob("*.png"), key=find_place)


def choose_runs(
    names: Sequence[str], summaries: Mapping[str, RunSummary], baseline: str, most_turns: int
) -> list[str]:
    """Choose the runs whose turns are shown, in the order of the leaderboard.

    These are the baseline and the best ones.

    Args:
        names: the names of the runs, best first.
        summaries: the summaries of the runs, by name.
        baseline: the name of the run to compare with; empty for none.
        most_turns: the turns that they may have together. Two runs are shown in any case.
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


def rank_by_difference(scores: Sequence[Scores], measures: Sequence[str]) -> Need:
    """Rank turns by how much the runs differ in them, the largest difference first.

    Args:
        scores: for each run, turn id -> measure -> value.
        measures: the measures by which the runs are compared.
    """

    def need(turn_id: str) -> float:
        return -max((_spread(scores, turn_id, name) for name in measures), default=-inf)

    return need


def _spread(scores: Sequence[Scores], turn_id: str, measure: str) -> float:
    """Return the difference between the highest and the lowest value of a turn."""
    values = [own[turn_id][measure] for own in scores if measure in own.get(turn_id, {})]
    return max(values) - min(values) if values else 0.0


@dataclass(frozen=True)
class _FinishedTurns:
    """The records of a finished run, read anew at each pass, in the order of their files."""

    folder: Path

    def __iter__(self) -> Iterator[TurnRecord]:
        return read_records(self.folder / "intermediate")


def _find_lookup(config: Mapping[str, Any]) -> FindPassages:
    """Find the lookup that a run's own report had; it finds nothing if the data set is gone."""
    try:
        wiring = Wiring(OmegaConf.create(dict(config)))
        return PassageLookup(wiring.get("dataset"), wiring.store).find
    except (ConvragError, KeyError):
        return lambda domain, ids: ()


def _read_scores(folder: Path) -> dict[str, Mapping[str, float]]:
    """Read turn id -> measure -> value; empty if the run measured nothing. Raises DataError."""
    path = folder / "scores.jsonl"
    if not path.exists():
        return {}
    rows = [line.json() for line in read_lines(path)]
    return {row["turn_id"]: row["scores"] for row in rows}


def _describe_run(
    board: Mapping[str, Any], name: str, config: Mapping[str, Any], summary: RunSummary
) -> dict[str, Any]:
    """Describe a run for the head of the report of a comparison."""
    return {
        "name": _find_label(board, name),
        "history": str(config.get("history", "generated")),
        **describe_scores(summary),
    }


def _find_baseline(board: Mapping[str, Any]) -> str:
    """Return the name of the run that the leaderboard compares with; empty for none."""
    for row in board.get("rows", ()):
        if any(score["difference"] == "baseline" for score in row["compared"].values()):
            return str(row["name"])
    return ""


def _find_label(board: Mapping[str, Any], name: str) -> str:
    """Return the levels in which a run differs from others, or its name if nothing was varied."""
    for row in board["rows"]:
        if row["name"] == name:
            levels = zip(board["factors"], row["levels"], strict=False)
            label = " ".join(f"{factor}={level}" for factor, level in levels)
            return label or name
    raise KeyError(name)


def _link_to_reports(runs: Mapping[str, Path], folder: Path) -> dict[str, str]:
    """Return name -> the address of a run's own report, as seen from a page in the folder."""
    links = {}
    for name, run in runs.items():
        path = run / REPORT
        if path.is_file():
            links[name] = quote(os.path.relpath(path, folder).replace(os.sep, "/"))
    return links
