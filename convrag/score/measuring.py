"""Metrics measure the turns of a run. If one of them fails, or a report is unusable, only that one
is missing.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from math import isfinite
from numbers import Real
from reprlib import repr as brief

from convrag.api.completions import Completion, Prompt
from convrag.api.errors import ConfigError, ConvragError, describe_fault
from convrag.api.records import Measurement, Report, TurnRecord, Usage
from convrag.api.secrets import redact
from convrag.api.stages import Metrics
from convrag.store.usage import UsageMeter

log = logging.getLogger(__name__)

Values = Mapping[str, Mapping[str, float]]
"""Turn id -> measure -> value."""

GROUP = "metrics"
_NEEDED = {
    "ranking": "a ranking and qrels",
    "answer": "an answer and what it is compared with, such as a reference",
}


@dataclass
class MetricResults:
    """The values (by metric) and reports of all metrics, and their calls of language models.

    `failures` says why a metric has no values, or not all: metric -> reason.
    """

    values: dict[str, Values] = field(default_factory=dict)
    reports: list[Report] = field(default_factory=list)
    usage: Mapping[str, Usage] = field(default_factory=dict)
    replies: Sequence[tuple[Prompt, Completion]] = ()
    failures: dict[str, str] = field(default_factory=dict)


def check_measures_differ(metrics: Mapping[str, Metrics]) -> None:
    """Raise ConfigError where two metrics declare the same measure, so that one's values would hide
    the other's.
    """
    owners: dict[str, str] = {}
    for name, metric in metrics.items():
        try:
            declared = list(metric.list_measures())
        except Exception as error:
            reason = describe_fault(error, type(metric), "list_measures")
            raise ConfigError(f"{GROUP}.{name}: {reason}") from error
        for measure in declared:
            if (owner := owners.setdefault(measure, name)) != name:
                raise ConfigError(
                    f"{GROUP}.{owner} and {GROUP}.{name} both measure {measure!r}: leave one of them out, or give its "
                    "measure another name"
                )


def measure(
    metrics: Mapping[str, Metrics], records: Iterable[TurnRecord], *, stand_in: str = ""
) -> MetricResults:
    """Measure the turns with each metric, in order.

    Values that are no numbers are left out; `failures` says so.

    Args:
        metrics: the metrics by name.
        records: the records of the turns; they must allow several iterations.
        stand_in: given where nobody chose the metrics: the one for data sets without truth. A
            metric that has nothing to measure is then no news while one of the others has.
    """
    silent: list[Report] = []
    meter = UsageMeter()
    results = MetricResults()
    turn_ids = {record.turn_id for record in records}
    for name, metric in metrics.items():
        place = f"{GROUP}.{name}"
        problems: list[str] = []
        try:
            with meter.measure_stage(place):
                given = metric.measure(records)
            values, problems = _check_values(given, turn_ids)
            results.values[name] = values
            usage = meter.usage.get(place, Usage())
            if usage.failed:
                problems.append(f"{usage.failed} of its {usage.calls + usage.reused} calls failed")
            elif not problems and not any(values.values()):
                silent.append(Report(place, (_describe_silence(place, metric),)))
            if isinstance(given, Measurement) and given.report is not None:
                results.reports.append(check_report(given.report))
        except Exception as error:
            problems.append(redact(describe_fault(error, type(metric), "measure")))
            log.warning(
                "%s failed: %s",
                place,
                problems[-1],
                exc_info=None if isinstance(error, ConvragError) else error,
            )
        if problems:
            results.failures[name] = "; ".join(problems)
    compared = any(
        _is_compared(metrics[name], found)
        for name, found in results.values.items()
        if name != stand_in
    )
    if not stand_in or not compared:
        results.reports += silent
    results.usage, results.replies = meter.usage, meter.replies
    return results


def _check_values(given: object, turn_ids: Set[str]) -> tuple[Values, list[str]]:
    """Check what a metric returned.

    Args:
        given: what it returned.
        turn_ids: the turns of the run.

    Returns:
        The values that can be used, and a message about the others.

    Raises:
        ConvragError: it is no mapping.
    """
    if not isinstance(given, Mapping):
        raise ConvragError(f"it gave {brief(given)}, and no mapping of turns to measures")
    values: dict[str, dict[str, float]] = {}
    unusable: dict[str, None] = {}
    for turn_id, measures in given.items():
        if turn_id not in turn_ids or not isinstance(measures, Mapping):
            unusable[f"{brief(turn_id)}: {brief(measures)}"] = None
            continue
        values[turn_id] = {}
        for measure, value in measures.items():
            if not isinstance(measure, str) or not isinstance(value, Real) or not isfinite(value):
                unusable[f"{measure} of {turn_id}: {brief(value)}"] = None
            else:
                values[turn_id][measure] = float(value)
    reason = f"{len(unusable)} of its values are no numbers of turns of this run, and left out"
    return values, [f"{reason} ({'; '.join([*unusable][:3])})"] if unusable else []


def _is_compared(metric: Metrics, values: Values) -> bool:
    """Whether a turn was compared with the truth: it has the metric's main measure, where that is
    known.
    """
    main = next(iter(metric.list_measures()), None)
    return any(measures if main is None else main in measures for measures in values.values())


def _describe_silence(place: str, metric: Metrics) -> str:
    """Say that a metric measured nothing, and why if it knows."""
    if gap := metric.explain_gap():
        measures = list(metric.list_measures())[:1] or ["its measure"]
        return f"{measures[0]} is not measured ({place}): {gap}."
    needed = (
        ", or ".join(_NEEDED[part] for part in metric.reads if part in _NEEDED)
        or "what it measures"
    )
    return f"{place} had nothing to measure: no turn has {needed}."


def check_report(report: object) -> Report:
    """Return a report whose lines, numbers and files can be written. Raises ConvragError, which
    says what cannot.
    """
    if not isinstance(report, Report):
        raise ConvragError(f"its report is {brief(report)}, and no convrag.Report")
    title = f"its report {brief(report.title)}"
    texts = [report.title, *report.lines, *report.files, *dict(report.files).values()]
    if isinstance(report.lines, str) or not all(isinstance(text, str) for text in texts):
        raise ConvragError(
            f"{title}: title, lines and files must be texts, and lines a tuple of them"
        )
    if not isinstance(report.numbers, Mapping):
        raise ConvragError(
            f"the numbers of {title} must be plain data by name, not {brief(report.numbers)}"
        )
    return report


def keep_sound(reports: Iterable[Report]) -> list[Report]:
    """The reports that can be written; a warning says what is wrong with the others."""
    sound = []
    for report in reports:
        try:
            sound.append(check_report(report))
        except ConvragError as error:
            log.warning("a report was left out: %s", error)
    return sound


def join_reports(reports: Iterable[Report]) -> list[Report]:
    """Join reports with the same title: their lines (each once), numbers and files, in order."""
    joined: dict[str, Report] = {}
    for report in reports:
        before = joined.get(report.title, Report(report.title))
        joined[report.title] = Report(
            report.title,
            tuple(dict.fromkeys([*before.lines, *report.lines])),
            {**before.numbers, **report.numbers},
            {**before.files, **report.files},
        )
    return list(joined.values())
