"""embedder=openai_compatible, and what embedder=litellm shares with it."""

import logging
import math
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from convrag import ConfigError, LLMError, Pipeline
from convrag.concurrency.cancellation import Cancellation, Cancelled
from convrag.sdk.errors import RunStopped
from convrag.store.remember import remember
from convrag.store.store import Store
from convrag.testing import EmbedderContract
from convrag_llms.embedding_reply import read_vectors
from convrag_llms.errors import UnusableReply
from convrag_llms.json_requests import read_tokens
from convrag_llms.litellm_embedder import LitellmEmbedder
from convrag_llms.openai_embedder import OpenAICompatibleEmbedder
from convrag_llms.refused_parameters import forget_refused_parameters
from model_server import ModelServer, embed_text, make_error

pytestmark = pytest.mark.integration

TEXTS = ["Hull has ferries.", "Goole has docks.", "Deal has a castle."]
KEY = "sk-planted-0123456789"


@pytest.fixture
def models(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    """A server of embeddings on loopback. Requests are repeated at once when they fail."""
    from convrag_llms import call

    monkeypatch.setattr(call, "FIRST_WAIT", 0.01)
    forget_refused_parameters()
    server = ModelServer()
    yield server
    server.close()


def make_embedder(server: ModelServer, **parameters: Any) -> OpenAICompatibleEmbedder:
    return OpenAICompatibleEmbedder(**{"model": "e", "api_base": server.address, **parameters})


def expect_rows(texts: list[str]) -> Any:
    rows = np.array([embed_text(text) for text in texts])
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


class TestContract(EmbedderContract):
    network = True

    @pytest.fixture(autouse=True)
    def _server(self, models: ModelServer) -> None:
        self.server = models

    def make(self) -> OpenAICompatibleEmbedder:
        return make_embedder(self.server)


@pytest.mark.slow
class TestLitellmContract(EmbedderContract):
    network = True

    @pytest.fixture(autouse=True)
    def _server(self, models: ModelServer) -> None:
        pytest.importorskip("litellm")
        self.server = models

    def make(self) -> LitellmEmbedder:
        return LitellmEmbedder(model="openai/e", api_base=self.server.address)


class TestRequest:
    def test_what_is_sent(self, models: ModelServer) -> None:
        embedder = make_embedder(
            models,
            dimensions=4,
            query_prefix="query: ",
            passage_prefix="passage: ",
            input_type="query/passage",
            extra={"truncate": True, "input_cost_per_token": 0.0, "extra_headers": {"X-Team": "7"}},
        )
        embedder.embed(["ferries"], query=True)
        embedder.embed(["docks"])
        common = {"model": "e", "dimensions": 4, "encoding_format": "base64", "truncate": True}
        assert models.requests[1:] == [
            {**common, "input": ["query: ferries"], "input_type": "query"},
            {**common, "input": ["passage: docks"], "input_type": "passage"},
        ]
        assert models.headers[-1]["x-team"] == "7"

    def test_the_key_comes_from_the_variable(
        self, models: ModelServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("MY_KEY", KEY)
        make_embedder(models, api_key_env="MY_KEY").embed(["ferries"])
        assert {each["authorization"] for each in models.headers} == {f"Bearer {KEY}"}

    @pytest.mark.parametrize("base64", [True, False])
    def test_numbers_and_base64_are_read(self, models: ModelServer, base64: bool) -> None:
        models.base64 = base64
        rows = make_embedder(models).embed(TEXTS)
        assert np.allclose(rows, expect_rows(TEXTS), atol=1e-6)

    def test_a_server_without_base64_is_asked_for_numbers(self, models: ModelServer) -> None:
        models.planned = [make_error(400, "encoding_format base64 is not supported")]
        rows = make_embedder(models).embed(TEXTS)
        assert np.allclose(rows, expect_rows(TEXTS), atol=1e-6)
        assert ["encoding_format" in each for each in models.requests] == [True, False, False]

    def test_each_text_is_sent_once_and_blank_ones_never(self, models: ModelServer) -> None:
        rows = make_embedder(models).embed(["Hull", " ", "Hull", "Goole", ""])
        assert models.requests[-1]["input"] == ["Hull", "Goole"]
        assert np.linalg.norm(rows, axis=1).round(4).tolist() == [1, 0, 1, 1, 0]

    def test_stored_rows_are_not_asked_for_again(self, models: ModelServer, tmp_path: Path) -> None:
        for _ in range(2):
            embedder = make_embedder(models)
            embedder.fingerprint = "the same"
            remember(embedder, Store(tmp_path))
            embedder.embed(TEXTS)
        assert len(models.requests) == 2  # the probe, and the texts

    @pytest.mark.parametrize(
        ("address", "expected"),
        [
            ("https://api.cohere.com/compatibility/v1", "search_document"),
            ("https://api.voyageai.com/v1", "document"),
            ("http://localhost:8080/v1", None),
        ],
    )
    def test_providers_are_told_what_a_text_is(
        self, address: str, expected: str | None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        sent: list[Any] = []
        embedder = OpenAICompatibleEmbedder(model="e", api_base=address)
        monkeypatch.setattr(embedder, "send", lambda ask, body, texts: sent.append(body) or 1 / 0)
        with pytest.raises(ZeroDivisionError):
            embedder.embed(["docks"])
        assert sent[0].get("input_type") == expected


class TestBatches:
    def test_requests_have_so_many_texts_and_tokens(self, models: ModelServer) -> None:
        texts = [f"word{number} " * 10 for number in range(20)]
        make_embedder(models, batch_size=8, concurrency=1).embed(texts)
        assert [len(each["input"]) for each in models.requests[1:]] == [8, 8, 4]
        make_embedder(models, batch_tokens=90, concurrency=1).embed(texts)
        assert {len(each["input"]) for each in models.requests[5:]} <= {3, 4, 2}

    def test_a_refused_number_of_texts_is_remembered(self, models: ModelServer) -> None:
        models.most_texts = 32
        texts = [f"text {number}" for number in range(300)]
        embedder = make_embedder(models, batch_size=64, concurrency=1)
        rows = embedder.embed(texts)
        assert np.allclose(rows, expect_rows(texts), atol=1e-6)
        sizes = [len(each["input"]) for each in models.requests[1:]]
        assert sizes[:3] == [64, 32, 32]
        assert max(sizes[3:]) == 32
        assert sorted(models.embedded[2:]) == sorted(texts)  # each was paid for once

    def test_a_text_that_is_too_long_is_cut_with_a_note(
        self, models: ModelServer, caplog: pytest.LogCaptureFixture
    ) -> None:
        models.most_words = 50
        long = "ferries " * 200
        texts = [*TEXTS, long, "Hull " * 50]
        embedder = make_embedder(models)
        with caplog.at_level(logging.WARNING):
            rows = embedder.embed(texts)
        (whole,) = [text for text in models.embedded if text.startswith("ferries ferries")]
        assert 30 <= len(whole.split()) <= 50
        assert np.allclose(rows[3], embedder.embed([long])[0]), "its neighbours do not matter"
        assert np.allclose(rows[[0, 1, 2, 4]], expect_rows([*TEXTS, texts[4]]), atol=1e-6)
        assert "A text of 1600 characters is longer than openai/e takes" in caplog.text
        report = embedder.report([])
        assert report is not None
        assert "2 texts were longer than openai/e takes, and were cut." in report.lines

    def test_a_server_without_patience_fails_in_the_end(self, models: ModelServer) -> None:
        models.most_words = 0
        models.planned = [(200, models._embed({"input": ["x", "x"]})[1], {})]  # the probe passes
        with pytest.raises(LLMError, match=r"smaller embedder\.batch_size, or cut the texts"):
            make_embedder(models).embed(["a very long text of words"])


def test_a_question_starts_no_thread(models: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("convrag_llms.request_batches.map_parallel", None)
    assert make_embedder(models).embed(["docks"], query=True).shape == (1, 27)


def test_a_cancelled_request_ends_at_once(models: ModelServer) -> None:
    models.delay = 5.0
    cancellation = Cancellation()
    threading.Timer(0.2, cancellation.cancel).start()
    start = time.monotonic()
    with cancellation.apply(), pytest.raises(Cancelled):
        make_embedder(models).embed(["docks"])
    assert time.monotonic() - start < 2


class TestRetries:
    def test_what_may_pass_is_repeated(self, models: ModelServer) -> None:
        models.planned = [make_error(503, "starting"), make_error(429, "slow down")]
        make_embedder(models).embed(TEXTS)
        assert len(models.requests) == 4

    def test_a_server_may_ask_for_patience(self, models: ModelServer) -> None:
        models.planned = [make_error(429, "slow down", **{"Retry-After": "600"})]
        with pytest.raises(LLMError, match=r"embedder\.retry_seconds=120 allows less"):
            make_embedder(models).embed(TEXTS)
        assert len(models.requests) == 1

    def test_replies_in_flight_are_kept_when_a_request_fails(self, models: ModelServer) -> None:
        texts = [f"text {number}" for number in range(40)]
        embedder = make_embedder(models, batch_size=1, concurrency=4, retries=0)
        embedder.embed(["warm up"])
        models.planned = [make_error(400, "no")]
        kept: list[int] = []
        with pytest.raises(LLMError):
            embedder.embed_in_parts(texts, lambda places, rows: kept.extend(places))
        paid = [text for text in models.embedded if text.startswith("text ")]
        assert sorted(texts[place] for place in kept) == sorted(paid)
        assert len(paid) < len(texts)


class TestCost:
    PRICES = {"input_cost_per_token": 1e-3}  # noqa: RUF012 - read only

    def test_what_was_spent_is_reported(self, models: ModelServer) -> None:
        embedder = make_embedder(models, extra=self.PRICES)
        embedder.embed(TEXTS)
        report = embedder.report([])
        assert report is not None
        assert report.lines[0] == "openai/e: 2 requests with 50 tokens, $0.0500."
        assert embedder.limits.budget.spent == pytest.approx(0.05)

    def test_the_limit_stops_before_a_request_that_could_pass_it(self, models: ModelServer) -> None:
        embedder = make_embedder(
            models, extra=self.PRICES, max_cost_usd=0.2, batch_size=1, concurrency=1
        )
        embedder.config_place = "retriever.embedder"
        with pytest.raises(RunStopped, match=r"retriever\.embedder\.max_cost_usd=0\.2 is nearly"):
            embedder.embed([f"text {number}" for number in range(20)])
        assert 1 < len(models.requests) < 20

    def test_a_limit_needs_a_price(self) -> None:
        embedder = OpenAICompatibleEmbedder(
            model="nobody-knows", api_base="https://models.example/v1", max_cost_usd=1
        )
        assert any(
            "Give it in {place}.extra, as input_cost_per_token, or" in each
            for each in embedder.check()
        )


def drop_one(reply: Any) -> Any:
    return {**reply, "data": reply["data"][1:]}


def set_index(reply: Any) -> Any:
    rows = reply["data"]
    return {**reply, "data": [{**rows[0], "index": 7}, *rows[1:]]}


def add_nan(reply: Any) -> Any:
    rows = reply["data"]
    return {**reply, "data": [{**rows[0], "embedding": [math.nan] * 27}, *rows[1:]]}


def shorten_one(reply: Any) -> Any:
    rows = reply["data"]
    return {**reply, "data": [{**rows[0], "embedding": [1.0, 1.0]}, *rows[1:]]}


class TestBadReplies:
    @pytest.mark.parametrize(
        ("edit", "problem"),
        [
            (drop_one, "it sent 1 vectors for 2 texts"),
            (set_index, "indices are not 0 to 1"),
            (lambda _: {"data": "none"}, r"no list of vectors \(data\)"),
            (lambda _: {"object": "list"}, r"Is it an embedding server \(embedder.api_base"),
            (lambda _: [1.0], r"no list of vectors"),
            (shorten_one, "vectors of different lengths"),
            (lambda reply: {"error": {"message": "no model e"}}, "no model e"),
        ],
    )
    def test_one_message_and_nothing_stored(
        self, models: ModelServer, tmp_path: Path, edit: Any, problem: str
    ) -> None:
        models.base64 = False
        models.edit = edit
        embedder = make_embedder(models, retries=0)
        embedder.fingerprint = "some"
        store = Store(tmp_path)
        remember(embedder, store)
        with pytest.raises(LLMError, match=problem):
            embedder.embed(TEXTS)
        assert len(models.requests) == 1
        models.edit = lambda reply: reply
        assert np.allclose(embedder.embed(TEXTS), expect_rows(TEXTS), atol=1e-6)

    @pytest.mark.parametrize("base64", [False, True])
    def test_nan_is_refused(self, models: ModelServer, base64: bool) -> None:
        models.base64 = base64
        models.edit = add_nan
        with pytest.raises(LLMError, match="a vector with NaN"):
            make_embedder(models).embed(TEXTS)
        assert len(models.requests) == 1, "another request would get the same"

    def test_a_page_is_no_reply(self, models: ModelServer) -> None:
        models.planned = [(200, "<html><body><h1>Open WebUI</h1></body></html>", {})]
        with pytest.raises(LLMError, match=r"is not JSON: Open WebUI\. Is it an embedding server"):
            make_embedder(models).embed(TEXTS)
        assert len(models.requests) == 1

    def test_wrong_address_key_and_model(self, models: ModelServer) -> None:
        with pytest.raises(LLMError, match=r"Check embedder\.model and embedder\.api_base"):
            make_embedder(models, api_base=f"{models.root}/v2").embed(TEXTS)
        models.planned = [make_error(401, "bad key")]
        with pytest.raises(LLMError, match=r"Check the key .* \(embedder\.api_key_env names"):
            make_embedder(models).embed(TEXTS)
        models.planned = [make_error(400, "The model `e` does not exist")]
        with pytest.raises(LLMError, match=r"`e` does not exist.* Check embedder\.model"):
            make_embedder(models).embed(TEXTS)

    def test_a_dimension_that_the_model_does_not_have(self, models: ModelServer) -> None:
        models.edit = lambda reply: {
            **reply,
            "data": [{**row, "embedding": [1.0, 2.0, 3.0]} for row in reply["data"]],
        }
        with pytest.raises(LLMError, match=r"Set embedder\.dimensions=null or .*=3"):
            make_embedder(models, dimensions=8).embed(TEXTS)

    def test_a_refused_dimension_is_not_taken_for_another(self, models: ModelServer) -> None:
        models.planned = [make_error(400, "parameter dimensions is not supported by this model")]
        with pytest.raises(LLMError, match=r"vectors of 27 numbers, and not of 8"):
            make_embedder(models, dimensions=8).embed(TEXTS)

    def test_a_dimension_that_changes(self, models: ModelServer) -> None:
        embedder = make_embedder(models)
        embedder.embed(TEXTS)
        models.edit = lambda reply: {
            **reply,
            "data": [{**row, "embedding": [1.0, 2.0, 3.0]} for row in reply["data"]],
        }
        with pytest.raises(LLMError, match="vectors of 3 numbers, and of 27 before"):
            embedder.embed(["another"])

    def test_different_vectors_for_equal_texts(self, models: ModelServer) -> None:
        models.edit = lambda reply: {
            **reply,
            "data": [
                {"index": row["index"], "embedding": [float(row["index"]), 1.0]}
                for row in reply["data"]
            ],
        }
        with pytest.raises(LLMError, match="different vectors for equal texts"):
            make_embedder(models).embed(TEXTS)

    def test_no_key_is_in_a_message(
        self, models: ModelServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("MY_KEY", KEY)
        models.planned = [make_error(401, f"Incorrect API key provided: {KEY}")]
        with pytest.raises(LLMError) as caught:
            make_embedder(models, api_key_env="MY_KEY").embed(TEXTS)
        assert KEY not in str(caught.value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["data", "index", "embedding", "usage"]), inner, max_size=3
        )
    ),
    max_leaves=12,
)


@given(JSON | st.fixed_dictionaries({"data": st.lists(JSON, min_size=2, max_size=2)}))
def test_no_reply_is_read_wrongly(reply: Any) -> None:
    with suppress(UnusableReply):
        rows = read_vectors(reply, 2)
        assert np.isfinite(rows).all()
        assert len(rows) == 2
    assert read_tokens(reply) >= 0


@pytest.mark.parametrize("embedding", [[1e308, 1e308], [10**400, 1], [5e-324, 0.0], "!!", "AAA"])
def test_odd_numbers(embedding: Any) -> None:
    with suppress(UnusableReply):
        (row,) = read_vectors({"data": [{"index": 0, "embedding": embedding}]}, 1)
        assert np.linalg.norm(row) == pytest.approx(1, abs=1e-6)


class TestParameters:
    @pytest.mark.parametrize(
        ("parameters", "message"),
        [
            ({"input_type": "query"}, r"embedder\.input_type=query: write auto"),
            ({"extra": {"dimensions": 3}}, r"embedder\.extra\.dimensions: it has a parameter"),
            ({"extra": {"api_key": KEY}}, r"embedder\.api_key_env names the variable"),
            ({"api_key_env": "my key"}, r"embedder\.api_key_env must be the name"),
            (
                {"extra": {"input_cost_per_token": "much"}},
                r"embedder\.extra\.input_cost_per_token='much' is not a price",
            ),
        ],
    )
    def test_what_makes_no_sense(self, parameters: dict[str, Any], message: str) -> None:
        with pytest.raises(ConfigError, match=message):
            OpenAICompatibleEmbedder(model="e", **parameters)

    def test_nothing_listens(self) -> None:
        embedder = OpenAICompatibleEmbedder(model="e", api_base="http://127.0.0.1:9/v1")
        assert list(embedder.check()) == [
            "nothing answers at http://127.0.0.1:9/v1 (Connection refused): start the server, or "
            "set {place}.api_base"
        ]

    def test_a_missing_key(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("OPENAI_API_KEY", raising=False)
        monkeypatch.setenv("OPENAI_BASE_URL", "https://gateway.example.org/v1")
        embedder = OpenAICompatibleEmbedder(model="text-embedding-3-small")
        assert list(embedder.check()) == [
            "OPENAI_API_KEY is not set: export it or choose {place}=lsa"
        ]


def compose(server: ModelServer, folder: Path, *more: str) -> Pipeline:
    (folder / "docs").mkdir(exist_ok=True)
    (folder / "docs/towns.md").write_text(
        "# Ferries\n\nHull has ferries.\n\n# Docks\n\nGoole has docks.\n\n# Castle\n\nDeal has one.\n"
    )
    return Pipeline.compose(
        "dataset=documents",
        f"dataset.path={folder}/docs",
        f"store.path={folder}/store",
        "retriever=dense",
        "generator=none",
        "embedder=openai_compatible",
        f"embedder.api_base={server.address}",
        "embedder.model=e",
        *more,
    )


def test_an_index_is_built_and_searched(models: ModelServer, tmp_path: Path) -> None:
    record = compose(models, tmp_path).turn("one", "Goole docks")
    assert "Goole" in record.hits[0].passage.text
    requests = len(models.requests)
    compose(models, tmp_path).turn("two", "Goole docks")
    assert len(models.requests) == requests, "the index and the query are in the store"


def test_a_turn_with_an_unusable_server_stores_nothing(models: ModelServer, tmp_path: Path) -> None:
    models.edit = drop_one
    with pytest.raises(LLMError, match="it sent 1 vectors for 2 texts"):
        compose(models, tmp_path).turn("one", "Goole docks")
    assert not list((tmp_path / "store").glob("indexes/*/vectors.npy"))
    assert not list((tmp_path / "store").glob("embedded/*/*.npz"))


def test_a_new_release_does_not_pay_again() -> None:
    """The fingerprint has no hash of the source code."""
    from convrag.store.fingerprint import compute_fingerprint

    embedder = OpenAICompatibleEmbedder(model="e", api_base="http://localhost/v1")
    first = compute_fingerprint(embedder, "openai_compatible", {"model": "e"})
    embedder_class = type(embedder)
    assert embedder_class.code_version
    original = embedder_class.code_version
    try:
        embedder_class.code_version = "another"
        assert compute_fingerprint(embedder, "openai_compatible", {"model": "e"}) != first
    finally:
        embedder_class.code_version = original
    assert compute_fingerprint(embedder, "openai_compatible", {"model": "e"}) == first
