"""Language models as judges of answers: which ones were given, and how they are asked for structured replies."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from convrag.api.errors import LLMError
from convrag.api.stage import LLM
from convrag.api.types import Passage, Prompt

if TYPE_CHECKING:
    from pydantic import BaseModel

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
