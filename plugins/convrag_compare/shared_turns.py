"""The turns that all compared runs were scored on, where runs were scored on different ones."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan, nan

from convrag_compare.run_result import RunResult, Scores

_OWN_TURNS = (
    "Each mean is over the turns of its own run, and the runs are in the order in which they "
    "were given."
)


@dataclass(frozen=True)
class Shared:
    """The turns on which runs are compared by some measures.

    Args:
        measures: the measures that have a value for the same turns.
        turns: how many turns have a value in every run; 0 where nothing can be compared.
        all_turns: how many turns have a value in some run.
        of_runs: how many turns have a value in each run, in rising order, each number once.
    """

    measures: tuple[str, ...]
    turns: int
    all_turns: int
    of_runs: tuple[int, ...]


def share_turns(results: Sequence[RunResult]) -> tuple[list[RunResult], list[Shared]]:
    """Restrict the scores of runs to the turns that they share, and compute the means over these.

    A run that was not measured by a measure at all takes no turn of it from the others. Where no
    turn is shared, each run keeps its own. A measure that is not a mean over turns (corpus BLEU)
    cannot be computed for fewer turns, and is left out where the turns that it comes from differ.

    Returns:
        The runs, and what they share for each group of measures whose turns differ; empty where all
        are equal.
    """
    shared_turns: dict[str, set[str]] = {}
    groups: dict[tuple[int, int, tuple[int, ...]], list[str]] = defaultdict(list)
    for measure in dict.fromkeys(name for result in results for name in result.scores.measures):
        scored = [_list_scored_turns(result.scores, measure) for result in results]
        scored = [turns for turns in scored if turns]
        shared = set.intersection(*scored) if scored else set()
        if any(turns != shared for turns in scored):
            counts = tuple(sorted({len(turns) for turns in scored}))
            groups[len(shared), len(set.union(*scored)), counts].append(measure)
            shared_turns[measure] = shared
    if not shared_turns:
        return list(results), []
    restricted = [_restrict(result, shared_turns) for result in results]
    return restricted, [Shared(tuple(measures), *counts) for counts, measures in groups.items()]


def _list_scored_turns(scores: Scores, measure: str) -> set[str]:
    values = scores.measures.get(measure, ())
    return {turn for turn, value in zip(scores.turns, values, strict=False) if not isnan(value)}


def _restrict(result: RunResult, shared_turns: Mapping[str, set[str]]) -> RunResult:
    """Blank the values of turns that are not shared, and compute the means again.

    Args:
        result: the run.
        shared_turns: measure -> the shared turns, for measures whose turns differ. With none, the
            column stays.
    """
    if result.summary is None:
        return result
    summary = result.summary
    scores = result.scores
    columns = dict(scores.measures)
    changed = []
    for measure, turns in shared_turns.items():
        if turns and measure in columns:
            columns[measure] = _blank_others(scores, measure, turns)
            changed.append(measure)
    restricted = Scores(scores.turns, scores.conversations, scores.domains, scores.numbers, columns)

    # a value that has no mean is a count that other measures are concluded from (corpus BLEU)
    left_out: set[str] = set()
    if any(measure not in summary.overall for measure in shared_turns):
        left_out = {measure for measure in summary.overall if measure not in columns}

    def compute_means(before: Mapping[str, float], domain: str) -> dict[str, float]:
        means = {name: value for name, value in before.items() if name not in left_out}
        for measure in changed:
            if measure in summary.overall:
                means[measure] = _compute_mean(restricted, measure, domain)
        return {name: mean for name, mean in means.items() if not isnan(mean)}

    domains = {name: compute_means(means, name) for name, means in summary.domains.items()}
    overall = compute_means(summary.overall, "")
    new_summary = replace(summary, overall=overall, domains=domains)
    return replace(result, summary=new_summary, scores=restricted)


def _blank_others(scores: Scores, measure: str, turns: Collection[str]) -> array[float]:
    """Copy the column of a measure, with NaN for all turns but these."""
    values = zip(scores.turns, scores.measures[measure], strict=True)
    return array("d", [value if turn in turns else nan for turn, value in values])


def _compute_mean(scores: Scores, measure: str, domain: str) -> float:
    """Compute the mean over the turns of a domain; of all turns if it is empty."""
    values = [
        value
        for value, place in zip(scores.measures[measure], scores.domains, strict=True)
        if not isnan(value) and (not domain or place == domain)
    ]
    return sum(values) / len(values) if values else nan


def describe_shared(groups: Sequence[Shared], measures: Collection[str]) -> Iterator[str]:
    """Yield a sentence on each group that has one of these measures.

    `40 of 396 scored turns are shared by all runs (the runs have 40 and 396): ...`
    """
    for group in groups:
        concerned = [measure for measure in group.measures if measure in measures]
        if not concerned:
            continue
        prefix = f"{', '.join(concerned)}: " if len(groups) > 1 else ""
        have = f"the runs have {_join_counts(group.of_runs)}"
        if group.turns:
            yield (
                f"{prefix}{group.turns} of {group.all_turns} scored turns are shared by all runs "
                f"({have}): all means are over these."
            )
        else:
            no = "no" if prefix else "No"
            yield (
                f"{prefix}{no} scored turn is shared by all runs ({have}): they cannot be "
                f"compared. {_OWN_TURNS}"
            )


def _join_counts(counts: Sequence[int]) -> str:
    *others, last = map(str, counts)
    return f"{', '.join(others)} and {last}" if others else last
