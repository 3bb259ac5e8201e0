"""Runs made up for comparisons: their scores are given, all else is the same for all."""

from typing import Any

from convrag.api.records import RunSummary, Usage
from convrag_compare.factors import parse_overrides
from convrag_compare.run_result import RunResult, Scores

Values = dict[str, list[float]]


def run_result(
    overrides: str,
    values: Values,
    name: str = "",
    *,
    domains: tuple[str, ...] = ("a",),
    words: float | None = None,
    **summary: Any,
) -> RunResult:
    """A run with these scores, conversation -> turns; conversations take turns in the domains.

    R@5 is half of nDCG@5; `words` is the same in all turns, where it is given.
    """
    same = {} if words is None else {"words": words}
    scores = Scores()
    for index, (conversation, turns) in enumerate(values.items()):
        for position, value in enumerate(turns, 1):
            who = (
                f"{conversation}:{position}",
                conversation,
                domains[index % len(domains)],
                position,
            )
            scores.add(*who, {"nDCG@5": value, "R@5": value / 2, **same})
    places: dict[str, list[float]] = {}
    for place, value in zip(scores.domains, scores.measures["nDCG@5"], strict=True):
        places.setdefault(place, []).append(value)
    every = [value for turns in values.values() for value in turns]
    made: dict[str, Any] = {
        "overall": {"nDCG@5": sum(every) / len(every), "R@5": sum(every) / len(every) / 2, **same},
        "domains": {
            place: {"nDCG@5": sum(v) / len(v), "R@5": sum(v) / len(v) / 2}
            for place, v in places.items()
        },
        "scored": {"overall": len(every), **{place: len(v) for place, v in places.items()}},
        "turns": len(every),
        "failed": 0,
        "fallbacks": {},
        "usage": {"generator": Usage(calls=3, reused=1, prompt_tokens=100, completion_tokens=10)},
        "timings": {"generator": 0.5},
        "seconds": 1.0,
    }
    choices = parse_overrides(overrides.split())
    told = RunSummary(**(made | summary))
    return RunResult(name or overrides, choices, told.state, summary=told, scores=scores)


GOOD: Values = {f"c{n}": [0.9, 0.8] for n in range(6)}
BAD: Values = {f"c{n}": [0.2, 0.1 + 0.1 * n] for n in range(6)}
MIXED: Values = {f"c{n}": [0.5, 0.9 * (n % 2)] for n in range(6)}


def grid() -> list[RunResult]:
    values = {("a", "x"): BAD, ("a", "y"): GOOD, ("b", "x"): MIXED, ("b", "y"): GOOD}
    return [run_result(f"rewriter={r} ranker={k} limit=3", values[r, k]) for r, k in values]
