"""The models that a metric asks: the run's own, and up to two more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from convrag import LLM


def named(llm: LLM, second_llm: LLM | None, third_llm: LLM | None) -> dict[str, LLM]:
    """Those that are there, by the names of their parameters."""
    given = {"llm": llm, "second_llm": second_llm, "third_llm": third_llm}
    return {name: model for name, model in given.items() if model is not None}


def unable(models: dict[str, LLM], tasks: Sequence[str], metric: str) -> Iterator[str]:
    """A message for each model that says which tasks it knows, and does not know these."""
    for name, model in models.items():
        known = model.tasks
        lacking = [task for task in tasks if known is not None and task not in known]
        if lacking:
            yield (
                f"{type(model).__name__} is no language model, and has no rule for {', '.join(lacking)}: choose one "
                f"with +llm@metrics.{metric}.{name}=..., or give judgements with metrics.{metric}.judgements=[FILE]"
            )


def without_language(models: dict[str, LLM]) -> list[str]:
    """The names of those that are no language models."""
    return [name for name, model in models.items() if model.tasks is not None]
