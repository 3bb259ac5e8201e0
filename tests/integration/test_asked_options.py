"""Each option that asks a language model, in two turns with a real one that obeys badly."""

import json
import re
from pathlib import Path

import pytest

from asked_options import TEMPLATE_TOKENS, list_options, try_option
from small_model import load, needs_small_model, small_model  # noqa: F401

pytestmark = [pytest.mark.slow, pytest.mark.integration, needs_small_model]

COUNTING = {
    "memory=recent",
    "memory=forgetting",
    "selector=budget",
    "context=dedup",
    "context=snippets",
    "metrics=prefix_reuse",
}
"""Options that only count tokens with the model."""

ERRORS = re.compile(r"Traceback|Error\b|Exception\b|gave no reply|cannot be read|convrag: ")


@pytest.fixture(scope="module", autouse=True)
def loaded(small_model: Path) -> object:
    """The model, which stays loaded for all options."""
    return load(small_model)


@pytest.mark.parametrize(("group", "name"), list_options())
def test_an_option_survives_a_model_that_does_not_obey(
    group: str, name: str, small_model: Path, tmp_path: Path
) -> None:
    attempt = try_option(group, name, small_model, tmp_path)
    assert attempt.status in (0, 3), attempt.printed
    assert len(attempt.rows) in (2, 3)
    for row in attempt.rows:
        assert row["error"] == ""
        assert row["agent_response"]
        assert not ERRORS.search(row["agent_response"])
        assert not TEMPLATE_TOKENS.search(json.dumps(row))
    for stage, reason in attempt.fallbacks:
        assert reason.strip()
        assert re.search(rf"fell back: .*\b{stage} \d", attempt.printed), attempt.printed
    asked = attempt.evaluated > 0
    assert asked != (f"{group}={name}" in COUNTING)
