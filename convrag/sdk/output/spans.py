"""Spans as plain data, for trackers that trace."""

from collections.abc import Callable, Mapping
from typing import Any

from convrag.api.completions import Completion
from convrag.api.records import Usage
from convrag.sdk.groups import OPTION_KEY

Row = dict[str, Any]
"""A span, as `make_span` makes it."""

Clear = Callable[[str], str]
"""A function that removes keys, passwords and control characters from a text."""


def make_span(
    name: str,
    kind: str,
    start: int,
    end: int,
    inputs: Any,
    outputs: Any,
    attributes: Mapping[str, Any],
    *,
    parent: int | None = 0,
    error: str = "",
    events: Mapping[str, Mapping[str, str]] | None = None,
) -> Row:
    """Make a span as plain data.

    Args:
        name: of the stage, or of the task of a language model.
        kind: "CHAIN", "MEMORY", "RETRIEVER", "RERANKER", "CHAT_MODEL", or "TASK" for the work of a
            rule.
        start: in nanoseconds since 1970.
        end: likewise.
        inputs: plain data; None for none.
        outputs: likewise.
        attributes: name -> plain data; "model", "tokens" and "cost" where the span has them.
        parent: the parent's place in the list of the turn's spans; None for the root, which is the
            first.
        error: why it failed; empty if it did not.
        events: name -> attributes.
    """
    given = {**attributes, "kind": kind, "inputs": inputs, "outputs": outputs}
    return {
        "name": name,
        "start": start,
        "end": end,
        "parent": parent,
        "attributes": {key: value for key, value in given.items() if value is not None},
        "error": error,
        "events": dict(events or {}),
    }


def count_usage(usage: Usage | Completion) -> Row:
    """Return the attributes "tokens" and "cost" (in US dollars) of a call, a stage or a turn.

    There are no tokens where no language model was asked, and there is no cost where it is 0 or
    not known.
    """
    attributes: Row = {}
    total = usage.prompt_tokens + usage.completion_tokens
    if total:
        tokens = {
            "input_tokens": usage.prompt_tokens,
            "output_tokens": usage.completion_tokens,
            "total_tokens": total,
        }
        if usage.cached_tokens:
            tokens["cache_read_input_tokens"] = usage.cached_tokens
        attributes["tokens"] = tokens
    if usage.cost_usd:
        attributes["cost"] = {"total_cost": float(usage.cost_usd)}
    return attributes


def get_option(config: Mapping[str, Any], group: str) -> str:
    """Return the option of a group; empty for a configuration without the group."""
    settings = config.get(group)
    return str(settings.get(OPTION_KEY, "")) if isinstance(settings, Mapping) else ""


def to_nanoseconds(seconds: float | None) -> int:
    """Convert seconds to nanoseconds; None counts as 0."""
    return round((seconds or 0.0) * 1e9)


def clear_all(value: Any, clear: Clear) -> Any:
    """Return plain data with every text cleared, keys included."""
    if isinstance(value, str):
        return clear(value)
    if isinstance(value, Mapping):
        return {clear(key): clear_all(each, clear) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [clear_all(each, clear) for each in value]
    return value
