"""The summary of a run as data: scores, counts, usage and times."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from convrag.api.errors import DataError
from convrag.api.records import Report, RunSummary, TurnRecord, Usage
from convrag.api.rows import describe_first_problem
from convrag.score.endings import FallbackCounter
from convrag.score.scoring import Scores
from convrag.store.json_text import format_json, parse_json

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
    turns, failed, judged, referenced = 0, 0, 0, 0
    fallbacks = FallbackCounter()
    usage: dict[str, Usage] = defaultdict(Usage)
    timings: dict[str, float] = defaultdict(float)
    for record in records:
        turns += 1
        failed += bool(record.error)
        judged += bool(record.gold)
        referenced += bool(record.reference)
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
        main_measures=scores.find_main_measures(),
        failed_metrics={**(failed_metrics or {}), **scores.faults},
        judged=judged,
        referenced=referenced,
    )


def format_score_lines(scores: Scores) -> Iterator[str]:
    """Yield a line of JSON for each scored turn: its ids, domain and position, and its `scores` by measure."""
    for turn in scores.turns:
        ids = {"turn_id": turn.turn_id, "conversation_id": turn.conversation_id, "domain": turn.domain}
        yield format_json({**ids, "turn": turn.number, "scores": turn.scores})


def format_summary(summary: RunSummary) -> str:
    """Format a summary as metrics.json, with its state."""
    return format_json({"state": summary.state, **asdict(summary)}, indent=2)


def read_summary(path: Path) -> RunSummary:
    """Read a run's metrics.json. Raises DataError, which names the field that is missing or has another form."""
    from pydantic import TypeAdapter, ValidationError

    try:
        row = parse_json(path.read_text(encoding="utf-8"))
        if isinstance(row, dict):
            row.pop("state", None)  # follows from the rest; early versions did not write it
        return TypeAdapter(RunSummary).validate_python(row)
    except ValidationError as error:
        raise DataError(f"these are no metrics of a run ({describe_first_problem(error)})", path=path) from error
    except (OSError, ValueError) as error:
        raise DataError(f"these are no metrics of a run ({error})", path=path) from error
