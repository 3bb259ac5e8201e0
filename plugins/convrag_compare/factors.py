"""What was varied: the choices in which runs differ, and how a run is called by them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from convrag import ConfigError
from convrag.sweep.cells import OPERATIONAL
from convrag_compare.outcome import Outcome, choices_of

UNSET = "-"
"""The level of a factor that a run says nothing about."""


def factors_of(outcomes: Sequence[Outcome]) -> dict[str, list[str]]:
    """Factor -> its levels, both in the order in which they first come."""
    keys = dict.fromkeys(key for outcome in outcomes for key in outcome.choices if not key.startswith(OPERATIONAL))
    levels = {key: list(dict.fromkeys(level(outcome, key) for outcome in outcomes)) for key in keys}
    return {key: found for key, found in levels.items() if len(found) > 1}


def level(outcome: Outcome, factor: str) -> str:
    """What the run chose."""
    return outcome.choices.get(factor, UNSET)


def label(outcome: Outcome, factors: Iterable[str]) -> str:
    """What the run is called among the others: `rewriter=mmr ranker=bm25`."""
    return " ".join(f"{factor}={level(outcome, factor)}" for factor in factors) or outcome.name


def settings(outcome: Outcome, factors: Iterable[str]) -> tuple[str, ...]:
    """The levels of these factors."""
    return tuple(level(outcome, factor) for factor in factors)


def find_baseline(outcomes: Sequence[Outcome], wanted: str | None) -> Outcome:
    """The first run that has all overrides of `wanted` ("rewriter=none+ranker=bm25"); the first one where none is.

    Raises:
        ConfigError: no run has them; the message lists the runs.
    """
    if not wanted:
        return outcomes[0]
    asked = choices_of(_split(wanted))
    for outcome in outcomes:
        if outcome.name == wanted or asked.items() <= outcome.choices.items():
            return outcome
    factors = factors_of(outcomes)
    names = "\n".join(f"  {label(outcome, factors).replace(' ', '+')}" for outcome in outcomes)
    raise ConfigError(f"sweep.baseline={wanted}: no cell has these overrides. The cells are:\n{names}")


def _split(wanted: str) -> list[str]:
    """The overrides that plus signs join; one in a value (`dataset.domain=a+b`) joins no overrides."""
    parts: list[str] = []
    for part in wanted.split("+"):
        if "=" in part or not parts:
            parts.append(part)
        elif part:
            parts[-1] += f"+{part}"
    return [part for part in parts if part]
