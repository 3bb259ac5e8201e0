"""Tracking addresses: where a database and its files lie, and how to look at what is logged there."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

from convrag import ConfigError
from convrag.sdk.libraries import is_installed
from convrag.sdk.secrets import redact, redact_address

SQLITE = "sqlite:///"

_PAGE = "http://127.0.0.1:5000/#/experiments/{}/runs?workflowType=machine_learning"
_TRACES = "http://127.0.0.1:5000/#/experiments/{}/traces"


def resolve_uri(uri: str) -> tuple[str, Path | None]:
    """A tracking address with an absolute path, and the folder for runs' files.

    The folder lies beside a database on disk; it is None for other addresses, where MLflow chooses it.
    """
    if not uri.startswith(SQLITE):
        return uri, None
    path = Path(uri.removeprefix(SQLITE)).absolute()
    return f"{SQLITE}{path}", path.parent / "mlflow"


def make_folder(uri: str) -> None:
    """Create the folder of a database on disk. Raises ConfigError where that fails: importing MLflow takes seconds."""
    try:
        Path(uri.removeprefix(SQLITE)).absolute().parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"tracker.uri={uri} cannot be used: {error}") from error


def redact_uri(message: str, uri: str) -> str:
    """A message without what is secret in an address that it may name."""
    return redact(message.replace(uri, redact_address(uri)), address=uri)


def describe_viewing(uri: str, experiment: str, experiment_id: str = "", *, traces: bool = False) -> str:
    """What to type to look at what is logged at an address, where its page is, and what to install for it.

    Args:
        uri: the tracking address.
        experiment: its name.
        experiment_id: in a database on disk. MLflow's page opens on traces of models unless an address asks for runs.
        traces: whether the experiment has traces alone.
    """
    if uri.startswith(("http://", "https://")):
        return f"Logged to MLflow at {redact_address(uri)}, experiment {experiment}."
    command = f"mlflow ui --backend-store-uri {redact_address(uri)}"
    if is_installed("litellm"):  # MLflow's server imports it, and it would wait for a price list from the net
        command = f"LITELLM_LOCAL_MODEL_COST_MAP=True {command}"
    if experiment_id:
        command = f"{command}, then open {(_TRACES if traces else _PAGE).format(experiment_id)}"
    if not any(metadata.distributions(name="mlflow")):  # its skinny half, which logs, has no page
        return f"Logged to MLflow. To look at it: pip install 'convrag[mlflow]', then {command}"
    return f"Logged to MLflow. To look at it: {command}"
