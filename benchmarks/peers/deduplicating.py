"""A conversation's manager, which convrag and ContextPilot offer by the same name.

    python deduplicating.py convrag|contextpilot DOCUMENTS [ids]

`ids` has convrag compare ids alone, as ContextPilot does, and not texts.
"""

import statistics
import sys
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

from measuring import answer, read_peak_mib

MODULES = {"convrag": "convrag_dedup", "contextpilot": "contextpilot.pipeline.multi_turn"}
SHOWN = 10
TEXT = "word " * 200


def list_ids(turn: int, seen: int) -> list[int]:
    """Ten ids: five that were shown, from all over the history, and five new ones."""
    old = [(turn * 7919 + place * 104_729) % seen for place in range(SHOWN // 2)]
    return [*old, *range(seen + turn * SHOWN, seen + turn * SHOWN + SHOWN // 2)]


def measure_manager(manager: Any, seen: int) -> dict[str, float]:
    """Measure the median microseconds of a turn after so many documents, and what is kept."""
    turns = [list_ids(turn, seen) for turn in range(300)]
    documents: dict[
        Any, dict[str, str]
    ] = {}  # by number and by text: each library looks for its own
    for number in range(seen):
        documents[number] = documents[str(number)] = {"text": str(number), "content": str(number)}
    for number in {number for ids in turns for number in ids}:
        text = f"Document {number} {TEXT}"
        documents[number] = documents[str(number)] = {"text": text, "content": text}
    before = read_peak_mib()
    manager.deduplicate_context("c", list(range(seen)), documents)
    took = _time_calls(
        lambda turn: manager.deduplicate_context("c", turns[turn], documents), len(turns)
    )
    return {"turn_cpu_us": took, "added_mib": round(read_peak_mib() - before, 1)}


def _time_calls(call: Callable[[int], Any], number: int) -> float:
    times = []
    for turn in range(number):
        start = time.thread_time()
        call(turn)
        times.append(time.thread_time() - start)
    return round(1e6 * statistics.median(times), 2)


if __name__ == "__main__":
    library, seen, *plain = sys.argv[1:]
    options = {"content_hash": False} if plain else {}
    answer(measure_manager(import_module(MODULES[library]).MultiTurnManager(**options), int(seen)))
