"""Runs that were scored on different turns are compared on those that they share."""

from array import array
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from math import nan

from convrag_compare.run_result import RunResult, Scores


@dataclass(frozen=True)
class Shared:
    """The turns on which runs are compared by some measures, where not all runs were scored on the same ones.

    Args:
        measures: those that have a value for the same turns.
        turns: how many turns have a value in every run; 0 where nothing can be compared.
        all_turns: how many turns have a value in some run.
        of_runs: how many turns have a value in each run, in rising order, each number once.
    """

    measures: tuple[str, ...]
    turns: int
    all_turns: int
    of_runs: tuple[int, ...]


def share_turns(results: Sequence[RunResult]) -> tuple[list[RunResult], list[Shared]]:
    """The runs with the scores of the turns that they share, and the means over these.

    A run that was not measured by a measure at all takes no turn of it from the others. Where no turn is shared, each
    run keeps its own. A measure that is no mean over turns (corpus BLEU) cannot be computed for fewer turns, and is
    left out where the turns that it comes from differ.

    Returns:
        The runs, and what they share for each group of measures whose turns differ; empty where all are equal.
    """
    kept: dict[str, set[str]] = {}
    groups: dict[tuple[int, int, tuple[int, ...]], list[str]] = defaultdict(list)
    for measure in dict.fromkeys(name for result in results for name in result.scores.measures):
        scored = [turns for result in results if (turns := _list_scored_turns(result.scores, measure))]
        shared = set.intersection(*scored) if scored else set()
        if any(turns != shared for turns in scored):
            counts = tuple(sorted({len(turns) for turns in scored}))
            groups[len(shared), len(set.union(*scored)), counts].append(measure)
            kept[measure] = shared
    if not kept:
        return list(results), []
    return [_restrict(result, kept) for result in results], [Shared(tuple(m), *key) for key, m in groups.items()]


def _list_scored_turns(scores: Scores, measure: str) -> set[str]:
    return {turn for turn, value in zip(scores.turns, scores.measures.get(measure, ()), strict=False) if value == value}


def _restrict(result: RunResult, kept: dict[str, set[str]]) -> RunResult:
    """A run with nothing but the shared turns in the columns of some measures (none: the column stays)."""
    if result.summary is None:
        return result
    summary, scores = result.summary, result.scores
    columns = dict(scores.measures)
    changed = [measure for measure, turns in kept.items() if turns and measure in columns]
    for measure in changed:
        values = zip(scores.turns, columns[measure], strict=True)
        columns[measure] = array("d", [value if turn in kept[measure] else nan for turn, value in values])
    restricted = Scores(scores.turns, scores.conversations, scores.domains, scores.numbers, columns)
    counts_differ = any(measure not in summary.overall for measure in kept)
    concluded = {measure for measure in summary.overall if measure not in columns and counts_differ}

    def compute_means(before: dict[str, float], domain: str) -> dict[str, float]:
        means = {name: value for name, value in before.items() if name not in concluded}
        for measure in changed:
            if measure in summary.overall:
                means[measure] = _compute_mean(restricted, measure, domain)
        return {name: mean for name, mean in means.items() if mean == mean}

    places = {domain: compute_means(dict(means), domain) for domain, means in summary.domains.items()}
    summary = replace(summary, overall=compute_means(dict(summary.overall), ""), domains=places)
    return replace(result, summary=summary, scores=restricted)


def _compute_mean(scores: Scores, measure: str, domain: str) -> float:
    columns = zip(scores.measures[measure], scores.domains, strict=True)
    values = [value for value, place in columns if value == value and (not domain or place == domain)]
    return sum(values) / len(values) if values else nan


def describe_shared(groups: Sequence[Shared], measures: Collection[str]) -> Iterator[str]:
    """A sentence on each group that has one of these measures: "40 of 396 scored turns are shared by all runs..."."""
    for group in groups:
        if not (concerned := [measure for measure in group.measures if measure in measures]):
            continue
        of = f"{', '.join(concerned)}: " if len(groups) > 1 else ""
        have = f"the runs have {_join(group.of_runs)}"
        if group.turns:
            shared = f"{group.turns} of {group.all_turns} scored turns are shared by all runs ({have})"
            yield f"{of}{shared}: all means are over these."
        else:
            none = f"{'no' if of else 'No'} scored turn is shared by all runs ({have})"
            yield f"{of}{none}: they cannot be compared. {_OWN_TURNS}"


_OWN_TURNS = "Each mean is over the turns of its own run, and the runs stand in the order in which they were given."


def _join(counts: Sequence[int]) -> str:
    shown = [str(count) for count in counts]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
