"""The file of a calibration: JSON that task=calibrate_answerability writes and generator=drafts reads."""

from __future__ import annotations

import json
from dataclasses import asdict
from math import isfinite
from pathlib import Path
from typing import Any

from convrag import DataError
from convrag.sdk.strict_json import format_json
from convrag_drafts.answerability import COVERAGE, PASSAGES, SCORE, VERDICT, Calibration, Weight

FEATURES = (VERDICT, COVERAGE, PASSAGES, SCORE)


def read_calibration(path: Path) -> Calibration:
    """Read a calibration. Raises DataError where the file is missing or has another form."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"this calibration cannot be read ({error.strerror})", path=path) from error
    except (ValueError, RecursionError) as error:
        raise DataError("this is no calibration: it is not JSON", path=path) from error
    try:
        weights = {name: _read_weight(data["features"][name]) for name in data["features"]}
        calibration = Calibration(weights, _read_number(data["intercept"]), _read_number(data["threshold"]))
    except (KeyError, TypeError, ValueError) as error:
        message = "this is no calibration: make one with task=calibrate_answerability"
        raise DataError(f"{message} ({type(error).__name__}: {error})", path=path) from error
    if unknown := sorted(set(weights) - set(FEATURES)):
        raise DataError(f"this calibration has features that nobody knows: {', '.join(unknown)}", path=path)
    return calibration


def format_calibration(calibration: Calibration, about: dict[str, Any]) -> str:
    """Format a calibration as JSON, with what is known about how it was made."""
    features = {name: asdict(weight) for name, weight in calibration.weights.items()}
    data = {"features": features, "intercept": calibration.intercept, "threshold": calibration.threshold}
    return format_json({**data, **about}, indent=2) + "\n"


def _read_weight(data: Any) -> Weight:
    weight = Weight(*(_read_number(data[name]) for name in ("mean", "scale", "weight")))
    if weight.scale <= 0:
        raise ValueError("a scale must be above 0")
    return weight


def _read_number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        raise ValueError(f"{value!r} is no number")
    return float(value)
