"""The summary of a run as data: scores, counts, and usage and times added up."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from convrag.api.errors import DataError
from convrag.api.records import Report, RunSummary, TurnRecord, Usage
from convrag.api.rows import describe_first_problem
from convrag.score.exclusion import find_exclusion
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
        scores: the scores of its turns. Means are over turns, so a domain counts with the number of
            its turns.
        reports: the reports on the run.
        measuring: the metrics' calls of language models, by metric.
        seconds: the duration of the run.
        stopped: why the run ended early; empty if it did not.
        failed_metrics: metric -> why it has no values, or not all.
    """
    totals = _Totals()
    for record in records:
        totals.add(record)
    overall = scores.score_all()
    domains = scores.score_domains()
    scored = {OVERALL: overall.turns} | {name: part.turns for name, part in domains.items()}
    return RunSummary(
        overall=overall.scores,
        domains={name: part.scores for name, part in domains.items()},
        scored=scored,
        turns=totals.turns,
        failed=totals.failed,
        fallbacks=dict(sorted(totals.fallbacks.items())),
        usage={**totals.usage, **(measuring or {})},
        timings={stage: round(total, 6) for stage, total in totals.timings.items()},
        seconds=round(seconds, 3),
        reports={report.title: {"lines": report.lines, **report.numbers} for report in reports},
        stopped=stopped,
        intervals=scores.compute_intervals(),
        slices=scores.score_slices(),
        always_fell_back=tuple(sorted(totals.fallbacks.keys() - totals.working_stages)),
        main_measures=scores.find_main_measures(),
        failed_metrics={**(failed_metrics or {}), **scores.faults},
        judged=totals.judged,
        referenced=totals.referenced,
        excluded=dict(sorted(totals.excluded.items())),
    )


@dataclass
class _Totals:
    """Counts, usage and times over the turns of a run."""

    turns: int = 0
    failed: int = 0
    judged: int = 0
    referenced: int = 0
    excluded: Counter[str] = field(default_factory=Counter)
    fallbacks: Counter[str] = field(default_factory=Counter)
    working_stages: set[str] = field(default_factory=set)
    """The stages that did their work in some turn."""
    usage: dict[str, Usage] = field(default_factory=lambda: defaultdict(Usage))
    timings: dict[str, float] = field(default_factory=lambda: defaultdict(float))

    def add(self, record: TurnRecord) -> None:
        """Add a turn."""
        self.turns += 1
        self.failed += bool(record.error)
        self.judged += bool(record.gold)
        self.referenced += bool(record.reference)
        reason = find_exclusion(record)
        if reason:
            self.excluded[reason] += 1
        self.fallbacks.update(record.fallbacks.keys())
        for stage, spent in record.usage.items():
            self.usage[stage] += spent
        for stage, seconds in record.timings.items():
            self.timings[stage] += seconds
            if _did_its_work(record, stage):
                self.working_stages.add(stage)


def _did_its_work(record: TurnRecord, stage: str) -> bool:
    """Return whether a stage had something to do in a turn, and did it.

    A rewriter that leaves the first question of a conversation as it is, without a call, had
    nothing to do; nor had a memory in the first turn, or a reranker, selector or generator without
    passages.
    """
    if stage in record.fallbacks:
        return False
    usage = record.usage.get(stage, Usage())
    if usage.calls > usage.failed or usage.reused:
        return True
    if stage == "rewriter":
        return [query.text for query in record.queries] not in ([], [record.original_query])
    if stage == "memory":
        return record.number > 1
    if stage in ("reranker", "selector", "generator"):
        return bool(record.hits)
    return True


def format_score_lines(scores: Scores) -> Iterator[str]:
    """Yield a line of JSON for each scored turn, with its ids and its `scores` by measure."""
    for turn in scores.turns:
        row = {
            "turn_id": turn.turn_id,
            "conversation_id": turn.conversation_id,
            "domain": turn.domain,
            "turn": turn.number,
            "scores": turn.scores,
        }
        yield format_json(row)


def format_summary(summary: RunSummary) -> str:
    """Format a summary as metrics.json, with its state."""
    return format_json({"state": summary.state, **asdict(summary)}, indent=2)


def read_summary(path: Path) -> RunSummary:
    """Read a run's metrics.json.

    Raises:
        DataError: it cannot be read; the message names the field that is missing or not valid.
    """
    from pydantic import TypeAdapter, ValidationError

    try:
        row = parse_json(path.read_text(encoding="utf-8"))
        if isinstance(row, dict):
            row.pop("state", None)  # follows from the rest; early versions did not write it
        return TypeAdapter(RunSummary).validate_python(row)
    except ValidationError as error:
        reason = describe_first_problem(error)
        raise DataError(f"these are no metrics of a run ({reason})", path=path) from error
    except (OSError, ValueError) as error:
        raise DataError(f"these are no metrics of a run ({error})", path=path) from error
