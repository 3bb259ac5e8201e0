"""Whether MLflow can log here, and an experiment that is connected to at its first use: importing
MLflow takes seconds.

The core of convrag has MLflow's skinny half, which logs; the whole of MLflow has a page.
"""

from __future__ import annotations

import logging
import threading
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from convrag import ConfigError, ConvragError
from convrag.sdk.libraries import is_installed
from convrag.sdk.secrets import redact, redact_address

if TYPE_CHECKING:
    from convrag_mlflow.experiment import Experiment

SQLITE = "sqlite:///"

_PAGE = "http://127.0.0.1:5000/#/experiments/{}/runs?workflowType=machine_learning"
_TRACES = "http://127.0.0.1:5000/#/experiments/{}/traces"


def resolve_uri(uri: str) -> tuple[str, Path | None]:
    """A tracking address with an absolute path, and the folder for runs' files.

    The folder lies beside a database on disk; it is None for other addresses, where MLflow chooses
    it.
    """
    if not uri.startswith(SQLITE):
        return uri, None
    path = Path(uri.removeprefix(SQLITE)).absolute()
    return f"{SQLITE}{path}", path.parent / "mlflow"


def make_folder(uri: str) -> None:
    """Create the folder of a database on disk. Raises ConfigError where that fails: importing
    MLflow takes seconds.
    """
    try:
        Path(uri.removeprefix(SQLITE)).absolute().parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"tracker.uri={uri} cannot be used: {error}") from error


def redact_uri(message: str, uri: str) -> str:
    """A message without what is secret in an address that it may name."""
    return redact(message.replace(uri, redact_address(uri)), address=uri)


def describe_viewing(
    uri: str, experiment: str, experiment_id: str = "", *, traces: bool = False
) -> str:
    """What to type to look at what is logged at an address, where its page is, and what to install
    for it.

    Args:
        uri: the tracking address.
        experiment: its name.
        experiment_id: in a database on disk. MLflow's page opens on traces of models unless an
            address asks for runs.
        traces: whether the experiment has traces alone.
    """
    if uri.startswith(("http://", "https://")):
        return f"Logged to MLflow at {redact_address(uri)}, experiment {experiment}."
    command = f"mlflow ui --backend-store-uri {redact_address(uri)}"
    if is_installed(
        "litellm"
    ):  # MLflow's server imports it, and it would wait for a price list from the net
        command = f"LITELLM_LOCAL_MODEL_COST_MAP=True {command}"
    if experiment_id:
        command = f"{command}, then open {(_TRACES if traces else _PAGE).format(experiment_id)}"
    if not any(metadata.distributions(name="mlflow")):  # its skinny half, which logs, has no page
        return f"Logged to MLflow. To look at it: pip install 'convrag[mlflow]', then {command}"
    return f"Logged to MLflow. To look at it: {command}"


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
        """Why something is not logged: the first line of the error that says something, without a
        full stop.
        """
        log.info("not logged to MLflow", exc_info=error)
        lines = [
            line
            for line in str(error).strip().splitlines()
            if not line.startswith("(raised as a result of ")
        ]
        reason = lines[0] if lines else ""
        told = reason if isinstance(error, ConvragError) else f"{type(error).__name__}: {reason}"
        return redact_uri(told.rstrip("."), self.uri)

    def describe(self) -> str:
        """What to type to look at what is logged."""
        return describe_viewing(
            self.uri, self.name, getattr(self._experiment, "id", ""), traces=self._traces
        )
