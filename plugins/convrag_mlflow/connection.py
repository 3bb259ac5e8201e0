"""Whether MLflow can log here, and an experiment that is connected to at its first use: importing MLflow takes seconds.

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
"""What logging imports -> the distribution that has it."""


def find_problem() -> str:
    """Why MLflow cannot log here, and what to install; empty where it can. Nothing is imported."""
    absent = [name for module, name in MODULES.items() if not is_installed(module)]
    return f"not installed: {', '.join(absent)} (pip install {' '.join(absent)})" if absent else ""


class Connection:
    """An experiment at a tracking address; from any thread.

    Args:
        uri: MLflow's tracking address.
        name: the experiment's.
        traces: whether MLflow's page of the experiment opens on traces, not on runs.
    """

    def __init__(self, uri: str, name: str, *, traces: bool = False) -> None:
        self.uri = uri
        self.name = name
        self._traces = traces
        self._lock = threading.Lock()
        self._experiment: Experiment | None = None

    def open(self) -> Experiment:
        """The experiment, connected to at the first call. Raises ConfigError."""
        with self._lock:
            if self._experiment is None:
                try:
                    from convrag_mlflow.experiment import Experiment
                except ImportError as error:
                    raise ConfigError(f"MLflow cannot be imported: {error}") from error
                self._experiment = Experiment(self.uri, self.name, traces=self._traces)
            return self._experiment

    def explain(self, error: Exception) -> str:
        """Why something is not logged: the first line of the error that says something, without a full stop."""
        log.info("not logged to MLflow", exc_info=error)
        lines = [line for line in str(error).strip().splitlines() if not line.startswith("(raised as a result of ")]
        reason = lines[0] if lines else ""
        told = reason if isinstance(error, ConvragError) else f"{type(error).__name__}: {reason}"
        return redact_uri(told.rstrip("."), self.uri)

    def describe(self) -> str:
        """What to type to look at what is logged."""
        return describe_viewing(self.uri, self.name, getattr(self._experiment, "id", ""), traces=self._traces)
