"""Why something is not logged, on one line."""

from __future__ import annotations

from convrag import ConvragError
from convrag_mlflow.addresses import redact_uri


def explain_error(error: Exception, uri: str) -> str:
    """The first line of an error that says something, without a full stop.

    Args:
        error: of MLflow, of its database or of ours.
        uri: the tracking address, whose password is taken out.
    """
    lines = [line for line in str(error).strip().splitlines() if not line.startswith("(raised as a result of ")]
    reason = lines[0] if lines else ""
    told = reason if isinstance(error, ConvragError) else f"{type(error).__name__}: {reason}"
    return redact_uri(told.rstrip("."), uri)
