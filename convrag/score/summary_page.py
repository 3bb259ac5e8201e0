"""A run's summary as people read it: as a page of Markdown, and as a table and sentences on the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from math import isnan, nan
from typing import TYPE_CHECKING

from convrag.api.groups import OPTION_KEY
from convrag.api.records import Run, RunSummary, Slice, Usage
from convrag.score.summary import OVERALL

if TYPE_CHECKING:
    from rich.table import Table


def rows(summary: RunSummary) -> tuple[list[str], list[list[str]]]:
    """The table of scores: a heading, then a row for each measure, with a column for each domain and for all of them.

    Beside the latter stands its 95 % interval, where there is one.
    """
    places = [*summary.domains, OVERALL] if len(summary.domains) > 1 else list(summary.domains)
    scores = {**summary.domains, OVERALL: summary.overall}
    counts = ["scored turns", *(str(summary.scored[place]) for place in places)]
    body = [[measure, *(_number(scores[place], measure) for place in places)] for measure in summary.overall]
    heading = ["", *places]
    if summary.intervals:
        heading.append("95 % interval")
        counts.append("")
        body = [[*row, _interval(summary, row[0])] for row in body]
    return heading, [counts, *body] if body else []


def slice_rows(slices: Mapping[str, Slice]) -> list[list[str]]:
    """The scores by turn position or by a label: a heading, then a row for each value, a column for each measure."""
    measures = list(dict.fromkeys(name for part in slices.values() for name in part.scores))
    body = [
        [value, str(part.turns), *(_number(part.scores, measure) for measure in measures)]
        for value, part in slices.items()
    ]
    return [["", "scored turns", *measures], *body]


def remarks(run: Run, summary: RunSummary) -> list[str]:
    """What a reader must know beside the scores, in sentences."""
    lines = [f"{run.conversations} conversations, {summary.turns} turns, {summary.seconds:.1f} s."]
    if summary.stopped:
        when = f" after {summary.turns} of {run.turns} turns" if summary.turns < run.turns else " with its turns done"
        lines.append(f"The run stopped{when}: {summary.stopped}")
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
        f"* {group}: {node[OPTION_KEY]}{_time_of(group, summary)}"
        for group, node in run.config.items()
        if isinstance(node, Mapping) and OPTION_KEY in node
    ]
    usage = _page_table(usage_rows(summary))
    said = [f"* {line}" for line in remarks(run, summary)]
    parts = [["# Summary of a run"], scores, said, usage, ["Stages:", "", *chosen]]
    for name, slices in summary.slices.items():
        parts += [[f"## By {name.replace('_', ' ')}"], _page_table(slice_rows(slices))]
    return "\n\n".join("\n".join(part) for part in parts if part)


def _number(scores: Mapping[str, float], measure: str) -> str:
    return f"{scores[measure]:.3f}" if measure in scores else ""


def _interval(summary: RunSummary, measure: str) -> str:
    low, high = summary.intervals.get(measure, (nan, nan))
    return "" if isnan(low) else f"{low:.3f} to {high:.3f}"


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
