"""Ratings by a rubric, asked of a model, and aggregated: means by turn and judge, agreement of
judges and people.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib import resources
from pathlib import Path
from statistics import fmean
from typing import Any

from convrag import DataError, Report
from convrag.sdk.data.strict_json import format_json
from convrag.sdk.llm.judges import Repeats
from convrag_judging.agreement import format_figure, krippendorff_alpha, measure_agreements
from convrag_judging.judgement_files import Rating, group_ratings


@dataclass(frozen=True)
class Criterion:
    """A question about the answer; its name is the name of the measure, `levels` say what some of the scores mean."""

    name: str
    question: str
    levels: Mapping[int, str]


@dataclass(frozen=True)
class Rubric:
    """Criteria, each rated with a whole number from `lowest` to `highest`."""

    lowest: int
    highest: int
    criteria: tuple[Criterion, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The criteria's names."""
        return tuple(criterion.name for criterion in self.criteria)

    def prompt_inputs(self) -> dict[str, Any]:
        """The inputs of the prompt."""
        return asdict(self)


def rubric_path(path: Path | None) -> Path:
    """The path of a user's rubric, or of the one in this package that has this name, or of the
    default one.
    """
    own = Path(str(resources.files("convrag_judging").joinpath(f"{path or 'rubric'}.yaml")))
    return path if path and not own.is_file() else own


def read_rubric(path: Path) -> Rubric:
    """A rubric from a YAML file. Raises DataError, which says what is wrong with it."""
    data = _load_yaml(path)
    lowest, highest = data.get("lowest"), data.get("highest")
    if type(lowest) is not int or type(highest) is not int or lowest >= highest:
        raise DataError(
            "lowest and highest must be whole numbers, the second larger than the first", path=path
        )
    criteria = data.get("criteria")
    if not isinstance(criteria, dict) or not criteria:
        raise DataError(
            "criteria must hold at least one, as in `faithfulness: {question: ...}`", path=path
        )
    return Rubric(
        lowest,
        highest,
        tuple(_read_criterion(str(name), value, path) for name, value in criteria.items()),
    )


def _read_criterion(name: str, value: Any, path: Path) -> Criterion:
    fields = {"question": value} if isinstance(value, str) else value
    if (
        not isinstance(fields, dict)
        or not isinstance(fields.get("question"), str)
        or not fields["question"].strip()
    ):
        raise DataError(f"the criterion {name!r} needs a question", path=path)
    levels = fields.get("levels") or {}
    if not isinstance(levels, dict) or not all(type(level) is int for level in levels):
        raise DataError(
            f"the levels of {name!r} must be scores with what they mean, as in `1: ...`", path=path
        )
    return Criterion(
        name, fields["question"], {level: str(meaning) for level, meaning in levels.items()}
    )


def _load_yaml(path: Path) -> dict[Any, Any]:
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException
    from yaml import YAMLError

    try:
        data = OmegaConf.to_container(OmegaConf.load(path))
    except (
        OSError,
        ValueError,
        YAMLError,
        OmegaConfBaseException,
    ) as error:  # ValueError: a number of 5,000 digits
        raise DataError(
            f"this rubric cannot be read ({' '.join(str(error).split())})", path=path
        ) from error
    if not isinstance(data, dict):
        raise DataError("a rubric has lowest, highest and criteria", path=path)
    return data


TITLE = "judge"
"""Of the report. The ratings are in judgements.jsonl, which metrics.judge.judgements and
task=agreement read.
"""


@dataclass(frozen=True)
class TurnRatings:
    """The ratings of one answer. `empty` marks an empty answer; `problems` has a message for each unusable reply."""

    turn_id: str
    ratings: tuple[Rating, ...] = ()
    problems: tuple[str, ...] = ()
    empty: bool = False
    repeats: Repeats = field(default_factory=Repeats)


def average(ratings: Iterable[Rating], key: Callable[[Rating], str]) -> dict[str, dict[str, float]]:
    """Key -> criterion -> the mean score of the ratings that have them."""
    scores: dict[str, dict[str, list[float]]] = {}
    for rating in ratings:
        scores.setdefault(key(rating), {}).setdefault(rating.criterion, []).append(rating.score)
    return {
        name: {each: fmean(values) for each, values in found.items()}
        for name, found in scores.items()
    }


def report_ratings(
    turns: Sequence[TurnRatings],
    rubric: Rubric,
    human: Sequence[Rating],
    in_files: Sequence[str] | None,
    title: str,
) -> Report | None:
    """Counts and agreement in sentences and as data, and each rating as a file; None where there
    was no turn.

    Args:
        turns: with their ratings.
        rubric: of the judges.
        human: the ratings of people.
        in_files: the turns that files of judgements hold; None where models judged.
        title: of the numbers.
    """
    if not turns:
        return None
    ratings = [rating for turn in turns for rating in turn.ratings]
    table, judges = group_ratings(ratings), average(ratings, lambda rating: rating.annotator)
    agreements = measure_agreements(table, group_ratings(human))
    alphas = {
        criterion: krippendorff_alpha([list(scores.values()) for scores in by_turn.values()])
        for criterion, by_turn in table.items()
        if len(judges) > 1
    }
    numbers = {
        "turns": len(turns),
        "judged": sum(bool(turn.ratings) for turn in turns),
        "without_answer": sum(turn.empty for turn in turns),
        "unusable_replies": sum(len(turn.problems) for turn in turns),
        "not_in_run": len(set(in_files or ()) - {turn.turn_id for turn in turns}),
        "judges": judges,
        "alpha_among_judges": alphas,
        "agreement": {name: asdict(agreement) for name, agreement in agreements.items()},
    }
    scale = f", on a scale from {rubric.lowest} to {rubric.highest}" if in_files is None else ""
    lines = [f"Judge: {line}" for line in _describe(turns, numbers, scale, len(in_files or ()))]
    lines += [
        f"Judge and people, {agreement.describe(name)}" for name, agreement in agreements.items()
    ]
    if missing := [name for name in group_ratings(human) if name not in agreements]:
        lines.append(f"Judge: people scored {', '.join(missing)}, which nobody judged here")
    file = "judgements.jsonl" if title == TITLE else f"judgements.{title}.jsonl"
    rows = "\n".join(format_json(asdict(rating)) for rating in ratings)
    return Report(
        "judging", tuple(lines), {title: numbers}, {file: rows} if in_files is None and rows else {}
    )


def _describe(
    turns: Sequence[TurnRatings], numbers: Mapping[str, Any], scale: str, in_files: int
) -> Iterator[str]:
    yield f"{numbers['judged']} of {len(turns)} answers judged by {', '.join(numbers['judges']) or 'nobody'}{scale}"
    if empty := numbers["without_answer"]:
        yield f"{empty} turns have no answer, and the lowest score"
    if problems := Counter(problem for turn in turns for problem in turn.problems):
        yield f"{problems.total()} replies could not be used as they were. Most often: {problems.most_common(1)[0][0]}"
    repeats = Repeats()
    for turn in turns:
        repeats.add(turn.repeats)
    yield from repeats.describe()
    if absent := numbers["not_in_run"]:
        yield f"{absent} of {in_files} turns that files judge are not in this run"
    if alphas := numbers["alpha_among_judges"]:
        figures = ", ".join(
            f"{criterion} {format_figure(alpha)}" for criterion, alpha in alphas.items()
        )
        yield f"Krippendorff's alpha among the judges: {figures}"
