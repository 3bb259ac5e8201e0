"""+system=mtrageval against the loopback servers: five rewrites, one search each, one ranking."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from convrag import Pipeline
from convrag.config.compose import compose
from convrag.turn.wiring import Wiring
from elasticsearch_server import Server as Cluster, running_server
from llm_server import Server, Step, make_reply
from places import ROOT

REPLIES = {
    "as few changes as possible": "Why does the moon have phases?",
    "keyword index": "moon phases sunlight",
    "called by its full name": "Why does the Moon (Luna) have phases?",
    "reference work": "The Moon has phases because the Sun lights half of it.",
    "what the conversation has settled": "About the moon's orbit: why does it have phases?",
}
"""A part of each prompt -> the reply."""


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    with running_server() as cluster:
        monkeypatch.setenv("ES_URL", cluster.address)
        yield cluster


def answer_by_prompt(server: Server) -> None:
    def begin(body: dict[str, Any], path: str, key: str) -> Step:
        server.requests.append(body)
        asked = body["messages"][0]["content"]
        return Step(
            body=make_reply(next(reply for part, reply in REPLIES.items() if part in asked))
        )

    server.begin_request = begin  # type: ignore[method-assign]
    server.end_request = lambda: None  # type: ignore[method-assign]


@pytest.mark.parametrize("option", ["openai_compatible"], indirect=True)
def test_five_rewrites_are_searched_and_fused(server: Server, cluster: Cluster, here: Path) -> None:
    pytest.importorskip("elastic_transport")
    answer_by_prompt(server)
    overrides = (
        "+system=mtrageval",
        "llm=openai_compatible",
        "llm.model=tiny",
        f"llm.api_base={server.address}",
        "retriever.base.create_endpoint=true",
        "generator=none",
    )
    Wiring(compose(*overrides)).get("retriever").base.index()
    chat = Pipeline.compose(*overrides)
    chat.turn("c", "how far away is the moon?")
    before, searched = len(server.requests), len(cluster.searches())
    record = chat.turn("c", "why does it have phases?")
    assert not record.error
    assert len(server.requests) - before == 5, "one call for each rewriter"
    assert {query.source: query.text for query in record.queries} == dict(
        zip(("first", "second", "third", "fourth", "fifth"), REPLIES.values(), strict=True)
    )
    assert len(cluster.searches()) - searched == 5, "one search for each rewrite"
    assert record.hits
    assert [hit.score for hit in record.hits] == sorted(
        (hit.score for hit in record.hits), reverse=True
    )
    assert set(record.trace["rewriter"]["of"]) == {query.source for query in record.queries}


def test_recorded_queries_of_different_kinds_run_it_without_servers(here: Path) -> None:
    record = Pipeline.compose(
        "+system=mtrageval",
        *(
            "rewriter.second=none",
            "rewriter.third=all_questions",
            "rewriter.fourth=blend",
            "rewriter.fifth=null",
        ),
        "rewriter.first=replay",
        "rewriter.first.path=" + str(ROOT / "plugins/convrag_datasets/sample/rewrites.jsonl"),
        "retriever.base=bm25",
        "generator=none",
    ).turn("c", "why does the moon have phases?")
    assert not record.error
    assert [query.source for query in record.queries] == ["first", "second", "third", "fourth"]
    assert record.hits


def test_the_preset_combines_with_other_rewriters_and_retrievers() -> None:
    config = compose("+system=mtrageval", "rewriter=none", "retriever.base=dense")
    assert (config.rewriter._option_, config.retriever.base._option_) == ("none", "dense")
    config = compose("+system=mtrageval", "rewriter.fourth=blend", "rewriter.second=null")
    assert (config.rewriter.second, config.rewriter.fourth._option_) == (None, "blend")
