"""ranker=rerank_api, and what ranker=litellm shares with it."""

import math
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from convrag import LLMError, Pipeline
from convrag.sdk.errors import RunStopped
from convrag.store.remember import remember
from convrag.store.store import Store
from convrag.testing import RankerContract
from convrag_llms.errors import UnusableReply
from convrag_llms.litellm_ranker import LitellmRanker
from convrag_llms.refused_parameters import forget_refused_parameters
from convrag_llms.rerank_api import RerankAPIRanker
from convrag_llms.rerank_reply import read_scores
from model_server import ModelServer, make_error, score_text

pytestmark = pytest.mark.integration

QUERY = "Which town has docks?"
TEXTS = ["Hull has ferries", "a town which has docks?", "Deal"]
SCORES = [score_text(QUERY, text) for text in TEXTS]


@pytest.fixture
def models(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    """A server of a reranker on loopback. Requests are repeated at once when they fail."""
    from convrag_llms import call

    monkeypatch.setattr(call, "FIRST_WAIT", 0.01)
    forget_refused_parameters()
    server = ModelServer()
    yield server
    server.close()


def make_ranker(server: ModelServer, **parameters: Any) -> RerankAPIRanker:
    return RerankAPIRanker(**{"model": "r", "api_base": server.address, **parameters})


class TestContract(RankerContract):
    network = True

    @pytest.fixture(autouse=True)
    def _server(self, models: ModelServer) -> None:
        self.server = models

    def make(self) -> RerankAPIRanker:
        return make_ranker(self.server)


@pytest.mark.slow
class TestLitellmContract(RankerContract):
    network = True

    @pytest.fixture(autouse=True)
    def _server(self, models: ModelServer) -> None:
        pytest.importorskip("litellm")
        self.server = models

    def make(self) -> LitellmRanker:
        return LitellmRanker(model="hosted_vllm/r", api_base=self.server.address)


class TestForms:
    @pytest.mark.parametrize("form", ["cohere", "tei", "voyage"])
    @pytest.mark.parametrize("is_told", [True, False])
    def test_each_form_is_written_and_read(
        self, models: ModelServer, form: str, is_told: bool
    ) -> None:
        models.form = form
        ranker = make_ranker(models, form=form if is_told else "auto")
        assert ranker.score(QUERY, TEXTS).tolist() == SCORES
        assert ranker.score(QUERY, TEXTS[:2]).tolist() == SCORES[:2]
        expected = 2 if is_told or form == "cohere" else 3  # the right form is remembered
        assert len(models.requests) == expected

    def test_what_is_sent(self, models: ModelServer) -> None:
        make_ranker(models, extra={"max_tokens_per_doc": 100}).score(QUERY, TEXTS)
        models.form = "tei"
        make_ranker(models, form="tei").score(QUERY, TEXTS)
        assert models.requests == [
            {
                "model": "r",
                "query": QUERY,
                "documents": TEXTS,
                "top_n": 3,
                "max_tokens_per_doc": 100,
            },
            {"query": QUERY, "texts": TEXTS, "raw_scores": True, "truncate": True},
        ]

    @pytest.mark.parametrize(
        ("path", "base"),
        [
            ("/rerank", "/v1"),  # TEI is given the address that its embeddings have
            ("/v1/rerank", ""),
            ("/v2/rerank", "/v2"),
            ("/rerank", "/rerank"),
            ("/team/v1/rerank", "/team/v1"),
        ],
    )
    def test_the_path_is_found(self, models: ModelServer, path: str, base: str) -> None:
        models.rerank_path = path
        ranker = make_ranker(models, api_base=f"{models.root}{base}")
        assert ranker.score(QUERY, TEXTS).tolist() == SCORES
        ranker.score(QUERY, TEXTS)
        assert models.paths[-2:] == [path, path]

    def test_a_bare_list_of_another_order_is_read(self, models: ModelServer) -> None:
        models.edit = lambda reply: list(reversed(reply["results"]))
        assert make_ranker(models).score(QUERY, TEXTS).tolist() == SCORES


class TestTexts:
    def test_each_text_is_sent_once_and_blank_ones_never(self, models: ModelServer) -> None:
        scores = make_ranker(models).score(QUERY, [TEXTS[1], " ", TEXTS[0], TEXTS[1]])
        assert models.requests[0]["documents"] == [TEXTS[1], TEXTS[0]]
        assert scores[0] == scores[3] > scores[2] > scores[1]

    def test_refused_batches_are_split(self, models: ModelServer) -> None:
        models.most_texts = 4
        texts = [f"{'docks? ' * (number % 3)}{number}" for number in range(20)]
        ranker = make_ranker(models, concurrency=1)
        assert ranker.score(QUERY, texts).tolist() == [score_text(QUERY, text) for text in texts]
        assert [len(each["documents"]) for each in models.requests] == [20, 4, 4, 4, 4, 4]

    def test_stored_scores_are_not_asked_for_again(
        self, models: ModelServer, tmp_path: Path
    ) -> None:
        for _ in range(2):
            ranker = make_ranker(models)
            ranker.fingerprint = "the same"
            remember(ranker, Store(tmp_path))
            ranker.score(QUERY, TEXTS)
        assert len(models.requests) == 1


class TestCost:
    def test_a_price_for_each_request(self, models: ModelServer) -> None:
        ranker = make_ranker(models, extra={"input_cost_per_query": 0.002}, max_cost_usd=0.005)
        ranker.config_place = "reranker"
        ranker.score(QUERY, TEXTS)
        ranker.score(QUERY, TEXTS[:2])
        with pytest.raises(RunStopped, match=r"reranker\.max_cost_usd=0\.005 is nearly spent"):
            ranker.score(QUERY, TEXTS[1:])
        assert ranker.limits.budget.spent == pytest.approx(0.004)
        assert "input_cost_per_query" not in models.requests[0]


def drop_one(reply: Any) -> Any:
    return {**reply, "results": reply["results"][1:]}


def edit_first(**fields: Any) -> Any:
    def edit(reply: Any) -> Any:
        rows = reply["results"]
        return {**reply, "results": [{**rows[0], **fields}, *rows[1:]]}

    return edit


class TestBadReplies:
    @pytest.mark.parametrize(
        ("edit", "problem"),
        [
            (drop_one, "2 scores for 3 texts, 1 of which have none"),
            (edit_first(index=3), "the index 3 where there are 3 texts"),
            (edit_first(index=-1), "the index -1 where"),
            (edit_first(index="a"), "the index 'a' where"),
            (edit_first(index=True), "the index True where"),
            (edit_first(index=0), "3 scores for 3 texts, 1 of which have none"),
            (edit_first(relevance_score=math.nan), "a score that is not a finite number"),
            (edit_first(relevance_score=10**400), "a score that is not a finite number"),
            (edit_first(relevance_score="high"), "a score that is not a finite number"),
            (lambda _: {"object": "list"}, r"Is it a server of a reranker \(ranker\.api_base"),
            (lambda _: {"results": None}, r"no list of scores \(results\)"),
        ],
    )
    def test_one_message_and_nothing_remembered(
        self, models: ModelServer, tmp_path: Path, edit: Any, problem: str
    ) -> None:
        models.edit = edit
        ranker = make_ranker(models, retries=0)
        ranker.fingerprint = "some"
        remember(ranker, Store(tmp_path))
        with pytest.raises(LLMError, match=problem):
            ranker.score(QUERY, TEXTS)
        assert len(models.requests) == 1
        models.edit = lambda reply: reply
        assert ranker.score(QUERY, TEXTS).tolist() == SCORES

    def test_a_page_is_no_reply(self, models: ModelServer) -> None:
        models.planned = [(200, "<html><body>Hello</body></html>", {})]
        with pytest.raises(LLMError, match="is not JSON: Hello"):
            make_ranker(models).score(QUERY, TEXTS)
        assert len(models.requests) == 1

    def test_wrong_address_key_and_model(self, models: ModelServer) -> None:
        models.rerank_path = "/nowhere"
        with pytest.raises(LLMError, match=r"status 404.*Check ranker\.model and ranker\.api_base"):
            make_ranker(models).score(QUERY, TEXTS)
        models.planned = [make_error(401, "bad key")]
        with pytest.raises(LLMError, match=r"Check the key .* \(ranker\.api_key_env names"):
            make_ranker(models).score(QUERY, TEXTS)
        models.planned = [make_error(400, "unknown model r")]
        with pytest.raises(LLMError, match=r"unknown model r\. Check ranker\.model"):
            make_ranker(models).score(QUERY, TEXTS)

    def test_what_may_pass_is_repeated(self, models: ModelServer) -> None:
        models.planned = [make_error(503, "starting"), make_error(429, "slow down")]
        assert make_ranker(models).score(QUERY, TEXTS).tolist() == SCORES

    def test_an_address_is_needed(self) -> None:
        assert list(RerankAPIRanker(model="r").check()) == [
            "name the server: {place}.api_base=http://localhost:8000"
        ]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["results", "data", "index", "score"]), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(JSON | st.fixed_dictionaries({"results": st.lists(JSON, min_size=2, max_size=2)}))
def test_no_reply_is_read_wrongly(reply: Any) -> None:
    with suppress(UnusableReply):
        scores = read_scores(reply, 2)
        assert scores.shape == (2,)
        assert all(map(math.isfinite, scores))


def test_a_turn_is_reranked_or_says_why_not(models: ModelServer, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/towns.md").write_text(
        "# Ferries\n\nHull has ferries.\n\n# Towns\n\nWhich town is it? Goole has docks?\n"
    )
    pipeline = Pipeline.compose(
        "dataset=documents",
        f"dataset.path={tmp_path}/docs",
        f"store.path={tmp_path}/store",
        "generator=none",
        "reranker=rerank_api",
        f"reranker.api_base={models.address}",
        "reranker.model=r",
        "reranker.retries=0",
    )
    record = pipeline.turn("one", "Which town has ferries or docks?")
    assert "Goole" in record.hits[0].passage.text
    models.edit = drop_one
    record = pipeline.turn("two", "has Hull docks?")
    assert "reranker" in record.fallbacks
    assert not record.error
    models.edit = lambda reply: reply
    models.planned = [make_error(404, "no such model"), make_error(404, "no such model")]
    record = pipeline.turn("three", "has Hull any ferries?")
    assert "Check reranker.model and reranker.api_base" in record.fallbacks["reranker"]
