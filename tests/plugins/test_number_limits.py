"""Every number that a user can set has limits, and one outside of them is an error that names it."""

from collections.abc import Iterator

import pytest

from convrag.api.errors import ConfigError
from convrag.api.groups import GROUPS
from convrag.config.compose import compose
from convrag.registry import plugins
from convrag.registry.parameters import Parameter, read_parameters, union_members

CHECKED_BY_THE_STAGE = {
    "chunker": {"smallest", "overlap"},
    "clusterer": {"most"},
    "dataset": {"year"},
    "generator": {"window"},
    "selector": {"maximum"},
}
"""Group -> parameters whose limits depend on other parameters, or that have few values."""

UNLIMITED = {"llm": {"seed"}, "task": {"seed"}}
"""Group -> parameters that may be any integer."""


def _list_numbers() -> Iterator[tuple[str, str, Parameter]]:
    registry = plugins.load().registry
    for group in GROUPS:
        for name in registry.options(group):
            option = registry.get(group, name)
            if not option.cls.__module__.startswith("convrag_"):
                continue
            for parameter in read_parameters(option.cls).values():
                if set(union_members(parameter.type)) & {int, float}:
                    yield group, name, parameter


def test_every_number_has_limits() -> None:
    missing = []
    for group, name, parameter in _list_numbers():
        exempt = CHECKED_BY_THE_STAGE.get(group, set()) | UNLIMITED.get(group, set())
        if not parameter.limits and parameter.name not in exempt:
            missing.append(f"{group}={name}: {parameter.name}")
    assert missing == []


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["generator=direct", "generator.max_tokens=-5"], "generator.max_tokens=-5: .* at least 1"),
        (["generator=chat", "generator.max_tokens=0"], "generator.max_tokens=0: .* at least 1"),
        (["generator.temperature=-0.1"], "generator.temperature=-0.1: .* at least 0"),
        (["generator=chat", "generator.top_p=0"], "generator.top_p=0: .* above 0 and at most 1"),
        (["rewriter=mmr", "rewriter.max_tokens=-1"], "rewriter.max_tokens=-1: .* at least 1"),
        (["rewriter=mmr", "rewriter.min_words=-1"], "rewriter.min_words=-1: .* at least 0"),
        (["rewriter=dhrag", "rewriter.chain_bonus=-1"], "rewriter.chain_bonus=-1: .* at least 0"),
        (["llm=gpt", "llm.max_tokens=0"], "llm.max_tokens=0: .* at least 1"),
        (["llm=gpt", "llm.temperature=-1"], "llm.temperature=-1: .* at least 0"),
        (["rewriter=resolve", "rewriter.max_tokens=0"], "rewriter.max_tokens=0: .* at least 1"),
        (["summarizer.max_tokens=-2"], "summarizer.max_tokens=-2: .* at least 1"),
        (["clusterer=kmeans", "clusterer.seed=-1"], "clusterer.seed=-1: .* at least 0"),
    ],
)
def test_a_number_outside_of_its_limits_is_named(overrides: list[str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        compose(*overrides)
