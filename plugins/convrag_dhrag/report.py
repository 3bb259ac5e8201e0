"""The report of a run with dhrag: chains, selected against available turns, and a file with every reason."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from convrag import Report, TurnRecord

PAPER = {"chains": 373, "mean_length": 1.73, "per_cent": {"1-2": 32, "2-3": 40, "3-4": 21, "4-5": 6}}
"""The paper's chain statistics. Its lengths are in steps, which it does not define."""

LONGEST_CLASS = 4
"""Chains of four turns and more are one class, so that there are as many classes as in the paper."""


def report_history(records: Iterable[TurnRecord]) -> Report | None:
    """Chain statistics, selected against available turns, and analysis/dhrag.jsonl; None for other rewriters."""
    chains: dict[str, list[int]] = {}
    available, selected, lines = [], [], []
    for record in records:
        trace = record.trace.get("rewriter", {})
        if trace.get("system") != "dhrag":
            continue
        complete = len(trace["chains"]) == record.number  # it is not with history=none
        chains[record.conversation_id] = trace["chains"] if complete else []
        if trace["available"]:
            available.append(trace["available"])
            selected.append(len(trace["selected"]))
        lines.append(json.dumps(_make_analysis_line(record, trace), ensure_ascii=False))
    if not lines:
        return None
    numbers = _compute_numbers(chains.values(), available, selected)
    return Report("dhrag", _write_lines(numbers), numbers, {"analysis/dhrag.jsonl": "\n".join(lines)})


def _make_analysis_line(record: TurnRecord, trace: Mapping[str, Any]) -> dict[str, Any]:
    """A line of analysis/dhrag.jsonl."""
    return {
        "turn_id": record.turn_id,
        "conversation_id": record.conversation_id,
        "question": record.original_query,
        "rewrite": record.rewritten_query,
        "fallback": record.fallbacks.get("rewriter", ""),
        **{key: trace.get(key) for key in ("available", "selected", "reasons", "match", "topic", "chain")},
    }


def _compute_numbers(conversations: Iterable[list[int]], available: list[int], selected: list[int]) -> dict[str, Any]:
    lengths = [length for chains in conversations for length in Counter(chains).values()]
    classes = Counter(min(length, LONGEST_CLASS) for length in lengths)
    names = {**{length: str(length) for length in range(1, LONGEST_CLASS)}, LONGEST_CLASS: f"{LONGEST_CLASS}+"}
    return {
        "chains": len(lengths),
        "mean_length": _mean(lengths),
        "per_cent": {name: round(100 * classes[length] / max(len(lengths), 1), 1) for length, name in names.items()},
        "paper": PAPER,
        "follow_ups": len(available),
        "mean_available": _mean(available),
        "mean_selected": _mean(selected),
    }


def _write_lines(numbers: Mapping[str, Any]) -> tuple[str, ...]:
    lines = []
    if numbers["chains"]:
        shares = ", ".join(f"{name}: {share:.0f} %" for name, share in numbers["per_cent"].items())
        in_paper = ", ".join(f"{name}: {share} %" for name, share in PAPER["per_cent"].items())  # type: ignore[attr-defined]
        lines.append(
            f"dhrag: {numbers['chains']} chains of {numbers['mean_length']:.2f} turns on average, by length {shares} "
            f"(the paper: {PAPER['mean_length']} steps, {in_paper})."
        )
    if numbers["follow_ups"]:
        lines.append(
            f"dhrag: {numbers['mean_selected']:.2f} of {numbers['mean_available']:.2f} earlier turns were selected on "
            f"average; analysis/dhrag.jsonl says why."
        )
    return tuple(lines)


def _mean(values: list[int]) -> float:
    return round(sum(values) / len(values), 4) if values else 0.0
