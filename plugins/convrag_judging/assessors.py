"""Language models as assessors: which they are, how they are asked, and the forms of their replies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, field_validator, model_validator

from convrag import LLM, LLMError, Passage, Prompt
from convrag_judging.nugget_scores import LabelParser

if TYPE_CHECKING:
    from pydantic import BaseModel


if TYPE_CHECKING:
    M = TypeVar("M", bound=BaseModel)
else:
    M = TypeVar("M")


def name_llms(llm: LLM, second_llm: LLM | None, third_llm: LLM | None) -> dict[str, LLM]:
    """The models that were given, by the names of the parameters."""
    llms = {"llm": llm, "second_llm": second_llm, "third_llm": third_llm}
    return {name: model for name, model in llms.items() if model is not None}


def check_tasks(llms: dict[str, LLM], tasks: Sequence[str], metric: str) -> Iterator[str]:
    """A message for each rule-based model that has no rule for one of the tasks; language models know every task."""
    for name, model in llms.items():
        known = model.tasks
        lacking = [task for task in tasks if known is not None and task not in known]
        if lacking:
            yield (
                f"{type(model).__name__} is no language model, and has no rule for {', '.join(lacking)}: choose one "
                f"with metrics.{metric}.{name}=..., or give judgements with metrics.{metric}.judgements=[FILE]"
            )


def find_rule_based(llms: dict[str, LLM]) -> list[str]:
    """The names of the models that work by rules and are no language models."""
    return [name for name, model in llms.items() if model.tasks is not None]


def passage_inputs(passage: Passage) -> dict[str, str]:
    """A passage as prompts are given it; the title is empty where the text begins with it already."""
    return {"title": "" if passage.text.startswith(passage.title) else passage.title, "text": passage.text}


def ask_for_form(
    llm: LLM, prompt: Prompt, strict: type[M], lenient: type[M], label: str, problems: list[str]
) -> M | None:
    """Ask for a reply in a strict form, at most twice; then read what the second reply has in a lenient one.

    Args:
        llm: the model.
        prompt: what it is asked.
        strict: the form that is asked for.
        lenient: the form that is read from a reply that breaks the strict one.
        label: begins each message in `problems`.
        problems: gets a message about a failed call, or a reply that broke the strict form.

    Returns:
        None where the call failed, or the reply has neither form.
    """
    from convrag.sdk.structured_output import UnreadableReply, ask_json, read_json

    try:
        return ask_json(llm, prompt, strict)
    except UnreadableReply as error:
        problems.append(f"{label}: {error.complaint}")
        try:
            return read_json(error.text, lenient)
        except UnreadableReply:
            return None
    except LLMError as error:
        problems.append(f"{label}: {error}")
        return None


class LabelList(BaseModel):
    """{"labels": [...]}, or the list alone; an item may be an object that holds its label as its last value."""

    labels: list[str]

    @model_validator(mode="before")
    @classmethod
    def _wrap_list(cls, value: Any) -> Any:
        labels = value.get("labels") if isinstance(value, dict) else value
        if not isinstance(labels, list):
            return value
        return {"labels": [[*item.values()][-1] if isinstance(item, dict) and item else item for item in labels]}


def labels_form(count: int, parse: LabelParser, choices: str) -> type[LabelList]:
    """The strict form of `count` labels, each of which `parse` knows."""

    class Exact(LabelList):
        @field_validator("labels")
        @classmethod
        def _check_labels(cls, labels: list[str]) -> list[str]:
            if len(labels) != count:
                raise ValueError(f"there must be {count} labels, not {len(labels)}")
            if unknown := [label for label in labels if parse(label) is None]:
                raise ValueError(f"{unknown[0]!r} is none of {choices}")
            return labels

    return Exact


class NuggetList(BaseModel):
    """{"nuggets": [...]}, or the list alone."""

    nuggets: list[str]

    @model_validator(mode="before")
    @classmethod
    def _wrap_list(cls, value: Any) -> Any:
        return {"nuggets": value} if isinstance(value, list) else value


def nuggets_form(most: int, words: int) -> type[NuggetList]:
    """The strict form of at most `most` nuggets, of 1 to `words` words each."""

    class Short(NuggetList):
        @field_validator("nuggets")
        @classmethod
        def _check_nuggets(cls, nuggets: list[str]) -> list[str]:
            if len(nuggets) > most:
                raise ValueError(f"there must be at most {most} nuggets, not {len(nuggets)}")
            if long := [nugget for nugget in nuggets if not 1 <= len(nugget.split()) <= words]:
                raise ValueError(f"a nugget has 1 to {words} words, and this one {len(long[0].split())}: {long[0]!r}")
            return nuggets

    return Short


class ScoreReply(BaseModel):
    """{"reason": "...", "scores": {...}}; the scores may stand beside the reason."""

    reason: str = ""
    scores: dict[str, Any]

    @model_validator(mode="before")
    @classmethod
    def _wrap_scores(cls, value: Any) -> Any:
        if isinstance(value, dict) and "scores" not in value:
            return {"reason": str(value.get("reason", "")), "scores": {k: v for k, v in value.items() if k != "reason"}}
        return value


def scores_form(criteria: tuple[str, ...], lowest: int, highest: int) -> type[ScoreReply]:
    """The strict form of a score for each criterion: a whole number from `lowest` to `highest`."""

    class OnScale(ScoreReply):
        @field_validator("scores")
        @classmethod
        def _check_scores(cls, scores: dict[str, Any]) -> dict[str, Any]:
            for name in criteria:
                if name not in scores:
                    raise ValueError(f"there is no score for {name!r}")
                if parse_score(scores[name], lowest, highest) is None:
                    raise ValueError(f"{name} must be a whole number from {lowest} to {highest}: {scores[name]!r}")
            return scores

    return OnScale


def parse_score(value: Any, lowest: int, highest: int) -> int | None:
    """A score as a number: from 4, 4.0, "4" or {"score": 4}; None for anything that is not on the scale."""
    if isinstance(value, dict):
        value = value.get("score")
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    whole = not isinstance(value, bool) and number.is_integer() and lowest <= number <= highest
    return int(number) if whole else None
