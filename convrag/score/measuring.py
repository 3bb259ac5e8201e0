"""Metrics measure the turns of a run. If one of them fails, only its own values are missing."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from convrag.api.errors import ConvragError
from convrag.api.records import Measurement, Report, TurnRecord, Usage
from convrag.api.secrets import redact
from convrag.api.stages import Metrics
from convrag.api.types import Completion, Prompt
from convrag.score.scoring import Values
from convrag.store.usage import UsageMeter

log = logging.getLogger(__name__)

GROUP = "metrics"
_NOTHING = "no turn has what it compares, such as an answer and a reference to compare it with, or qrels."


@dataclass
class MetricResults:
    """The values and reports of all metrics, and their calls of language models.

    `failures` says why a metric has no values, or not all: metric -> reason.
    """

    values: list[tuple[Metrics, Values]] = field(default_factory=list)
    reports: list[Report] = field(default_factory=list)
    usage: Mapping[str, Usage] = field(default_factory=dict)
    replies: Sequence[tuple[Prompt, Completion]] = ()
    failures: dict[str, str] = field(default_factory=dict)


def measure(metrics: Mapping[str, Metrics], records: Iterable[TurnRecord]) -> MetricResults:
    """Measure the turns with each metric, in order.

    Args:
        metrics: the metrics by name.
        records: the records of the turns; they must allow several iterations.
    """
    meter = UsageMeter()
    results = MetricResults()
    for name, metric in metrics.items():
        place = f"{GROUP}.{name}"
        try:
            with meter.measure_stage(place):
                values = metric.measure(records)
            if not isinstance(values, Mapping):
                raise ConvragError(f"it gave {type(values).__name__}, and no mapping of turns to measures")
            results.values.append((metric, values))
            usage = meter.usage.get(place, Usage())
            if usage.failed:
                results.failures[name] = f"{usage.failed} of its {usage.calls + usage.reused} calls failed"
            elif not any(values.values()):
                results.reports.append(Report(place, (f"{place} had nothing to measure: {_NOTHING}",)))
            if isinstance(values, Measurement) and values.report is not None:
                results.reports.append(values.report)
        except Exception as error:
            known = isinstance(error, ConvragError)
            results.failures[name] = redact(str(error) if known else f"{type(error).__name__}: {error}")
            log.warning("%s failed: %s", place, results.failures[name], exc_info=None if known else error)
    results.usage, results.replies = meter.usage, meter.replies
    return results
