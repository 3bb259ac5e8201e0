"""What a run came to: means and counts, as data."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from convrag.errors import DataError
from convrag.types import Report, RunSummary, TurnRecord, Usage

OVERALL = "overall"


def summarize(
    records: Iterable[TurnRecord],
    measured: Sequence[Mapping[str, Mapping[str, float]]],
    reports: Sequence[Report] = (),
    seconds: float = 0.0,
    stopped: str = "",
) -> RunSummary:
    """Average the measures over all scored turns and per domain (so domains weigh by their turns); count the rest.

    Args:
        records: those of the run.
        measured: what each metric gave, turn id -> measure -> value.
        reports: what plugins say about the run.
        seconds: duration of the run.
        stopped: why it ended before its last turn, if it did.
    """
    means = _Means()
    turns: Counter[str] = Counter()
    usage: dict[str, Usage] = defaultdict(Usage)
    timings: dict[str, float] = defaultdict(float)
    for record in records:
        turns["all"] += 1
        turns["failed"] += bool(record.error)
        turns.update(f"fallback {stage}" for stage in record.fallbacks)
        for stage, spent in record.usage.items():
            usage[stage] += spent
        for stage, took in record.timings.items():
            timings[stage] += took
        means.add(record.domain, _scores_of(record, measured))
    return RunSummary(
        overall=means.of(OVERALL),
        domains={domain: means.of(domain) for domain in means.domains()},
        scored={place: means.scored[place] for place in (OVERALL, *means.domains())},
        turns=turns["all"],
        failed=turns["failed"],
        fallbacks={key.removeprefix("fallback "): n for key, n in sorted(turns.items()) if key.startswith("fallback ")},
        usage=dict(usage),
        timings={stage: round(total, 6) for stage, total in timings.items()},
        seconds=round(seconds, 3),
        reports={report.title: {"lines": report.lines, **report.numbers} for report in reports},
        stopped=stopped,
    )


def score_lines(records: Iterable[TurnRecord], measured: Sequence[Mapping[str, Mapping[str, float]]]) -> Iterator[str]:
    """A line of JSON for each turn that has scores: who it is, and its `scores` by measure."""
    for record in records:
        if scores := _scores_of(record, measured):
            who = {"turn_id": record.turn_id, "conversation_id": record.conversation_id, "domain": record.domain}
            yield json.dumps({**who, "turn": record.number, "scores": scores})


def _scores_of(record: TurnRecord, measured: Sequence[Mapping[str, Mapping[str, float]]]) -> dict[str, float]:
    return {name: value for metric in measured for name, value in metric.get(record.turn_id, {}).items()}


def read_summary(path: Path) -> RunSummary:
    """A run's metrics.json. Raises DataError where it is none."""
    try:
        row = json.loads(path.read_text(encoding="utf-8"))
        row["usage"] = {stage: Usage(**usage) for stage, usage in row["usage"].items()}
        return RunSummary(**row)
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise DataError(f"these are no metrics of a run ({error!r})", path=path) from error


class _Means:
    """Running sums by place (a domain, or overall) and measure."""

    def __init__(self) -> None:
        self.scored: Counter[str] = Counter()
        self._values: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))

    def add(self, domain: str, scores: Mapping[str, float]) -> None:
        for place in (OVERALL, domain) if scores else ():
            self.scored[place] += 1
            for measure, value in scores.items():
                self._values[place][measure].append(value)

    def domains(self) -> list[str]:
        return [place for place in self._values if place != OVERALL]

    def of(self, place: str) -> dict[str, float]:
        return {measure: sum(values) / len(values) for measure, values in self._values[place].items()}
