"""Whether the measures of `sweep.metric` are there: before a grid runs, where that can be known, and at its end."""

from __future__ import annotations

from collections.abc import Sequence

from convrag.api.errors import ConfigError
from convrag.api.sweeps import Sweep
from convrag.score.endings import count
from convrag.sweep.experiments import Experiment
from convrag.sweep.sweep_file import METRICS_FILE, read_all_scores


def find_missing_metrics(metrics: Sequence[str], experiments: Sequence[Experiment | None]) -> str:
    """What is wrong with `sweep.metric`, in words, before any cell runs: some cell cannot have it. Empty if nothing."""
    listed = [each.measures for each in experiments if each and each.measures is not None]
    for metric in metrics:
        if gap := next((each.gaps[metric] for each in experiments if each and metric in each.gaps), ""):
            return f"sweep.metric={metric}: {gap}"
        if without := sum(metric not in measures for measures in listed):
            there = [name for name in dict.fromkeys(listed[0]) if all(name in measures for measures in listed)]
            in_cells = "" if without == len(experiments) else f" in {without} of {len(experiments)} cells"
            names = ", ".join(there) or "none"
            return f"sweep.metric={metric}: no metric gives it{in_cells}. There are {names}"
    return ""


def check_metrics_were_measured(sweep: Sweep, metrics: Sequence[str]) -> None:
    """Raise ConfigError where a cell was not measured by a measure of `sweep.metric`, which nobody knew before."""
    ended = [cell.folder for cell in sweep.cells if cell.state in ("ok", "reused")]
    scores = [read_all_scores(folder) for folder in ended if (folder / METRICS_FILE).exists()]
    for metric in metrics:
        if without := sum(metric not in row for row in scores):
            there = ", ".join(name for name in scores[0] if all(name in row for row in scores)) or "no measure"
            raise ConfigError(
                f"sweep.metric={metric}: {count(without, 'cell')} of {len(scores)} did not measure it; all measured "
                f"{there}. What there is stands in {sweep.folder}"
            )
