"""The summary of a run as data: scores, counts, usage and times."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from convrag.api.errors import DataError
from convrag.api.records import Report, RunSummary, Slice, TurnRecord, Usage
from convrag.score.endings import FallbackCounter
from convrag.score.scoring import Scores

OVERALL = "overall"


def summarize(
    records: Iterable[TurnRecord],
    scores: Scores,
    reports: Sequence[Report] = (),
    *,
    measuring: Mapping[str, Usage] | None = None,
    seconds: float = 0.0,
    stopped: str = "",
    failed_metrics: Mapping[str, str] | None = None,
) -> RunSummary:
    """Summarize a run.

    Args:
        records: the records of the run.
        scores: the scores of its turns. Means are over turns, so a domain counts with the number of its turns.
        reports: the reports on the run.
        measuring: the metrics' calls of language models, by metric.
        seconds: the duration of the run.
        stopped: why the run ended early; empty if it did not.
        failed_metrics: metric -> why it has no values, or not all.
    """
    turns, failed = 0, 0
    fallbacks = FallbackCounter()
    usage: dict[str, Usage] = defaultdict(Usage)
    timings: dict[str, float] = defaultdict(float)
    for record in records:
        turns += 1
        failed += bool(record.error)
        fallbacks.add(record)
        for stage, spent in record.usage.items():
            usage[stage] += spent
        for stage, stage_seconds in record.timings.items():
            timings[stage] += stage_seconds
    domains = {OVERALL: scores.score_all(), **scores.score_domains()}
    return RunSummary(
        overall=domains[OVERALL].scores,
        domains={domain: part.scores for domain, part in domains.items() if domain != OVERALL},
        scored={place: part.turns for place, part in domains.items()},
        turns=turns,
        failed=failed,
        fallbacks=dict(sorted(fallbacks.counts.items())),
        usage={**usage, **(measuring or {})},
        timings={stage: round(total, 6) for stage, total in timings.items()},
        seconds=round(seconds, 3),
        reports={report.title: {"lines": report.lines, **report.numbers} for report in reports},
        stopped=stopped,
        intervals=scores.compute_intervals(),
        slices=scores.score_slices(),
        always_fell_back=fallbacks.find_always(),
        failed_metrics=failed_metrics or {},
        main_measures=scores.find_main_measures(),
    )


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


def format_score_lines(scores: Scores) -> Iterator[str]:
    """Yield a line of JSON for each scored turn: its ids, domain and position, and its `scores` by measure."""
    for turn in scores.turns:
        ids = {"turn_id": turn.turn_id, "conversation_id": turn.conversation_id, "domain": turn.domain}
        yield json.dumps({**ids, "turn": turn.number, "scores": turn.scores})


def format_summary(summary: RunSummary) -> str:
    """Format a summary as metrics.json, with its state."""
    return json.dumps({"state": summary.state, **asdict(summary)}, indent=2)


def read_summary(path: Path) -> RunSummary:
    """Read a run's metrics.json. Raises DataError if it is not valid."""
    try:
        row = json.loads(path.read_text(encoding="utf-8"))
        row.pop("state", None)  # follows from the rest; early versions did not write it
        for name in ("always_fell_back", "main_measures"):
            row[name] = tuple(row.get(name, ()))
        row["usage"] = {stage: Usage(**usage) for stage, usage in row["usage"].items()}
        row["intervals"] = {measure: (low, high) for measure, (low, high) in row["intervals"].items()}
        row["slices"] = {
            name: {value: Slice(**part) for value, part in parts.items()} for name, parts in row["slices"].items()
        }
        return RunSummary(**row)
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise DataError(f"these are no metrics of a run ({error!r})", path=path) from error
