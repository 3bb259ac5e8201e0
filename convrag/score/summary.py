"""What a run came to: means and counts, as data."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from convrag.api.errors import DataError
from convrag.api.records import Report, RunSummary, Slice, TurnRecord, Usage
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
) -> RunSummary:
    """Count what happened, and say what the scores come to.

    Args:
        records: those of the run.
        scores: what the metrics gave them. Means are over turns, so domains weigh by their turns.
        reports: what plugins say about the run.
        measuring: what metrics asked of language models, by metric.
        seconds: duration of the run.
        stopped: why it ended early, if it did.
    """
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
    domains = {OVERALL: scores.overall(), **scores.by_domain()}
    return RunSummary(
        overall=domains[OVERALL].scores,
        domains={domain: part.scores for domain, part in domains.items() if domain != OVERALL},
        scored={place: part.turns for place, part in domains.items()},
        turns=turns["all"],
        failed=turns["failed"],
        fallbacks={key.removeprefix("fallback "): n for key, n in sorted(turns.items()) if key.startswith("fallback ")},
        usage={**usage, **(measuring or {})},
        timings={stage: round(total, 6) for stage, total in timings.items()},
        seconds=round(seconds, 3),
        reports={report.title: {"lines": report.lines, **report.numbers} for report in reports},
        stopped=stopped,
        intervals=scores.intervals(),
        slices=scores.slices(),
    )


def join_reports(reports: Iterable[Report]) -> list[Report]:
    """Reports of one title as one: their lines (each once), numbers and files, in order."""
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


def score_lines(scores: Scores) -> Iterator[str]:
    """A line of JSON for each turn that has scores: who it is, and its `scores` by measure."""
    for turn in scores.turns:
        who = {"turn_id": turn.turn_id, "conversation_id": turn.conversation_id, "domain": turn.domain}
        yield json.dumps({**who, "turn": turn.number, "scores": turn.scores})


def read_summary(path: Path) -> RunSummary:
    """A run's metrics.json. Raises DataError where it is none."""
    try:
        row = json.loads(path.read_text(encoding="utf-8"))
        row["usage"] = {stage: Usage(**usage) for stage, usage in row["usage"].items()}
        row["intervals"] = {measure: (low, high) for measure, (low, high) in row["intervals"].items()}
        row["slices"] = {
            name: {value: Slice(**part) for value, part in parts.items()} for name, parts in row["slices"].items()
        }
        return RunSummary(**row)
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise DataError(f"these are no metrics of a run ({error!r})", path=path) from error
