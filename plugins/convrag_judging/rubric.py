"""Rubrics: the criteria and the scale by which judges rate answers, read from YAML."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from convrag import DataError


@dataclass(frozen=True)
class Criterion:
    """A question about the answer.

    Its name is the name of the measure; `levels` say what some of the scores mean.
    """

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
        """The names of the criteria."""
        return tuple(criterion.name for criterion in self.criteria)

    def prompt_inputs(self) -> dict[str, Any]:
        """Return the inputs of the prompt."""
        return asdict(self)


def rubric_path(path: Path | None) -> Path:
    """Return the path of a rubric.

    Args:
        path: a user's file, or the name of a rubric in this package; None is the default one.
    """
    packaged = Path(str(resources.files("convrag_judging").joinpath(f"{path or 'rubric'}.yaml")))
    if path is None or packaged.is_file():
        return packaged
    return path


def read_rubric(path: Path) -> Rubric:
    """Read a rubric from a YAML file. Raises DataError, which says what is wrong with it."""
    data = _load_yaml(path)
    lowest = data.get("lowest")
    highest = data.get("highest")
    if type(lowest) is not int or type(highest) is not int or lowest >= highest:
        raise DataError(
            "lowest and highest must be whole numbers, the second larger than the first", path=path
        )
    criteria = data.get("criteria")
    if not isinstance(criteria, dict) or not criteria:
        raise DataError(
            "criteria must hold at least one, as in `faithfulness: {question: ...}`", path=path
        )
    parsed = [_read_criterion(str(name), value, path) for name, value in criteria.items()]
    return Rubric(lowest, highest, tuple(parsed))


def _read_criterion(name: str, value: Any, path: Path) -> Criterion:
    """Read a criterion: a question, or a mapping with `question` and `levels`."""
    fields = value if isinstance(value, dict) else {"question": value}
    question = fields.get("question")
    if not isinstance(question, str) or not question.strip():
        raise DataError(f"the criterion {name!r} needs a question", path=path)
    levels = fields.get("levels") or {}
    if not isinstance(levels, dict) or not all(type(level) is int for level in levels):
        raise DataError(
            f"the levels of {name!r} must be scores with what they mean, as in `1: ...`", path=path
        )
    return Criterion(name, question, {level: str(meaning) for level, meaning in levels.items()})


def _load_yaml(path: Path) -> dict[Any, Any]:
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException
    from yaml import YAMLError

    from convrag.sdk.data.bounded_yaml import parse_config

    try:
        data = OmegaConf.to_container(parse_config(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, YAMLError, OmegaConfBaseException) as error:
        # ValueError: a number of 5,000 digits
        raise DataError(
            f"this rubric cannot be read ({' '.join(str(error).split())})", path=path
        ) from error
    if not isinstance(data, dict):
        raise DataError("a rubric has lowest, highest and criteria", path=path)
    return data
