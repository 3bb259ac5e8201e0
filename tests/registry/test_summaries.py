"""The lines of --help that plugins give when they register."""

import pytest

from convrag.api.groups import GROUPS, options_group
from convrag.registry import plugins
from convrag.registry.option import Option

OURS = [
    option
    for group in GROUPS
    if group == options_group(group)
    for option in plugins.load().registry.options(group).values()
    if option.distribution == plugins.FIRST_PARTY
]


@pytest.mark.parametrize("option", OURS, ids=lambda option: f"{option.group}={option.name}")
def test_a_summary_is_the_first_line_of_the_docstring(option: Option) -> None:
    """A variant of a class, `register(..., model="small")`, may say more."""
    if option.defaults:
        assert option.summary.startswith(option.docstring_summary.rstrip("."))
    else:
        assert option.summary == option.docstring_summary
