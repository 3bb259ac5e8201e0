"""Every option of ours is tested with the contract of its stage."""

import re

import pytest

from convrag.api.groups import GROUPS, options_group
from convrag.registry import plugins
from places import ROOT

TESTS = [path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py")]


@pytest.mark.parametrize("group", [group for group in GROUPS if group == options_group(group)])
def test_there_is_a_contract_for_each_option(group: str) -> None:
    contract = re.compile(
        rf"^class \w+\(.*\b(?:{GROUPS[group].__name__}|Published)Contract\):", re.MULTILINE
    )
    candidates = [text for text in TESTS if contract.search(text)]
    own = [
        each
        for each in plugins.load().registry.options(group).values()
        if each.distribution == plugins.FIRST_PARTY
    ]
    untested = [
        each.name for each in own if not any(each.cls.__name__ in text for text in candidates)
    ]
    assert own
    assert not untested, (
        f"no test with {GROUPS[group].__name__}Contract for {group}={', '.join(untested)}"
    )
