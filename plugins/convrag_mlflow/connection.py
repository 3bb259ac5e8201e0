"""An experiment that is connected to when it is first used, since importing MLflow takes seconds.

The core of convrag has MLflow's skinny half, which logs; the whole of MLflow has a page.
"""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING

from convrag import ConfigError, ConvragError
from convrag.sdk.libraries import is_installed
from convrag_mlflow.addresses import describe_viewing, redact_uri

if TYPE_CHECKING:
    from convrag_mlflow.experiment import Experiment

log = logging.getLogger(__name__)

MODULES = {"mlflow": "mlflow-skinny", "sqlalchemy": "sqlalchemy", "alembic": "alembic"}
"""Modules that logging imports -> their distributions."""


def find_problem() -> str:
    """Return why MLflow cannot log here, and what to install; empty if it can.

    Nothing is imported.
    """
    absent = [name for module, name in MODULES.items() if not is_installed(module)]
    if not absent:
        return ""
    return f"not installed: {', '.join(absent)} (pip install {' '.join(absent)})"


def is_refusal(error: Exception) -> bool:
    """Whether MLflow refuses a name or a value, so that the same attempt would fail again."""
    return getattr(error, "error_code", "") == "INVALID_PARAMETER_VALUE"


class Connection:
    """An experiment at a tracking address; can be used from any thread.

    Args:
        uri: MLflow's tracking address.
        name: the experiment's name.
        traces: whether MLflow's page of the experiment opens on traces, not on runs.
    """

    def __init__(self, uri: str, name: str, *, traces: bool = False) -> None:
        self.uri = uri
        self.name = name
        self._traces = traces
        self._lock = threading.Lock()
        self._experiment: Experiment | None = None

    def open(self) -> Experiment:
        """Return the experiment, connecting to it at the first call. Raises ConfigError."""
        with self._lock:
            if self._experiment is None:
                try:
                    from convrag_mlflow.experiment import Experiment
                except ImportError as error:
                    raise ConfigError(f"MLflow cannot be imported: {error}") from error
                self._experiment = Experiment(self.uri, self.name, traces=self._traces)
            return self._experiment

    def explain(self, error: Exception) -> str:
        """Return why something is not logged: the experiment's state, or the error."""
        log.info("not logged to MLflow", exc_info=error)
        obstacle = self._experiment.find_obstacle() if self._experiment else ""
        if obstacle:  # the experiment was deleted after the run had begun, say
            return obstacle
        reason = ""
        for line in str(error).strip().splitlines():
            if not line.startswith("(raised as a result of "):
                reason = line
                break
        if not isinstance(error, ConvragError):
            reason = f"{type(error).__name__}: {reason}"
        return redact_uri(reason.rstrip("."), self.uri)

    def describe(self) -> str:
        """Say what to type to look at what is logged."""
        experiment_id = self._experiment.id if self._experiment else ""
        return describe_viewing(self.uri, self.name, experiment_id, traces=self._traces)
