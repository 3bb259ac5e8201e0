"""A tracking address that is connected to at its first use, since importing MLflow takes seconds."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING

from convrag import ConfigError, Store
from convrag_mlflow.addresses import describe_viewing
from convrag_mlflow.explaining import explain_error

if TYPE_CHECKING:
    from convrag_mlflow.experiment import Experiment

log = logging.getLogger(__name__)


class Connection:
    """An experiment at a tracking address; from any thread.

    Args:
        uri: MLflow's tracking address.
        name: the experiment's.
        store: has the lock for creating a database that is not on disk.
        traces: whether MLflow's page of the experiment opens on traces, not on runs.
    """

    def __init__(self, uri: str, name: str, store: Store, *, traces: bool = False) -> None:
        self.uri = uri
        self.name = name
        self._store = store
        self._traces = traces
        self._lock = threading.Lock()
        self._experiment: Experiment | None = None

    def open(self) -> Experiment:
        """The experiment, connected to at the first call. Raises ConfigError."""
        with self._lock:
            if self._experiment is None:
                try:
                    from convrag_mlflow.experiment import RUNS, TRACES, Experiment
                except ImportError as error:
                    raise ConfigError(f"MLflow cannot be imported: {error}") from error
                self._experiment = Experiment(self.uri, self.name, self._store, TRACES if self._traces else RUNS)
            return self._experiment

    def explain(self, error: Exception) -> str:
        """The reason why something is not logged, on one line and without a full stop."""
        log.info("not logged to MLflow", exc_info=error)
        return explain_error(error, self.uri)

    def describe(self) -> str:
        """What to type to look at what is logged."""
        return describe_viewing(self.uri, self.name, getattr(self._experiment, "id", ""), traces=self._traces)
