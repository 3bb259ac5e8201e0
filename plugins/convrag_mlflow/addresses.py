"""Addresses of MLflow: where runs are logged, and what to type to look at them."""

from importlib import metadata
from pathlib import Path

from convrag import ConfigError
from convrag.sdk.libraries import is_installed
from convrag.sdk.secrets import redact, redact_address

SQLITE = "sqlite:///"

_PAGE = "http://127.0.0.1:5000/#/experiments/{}/runs?workflowType=machine_learning"
_TRACES = "http://127.0.0.1:5000/#/experiments/{}/traces"


def resolve_uri(uri: str) -> tuple[str, Path | None]:
    """Return a tracking address with an absolute path, and the folder for the files of runs.

    The folder is next to a database on disk; it is None for other addresses, where MLflow chooses
    it.
    """
    if not uri.startswith(SQLITE):
        return uri, None
    path = Path(uri.removeprefix(SQLITE)).absolute()
    return f"{SQLITE}{path}", path.parent / "mlflow"


def make_folder(uri: str) -> None:
    """Create the folder of a database on disk, before MLflow is imported, which takes seconds.

    Raises:
        ConfigError: it cannot be created.
    """
    path = Path(uri.removeprefix(SQLITE)).absolute()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"tracker.uri={uri} cannot be used: {error}") from error


def redact_uri(message: str, uri: str) -> str:
    """Remove the secrets of an address from a message that may name it."""
    return redact(message.replace(uri, redact_address(uri)), address=uri)


def describe_viewing(
    uri: str, experiment: str, experiment_id: str = "", *, traces: bool = False
) -> str:
    """Say what to type to look at what is logged, where its page is, and what to install for it.

    Args:
        uri: the tracking address.
        experiment: the experiment's name.
        experiment_id: the experiment's id in a database on disk. Without it MLflow's page opens on
            traces of models.
        traces: whether the experiment has traces alone.
    """
    if uri.startswith(("http://", "https://")):
        return f"Logged to MLflow at {redact_address(uri)}, experiment {experiment}."
    command = f"mlflow ui --backend-store-uri {redact_address(uri)}"
    if is_installed("litellm"):  # MLflow's server imports it, and it would download a price list
        command = f"LITELLM_LOCAL_MODEL_COST_MAP=True {command}"
    if experiment_id:
        page = _TRACES if traces else _PAGE
        command = f"{command}, then open {page.format(experiment_id)}"
    has_page = any(metadata.distributions(name="mlflow"))  # its skinny half, which logs, has none
    if not has_page:
        return f"Logged to MLflow. To look at it: pip install 'convrag[mlflow]', then {command}"
    return f"Logged to MLflow. To look at it: {command}"
