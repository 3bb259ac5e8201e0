"""Metrics measure the turns of a run; if one of them fails, only that one is missing."""

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
from convrag.score.exclusion import MeasuredTurns
from convrag.store.usage_meter import UsageMeter

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

    `failures` is metric -> the reason why it has no values, or not all.
    """

    values: dict[str, Values] = field(default_factory=dict)
    reports: list[Report] = field(default_factory=list)
    usage: Mapping[str, Usage] = field(default_factory=dict)
    replies: Sequence[tuple[Prompt, Completion]] = ()
    failures: dict[str, str] = field(default_factory=dict)


def check_measures_differ(metrics: Mapping[str, Metrics]) -> None:
    """Raise ConfigError if two metrics declare the same measure: one would hide the other."""
    owners: dict[str, str] = {}
    for name, metric in metrics.items():
        try:
            declared = list(metric.list_measures())
        except Exception as error:
            reason = describe_fault(error, type(metric), "list_measures")
            raise ConfigError(f"{GROUP}.{name}: {reason}") from error
        for measure in declared:
            owner = owners.setdefault(measure, name)
            if owner != name:
                raise ConfigError(
                    f"{GROUP}.{owner} and {GROUP}.{name} both measure {measure!r}: leave one of "
                    "them out, or give its measure another name"
                )


def measure(
    metrics: Mapping[str, Metrics], records: Iterable[TurnRecord], *, stand_in: str = ""
) -> MetricResults:
    """Measure the turns with each metric, in order.

    Turns that their generator leaves out (`convrag.score.exclusion`) reach no metric. Values that
    are not numbers are left out; `failures` says so.

    Args:
        metrics: the metrics by name.
        records: the records of the turns; they must allow several iterations.
        stand_in: the default metric for data sets without truths, if nobody chose the metrics. A
            metric that has nothing to measure is then not reported while one of the others has.
    """
    measuring = _Measuring(MeasuredTurns(records))
    for name, metric in metrics.items():
        measuring.add(name, metric)
    results = measuring.results
    if not stand_in or not _is_any_compared(metrics, results, stand_in):
        results.reports += measuring.silences
    results.usage = measuring.meter.usage
    results.replies = measuring.meter.replies
    return results


class _Measuring:
    """Collects the results of metrics.

    Args:
        records: the records of the turns.
    """

    def __init__(self, records: Iterable[TurnRecord]) -> None:
        self.results = MetricResults()
        self.meter = UsageMeter()
        self.silences: list[Report] = []
        """Reports on metrics that had nothing to measure."""
        self._records = records
        self._turn_ids = {record.turn_id for record in records}

    def add(self, name: str, metric: Metrics) -> None:
        """Let a metric measure the turns; the results say if that fails."""
        try:
            self._measure(name, metric)
        except Exception as error:
            problem = redact(describe_fault(error, type(metric), "measure"))
            self._note_problem(name, problem)
            cause = None if isinstance(error, ConvragError) else error
            log.warning("%s.%s failed: %s", GROUP, name, problem, exc_info=cause)

    def _measure(self, name: str, metric: Metrics) -> None:
        place = f"{GROUP}.{name}"
        with self.meter.measure_stage(place):
            given = metric.measure(self._records)
        values, problem = _check_values(given, self._turn_ids)
        self.results.values[name] = values
        if problem:
            self._note_problem(name, problem)
        usage = self.meter.usage.get(place, Usage())
        if usage.failed:
            calls = usage.calls + usage.reused
            self._note_problem(name, f"{usage.failed} of its {calls} calls failed")
        elif not problem and not any(values.values()):
            self.silences.append(Report(place, (_describe_silence(place, metric),)))
        if isinstance(given, Measurement) and given.report is not None:
            self.results.reports.append(check_report(given.report))

    def _note_problem(self, name: str, problem: str) -> None:
        earlier = self.results.failures.get(name)
        self.results.failures[name] = f"{earlier}; {problem}" if earlier else problem


def _is_any_compared(metrics: Mapping[str, Metrics], results: MetricResults, stand_in: str) -> bool:
    """Return whether a metric other than the stand-in has compared a turn with the truth."""
    return any(
        _is_compared(metrics[name], values)
        for name, values in results.values.items()
        if name != stand_in
    )


def _check_values(given: object, turn_ids: Set[str]) -> tuple[Values, str]:
    """Return the values of a metric that can be used, and a message about the others.

    Args:
        given: what the metric returned.
        turn_ids: the turns of the run.

    Raises:
        ConvragError: it is not a mapping.
    """
    if not isinstance(given, Mapping):
        raise ConvragError(f"it gave {brief(given)}, and no mapping of turns to measures")
    values: dict[str, dict[str, float]] = {}
    unusable: list[str] = []
    for turn_id, measures in given.items():
        if turn_id not in turn_ids or not isinstance(measures, Mapping):
            unusable.append(f"{brief(turn_id)}: {brief(measures)}")
            continue
        values[turn_id] = {}
        for measure, value in measures.items():
            if isinstance(measure, str) and isinstance(value, Real) and isfinite(value):
                values[turn_id][measure] = float(value)
            else:
                unusable.append(f"{measure} of {turn_id}: {brief(value)}")
    return values, _describe_unusable(list(dict.fromkeys(unusable)))


def _describe_unusable(unusable: Sequence[str]) -> str:
    """Describe values that are left out, with some examples; empty if there are none."""
    if not unusable:
        return ""
    examples = "; ".join(unusable[:3])
    return (
        f"{len(unusable)} of its values are no numbers of turns of this run, and left out "
        f"({examples})"
    )


def _is_compared(metric: Metrics, values: Values) -> bool:
    """Return whether a turn was compared with the truth: it has the metric's main measure.

    Any measure will do if the main one is not known.
    """
    main = next(iter(metric.list_measures()), None)
    if main is None:
        return any(values.values())
    return any(main in measures for measures in values.values())


def _describe_silence(place: str, metric: Metrics) -> str:
    """Say that a metric measured nothing, and why if it knows."""
    gap = metric.explain_gap()
    if gap:
        measure = next(iter(metric.list_measures()), "its measure")
        return f"{measure} is not measured ({place}): {gap}."
    needed = [_NEEDED[part] for part in metric.reads if part in _NEEDED]
    missing = ", or ".join(needed) or "what it measures"
    return f"{place} had nothing to measure: no turn has {missing}."


def check_report(report: object) -> Report:
    """Return a report that can be written.

    Raises:
        ConvragError: it cannot be; the message says why.
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
    """Return the reports that can be written; a warning says what is wrong with the others."""
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
