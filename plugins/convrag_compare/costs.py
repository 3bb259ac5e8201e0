"""Times, calls, tokens and costs: a table of their own, for they differ from try to try as scores must not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from convrag import Usage
from convrag_compare.board_files import heading, named
from convrag_compare.leaderboard import Leaderboard, Row
from convrag_compare.outcome import OK
from convrag_compare.tables import Table, number

_COUNTED = {
    "calls made": "calls",
    "reused": "reused",
    "prompt tokens": "prompt_tokens",
    "completion tokens": "completion_tokens",
    "cached tokens": "cached_tokens",
    "unpriced": "unpriced",
    "retries": "retries",
}

_EXPLAINED = (
    "`seconds` and `ms per turn` are those of the time when the run was made; a call whose result was reused took next "
    "to none. `ms in full` adds what reused calls took when they were made, so that runs can be compared by it. Tokens "
    "and `cost` count all calls, whenever they were made; `spent` counts those that this run made itself. `unpriced` "
    "replies have a price that nobody knows."
)


def costs_files(board: Leaderboard, states: Mapping[str, str], stored: Mapping[str, int] | None) -> dict[str, str]:
    """costs.md and costs.csv.

    Args:
        board: the runs.
        states: how each run ended by its name, "reused" among them; empty for runs of no grid.
        stored: what the store gained meanwhile, by kind; None where nobody counted.
    """
    table = Table([*heading(board), *_HEAD], [_row(board, row) for row in board.rows], len(heading(board)))
    total = sum((row.outcome.usage for row in board.rows), Usage())
    parts = ["# Times, calls and costs", _EXPLAINED, table.markdown(), _sum(total)]
    parts += ["## Calls by stage", "Made / reused, for each stage of a turn.", _by_stage(board).markdown()]
    if stored is not None:
        parts += ["## Each distinct call once", proof(board, states, stored), _kinds(stored).markdown()]
    return {"costs.md": "\n\n".join(parts) + "\n", "costs.csv": table.csv()}


def proof(board: Leaderboard, states: Mapping[str, str], stored: Mapping[str, int]) -> str:
    """Whether what the cells counted is what the store gained: it keeps each distinct call once."""
    ran = [row.outcome for row in board.rows if states.get(row.outcome.name) == "ok"]
    usage = sum((outcome.usage for outcome in ran), Usage())
    made, kept = usage.calls, sum(stored.values())
    if not ran and not kept:
        return "No cell had to be run, and no call was made."
    counted = (
        f"In the {len(ran)} cells that this command ran, stages asked {usage.calls + usage.reused:,} times: {made:,} "
        f"calls were made, {usage.reused:,} results were reused. Meanwhile the store gained {kept:,} results, one for "
        "each distinct call"
    )
    if made == kept:
        return f"{counted}: each distinct call was made once."
    if made > kept:
        return f"{counted}: {made - kept:,} of the calls made were made before."
    return (
        f"{counted}: none was made twice, and {kept - made:,} were made beside the turns counted here (in cells that "
        "failed or were killed, before a first turn, or by other commands on this store)."
    )


_HEAD = ["seconds", "ms per turn", "ms in full", "turns", *_COUNTED, "cost $", "spent $"]


def _row(board: Leaderboard, row: Row) -> list[str]:
    outcome = row.outcome
    if outcome.state != OK or outcome.summary is None:
        return [*named(board, row), *[""] * len(_HEAD)]
    usage = outcome.usage
    counts = [str(getattr(usage, name)) for name in _COUNTED.values()]
    times = [number(each, 1) for each in (outcome.summary.seconds, outcome.latency, outcome.full_latency)]
    return [
        *named(board, row),
        *times,
        str(outcome.summary.turns),
        *counts,
        number(usage.cost_usd, 4),
        number(usage.spent_usd, 4),
    ]


def _sum(total: Usage) -> str:
    tokens = f"{total.prompt_tokens:,} prompt and {total.completion_tokens:,} completion tokens"
    return (
        f"All together: {total.calls:,} calls made, {total.reused:,} reused; {tokens}; "
        f"${total.spent_usd:.4f} spent, for what would have cost ${total.cost_usd:.4f} without reuse."
    )


def _by_stage(board: Leaderboard) -> Table:
    usages = [row.outcome.summary.usage if row.outcome.summary else {} for row in board.rows]
    stages = list(dict.fromkeys(stage for usage in usages for stage in usage))
    rows = [[*named(board, row), *_of_stages(usage, stages)] for row, usage in zip(board.rows, usages, strict=True)]
    return Table([*heading(board), *stages], rows, len(heading(board)))


def _of_stages(usage: Mapping[str, Usage], stages: Sequence[str]) -> list[str]:
    return [f"{usage[stage].calls} / {usage[stage].reused}" if stage in usage else "" for stage in stages]


def _kinds(stored: Mapping[str, int]) -> Table:
    return Table(["result", "gained"], [[kind, str(count)] for kind, count in stored.items()])
