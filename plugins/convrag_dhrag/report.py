"""What a run's records say about the history that was selected: chains, shares, and a file with every reason."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from convrag import Report, Run, TurnRecord, hookimpl

PAPER = {"chains": 373, "mean_length": 1.73, "per_cent": {"1-2": 32, "2-3": 40, "3-4": 21, "4-5": 6}}
"""What the paper prints; its lengths are in steps, which it does not define."""

LONG = 4
"""Chains of so many turns and more are counted together: the paper has as many classes."""


@hookimpl
def convrag_report(run: Run, records: Iterable[TurnRecord]) -> Report | None:
    """Chain statistics, selected against available turns, and analysis/dhrag.jsonl; None for other rewriters."""
    chains: dict[str, list[int]] = {}
    available, selected, lines = [], [], []
    for record in records:
        trace = record.trace.get("rewriter", {})
        if trace.get("system") != "dhrag":
            continue
        whole = len(trace["chains"]) == record.number  # not where the history was hidden
        chains[record.conversation_id] = trace["chains"] if whole else []
        if trace["available"]:
            available.append(trace["available"])
            selected.append(len(trace["selected"]))
        lines.append(json.dumps(_analysed(record, trace), ensure_ascii=False))
    if not lines:
        return None
    numbers = _numbers(chains.values(), available, selected)
    return Report("dhrag", _sentences(numbers), numbers, {"analysis/dhrag.jsonl": "\n".join(lines)})


def _analysed(record: TurnRecord, trace: Mapping[str, Any]) -> dict[str, Any]:
    """A line of the analysis."""
    return {
        "turn_id": record.turn_id,
        "conversation_id": record.conversation_id,
        "question": record.original_query,
        "rewrite": record.rewritten_query,
        "fallback": record.fallbacks.get("rewriter", ""),
        **{key: trace.get(key) for key in ("available", "selected", "reasons", "match", "topic", "chain")},
    }


def _numbers(conversations: Iterable[list[int]], available: list[int], selected: list[int]) -> dict[str, Any]:
    lengths = [length for chains in conversations for length in Counter(chains).values()]
    classes = Counter(min(length, LONG) for length in lengths)
    names = {**{length: str(length) for length in range(1, LONG)}, LONG: f"{LONG}+"}
    return {
        "chains": len(lengths),
        "mean_length": _mean(lengths),
        "per_cent": {name: round(100 * classes[length] / max(len(lengths), 1), 1) for length, name in names.items()},
        "paper": PAPER,
        "follow_ups": len(available),
        "mean_available": _mean(available),
        "mean_selected": _mean(selected),
    }


def _sentences(numbers: Mapping[str, Any]) -> tuple[str, ...]:
    lines = []
    if numbers["chains"]:
        shares = ", ".join(f"{name}: {share:.0f} %" for name, share in numbers["per_cent"].items())
        theirs = ", ".join(f"{name}: {share} %" for name, share in PAPER["per_cent"].items())  # type: ignore[attr-defined]
        lines.append(
            f"dhrag: {numbers['chains']} chains of {numbers['mean_length']:.2f} turns on average, by length {shares} "
            f"(the paper: {PAPER['mean_length']} steps, {theirs})."
        )
    if numbers["follow_ups"]:
        lines.append(
            f"dhrag: {numbers['mean_selected']:.2f} of {numbers['mean_available']:.2f} earlier turns were selected on "
            f"average; analysis/dhrag.jsonl says why."
        )
    return tuple(lines)


def _mean(values: list[int]) -> float:
    return round(sum(values) / len(values), 4) if values else 0.0
