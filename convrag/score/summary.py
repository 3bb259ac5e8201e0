"""The summary of a run as data: scores, counts, usage and times; and how it ended, in words."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from convrag.api.errors import DataError
from convrag.api.records import Report, RunSummary, TurnRecord, Usage
from convrag.api.rows import describe_first_problem
from convrag.score.scoring import Scores
from convrag.sdk.output.printable import count
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
    turns, failed, judged, referenced = 0, 0, 0, 0
    fallbacks: Counter[str] = Counter()
    worked: set[str] = set()
    usage: dict[str, Usage] = defaultdict(Usage)
    timings: dict[str, float] = defaultdict(float)
    for record in records:
        turns += 1
        failed += bool(record.error)
        judged += bool(record.gold)
        referenced += bool(record.reference)
        fallbacks.update(record.fallbacks.keys())
        worked.update(stage for stage in record.timings if _did_its_work(record, stage))
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
        fallbacks=dict(sorted(fallbacks.items())),
        usage={**usage, **(measuring or {})},
        timings={stage: round(total, 6) for stage, total in timings.items()},
        seconds=round(seconds, 3),
        reports={report.title: {"lines": report.lines, **report.numbers} for report in reports},
        stopped=stopped,
        intervals=scores.compute_intervals(),
        slices=scores.score_slices(),
        always_fell_back=tuple(sorted(fallbacks.keys() - worked)),
        main_measures=scores.find_main_measures(),
        failed_metrics={**(failed_metrics or {}), **scores.faults},
        judged=judged,
        referenced=referenced,
    )


def format_score_lines(scores: Scores) -> Iterator[str]:
    """Yield a line of JSON for each scored turn: its ids, domain and position, and its `scores` by
    measure.
    """
    for turn in scores.turns:
        ids = {
            "turn_id": turn.turn_id,
            "conversation_id": turn.conversation_id,
            "domain": turn.domain,
        }
        yield format_json({**ids, "turn": turn.number, "scores": turn.scores})


def format_summary(summary: RunSummary) -> str:
    """Format a summary as metrics.json, with its state."""
    return format_json({"state": summary.state, **asdict(summary)}, indent=2)


def read_summary(path: Path) -> RunSummary:
    """Read a run's metrics.json. Raises DataError, which names the field that is missing or has
    another form.
    """
    from pydantic import TypeAdapter, ValidationError

    try:
        row = parse_json(path.read_text(encoding="utf-8"))
        if isinstance(row, dict):
            row.pop("state", None)  # follows from the rest; early versions did not write it
        return TypeAdapter(RunSummary).validate_python(row)
    except ValidationError as error:
        raise DataError(
            f"these are no metrics of a run ({describe_first_problem(error)})", path=path
        ) from error
    except (OSError, ValueError) as error:
        raise DataError(f"these are no metrics of a run ({error})", path=path) from error


def _did_its_work(record: TurnRecord, stage: str) -> bool:
    """Whether a stage had something to do in a turn, and did it.

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
    return stage not in ("reranker", "selector", "generator") or bool(record.hits)


def describe_gaps(summary: RunSummary) -> str:
    """What a run lacks: "3 of 49 turns failed; metrics.judge: 2 of its 40 calls failed"; empty if
    nothing.
    """
    return "; ".join(_list_gaps(summary))


def _list_gaps(summary: RunSummary) -> Iterator[str]:
    if summary.stopped:
        yield f"stopped after {count(summary.turns, 'turn')} ({summary.stopped})"
    if summary.failed:
        yield f"{summary.failed} of {count(summary.turns, 'turn')} failed"
    for stage in summary.always_fell_back:
        turns = summary.fallbacks[stage]
        yield f"the {stage} fell back in {'the one turn' if turns == 1 else f'all {turns} turns'} that it was needed in"
    for name, reason in summary.failed_metrics.items():
        yield f"metrics.{name}: {reason}"


def describe_ending(summary: RunSummary) -> str:
    """A sentence on how a run ended if not well; empty for a whole one."""
    if summary.state == "ok":
        return ""
    gaps = describe_gaps(summary) or "no turn was run"
    return f"This run {_STATES[summary.state]}: {gaps}."


_STATES = {"partial": "is partial", "failed": "failed"}


def label_state(summary: RunSummary) -> str:
    """A run's state for a table, with counts: "partial: 3/49 failed, rewriter fell back"."""
    parts = [f"{summary.failed}/{summary.turns} failed"] if summary.failed else []
    parts += [f"{stage} fell back" for stage in summary.always_fell_back]
    parts += ["stopped"] if summary.stopped else []
    parts += [f"metrics.{name}" for name in summary.failed_metrics]
    return f"{summary.state}: {', '.join(parts)}" if summary.state == "partial" else summary.state
