"""The forms of replies: strict ones to ask for, lenient ones to read a reply that breaks them."""

from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, WithJsonSchema, create_model, model_validator

from convrag_judging.nugget_labels import LabelParser

M = TypeVar("M", bound=BaseModel)

_TEXT = {"type": "string"}


class LabelList(BaseModel):
    """{"labels": [...]}, or the list alone; of an item that is an object, its last value."""

    labels: list[str]

    @model_validator(mode="before")
    @classmethod
    def _wrap_list(cls, value: Any) -> Any:
        labels = value.get("labels") if isinstance(value, dict) else value
        if not isinstance(labels, list):
            return value
        return {"labels": [_unwrap_label(item) for item in labels]}


def _unwrap_label(item: Any) -> Any:
    if isinstance(item, dict) and item:
        return list(item.values())[-1]
    return item


def labels_form(count: int, parse: LabelParser, choices: str) -> type[LabelList]:
    """Make the strict form of `count` labels that `parse` knows."""

    def check(labels: list[str]) -> list[str]:
        if len(labels) != count:
            raise ValueError(f"there must be {count} labels, not {len(labels)}")
        for label in labels:
            if parse(label) is None:
                raise ValueError(f"{label!r} is none of {choices}")
        return labels

    items = {"type": "array", "items": _TEXT, "minItems": count, "maxItems": count}
    checked = Annotated[list[str], AfterValidator(check), WithJsonSchema(items)]
    return _make_strict(LabelList, labels=checked)


class NuggetList(BaseModel):
    """{"nuggets": [...]}, or the list alone."""

    nuggets: list[str]

    @model_validator(mode="before")
    @classmethod
    def _wrap_list(cls, value: Any) -> Any:
        return {"nuggets": value} if isinstance(value, list) else value


def nuggets_form(most: int, words: int) -> type[NuggetList]:
    """Make the strict form of at most `most` nuggets, of 1 to `words` words each."""

    def check(nuggets: list[str]) -> list[str]:
        if len(nuggets) > most:
            raise ValueError(f"there must be at most {most} nuggets, not {len(nuggets)}")
        for nugget in nuggets:
            length = len(nugget.split())
            if not 1 <= length <= words:
                raise ValueError(
                    f"a nugget has 1 to {words} words, and this one {length}: {nugget!r}"
                )
        return nuggets

    items = {"type": "array", "items": _TEXT, "maxItems": most}
    checked = Annotated[list[str], AfterValidator(check), WithJsonSchema(items)]
    return _make_strict(NuggetList, nuggets=checked)


class ScoreReply(BaseModel):
    """{"reason": "...", "scores": {...}}; the scores may also be next to the reason."""

    reason: str = ""
    scores: dict[str, Any]

    @model_validator(mode="before")
    @classmethod
    def _wrap_scores(cls, value: Any) -> Any:
        if isinstance(value, dict) and "scores" not in value:
            scores = {name: score for name, score in value.items() if name != "reason"}
            return {"reason": str(value.get("reason", "")), "scores": scores}
        return value


def scores_form(criteria: tuple[str, ...], lowest: int, highest: int) -> type[ScoreReply]:
    """Make the strict form of a whole number from `lowest` to `highest` for each criterion."""

    def check(scores: dict[str, Any]) -> dict[str, Any]:
        for name in criteria:
            if name not in scores:
                raise ValueError(f"there is no score for {name!r}")
            if parse_score(scores[name], lowest, highest) is None:
                raise ValueError(
                    f"{name} must be a whole number from {lowest} to {highest}: {scores[name]!r}"
                )
        return scores

    number = {"type": "integer", "minimum": lowest, "maximum": highest}
    criteria_schema = {"type": "object", "properties": dict.fromkeys(criteria, number)}
    checked = Annotated[dict[str, Any], AfterValidator(check), WithJsonSchema(criteria_schema)]
    return _make_strict(ScoreReply, scores=checked)


def _make_strict(form: type[M], **fields: Any) -> type[M]:
    """Make a form whose fields are checked."""
    definitions: dict[str, Any] = {name: (kind, ...) for name, kind in fields.items()}
    return create_model(form.__name__, __base__=form, **definitions)


def parse_score(value: Any, lowest: int, highest: int) -> int | None:
    """Parse a score from 4, 4.0, "4" or {"score": 4}; None for what is not on the scale."""
    if isinstance(value, dict):
        value = value.get("score")
    if isinstance(value, bool):
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return int(number) if number.is_integer() and lowest <= number <= highest else None
