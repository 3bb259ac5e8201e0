"""The ratings of a run: their means by turn and judge, and the report about them."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from statistics import fmean
from typing import Any

from convrag import Report
from convrag.sdk.data.strict_json import format_json
from convrag.sdk.llm.judges import Repeats
from convrag_judging.agreement import format_figure, measure_agreements
from convrag_judging.krippendorff import krippendorff_alpha
from convrag_judging.rating_files import Rating, RatingTable, group_ratings
from convrag_judging.rubric import Rubric

TITLE = "judge"
"""The title of the numbers with the default rubric.

Its ratings are in judgements.jsonl, which metrics.judge.judgements and task=agreement read.
"""


@dataclass(frozen=True)
class TurnRatings:
    """The ratings of one answer.

    Args:
        turn_id: the turn.
        ratings: the ratings of all judges.
        problems: a message for each unusable reply.
        empty: whether the answer is empty.
        repeats: how often judges differ from themselves.
    """

    turn_id: str
    ratings: tuple[Rating, ...] = ()
    problems: tuple[str, ...] = ()
    empty: bool = False
    repeats: Repeats = field(default_factory=Repeats)


def average(ratings: Iterable[Rating], key: Callable[[Rating], str]) -> dict[str, dict[str, float]]:
    """Average ratings: key -> criterion -> the mean score of the ratings with this key."""
    scores: dict[str, dict[str, list[float]]] = {}
    for rating in ratings:
        by_criterion = scores.setdefault(key(rating), {})
        by_criterion.setdefault(rating.criterion, []).append(rating.score)
    means = {}
    for name, by_criterion in scores.items():
        means[name] = {criterion: fmean(values) for criterion, values in by_criterion.items()}
    return means


def report_ratings(
    turns: Sequence[TurnRatings],
    rubric: Rubric,
    human: Sequence[Rating],
    judged_turns: Sequence[str] | None,
    title: str,
) -> Report | None:
    """Report counts and agreement, with a file of the judges' ratings; None where no turn is rated.

    Args:
        turns: the turns, with their ratings.
        rubric: the rubric of the judges.
        human: the ratings of people.
        judged_turns: the turns that files of judgements hold; None where models judged.
        title: the title of the numbers.
    """
    if not turns:
        return None
    ratings = [rating for turn in turns for rating in turn.ratings]
    table = group_ratings(ratings)
    human_table = group_ratings(human)
    judges = average(ratings, lambda rating: rating.annotator)
    agreements = measure_agreements(table, human_table)
    known_turns = {turn.turn_id for turn in turns}
    numbers = {
        "turns": len(turns),
        "judged": sum(bool(turn.ratings) for turn in turns),
        "without_answer": sum(turn.empty for turn in turns),
        "unusable_replies": sum(len(turn.problems) for turn in turns),
        "not_in_run": len(set(judged_turns or ()) - known_turns),
        "judges": judges,
        "alpha_among_judges": _compute_alphas(table) if len(judges) > 1 else {},
        "agreement": {name: asdict(agreement) for name, agreement in agreements.items()},
    }
    lines = [f"Judge: {line}" for line in _describe(turns, numbers, rubric, judged_turns)]
    for name, agreement in agreements.items():
        lines.append(f"Judge and people, {agreement.describe(name)}")
    missing = [name for name in human_table if name not in agreements]
    if missing:
        lines.append(f"Judge: people scored {', '.join(missing)}, which nobody judged here")
    files = {}
    if judged_turns is None and ratings:
        name = "judgements.jsonl" if title == TITLE else f"judgements.{title}.jsonl"
        files[name] = "\n".join(format_json(asdict(rating)) for rating in ratings)
    return Report("judging", tuple(lines), {title: numbers}, files)


def _compute_alphas(table: RatingTable) -> dict[str, float | None]:
    """Compute criterion -> Krippendorff's alpha among the judges."""
    alphas = {}
    for criterion, by_turn in table.items():
        units = [list(by_judge.values()) for by_judge in by_turn.values()]
        alphas[criterion] = krippendorff_alpha(units)
    return alphas


def _describe(
    turns: Sequence[TurnRatings],
    numbers: Mapping[str, Any],
    rubric: Rubric,
    judged_turns: Sequence[str] | None,
) -> Iterator[str]:
    """Yield the counts in sentences."""
    judges = ", ".join(numbers["judges"]) or "nobody"
    scale = ""
    if judged_turns is None:
        scale = f", on a scale from {rubric.lowest} to {rubric.highest}"
    yield f"{numbers['judged']} of {len(turns)} answers judged by {judges}{scale}"
    if numbers["without_answer"]:
        yield f"{numbers['without_answer']} turns have no answer, and the lowest score"
    problems = Counter(problem for turn in turns for problem in turn.problems)
    if problems:
        [(most_frequent, _)] = problems.most_common(1)
        yield (
            f"{problems.total()} replies could not be used as they were. Most often: "
            f"{most_frequent}"
        )
    repeats = Repeats()
    for turn in turns:
        repeats.add(turn.repeats)
    yield from repeats.describe()
    if judged_turns is not None and numbers["not_in_run"]:
        yield (
            f"{numbers['not_in_run']} of {len(judged_turns)} turns that files judge are not in "
            "this run"
        )
    alphas = numbers["alpha_among_judges"]
    if alphas:
        figures = [f"{criterion} {format_figure(alpha)}" for criterion, alpha in alphas.items()]
        yield f"Krippendorff's alpha among the judges: {', '.join(figures)}"
