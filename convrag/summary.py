"""What a run came to: means and counts, as data, as Markdown, and as a table on the terminal."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from convrag.errors import DataError
from convrag.options import MARK
from convrag.types import Report, Run, RunSummary, TurnRecord, Usage

if TYPE_CHECKING:
    from rich.table import Table

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


def rows(summary: RunSummary) -> tuple[list[str], list[list[str]]]:
    """The table of scores: a heading, then a row for each measure with a column for each domain and for all of them."""
    places = [*summary.domains, OVERALL] if len(summary.domains) > 1 else list(summary.domains)
    scores = {**summary.domains, OVERALL: summary.overall}
    counts = ["scored turns", *(str(summary.scored[place]) for place in places)]
    body = [
        [measure, *(f"{scores[place][measure]:.3f}" if measure in scores[place] else "" for place in places)]
        for measure in summary.overall
    ]
    return ["", *places], [counts, *body] if body else []


def remarks(run: Run, summary: RunSummary) -> list[str]:
    """What a reader must know beside the scores, in sentences."""
    lines = [f"{run.conversations} conversations, {summary.turns} turns, {summary.seconds:.1f} s."]
    if summary.stopped:
        lines.append(f"The run stopped after {summary.turns} of {run.turns} turns: {summary.stopped}")
    if summary.failed:
        lines.append(f"{summary.failed} turns failed; each has its `error` in intermediate/.")
    if summary.fallbacks:
        counts = ", ".join(f"{stage} {count}" for stage, count in summary.fallbacks.items())
        lines.append(f"Turns in which a stage fell back: {counts}.")
    lines.append(_calls(sum(summary.usage.values(), Usage())))
    reported = [line for report in summary.reports.values() for line in report["lines"]]
    return [*lines, *reported, *run.notes]


def _calls(total: Usage) -> str:
    """What all calls took, in a sentence."""
    cached = f" ({total.cached_tokens:,} cached by the provider)" if total.cached_tokens else ""
    parts = [
        f"Stage calls: {total.calls} made, {total.reused} reused",
        f"{total.prompt_tokens:,} prompt{cached} and {total.completion_tokens:,} completion tokens",
        f"${total.spent_usd:.4f} spent" if total.spent_usd else "",
        f"${total.cost_usd:.4f} with what was reused" if total.cost_usd > total.spent_usd else "",
        f"{total.unpriced} replies of unknown price" if total.unpriced else "",
        f"{total.retries} retries" if total.retries else "",
    ]
    return f"{'; '.join(part for part in parts if part)}."


def usage_rows(summary: RunSummary) -> list[list[str]]:
    """What language models took, a row for each stage that asked one; a price that nobody knows is a question mark."""
    heading = ["stage", "calls", "reused", "prompt tokens", "cached", "completion tokens", "cost USD", "spent USD"]
    body = []
    for stage, usage in summary.usage.items():
        if usage.prompt_tokens or usage.retries or usage.spent_usd:
            money = [_money(value, usage.unpriced) for value in (usage.cost_usd, usage.spent_usd)]
            counts = [usage.calls, usage.reused, usage.prompt_tokens, usage.cached_tokens, usage.completion_tokens]
            took = [f"{usage.seconds:.1f}", str(usage.retries)]
            body.append([stage, *(f"{number:,}" for number in counts), *money, *took])
    return [[*heading, "seconds", "retries"], *body] if body else []


def markdown(run: Run, summary: RunSummary) -> str:
    """The summary as a page: the scores, the remarks, the stages that were chosen and the time that they took."""
    heading, body = rows(summary)
    scores = _page_table([heading, *body]) if body else []
    chosen = [
        f"* {group}: {node[MARK]}{_time_of(group, summary)}"
        for group, node in run.config.items()
        if isinstance(node, Mapping) and MARK in node
    ]
    usage = _page_table(usage_rows(summary))
    said = [f"* {line}" for line in remarks(run, summary)]
    parts = (["# Summary of a run"], scores, said, usage, ["Stages:", "", *chosen])
    return "\n\n".join("\n".join(part) for part in parts if part)


def _money(value: float, unpriced: int) -> str:
    known = f"{value:.4f}" if value or not unpriced else ""
    return " + ".join(filter(None, [known, "?" if unpriced else ""]))


def _page_table(lines: list[list[str]]) -> list[str]:
    """Rows, the first of them the heading, as Markdown; nothing for none."""
    ruled = [*lines[:1], ["---"] * len(lines[0]), *lines[1:]] if lines else []
    return [f"| {' | '.join(row)} |" for row in ruled]


def _time_of(stage: str, summary: RunSummary) -> str:
    took = summary.timings.get(stage)
    return f" ({1000 * took / max(summary.turns, 1):.1f} ms a turn)" if took is not None else ""


def table(summary: RunSummary) -> Table:
    """The scores for a terminal."""
    from rich.table import Table

    heading, body = rows(summary)
    result = Table()
    for index, name in enumerate(heading):
        result.add_column(name, justify="left" if index == 0 else "right")
    for row in body:
        result.add_row(*row)
    return result
