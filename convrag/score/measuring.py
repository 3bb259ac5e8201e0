"""The turns of a run are measured: each metric on its own, so that one that fails costs its numbers alone."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from convrag.api.errors import ConvragError
from convrag.api.records import Measurement, Report, TurnRecord, Usage
from convrag.api.stages import Metrics
from convrag.api.types import Completion, Prompt
from convrag.score.scoring import Values
from convrag.store.usage import UsageMeter

log = logging.getLogger(__name__)

GROUP = "metrics"


@dataclass
class Measured:
    """What the metrics gave, what they asked of language models, and why one of them had to stop, if it had to."""

    values: list[tuple[Metrics, Values]] = field(default_factory=list)
    reports: list[Report] = field(default_factory=list)
    usage: Mapping[str, Usage] = field(default_factory=dict)
    replies: Sequence[tuple[Prompt, Completion]] = ()
    stopped: str = ""


def measure(metrics: Mapping[str, Metrics], records: Iterable[TurnRecord]) -> Measured:
    """Ask every metric, in order.

    Args:
        metrics: by name.
        records: can be gone through as often as the metrics like.
    """
    meter = UsageMeter()
    measured = Measured()
    for name, metric in metrics.items():
        place = f"{GROUP}.{name}"
        try:
            with meter.measure_stage(place):
                values = metric.measure(records)
            if not isinstance(values, Mapping):
                raise ConvragError(f"it gave {type(values).__name__}, and no mapping of turns to measures")
            measured.values.append((metric, values))
            if isinstance(values, Measurement) and values.report is not None:
                measured.reports.append(values.report)
        except Exception as error:
            known = isinstance(error, ConvragError)
            reason = f"{place} failed: {error if known else f'{type(error).__name__}: {error}'}"
            log.warning("%s", reason, exc_info=None if known else error)
            measured.stopped = measured.stopped or reason
    measured.usage, measured.replies = meter.usage, meter.replies
    return measured
