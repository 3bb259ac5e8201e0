"""costs.md and costs.csv: times, calls, tokens and costs.

They are not in the leaderboard, because they differ when a grid is run again.
"""

from collections.abc import Mapping, Sequence

from convrag.sdk.types import Usage
from convrag_compare.leaderboard import Leaderboard
from convrag_compare.leaderboard_files import make_run_table
from convrag_compare.run_result import RunResult
from convrag_compare.tables import format_number

_TIMES = ["seconds", "ms per turn", "ms in full", "turns"]
_COUNTS = {
    "calls made": "calls",
    "reused": "reused",
    "prompt tokens": "prompt_tokens",
    "completion tokens": "completion_tokens",
    "cached tokens": "cached_tokens",
    "unpriced": "unpriced",
    "retries": "retries",
    "failed calls": "failed",
}
_COSTS = ["cost $", "spent $"]

_TOKENS = {"prompt_tokens", "completion_tokens", "cached_tokens"}
"""Counts that are left out where no run asked a language model."""

_EXPLANATION = (
    "`seconds` and `ms per turn` are from the time when the run was made; a call whose result was "
    "reused took next to none. `ms in full` adds what reused calls took when they were made, so "
    "that runs can be compared by it. Tokens and `cost` count all calls, whenever they were made; "
    "`spent` counts those that this run made itself. `unpriced` replies have a price that nobody "
    "knows. Of the calls made, `failed calls` raised an error and have no result. A cell that was "
    "run again stands here with its last run, in which what earlier ones asked and paid for is "
    "reused."
)


def format_costs_files(board: Leaderboard) -> dict[str, str]:
    """Format costs.md and costs.csv, name -> text."""
    total = sum((row.result.usage for row in board.rows), Usage())
    counts = {
        heading: name for heading, name in _COUNTS.items() if total.tokens or name not in _TOKENS
    }
    table = make_run_table(
        board,
        [*_TIMES, *counts, *_COSTS],
        lambda row: _format_row(row.result, list(counts.values())),
    )
    parts = ["# Times, calls and costs", _EXPLANATION, table.markdown(), _describe_total(total)]
    return {"costs.md": "\n\n".join(parts) + "\n", "costs.csv": table.csv()}


def describe_calls(board: Leaderboard, states: Mapping[str, str]) -> str:
    """Describe the calls of the cells that ran.

    `Calls of stages and metrics: 17 made, 19 reused (costs.md).`
    """
    if {"ok", "partial", "failed"}.isdisjoint(states.values()):
        return "No cell had to be run, and no call was made."
    usage = Usage()
    for row in board.rows:
        if states.get(row.result.name) in ("ok", "partial") and row.result.summary:
            usage = sum(row.result.summary.usage.values(), usage)
    failed = _describe_failed(usage)
    spent = f", ${usage.spent_usd:.4f} spent" if usage.spent_usd else ""
    return (
        f"Calls of stages and metrics: {usage.calls:,} made{failed}, {usage.reused:,} "
        f"reused{spent} (costs.md)."
    )


def _format_row(result: RunResult, counts: Sequence[str]) -> list[str]:
    """Format the cells of a run.

    Args:
        result: the run.
        counts: the attributes of `Usage` to show.
    """
    if result.summary is None:
        return [""] * len([*_TIMES, *counts, *_COSTS])
    usage = result.usage
    times = (result.summary.seconds, result.latency, result.full_latency)
    return [
        *(format_number(seconds, 1) for seconds in times),
        str(result.summary.turns),
        *(str(getattr(usage, name)) for name in counts),
        format_number(usage.cost_usd, 4),
        format_number(usage.spent_usd, 4),
    ]


def _describe_total(total: Usage) -> str:
    tokens = ""
    if total.tokens:
        tokens = (
            f"; {total.prompt_tokens:,} prompt and {total.completion_tokens:,} completion tokens"
        )
    return (
        f"All together, as these runs stand here: {total.calls:,} calls "
        f"made{_describe_failed(total)}, {total.reused:,} reused{tokens}; "
        f"${total.spent_usd:.4f} spent, for what would have cost ${total.cost_usd:.4f} without "
        "reuse."
    )


def _describe_failed(usage: Usage) -> str:
    return f" ({usage.failed:,} of them failed)" if usage.failed else ""
