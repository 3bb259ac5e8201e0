"""Logs the runs of the journal that have ended, or whose process was killed."""

from __future__ import annotations

from pathlib import Path

from convrag.sdk.tasks.grids import METRICS_FILE
from convrag.sdk.tasks.scores import read_summary
from convrag_mlflow.experiment import Experiment
from convrag_mlflow.journal import Entry, Journal
from convrag_mlflow.killed_runs import close_dead_runs, close_killed_run
from convrag_mlflow.processes import mark_process
from convrag_mlflow.turn_notes import read_turns

ENTRY = "convrag.entry"
"""The tag that holds the name of a run's entry in the journal."""


def log_due_runs(experiment: Experiment, journal: Journal | None) -> None:
    """End the runs whose process is gone, and log those of the journal that have ended, which takes them out of it.

    Those of other experiments stay, for a command that logs to theirs.

    Args:
        experiment: the runs are logged to it.
        journal: of its address; None where that has none.
    """
    close_dead_runs(experiment.client, experiment.id)
    if journal is None:
        return
    with journal.take_due() as entries:
        for entry in entries:
            if entry.row.get("experiment") == experiment.name:
                experiment.delete_runs({ENTRY: entry.path.stem})  # of a try that was killed
                _log_entry(experiment, entry)
                entry.remove()


def _log_entry(experiment: Experiment, entry: Entry) -> None:
    row = entry.row
    described = {**row, "tags": {**row["tags"], ENTRY: entry.path.stem}}
    run_id = experiment.create_described_run(described, started=row["started"])
    experiment.log_traces(run_id, read_turns(entry.turns), row["config"])
    if not entry.has_ended:
        close_killed_run(experiment.client, run_id, mark_process(), of=row["process"])
    elif row["error"]:
        experiment.fail_run(run_id, row["error"], row["ended"], killed=row["interrupted"])
    else:
        folder = Path(row["folder"])
        summary = read_summary(folder / METRICS_FILE)
        experiment.finish_run(run_id, folder, summary, files=row["files"], ended=row["ended"])
