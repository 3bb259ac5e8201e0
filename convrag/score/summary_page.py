"""The summary of a run for people: a Markdown page, and a table and remarks for the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from math import isnan, nan
from typing import TYPE_CHECKING

from convrag.api.groups import OPTION_KEY
from convrag.api.records import Run, RunSummary, Slice, Usage
from convrag.score.scoring import TOO_FEW
from convrag.score.summary import OVERALL, describe_ending
from convrag.sdk.output.printable import count, format_line, format_table

if TYPE_CHECKING:
    from rich.table import Table

STYLES = {"failed": "red", "partial": "yellow"}
"""State of a run that is not whole -> its style on the terminal."""

ADVICE = "The same command asks again only for what is missing."
"""What to do about a partial run, where the command makes one."""


def make_score_rows(summary: RunSummary) -> tuple[list[str], list[list[str]]]:
    """Make the heading and the rows of the table of scores: a row for each measure, a column for
    each domain.

    A single domain's column is headed "score". Two more columns have the scores of all domains (if
    there are several) and their 95 % intervals (if there are any).
    """
    several = len(summary.domains) > 1
    places = [*summary.domains, OVERALL] if several else list(summary.domains)
    scores = {**summary.domains, OVERALL: summary.overall}
    counts = ["scored turns", *(str(summary.scored[place]) for place in places)]
    body = [
        [measure, *(_format_score(scores[place], measure) for place in places)]
        for measure in summary.overall
    ]
    heading = ["", *(places if several else ["score"] * len(places))]
    if summary.intervals:
        heading.append("95 % interval")
        counts.append("")
        body = [[*row, _format_interval(summary, row[0])] for row in body]
    return heading, [counts, *body] if body else []


def make_slice_rows(slices: Mapping[str, Slice]) -> list[list[str]]:
    """Make the table of scores by turn position or label: a heading, then a row for each value."""
    measures = list(dict.fromkeys(name for part in slices.values() for name in part.scores))
    body = [
        [value, str(part.turns), *(_format_score(part.scores, measure) for measure in measures)]
        for value, part in slices.items()
    ]
    return [["", "scored turns", *measures], *body]


def list_remarks(run: Run, summary: RunSummary) -> list[str]:
    """List what a reader of the scores must know, in sentences: counts, failures, usage, reports
    and notes.
    """
    lines = (
        ["An earlier run of this command left these results; its times and calls follow."]
        if run.reused
        else []
    )
    lines.append(
        f"{run.conversations} conversations, {summary.turns} turns, {summary.seconds:.1f} s."
    )
    if summary.judged or summary.referenced:
        lines.append(_describe_truth(summary))
    if summary.stopped:
        lines.append(
            f"The run stopped after {summary.turns} of {run.turns} turns: {summary.stopped}"
        )
    if summary.failed:
        lines.append(
            f"{count(summary.failed, 'turn')} failed; each has its `error` in intermediate/."
        )
    if summary.fallbacks:
        counts = ", ".join(f"{stage} {count}" for stage, count in summary.fallbacks.items())
        lines.append(f"Turns in which a stage fell back: {counts}.")
    if without := [measure for measure in summary.overall if measure not in summary.intervals]:
        of = "" if len(without) == len(summary.overall) else f" of {', '.join(without)}"
        lines.append(f"No 95 % intervals{of}: {TOO_FEW}.")
    lines += [f"metrics.{name}: {reason}." for name, reason in summary.failed_metrics.items()]
    lines.append(_describe_usage(sum(summary.usage.values(), Usage())))
    lines += list_cut_replies(summary.usage)
    reported = [line for report in summary.reports.values() for line in report["lines"]]
    return [*lines, *reported, *run.notes]


def _describe_truth(summary: RunSummary) -> str:
    """Describe what the turns are compared with: "45 of 49 turns have relevance judgements, 49
    reference answers.".
    """
    judged, referenced = summary.judged or 0, summary.referenced or 0
    verb = "has" if judged == 1 else "have"
    answers = count(referenced, "reference answer")
    return f"{judged} of {count(summary.turns, 'turn')} {verb} relevance judgements, {answers}."


def _describe_usage(total: Usage) -> str:
    """Describe the usage of all stages in a sentence."""
    cached = f" ({total.cached_tokens:,} cached by the provider)" if total.cached_tokens else ""
    failed = f" ({total.failed} of them failed)" if total.failed else ""
    parts = [
        f"Stage calls: {total.calls} made{failed}, {total.reused} reused",
        f"{total.prompt_tokens:,} prompt{cached} and {total.completion_tokens:,} completion tokens"
        if total.tokens
        else "",
        f"${total.spent_usd:.4f} spent" if total.spent_usd else "",
        f"${total.cost_usd:.4f} with what was reused" if total.cost_usd > total.spent_usd else "",
        f"{total.unpriced} replies of unknown price" if total.unpriced else "",
        f"{total.retries} retries" if total.retries else "",
    ]
    return f"{'; '.join(part for part in parts if part)}."


def list_cut_replies(usage: Mapping[str, Usage]) -> list[str]:
    """List, in sentences, how many replies were cut at max_tokens or by a content filter, and what
    to do.
    """
    lines = []
    for counter, end, advice in (
        ("cut", "cut at max_tokens", "raise llm.max_tokens, or the stage's own"),
        ("filtered", "ended by the provider's content filter", "try another model"),
    ):
        counts = {
            stage: number for stage, spent in usage.items() if (number := getattr(spent, counter))
        }
        if total := sum(counts.values()):
            stages = ", ".join(f"{stage} {number}" for stage, number in counts.items())
            lines.append(
                f"{total} {'reply was' if total == 1 else 'replies were'} {end} ({stages}): {advice}."
            )
    return lines


def make_usage_rows(summary: RunSummary) -> list[list[str]]:
    """Make the table of LLM usage: a heading, then a row for each stage that called one; an unknown
    price is "?".
    """
    heading = [
        "stage",
        "calls",
        "reused",
        "prompt tokens",
        "cached",
        "completion tokens",
        "cost USD",
        "spent USD",
    ]
    body = []
    for stage, usage in summary.usage.items():
        if usage.prompt_tokens or usage.retries or usage.spent_usd:
            costs = [
                _format_cost(value, usage.unpriced) for value in (usage.cost_usd, usage.spent_usd)
            ]
            counts = [
                usage.calls,
                usage.reused,
                usage.prompt_tokens,
                usage.cached_tokens,
                usage.completion_tokens,
            ]
            times = [f"{usage.seconds:.1f}", str(usage.retries)]
            body.append([stage, *(f"{number:,}" for number in counts), *costs, *times])
    return [[*heading, "seconds", "retries"], *body] if body else []


def format_markdown(run: Run, summary: RunSummary) -> str:
    """Format the summary as a page: the scores, the remarks, the usage, the chosen stages with
    their times, slices.
    """
    heading, body = make_score_rows(summary)
    scores = format_table([heading, *body]) if body else []
    chosen = [
        f"* {group}: {format_line(str(node[OPTION_KEY]))}{_format_time(group, summary)}"
        for group, node in run.config.items()
        if isinstance(node, Mapping) and OPTION_KEY in node
    ]
    usage = format_table(make_usage_rows(summary))
    ending = [describe_ending(summary)] if summary.state != "ok" else []
    remarks = [f"* {format_line(line)}" for line in [*ending, *list_remarks(run, summary)]]
    parts = [["# Summary of a run"], scores, remarks, usage, ["Stages:", "", *chosen]]
    for name, slices in summary.slices.items():
        parts += [[f"## By {name.replace('_', ' ')}"], format_table(make_slice_rows(slices))]
    return "\n\n".join("\n".join(part) for part in parts if part)


def _format_score(scores: Mapping[str, float], measure: str) -> str:
    return f"{scores[measure]:.3f}" if measure in scores else ""


def _format_interval(summary: RunSummary, measure: str) -> str:
    low, high = summary.intervals.get(measure, (nan, nan))
    return "" if isnan(low) else f"{low:.3f} to {high:.3f}"


def _format_cost(value: float, unpriced: int) -> str:
    known = f"{value:.4f}" if value or not unpriced else ""
    return " + ".join(filter(None, [known, "?" if unpriced else ""]))


def _format_time(stage: str, summary: RunSummary) -> str:
    seconds = summary.timings.get(stage)
    return (
        f" ({1000 * seconds / max(summary.turns, 1):.1f} ms a turn)" if seconds is not None else ""
    )


def print_summary(
    run: Run, summary: RunSummary, *lines: str, table: bool = True, advice: str = ""
) -> None:
    """Print the scores, the remarks, further lines, and at the end how the run ended if not well,
    with advice.
    """
    from convrag.sdk.output.console import make_console

    console = make_console()
    if table and summary.overall:
        console.print(make_table(summary))
    for line in [*list_remarks(run, summary), f"Results: {run.folder}", *lines]:
        console.print(line, soft_wrap=True)
    if ending := describe_ending(summary):
        console.print(f"{ending} {advice}".rstrip(), style=STYLES[summary.state], soft_wrap=True)


def make_table(summary: RunSummary, meanings: Mapping[str, str] | None = None) -> Table:
    """Make the table of scores for the terminal; with meanings of the measures, these are its last
    column.
    """
    from rich.table import Table

    heading, body = make_score_rows(summary)
    table = Table()
    for index, name in enumerate(heading):
        table.add_column(name, justify="left" if index == 0 else "right", no_wrap=bool(meanings))
    if meanings is not None:
        table.add_column("what it says")
        body = [[*row, meanings.get(row[0], "")] for row in body[1:]]  # without the number of turns
    for row in body:
        table.add_row(*row)
    return table
