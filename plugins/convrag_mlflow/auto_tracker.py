"""`tracker=auto`: logs as `tracker=mlflow` does where MLflow is installed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from convrag import Report, Run, RunSummary, hookimpl
from convrag.sdk.types import Sweep
from convrag_mlflow.installation import find_problem
from convrag_mlflow.tracker import MlflowTracker


class AutoTracker(MlflowTracker):
    """Log to MLflow as `tracker=mlflow` does where it is installed; without it keep nothing beside the run's files."""

    requires: ClassVar[Mapping[str, str]] = {}

    def check(self) -> Iterable[str]:
        """Why there can be no traces. Nothing else stops a run: where MLflow cannot log, its last line says so."""
        if self.traces and (problem := find_problem()):
            yield f"{{place}}.traces=true: {problem}"

    @hookimpl
    def convrag_conversations_started(self, config: Mapping[str, Any], model: str) -> None:
        """Make the turns of a pipeline traces, where MLflow can log."""
        if not find_problem():
            super().convrag_conversations_started(config, model)

    @hookimpl
    def convrag_run_started(self, run: Run) -> None:
        """Create or note the run, where MLflow can log."""
        if not find_problem():
            super().convrag_run_started(run)

    @hookimpl
    def convrag_run_finished(self, run: Run, summary: RunSummary) -> str | None:
        """Log scores and files, and end the run; or say why not."""
        if problem := find_problem():
            return None if run.sweep else f"Not logged to MLflow: {problem}"
        return super().convrag_run_finished(run, summary)

    @hookimpl
    def convrag_sweep_started(self, sweep: Sweep) -> None:
        """Create the grid's parent run, where MLflow can log."""
        if not find_problem():
            super().convrag_sweep_started(sweep)

    @hookimpl
    def convrag_sweep_finished(self, sweep: Sweep, reports: list[Report]) -> str:
        """Complete the runs of the cells, and end the parent run; or say why not."""
        if problem := find_problem():
            return f"Not logged to MLflow: {problem}. The same command logs what is there, then."
        return super().convrag_sweep_finished(sweep, reports)
