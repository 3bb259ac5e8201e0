"""Each option that asks a language model, in two turns with a real one that obeys badly."""

import json
import re
from pathlib import Path

import pytest

from asked_options import TEMPLATE_TOKENS, list_options, try_option
from small_model import load, needs_small_model

pytestmark = [pytest.mark.slow, pytest.mark.integration]

OPTIONS = (
    "dataset=simulated",
    "memory=forgetting",
    "memory=recent",
    "memory=summary",
    "rewriter=auto",
    "rewriter=chiq",
    "rewriter=condense",
    "rewriter=dhrag",
    "rewriter=dual_view",
    "rewriter=full_history",
    "rewriter=hyde",
    "rewriter=llm4cs",
    "rewriter=llm4cs_rewrites",
    "rewriter=mmr",
    "rewriter=multi_query",
    "rewriter=rag_fusion",
    "rewriter=reformulate",
    "rewriter=reformulate_answer",
    "rewriter=reformulate_context",
    "rewriter=reformulate_entities",
    "rewriter=reformulate_keywords",
    "rewriter=resolve",
    "rewriter=tagged",
    "rewriter=threshold",
    "rewriter=weighted_history",
    "search=agent",
    "search=decompose",
    "search=iterative",
    "search=never_needed",
    "search=tagged",
    "selector=budget",
    "context=dedup",
    "context=document",
    "context=section",
    "context=snippets",
    "context=window",
    "generator=baseline",
    "generator=chat",
    "generator=cot",
    "generator=direct",
    "generator=ginger",
    "detector=auto",
    "detector=llm",
    "ranker=llm",
    "ranker=llm_listwise",
    "summarizer=llm",
    "metrics=answer_relevancy",
    "metrics=context_precision",
    "metrics=context_recall",
    "metrics=evidence",
    "metrics=faithfulness",
    "metrics=goal_success",
    "metrics=judge",
    "metrics=mtrag",
    "metrics=nuggets",
    "metrics=prefix_reuse",
)
"""Options of ours with a language model among their stages."""

COUNTING = {
    "metrics=evidence",
    "memory=recent",
    "memory=forgetting",
    "selector=budget",
    "context=dedup",
    "context=document",
    "context=section",
    "context=snippets",
    "context=window",
    "metrics=prefix_reuse",
}
"""Options that only count tokens with the model."""

ERRORS = re.compile(r"Traceback|Error\b|Exception\b|gave no reply|cannot be read|convrag: ")


@pytest.fixture(scope="module")
def loaded(small_model: Path) -> object:
    """The model, which stays loaded for all options."""
    return load(small_model)


def test_no_option_is_forgotten() -> None:
    assert sorted(OPTIONS) == sorted(f"{group}={name}" for group, name in list_options())


@needs_small_model
@pytest.mark.parametrize("option", OPTIONS)
def test_an_option_survives_a_model_that_does_not_obey(
    option: str, loaded: object, small_model: Path, tmp_path: Path
) -> None:
    group, name = option.split("=")
    attempt = try_option(group, name, small_model, tmp_path)
    assert attempt.status in (0, 3), attempt.printed
    assert 1 <= len(attempt.rows) <= 3  # a simulated user may give up after the first
    for row in attempt.rows:
        assert row["error"] == ""
        assert row["agent_response"]
        assert not ERRORS.search(row["agent_response"])
        assert not TEMPLATE_TOKENS.search(json.dumps(row))
    for stage, reason in attempt.fallbacks:
        assert reason.strip()
        assert re.search(rf"fell back: .*\b{stage} \d", attempt.printed), attempt.printed
    asked = attempt.evaluated > 0
    assert asked != (option in COUNTING)
