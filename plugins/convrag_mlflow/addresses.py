"""Tracking addresses: where a database and its files lie, and how to look at what is logged there."""

from __future__ import annotations

from pathlib import Path

from convrag import ConfigError
from convrag.api.secrets import redact, redact_address
from convrag_mlflow.installation import find_version

SQLITE = "sqlite:///"


def resolve_uri(uri: str) -> tuple[str, Path | None]:
    """A tracking address with an absolute path, and the folder for runs' files.

    The folder lies beside a database on disk; it is None for other addresses, where MLflow chooses it.
    """
    if not uri.startswith(SQLITE):
        return uri, None
    path = Path(uri.removeprefix(SQLITE)).absolute()
    return f"{SQLITE}{path}", path.parent / "mlflow"


def check_database(uri: str) -> None:
    """Raise ConfigError where a database on disk is none, which importing MLflow would tell too, but later."""
    path = Path(uri.removeprefix(SQLITE))
    try:
        with path.open("rb") as file:
            beginning = file.read(16)
    except FileNotFoundError:
        return
    except OSError as error:
        raise ConfigError(f"tracker.uri={uri} cannot be used: {error}") from error
    if beginning not in (b"", b"SQLite format 3\0"):
        raise ConfigError(f"tracker.uri={uri} cannot be used: this file is no database of SQLite")


def redact_uri(message: str, uri: str) -> str:
    """A message without what is secret in an address that it may name."""
    return redact(message.replace(uri, redact_address(uri)), address=uri)


def describe_viewing(uri: str, experiment: str) -> str:
    """What to type to look at what is logged at an address, and what to install for it."""
    if uri.startswith(("http://", "https://")):
        return f"Logged to MLflow at {redact_address(uri)}, experiment {experiment}."
    command = f"mlflow ui --backend-store-uri {redact_address(uri)}"
    if not find_version("mlflow"):
        return f"Logged to MLflow. To look at it: pip install 'convrag[mlflow]', then {command}"
    return f"Logged to MLflow. To look at it: {command}"
