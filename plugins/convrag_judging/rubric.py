"""Rubrics, and a language model that rates answers by one."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

from convrag import LLM, DataError, Passage, PromptTemplate
from convrag_judging.assessors import ask_for_form, passage_inputs
from convrag_judging.judgement_files import Rating
from convrag_judging.references import ReferenceTurn


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
    """The path of a user's rubric, or of this package's where there is none."""
    return path or Path(str(resources.files("convrag_judging").joinpath("rubric.yaml")))


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


@dataclass
class RubricJudge:
    """Asks one LLM to rate an answer by all criteria in one call.

    Args:
        name: the judge's name: the parameter that the LLM was given as.
        llm: the model.
        template: the prompt.
        sampling: sampling parameters of all calls.
    """

    name: str
    llm: LLM
    template: PromptTemplate
    sampling: dict[str, Any] = field(default_factory=dict)

    def rate(
        self,
        turn_id: str,
        turn: ReferenceTurn,
        passages: Sequence[Passage],
        answer: str,
        rubric: Rubric,
        problems: list[str],
    ) -> list[Rating]:
        """A rating for each criterion that the judge scored on the scale.

        `problems` gets a message where the call failed, or a score was missing or off the scale, also when asked again.
        """
        from convrag_judging.reply_forms import ScoreReply, parse_score, scores_form

        inputs = {"passages": [passage_inputs(passage) for passage in passages], "reference": turn.answer}
        inputs = {**turn.prompt_inputs(), **inputs, "answer": answer, **rubric.prompt_inputs()}
        prompt = self.template.render(dict(self.sampling), **inputs)
        form = scores_form(rubric.names, rubric.lowest, rubric.highest)
        reply = ask_for_form(self.llm, prompt, form, ScoreReply, self.name, problems)
        if reply is None:
            return []
        scores = {name: parse_score(reply.scores.get(name), rubric.lowest, rubric.highest) for name in rubric.names}
        return [
            Rating(turn_id, name, float(score), self.name, reply.reason)
            for name, score in scores.items()
            if score is not None
        ]
