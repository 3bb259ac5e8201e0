"""The summary of a run for people: a Markdown page; a table and remarks for the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from math import isnan, nan
from typing import TYPE_CHECKING

from convrag.api.groups import OPTION_KEY
from convrag.api.records import Run, RunSummary, Slice, Usage
from convrag.score.bootstrap import TOO_FEW
from convrag.score.endings import describe_ending
from convrag.score.summary import OVERALL
from convrag.sdk.output.printable import count, format_line, format_table

if TYPE_CHECKING:
    from rich.table import Table

STYLES = {"failed": "red", "partial": "yellow"}
"""The style on the terminal of runs that are not whole, by their state."""

ADVICE = "The same command asks again only for what is missing."
"""Advice about a partial run, for commands that make runs."""


def make_score_rows(summary: RunSummary) -> tuple[list[str], list[list[str]]]:
    """Make the heading and the rows of the table of scores.

    There is a row for each measure and a column for each domain; the column of a single domain is
    headed "score". Two more columns have the scores of all domains (if there are several) and their
    95 % intervals (if there are any).
    """
    scores = dict(summary.domains)
    if len(summary.domains) > 1:
        scores[OVERALL] = summary.overall
        heading = ["", *scores]
    else:
        heading = ["", *("score" for _ in scores)]
    counts = ["scored turns", *(str(summary.scored[place]) for place in scores)]
    body = [
        [measure, *(_format_score(own, measure) for own in scores.values())]
        for measure in summary.overall
    ]
    if summary.intervals:
        heading.append("95 % interval")
        counts.append("")
        for row in body:
            row.append(_format_interval(summary, row[0]))
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
    """List what a reader of the scores must know, in sentences."""
    lines = []
    if run.reused:
        lines.append(
            "An earlier run of this command left these results; its times and calls follow."
        )
    lines += _list_counts(run, summary)
    lines += _list_missing_intervals(summary)
    lines += [f"metrics.{name}: {reason}." for name, reason in summary.failed_metrics.items()]
    lines.append(_describe_usage(sum(summary.usage.values(), Usage())))
    lines += list_cut_replies(summary.usage)
    for report in summary.reports.values():
        lines += report["lines"]
    return [*lines, *run.notes]


def _list_counts(run: Run, summary: RunSummary) -> list[str]:
    """List the counts of turns, of failures and of fallbacks."""
    turns = f"{run.conversations} conversations, {summary.turns} turns, {summary.seconds:.1f} s."
    lines = [turns]
    if summary.judged or summary.referenced:
        lines.append(_describe_truth(summary))
    for reason, number in summary.excluded.items():
        verb = "is" if number == 1 else "are"
        turns = f"{number} of {count(summary.turns, 'turn')} {verb}"
        lines.append(f"{turns} left out of every metric: {reason}.")
    if summary.stopped:
        lines.append(
            f"The run stopped after {summary.turns} of {run.turns} turns: {summary.stopped}"
        )
    if summary.failed:
        failed = count(summary.failed, "turn")
        lines.append(f"{failed} failed; each has its `error` in intermediate/.")
    if summary.fallbacks:
        counts = ", ".join(f"{stage} {number}" for stage, number in summary.fallbacks.items())
        lines.append(f"Turns in which a stage fell back: {counts}.")
    return lines


def _list_missing_intervals(summary: RunSummary) -> list[str]:
    """Say which measures have no interval."""
    without = [measure for measure in summary.overall if measure not in summary.intervals]
    if not without:
        return []
    if len(without) == len(summary.overall):
        return [f"No 95 % intervals: {TOO_FEW}."]
    return [f"No 95 % intervals of {', '.join(without)}: {TOO_FEW}."]


def _describe_truth(summary: RunSummary) -> str:
    """Describe what turns are compared with: "45 of 49 turns have relevance judgements, ..."."""
    judged = summary.judged or 0
    verb = "has" if judged == 1 else "have"
    answers = count(summary.referenced or 0, "reference answer")
    return f"{judged} of {count(summary.turns, 'turn')} {verb} relevance judgements, {answers}."


def _describe_usage(total: Usage) -> str:
    """Describe the usage of all stages in a sentence."""
    failed = f" ({total.failed} of them failed)" if total.failed else ""
    parts = [f"Stage calls: {total.calls} made{failed}, {total.reused} reused"]
    if total.tokens:
        cached = ""
        if total.cached_tokens:
            cached = f" ({total.cached_tokens:,} cached by the provider)"
        prompt = f"{total.prompt_tokens:,} prompt{cached}"
        parts.append(f"{prompt} and {total.completion_tokens:,} completion tokens")
    if total.spent_usd:
        parts.append(f"${total.spent_usd:.4f} spent")
    if total.cost_usd > total.spent_usd:
        parts.append(f"${total.cost_usd:.4f} with what was reused")
    if total.unpriced:
        parts.append(f"{total.unpriced} replies of unknown price")
    if total.retries:
        parts.append(f"{total.retries} retries")
    return f"{'; '.join(parts)}."


def list_cut_replies(usage: Mapping[str, Usage]) -> list[str]:
    """List, in sentences, how many replies were cut, by what, and what to do.

    A reply is cut at max_tokens, or by a content filter.
    """
    cut = {stage: spent.cut for stage, spent in usage.items() if spent.cut}
    filtered = {stage: spent.filtered for stage, spent in usage.items() if spent.filtered}
    lines = []
    if cut:
        advice = "raise llm.max_tokens, or the stage's own"
        lines.append(_describe_cut(cut, "cut at max_tokens", advice))
    if filtered:
        ending = "ended by the provider's content filter"
        lines.append(_describe_cut(filtered, ending, "try another model"))
    return lines


def _describe_cut(counts: Mapping[str, int], ending: str, advice: str) -> str:
    stages = ", ".join(f"{stage} {number}" for stage, number in counts.items())
    total = sum(counts.values())
    replies = "reply was" if total == 1 else "replies were"
    return f"{total} {replies} {ending} ({stages}): {advice}."


_USAGE_HEADING = [
    "stage",
    "calls",
    "reused",
    "prompt tokens",
    "cached",
    "completion tokens",
    "cost USD",
    "spent USD",
    "seconds",
    "retries",
]


def make_usage_rows(summary: RunSummary) -> list[list[str]]:
    """Make the table of LLM usage: a heading, and a row for each stage that called one.

    An unknown price is "?".
    """
    body = []
    for stage, usage in summary.usage.items():
        if not (usage.prompt_tokens or usage.retries or usage.spent_usd):
            continue
        body.append(
            [
                stage,
                f"{usage.calls:,}",
                f"{usage.reused:,}",
                f"{usage.prompt_tokens:,}",
                f"{usage.cached_tokens:,}",
                f"{usage.completion_tokens:,}",
                _format_cost(usage.cost_usd, usage.unpriced),
                _format_cost(usage.spent_usd, usage.unpriced),
                f"{usage.seconds:.1f}",
                str(usage.retries),
            ]
        )
    return [_USAGE_HEADING, *body] if body else []


def format_markdown(run: Run, summary: RunSummary) -> str:
    """Format the summary as a page: scores, remarks, usage, chosen stages with times, slices."""
    heading, body = make_score_rows(summary)
    remarks = list_remarks(run, summary)
    if summary.state != "ok":
        remarks.insert(0, describe_ending(summary))
    sections = [
        ["# Summary of a run"],
        format_table([heading, *body]) if body else [],
        [f"* {format_line(line)}" for line in remarks],
        format_table(make_usage_rows(summary)),
        ["Stages:", "", *_list_stages(run, summary)],
    ]
    for name, slices in summary.slices.items():
        sections.append([f"## By {name.replace('_', ' ')}"])
        sections.append(format_table(make_slice_rows(slices)))
    return "\n\n".join("\n".join(lines) for lines in sections if lines)


def _list_stages(run: Run, summary: RunSummary) -> list[str]:
    """List the chosen option of each group, with its time."""
    lines = []
    for group, node in run.config.items():
        if isinstance(node, Mapping) and OPTION_KEY in node:
            option = format_line(str(node[OPTION_KEY]))
            lines.append(f"* {group}: {option}{_format_time(group, summary)}")
    return lines


def _format_score(scores: Mapping[str, float], measure: str) -> str:
    return f"{scores[measure]:.3f}" if measure in scores else ""


def _format_interval(summary: RunSummary, measure: str) -> str:
    low, high = summary.intervals.get(measure, (nan, nan))
    return "" if isnan(low) else f"{low:.3f} to {high:.3f}"


def _format_cost(value: float, unpriced: int) -> str:
    """Format a cost; "?" is the cost of replies without a price."""
    if not unpriced:
        return f"{value:.4f}"
    return f"{value:.4f} + ?" if value else "?"


def _format_time(stage: str, summary: RunSummary) -> str:
    seconds = summary.timings.get(stage)
    if seconds is None:
        return ""
    milliseconds = 1000 * seconds / max(summary.turns, 1)
    return f" ({milliseconds:.1f} ms a turn)"


def print_summary(
    run: Run, summary: RunSummary, *lines: str, table: bool = True, advice: str = ""
) -> None:
    """Print the scores, the remarks, further lines, and how the run ended if not well.

    Args:
        run: the run.
        summary: its summary.
        lines: further lines.
        table: whether the scores are printed.
        advice: what to do about a run that did not end well.
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
    """Make the table of scores for the terminal.

    Args:
        summary: the summary of the run.
        meanings: measure -> its meaning, for a last column; None for a table without one.
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
