"""The forms of replies: strict ones that are asked for, and what can be made of a reply that does not keep to one."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, field_validator, model_validator

from convrag_judging.labels import Reader


class Labels(BaseModel):
    """{"labels": [...]}, or the list alone; an item may be an object that holds its label as its last value."""

    labels: list[str]

    @model_validator(mode="before")
    @classmethod
    def _alone(cls, value: Any) -> Any:
        labels = value.get("labels") if isinstance(value, dict) else value
        if not isinstance(labels, list):
            return value
        return {"labels": [[*item.values()][-1] if isinstance(item, dict) and item else item for item in labels]}


def labels_form(count: int, read: Reader, choices: str) -> type[Labels]:
    """Exactly so many labels, each of which can be read."""

    class Exact(Labels):
        @field_validator("labels")
        @classmethod
        def _complete(cls, labels: list[str]) -> list[str]:
            if len(labels) != count:
                raise ValueError(f"there must be {count} labels, not {len(labels)}")
            if unknown := [label for label in labels if read(label) is None]:
                raise ValueError(f"{unknown[0]!r} is none of {choices}")
            return labels

    return Exact


class Nuggets(BaseModel):
    """{"nuggets": [...]}, or the list alone."""

    nuggets: list[str]

    @model_validator(mode="before")
    @classmethod
    def _alone(cls, value: Any) -> Any:
        return {"nuggets": value} if isinstance(value, list) else value


def nuggets_form(most: int, words: int) -> type[Nuggets]:
    """At most so many nuggets, of 1 to `words` words each."""

    class Short(Nuggets):
        @field_validator("nuggets")
        @classmethod
        def _short(cls, nuggets: list[str]) -> list[str]:
            if len(nuggets) > most:
                raise ValueError(f"there must be at most {most} nuggets, not {len(nuggets)}")
            if long := [nugget for nugget in nuggets if not 1 <= len(nugget.split()) <= words]:
                raise ValueError(f"a nugget has 1 to {words} words, and this one {len(long[0].split())}: {long[0]!r}")
            return nuggets

    return Short


class Scores(BaseModel):
    """{"reason": "...", "scores": {...}}; the scores may stand beside the reason."""

    reason: str = ""
    scores: dict[str, Any]

    @model_validator(mode="before")
    @classmethod
    def _beside(cls, value: Any) -> Any:
        if isinstance(value, dict) and "scores" not in value:
            return {"reason": str(value.get("reason", "")), "scores": {k: v for k, v in value.items() if k != "reason"}}
        return value


def scores_form(criteria: tuple[str, ...], lowest: int, highest: int) -> type[Scores]:
    """A whole number on the scale for each criterion."""

    class OnScale(Scores):
        @field_validator("scores")
        @classmethod
        def _on_scale(cls, scores: dict[str, Any]) -> dict[str, Any]:
            for name in criteria:
                if name not in scores:
                    raise ValueError(f"there is no score for {name!r}")
                if on_scale(scores[name], lowest, highest) is None:
                    raise ValueError(f"{name} must be a whole number from {lowest} to {highest}: {scores[name]!r}")
            return scores

    return OnScale


def on_scale(value: Any, lowest: int, highest: int) -> int | None:
    """A score as a number: 4, 4.0, "4" and {"score": 4} are; None for what is none on the scale."""
    if isinstance(value, dict):
        value = value.get("score")
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    whole = not isinstance(value, bool) and number.is_integer() and lowest <= number <= highest
    return int(number) if whole else None
