"""`+system=perplexity_plus`: one request for the condensed question, and beside it queries by
rules.
"""

from pathlib import Path

import pytest

from convrag import Passage, Pipeline
from convrag.config.compose import compose
from llm_server import Server, make_reply

pytestmark = pytest.mark.integration


def test_it_differs_from_perplexity_in_the_rewriter_alone() -> None:
    plain, plus = (compose(f"+system={name}") for name in ("perplexity", "perplexity_plus"))
    assert {key for key in {*plain, *plus} if plain.get(key) != plus.get(key)} == {"rewriter"}
    assert plus.rewriter.first == plain.rewriter


@pytest.mark.parametrize("option", ["openai_compatible"], indirect=True)
def test_a_follow_up_costs_one_request(server: Server, here: Path) -> None:
    server.plan_replies(make_reply("How long does a heat pump last?"))
    passages = [
        Passage("pump", "A heat pump lasts twenty years."),
        Passage("tea", "Tea is brewed at eighty degrees."),
    ]
    model = ("llm=openai_compatible", "llm.model=local", f"llm.api_base={server.address}")
    chosen = (
        "rewriter=condense_ensemble",
        "generator=none",
        "retriever=bm25",
        f"store.path={here / 'store'}",
    )
    chat = Pipeline.over(passages, *model, *chosen)
    chat.turn("c", "How does a heat pump work?")
    assert not server.requests
    record = chat.turn("c", "How long does it last?")
    assert not record.fallbacks
    assert len(server.requests) == 1
    assert record.rewritten_query == "How long does a heat pump last?"
    expected = [("first", 1.0), ("second", 0.5), ("second", 0.5)]
    assert [(query.source, query.weight) for query in record.queries[:3]] == expected
    assert {query.source for query in record.queries} == {"first", "second", "third"}
