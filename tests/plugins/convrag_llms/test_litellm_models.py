"""embedder=litellm and ranker=litellm: real code of litellm, against a server on this machine."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from convrag import LLMError
from convrag_llms.litellm_embedder import LitellmEmbedder
from convrag_llms.litellm_ranker import LitellmRanker
from convrag_llms.refused_parameters import forget_refused_parameters
from model_server import ModelServer, embed_text, make_error, score_text

pytest.importorskip("litellm")
pytestmark = [pytest.mark.integration, pytest.mark.slow]

QUERY = "Which town has docks?"
TEXTS = ["Hull has ferries", "a town which has docks?", "Deal"]


@pytest.fixture
def models(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    """A server on loopback, with keys for all providers. Requests are repeated at once."""
    from convrag_llms import call

    monkeypatch.setattr(call, "FIRST_WAIT", 0.01)
    forget_refused_parameters()
    server = ModelServer(base64=False)
    yield server
    server.close()


@pytest.mark.parametrize(
    ("model", "path", "parameter", "of_queries", "of_passages"),
    [
        ("openai/e", "/v1", "input_type", None, None),
        ("hosted_vllm/e", "/v1", "input_type", None, None),
        ("voyage/voyage-3.5", "/v1/embeddings", "input_type", "query", "document"),
        ("jina_ai/e", "/v1", "task", "retrieval.query", "retrieval.passage"),
        (
            "cohere/embed-english-v3.0",
            "/v1/embed",
            "input_type",
            "search_query",
            "search_document",
        ),
    ],
)
def test_providers_embed_and_are_told_what_a_text_is(
    models: ModelServer,
    model: str,
    path: str,
    parameter: str,
    of_queries: str | None,
    of_passages: str | None,
) -> None:
    embedder = LitellmEmbedder(model=model, api_base=f"{models.root}{path}", retries=0)
    rows = embedder.embed(TEXTS)
    expected = np.array([embed_text(text) for text in TEXTS])
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    assert np.allclose(rows, expected, atol=1e-6)
    embedder.embed(TEXTS, query=True)
    assert [each.get(parameter) for each in models.requests[1:]] == [of_passages, of_queries]


@pytest.mark.parametrize(
    ("model", "base", "path"),
    [
        ("cohere/rerank-v3.5", "", "/v2/rerank"),
        ("jina_ai/r", "/v1", "/v1/rerank"),
        ("hosted_vllm/r", "/v1", "/v1/rerank"),
        ("infinity/r", "", "/rerank"),
    ],
)
def test_providers_rerank(models: ModelServer, model: str, base: str, path: str) -> None:
    models.rerank_path = path
    ranker = LitellmRanker(model=model, api_base=f"{models.root}{base}", retries=0)
    scores = ranker.score(QUERY, TEXTS)
    assert scores.tolist() == [score_text(QUERY, text) for text in TEXTS]


def test_a_listed_price_is_counted(models: ModelServer) -> None:
    models.rerank_path = "/v2/rerank"
    ranker = LitellmRanker(model="cohere/rerank-v3.5", api_base=models.root)
    ranker.score(QUERY, TEXTS)
    assert ranker.limits.budget.spent == pytest.approx(0.002)
    embedder = LitellmEmbedder(model="voyage/voyage-3.5", api_base=f"{models.address}/embeddings")
    embedder.embed(TEXTS)
    assert embedder.limits.budget.spent == pytest.approx(50 * 6e-8)


def test_what_may_pass_is_repeated_and_batches_are_split(models: ModelServer) -> None:
    models.planned = [make_error(429, "slow down"), make_error(503, "starting")]
    models.most_texts = 2
    embedder = LitellmEmbedder(model="openai/e", api_base=models.address, concurrency=1)
    assert embedder.embed(TEXTS).shape == (3, 27)
    assert [len(each["input"]) for each in models.requests] == [2, 2, 2, 3, 2, 1]


def drop_one(reply: Any) -> Any:
    name = "data" if "data" in reply else "results"
    return {**reply, name: reply[name][1:]}


def test_one_message_for_an_unusable_reply(models: ModelServer) -> None:
    models.edit = drop_one
    embedder = LitellmEmbedder(model="openai/e", api_base=models.address, retries=0)
    with pytest.raises(LLMError, match="it sent 1 vectors for 2 texts"):
        embedder.embed(TEXTS)
    ranker = LitellmRanker(model="hosted_vllm/r", api_base=models.address, retries=0)
    with pytest.raises(LLMError, match="2 scores for 3 texts"):
        ranker.score(QUERY, TEXTS)


def test_no_traceback_is_in_a_message(models: ModelServer) -> None:
    models.rerank_path = "/v1/rerank"
    models.edit = lambda _: {"object": "list"}
    ranker = LitellmRanker(model="voyage/rerank-2.5", api_base=models.address, retries=0)
    with pytest.raises(LLMError) as caught:
        ranker.score(QUERY, TEXTS)
    assert "Traceback" not in str(caught.value)
