"""What a metric returned, checked: values that cannot be used are left out, and named."""

from __future__ import annotations

from collections.abc import Mapping, Set
from math import isfinite
from numbers import Real
from reprlib import repr as brief

from convrag.api.errors import ConvragError

Values = Mapping[str, Mapping[str, float]]
"""Turn id -> measure -> value."""


def check_values(given: object, turn_ids: Set[str], owners: dict[str, str], name: str) -> tuple[Values, list[str]]:
    """Check what a metric returned.

    Args:
        given: what it returned.
        turn_ids: those of the run.
        owners: measure -> the metric that has it already; gets the measures of this one.
        name: the metric's name.

    Returns:
        The values that can be used, and a message for each kind of those that cannot.

    Raises:
        ConvragError: none can be used.
    """
    if not isinstance(given, Mapping):
        raise ConvragError(f"it gave {brief(given)}, and no mapping of turns to measures")
    problems: dict[str, list[str]] = {}
    values: dict[str, dict[str, float]] = {}
    for turn_id, measures in given.items():
        if turn_id not in turn_ids:
            problems.setdefault("turns that the run does not have", []).append(brief(turn_id))
            continue
        if not isinstance(measures, Mapping):
            problems.setdefault("turns without a mapping of measures to values", []).append(brief(turn_id))
            continue
        values[turn_id] = {}
        for measure, value in measures.items():
            if not isinstance(measure, str) or not isinstance(value, Real) or not isfinite(value):
                problems.setdefault("values that are no numbers", []).append(f"{measure} of {turn_id}: {brief(value)}")
            elif (owner := owners.setdefault(measure, name)) != name:
                problems.setdefault(f"measures that metrics.{owner} has, too", []).append(measure)
            else:
                values[turn_id][measure] = float(value)
    return values, [_describe_problem(kind, examples) for kind, examples in problems.items()]


def _describe_problem(kind: str, examples: list[str]) -> str:
    distinct = list(dict.fromkeys(examples))
    return f"it gave {len(examples)} {kind}, which were left out ({', '.join(distinct[:3])})"
