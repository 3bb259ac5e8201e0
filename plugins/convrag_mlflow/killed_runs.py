"""Runs whose process was killed, and could not end them: the next command ends them as killed."""

from __future__ import annotations

import logging

from mlflow.exceptions import MlflowException
from mlflow.tracking import MlflowClient

from convrag_mlflow.processes import describe_process, is_gone

log = logging.getLogger(__name__)

PROCESS = "convrag.process"
"""The tag that holds the mark of the process that logs a run."""


def close_dead_runs(client: MlflowClient, experiment: str) -> None:
    """End the runs as killed that are marked as running, and whose process is gone.

    Those of processes of which nobody here can know (of other machines, other containers) stay as they are.

    Args:
        client: of the tracking address.
        experiment: the experiment's id.
    """
    for run_id, mark in _list_running(client, experiment):
        if is_gone(mark):
            close_killed_run(client, run_id, mark)


def close_killed_run(client: MlflowClient, run_id: str, mark: str, *, of: str = "") -> None:
    """End a run as killed, unless it has ended, or another process than that of the mark goes on with it.

    Args:
        client: of the tracking address.
        run_id: the run's id.
        mark: of the process that logs the run.
        of: the mark of the process that was killed, if that is another one.
    """
    try:
        run = client.get_run(run_id)
        if run.info.status != "RUNNING" or run.data.tags.get(PROCESS, "") != mark:
            return
        client.set_tag(run_id, "convrag.error", f"{describe_process(of or mark)} was killed")
        client.set_terminated(run_id, "KILLED")
    except MlflowException as error:  # another user's, say
        log.warning("the run %s in MLflow, whose process is gone, cannot be closed: %s", run_id, error)


def _list_running(client: MlflowClient, experiment: str) -> list[tuple[str, str]]:
    """The id of each run that is marked as running, and the mark of its process, empty where it has none."""
    found: list[tuple[str, str]] = []
    token: str | None = None
    while True:
        page = client.search_runs([experiment], "attributes.status = 'RUNNING'", page_token=token)
        found += [(run.info.run_id, run.data.tags.get(PROCESS, "")) for run in page]
        if not (token := page.token):
            return found
