"""The forms of replies: strict ones that are asked for, and lenient ones for reading a reply that
breaks them.
"""

from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, create_model, model_validator

from convrag_judging.nugget_scores import LabelParser

M = TypeVar("M", bound=BaseModel)


class LabelList(BaseModel):
    """{"labels": [...]}, or the list alone; an item may be an object that holds its label as its last value."""

    labels: list[str]

    @model_validator(mode="before")
    @classmethod
    def _wrap_list(cls, value: Any) -> Any:
        labels = value.get("labels") if isinstance(value, dict) else value
        if not isinstance(labels, list):
            return value
        return {
            "labels": [
                [*item.values()][-1] if isinstance(item, dict) and item else item for item in labels
            ]
        }


def labels_form(count: int, parse: LabelParser, choices: str) -> type[LabelList]:
    """The strict form of `count` labels that `parse` knows."""

    def check(labels: list[str]) -> list[str]:
        if len(labels) != count:
            raise ValueError(f"there must be {count} labels, not {len(labels)}")
        if unknown := [label for label in labels if parse(label) is None]:
            raise ValueError(f"{unknown[0]!r} is none of {choices}")
        return labels

    return _make_strict(LabelList, labels=Annotated[list[str], AfterValidator(check)])


class NuggetList(BaseModel):
    """{"nuggets": [...]}, or the list alone."""

    nuggets: list[str]

    @model_validator(mode="before")
    @classmethod
    def _wrap_list(cls, value: Any) -> Any:
        return {"nuggets": value} if isinstance(value, list) else value


def nuggets_form(most: int, words: int) -> type[NuggetList]:
    """The strict form of at most `most` nuggets, of 1 to `words` words each."""

    def check(nuggets: list[str]) -> list[str]:
        if len(nuggets) > most:
            raise ValueError(f"there must be at most {most} nuggets, not {len(nuggets)}")
        if long := [nugget for nugget in nuggets if not 1 <= len(nugget.split()) <= words]:
            raise ValueError(
                f"a nugget has 1 to {words} words, and this one {len(long[0].split())}: {long[0]!r}"
            )
        return nuggets

    return _make_strict(NuggetList, nuggets=Annotated[list[str], AfterValidator(check)])


class ScoreReply(BaseModel):
    """{"reason": "...", "scores": {...}}; the scores may stand beside the reason."""

    reason: str = ""
    scores: dict[str, Any]

    @model_validator(mode="before")
    @classmethod
    def _wrap_scores(cls, value: Any) -> Any:
        if isinstance(value, dict) and "scores" not in value:
            return {
                "reason": str(value.get("reason", "")),
                "scores": {k: v for k, v in value.items() if k != "reason"},
            }
        return value


def scores_form(criteria: tuple[str, ...], lowest: int, highest: int) -> type[ScoreReply]:
    """The strict form of a score for each criterion: a whole number from `lowest` to `highest`."""

    def check(scores: dict[str, Any]) -> dict[str, Any]:
        for name in criteria:
            if name not in scores:
                raise ValueError(f"there is no score for {name!r}")
            if parse_score(scores[name], lowest, highest) is None:
                raise ValueError(
                    f"{name} must be a whole number from {lowest} to {highest}: {scores[name]!r}"
                )
        return scores

    return _make_strict(ScoreReply, scores=Annotated[dict[str, Any], AfterValidator(check)])


def _make_strict(form: type[M], **fields: Any) -> type[M]:
    """A form whose fields are checked."""
    definitions: dict[str, Any] = {name: (kind, ...) for name, kind in fields.items()}
    return create_model(form.__name__, __base__=form, **definitions)


def parse_score(value: Any, lowest: int, highest: int) -> int | None:
    """A score as a number: from 4, 4.0, "4" or {"score": 4}; None for anything that is not on the
    scale.
    """
    if isinstance(value, dict):
        value = value.get("score")
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    whole = not isinstance(value, bool) and number.is_integer() and lowest <= number <= highest
    return int(number) if whole else None
