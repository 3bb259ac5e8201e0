"""Ratings by a rubric, asked of a model, and aggregated: means by turn and judge, agreement of judges and people."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from convrag import DataError, Report
from convrag.sdk.judges import Repeats
from convrag.sdk.strict_json import format_json
from convrag_judging.agreement import Agreement, format_figure, krippendorff_alpha, measure_agreements
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
    """The path of a user's rubric, or of the one in this package that has this name, or of the default one."""
    own = Path(str(resources.files("convrag_judging").joinpath(f"{path or 'rubric'}.yaml")))
    return path if path and not own.is_file() else own


def read_rubric(path: Path) -> Rubric:
    """A rubric from a YAML file. Raises DataError, which says what is wrong with it."""
    data = _load_yaml(path)
    lowest, highest = data.get("lowest"), data.get("highest")
    if type(lowest) is not int or type(highest) is not int or lowest >= highest:
        raise DataError("lowest and highest must be whole numbers, the second larger than the first", path=path)
    criteria = data.get("criteria")
    if not isinstance(criteria, dict) or not criteria:
        raise DataError("criteria must hold at least one, as in `faithfulness: {question: ...}`", path=path)
    return Rubric(lowest, highest, tuple(_read_criterion(str(name), value, path) for name, value in criteria.items()))


def _read_criterion(name: str, value: Any, path: Path) -> Criterion:
    fields = {"question": value} if isinstance(value, str) else value
    if not isinstance(fields, dict) or not isinstance(fields.get("question"), str) or not fields["question"].strip():
        raise DataError(f"the criterion {name!r} needs a question", path=path)
    levels = fields.get("levels") or {}
    if not isinstance(levels, dict) or not all(type(level) is int for level in levels):
        raise DataError(f"the levels of {name!r} must be scores with what they mean, as in `1: ...`", path=path)
    return Criterion(name, fields["question"], {level: str(meaning) for level, meaning in levels.items()})


def _load_yaml(path: Path) -> dict[Any, Any]:
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException
    from yaml import YAMLError

    try:
        data = OmegaConf.to_container(OmegaConf.load(path))
    except (OSError, ValueError, YAMLError, OmegaConfBaseException) as error:  # ValueError: a number of 5,000 digits
        raise DataError(f"this rubric cannot be read ({' '.join(str(error).split())})", path=path) from error
    if not isinstance(data, dict):
        raise DataError("a rubric has lowest, highest and criteria", path=path)
    return data


TITLE = "judge"
"""Of the report. The ratings are in judgements.jsonl, which metrics.judge.judgements and task=agreement read."""


@dataclass(frozen=True)
class TurnRatings:
    """The ratings of one answer. `empty` marks an empty answer; `problems` has a message for each unusable reply."""

    turn_id: str
    ratings: tuple[Rating, ...] = ()
    problems: tuple[str, ...] = ()
    empty: bool = False
    repeats: Repeats | None = None


class RatingAggregate:
    """Collects the ratings of one run.

    Args:
        rubric: the rubric of the judges.
        human: the ratings of people.
        turns_in_files: the turns that files of judgements hold; None where models judged.
        title: of the report.
    """

    def __init__(
        self,
        rubric: Rubric,
        human: Sequence[Rating] = (),
        turns_in_files: Sequence[str] | None = None,
        title: str = TITLE,
    ) -> None:
        self.title = title
        self.rubric = rubric
        self.human = human
        self.turns_in_files = turns_in_files
        self.turns: list[TurnRatings] = []
        self._repeats = Repeats()

    def add(self, turn: TurnRatings) -> None:
        """Add a turn."""
        self.turns.append(turn)
        if turn.repeats:
            self._repeats.add(turn.repeats)

    def average_turns(self) -> dict[str, dict[str, float]]:
        """Turn id -> criterion -> the mean over its annotators; turns without ratings are left out."""
        means: dict[str, dict[str, float]] = {}
        for turn in self.turns:
            scores: dict[str, list[float]] = {}
            for rating in turn.ratings:
                scores.setdefault(rating.criterion, []).append(rating.score)
            if scores:
                means[turn.turn_id] = {name: sum(values) / len(values) for name, values in scores.items()}
        return means

    def average_judges(self) -> dict[str, dict[str, float]]:
        """Judge -> criterion -> the mean of its scores."""
        scores: dict[str, dict[str, list[float]]] = {}
        for rating in self._ratings():
            scores.setdefault(rating.annotator, {}).setdefault(rating.criterion, []).append(rating.score)
        return {
            judge: {name: sum(values) / len(values) for name, values in by_criterion.items()}
            for judge, by_criterion in scores.items()
        }

    def compare_judges(self) -> dict[str, float | None]:
        """Criterion -> Krippendorff's alpha (ordinal) among the judges; empty for a single one."""
        if len(self.average_judges()) < 2:
            return {}
        table = group_ratings(self._ratings())
        return {
            criterion: krippendorff_alpha([list(scores.values()) for scores in turns.values()])
            for criterion, turns in table.items()
        }

    def compare_with_people(self) -> dict[str, Agreement]:
        """Criterion -> agreement with the ratings of people."""
        return measure_agreements(group_ratings(self._ratings()), group_ratings(self.human))

    def report(self) -> Report | None:
        """Counts and agreement in sentences and as data, and each rating as a file; None where there was no turn."""
        if not self.turns:
            return None
        lines = "\n".join(format_json(asdict(rating)) for rating in self._ratings())
        file = "judgements.jsonl" if self.title == TITLE else f"judgements.{self.title}.jsonl"
        files = {file: lines} if self.turns_in_files is None and lines else {}
        return Report("judging", tuple(self._sentences()), {self.title: self._numbers()}, files)

    def _ratings(self) -> list[Rating]:
        return [rating for turn in self.turns for rating in turn.ratings]

    def _count_problems(self) -> Counter[str]:
        return Counter(problem for turn in self.turns for problem in turn.problems)

    def _count_absent(self) -> int:
        """The number of turns in the files of judgements that the run does not have."""
        present = {turn.turn_id for turn in self.turns}
        return sum(turn_id not in present for turn_id in self.turns_in_files or ())

    def _numbers(self) -> dict[str, Any]:
        return {
            "turns": len(self.turns),
            "judged": len(self.average_turns()),
            "without_answer": sum(turn.empty for turn in self.turns),
            "unusable_replies": self._count_problems().total(),
            "not_in_run": self._count_absent(),
            "judges": self.average_judges(),
            "alpha_among_judges": self.compare_judges(),
            "agreement": {name: asdict(agreement) for name, agreement in self.compare_with_people().items()},
        }

    def _sentences(self) -> Iterator[str]:
        judges, judged = self.average_judges(), len(self.average_turns())
        from_files = self.turns_in_files is not None
        scale = "" if from_files else f", on a scale from {self.rubric.lowest} to {self.rubric.highest}"
        yield f"Judge: {judged} of {len(self.turns)} answers judged by {', '.join(judges) or 'nobody'}{scale}"
        if empty := sum(turn.empty for turn in self.turns):
            yield f"Judge: {empty} turns have no answer, and the lowest score"
        if problems := self._count_problems():
            reason, _ = problems.most_common(1)[0]
            yield f"Judge: {problems.total()} replies could not be used as they were. Most often: {reason}"
        yield from (f"Judge: {sentence}" for sentence in self._repeats.describe())
        if absent := self._count_absent():
            yield f"Judge: {absent} of {len(self.turns_in_files or ())} turns that files judge are not in this run"
        if alphas := self.compare_judges():
            figures = ", ".join(f"{criterion} {format_figure(alpha)}" for criterion, alpha in alphas.items())
            yield f"Judge: Krippendorff's alpha among the judges: {figures}"
        if self.human:
            yield from self._human_sentences()

    def _human_sentences(self) -> Iterator[str]:
        agreements = self.compare_with_people()
        yield from (f"Judge and people, {agreement.describe(name)}" for name, agreement in agreements.items())
        if missing := [name for name in group_ratings(self.human) if name not in agreements]:
            yield f"Judge: people scored {', '.join(missing)}, which nobody judged here"
