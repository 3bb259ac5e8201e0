"""The options of stages, as names and tags of runs and traces show them."""

from collections.abc import Iterable, Mapping
from typing import Any

from convrag.sdk.output.spans import get_option
from convrag.sdk.tasks.turns import Stages


def list_options(config: Mapping[str, Any], groups: Iterable[str]) -> list[str]:
    """List the options of some groups, `rewriter=last_n`; groups without one are left out."""
    options = ((group, get_option(config, group)) for group in groups)
    return [f"{group}={option}" for group, option in options if option]


def describe_options(config: Mapping[str, Any]) -> str:
    """Describe the stages of a turn, `dataset=sample llm=extractive memory=all ...`."""
    return " ".join(list_options(config, ("dataset", "llm", *Stages._fields)))
