"""`retriever=sparse` with tiny models of the real classes, whose weights are random."""

import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from convrag import ConfigError, ConvragError, Hit, Passage, Query, Question, Turn
from convrag.config.compose import compose
from convrag.store.store import Store
from convrag.testing import RetrieverContract
from convrag.testing.samples import passages
from toys import Corpora

os.environ["HF_HUB_OFFLINE"] = "1"

library = pytest.importorskip("sentence_transformers")
pytestmark = pytest.mark.integration

from convrag_fusion.retriever import FusedRetriever  # noqa: E402
from convrag_neural import sparse  # noqa: E402
from convrag_neural.sparse import SparseRetriever  # noqa: E402
from convrag_neural.sparse_encoding import Tokens, keep_heaviest  # noqa: E402
from convrag_retrieval.bm25 import BM25Retriever  # noqa: E402
from convrag_retrieval.hybrid import HybridRetriever  # noqa: E402


def save_model(
    folder: Path, *, inference_free: bool, seed: int = 7, words: tuple[str, ...] = ("kettle", "tea")
) -> str:
    """Save a SPLADE model of one layer; its queries are encoded by it, or by the weights of their
    words alone.
    """
    import torch
    from sentence_transformers.base.modules import Router, Transformer
    from sentence_transformers.sparse_encoder.modules import SparseStaticEmbedding, SpladePooling
    from transformers import BertConfig, BertForMaskedLM, BertTokenizerFast

    torch.manual_seed(seed)
    folder.mkdir()
    letters = [chr(97 + n) for n in range(26)]
    vocabulary = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        *letters,
        *(f"##{x}" for x in letters),
        *words,
    ]
    (folder / "vocab.txt").write_text("\n".join(vocabulary), encoding="utf-8")
    tokenizer = BertTokenizerFast(str(folder / "vocab.txt"), model_max_length=64)
    sizes = {
        "hidden_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 16,
    }
    network = BertForMaskedLM(
        BertConfig(
            vocab_size=len(vocabulary), max_position_embeddings=64, initializer_range=0.5, **sizes
        )
    )
    network.save_pretrained(folder / "bert")
    tokenizer.save_pretrained(folder / "bert")
    splade = [Transformer(str(folder / "bert"), transformer_task="fill-mask"), SpladePooling()]
    if inference_free:
        static = SparseStaticEmbedding(tokenizer, weight=torch.rand(len(vocabulary)), frozen=True)
        modules: list[Any] = [
            Router.for_query_document(query_modules=[static], document_modules=splade)
        ]
    else:
        modules = splade
    library.SparseEncoder(modules=modules, device="cpu").save_pretrained(str(folder / "saved"))
    return str(folder / "saved")


@pytest.fixture(scope="module", params=[False, True], ids=["splade", "inference_free"])
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    return save_model(tmp_path_factory.mktemp("models") / "tiny", inference_free=request.param)


class TestContract(RetrieverContract):
    @pytest.fixture(autouse=True)
    def _model(self, model: str, tmp_path: Path) -> None:
        self.model, self.store = model, Store(tmp_path)

    def make(self) -> SparseRetriever:
        return SparseRetriever(
            dataset=Corpora(default=passages()), store=self.store, model=self.model, device="cpu"
        )


def rank(model: str, texts: list[str], queries: list[tuple[str, float]]) -> dict[str, float]:
    """The library's own similarities: text -> weighted sum."""
    encoder = library.SparseEncoder(model, device="cpu")
    documents = encoder.encode_document(texts)
    rows = [
        encoder.similarity(encoder.encode_query([text]), documents)[0] * weight
        for text, weight in queries
    ]
    return dict(zip(texts, sum(rows).tolist(), strict=True))


TEXTS = ["kettle tea", "a tea", "quick brown fox", "zebra", "the kettle sings", "tea tea tea"]


def test_scores_are_the_librarys_and_a_killed_build_goes_on(
    model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sparse, "_PART", 2)
    options: dict[str, Any] = {
        "dataset": Corpora(default=[Passage(t, t) for t in TEXTS]),
        "model": model,
        "device": "cpu",
    }
    encoded: list[str] = []
    encode = SparseRetriever.encode_tokens

    def encode_some(
        self: SparseRetriever, texts: list[str], batch_size: int, *, is_query: bool
    ) -> Any:
        if not is_query:
            if len(encoded) == 4 and not killed:
                killed.append(True)
                raise KeyboardInterrupt
            encoded.extend(texts)
        return encode(self, texts, batch_size, is_query=is_query)

    killed: list[bool] = []
    monkeypatch.setattr(SparseRetriever, "encode_tokens", encode_some)
    with pytest.raises(KeyboardInterrupt):
        SparseRetriever(**options, store=Store(tmp_path)).index()
    retriever = SparseRetriever(**options, store=Store(tmp_path))
    hits = retriever.retrieve([Query("kettle", 1.0), Query("fox tea", 0.5)], 6)
    assert encoded == TEXTS  # each once
    expected = rank(model, TEXTS, [("kettle", 1.0), ("fox tea", 0.5)])
    assert {hit.passage.id: hit.score for hit in hits} == pytest.approx(
        {t: s for t, s in expected.items() if s}, abs=1e-4
    )


def test_an_encoder_that_reads_the_conversation_gets_it_flat(model: str, tmp_path: Path) -> None:
    options: dict[str, Any] = {
        "dataset": Corpora(default=[Passage(t, t) for t in TEXTS]),
        "store": Store(tmp_path),
    }
    retriever = SparseRetriever(
        **options, model=model, device="cpu", query="conversation", separator=" [SEP] "
    )
    question = Question("and tea", history=(Turn("1", "what fox", "brown"),))
    found = retriever.retrieve_for(question, [Query("rewritten")], 6)

    def show(hits: list[Hit]) -> list[tuple[str, float]]:
        return [(hit.passage.id, hit.score) for hit in hits]

    assert show(found) == show(retriever.retrieve([Query("and tea [SEP] brown [SEP] what fox")], 6))
    assert show(found) != show(retriever.retrieve([Query("rewritten")], 6))

    lexical = BM25Retriever(**options)
    hybrid = HybridRetriever(lexical=lexical, dense=retriever, weight=0.0)
    for side in (hybrid, FusedRetriever(base=retriever, fusion="rrf"), FusedRetriever(base=hybrid)):
        ranked = [hit.passage.id for hit in side.retrieve_for(question, [Query("rewritten")], 6)]
        assert ranked == [passage for passage, _ in show(found)]
    rewritten = SparseRetriever(**options, model=model, device="cpu")
    assert not HybridRetriever(lexical=lexical, dense=rewritten).reads_conversation


@pytest.fixture(scope="module")
def encoders(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """A model for passages, and another one with the same vocabulary for queries."""
    folder = tmp_path_factory.mktemp("encoders")
    passages_model = save_model(folder / "passages", inference_free=False)
    return passages_model, save_model(folder / "queries", inference_free=False, seed=8)


def make_retriever(folder: Path, model: str, **options: Any) -> SparseRetriever:
    dataset = Corpora(default=[Passage(text, text) for text in TEXTS])
    return SparseRetriever(
        dataset=dataset, store=Store(folder), model=model, device="cpu", **options
    )


def show_scores(hits: list[Hit]) -> dict[str, float]:
    return {hit.passage.id: hit.score for hit in hits}


def test_queries_have_an_encoder_of_their_own(encoders: tuple[str, str], tmp_path: Path) -> None:
    documents, queries = (library.SparseEncoder(each, device="cpu") for each in encoders)
    expected = documents.similarity(
        queries.encode_query(["a kettle"]), documents.encode_document(TEXTS)
    )[0].tolist()
    retriever = make_retriever(tmp_path, encoders[0], query_model=encoders[1])
    retriever.prepare()
    found = show_scores(retriever.retrieve([Query("a kettle")], 6))
    scored = {text: score for text, score in zip(TEXTS, expected, strict=True) if score}
    assert found == pytest.approx(scored, abs=1e-4)
    alone = make_retriever(tmp_path, encoders[0])
    assert show_scores(alone.retrieve([Query("a kettle")], 6)) != found
    assert alone.content_hash() != retriever.content_hash()
    (index,) = (tmp_path / "indexes").glob("*[!.]")  # the encoder of queries changes no index
    assert index.is_dir()


def test_the_encoder_of_queries_reads_the_conversation(
    encoders: tuple[str, str], tmp_path: Path
) -> None:
    """DiSCo's form: the question, then the history, newest first, separated by [SEP]."""
    retriever = make_retriever(tmp_path, encoders[0], query_model=encoders[1], query="conversation")
    history = (Turn("1", "q zero", "a zero"), Turn("2", "q one", "a one"))
    found = retriever.retrieve_for(Question("q two", history=history), [Query("rewritten")], 6)
    flat = "q two [SEP] a one [SEP] q one [SEP] a zero [SEP] q zero"
    assert show_scores(found) == show_scores(retriever.retrieve([Query(flat)], 6))


def test_an_encoder_of_queries_with_other_tokens_is_refused(
    encoders: tuple[str, str], tmp_path: Path
) -> None:
    other = save_model(tmp_path / "other", inference_free=False, words=("tea", "kettle"))
    retriever = make_retriever(tmp_path / "store", encoders[0], query_model=other)
    with pytest.raises(ConvragError, match="different vocabularies.*query_model"):
        retriever.prepare()
    missing = make_retriever(tmp_path / "store", encoders[0], query_model="./nowhere")
    (problem,) = missing.check()
    assert "nowhere" in problem
    assert "query_model=<folder>" in problem


WEIGHTS = {"kettle": 2.5, "tea": 1.25, "a": 0.5, "##e": 0.75, "[SEP]": 9.0, "unheard": 3.0}


def write_weights(folder: Path, name: str) -> Path:
    lines = "".join(f"{token}\t{weight}\n" for token, weight in WEIGHTS.items())
    path = folder / name
    path.write_text(json.dumps(WEIGHTS) if name.endswith(".json") else lines, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", ["idf.json", "query_token_weights.txt"])
def test_token_weights_stand_for_an_encoder_of_queries(
    name: str, encoders: tuple[str, str], tmp_path: Path
) -> None:
    from sentence_transformers.sparse_encoder.modules import SparseStaticEmbedding

    documents = library.SparseEncoder(encoders[0], device="cpu")
    idf = tmp_path / "library.json"  # the library does not leave special tokens out by itself
    counting = {token: weight for token, weight in WEIGHTS.items() if token != "[SEP]"}
    idf.write_text(json.dumps(counting), encoding="utf-8")
    static = SparseStaticEmbedding.from_json(str(idf), tokenizer=documents.tokenizer)
    queries = library.SparseEncoder(modules=[static], device="cpu")
    text = "a tea kettle tea [SEP] ate"
    expected = documents.similarity(queries.encode_query([text]), documents.encode_document(TEXTS))[
        0
    ].tolist()
    retriever = make_retriever(tmp_path, encoders[0], query_weights=write_weights(tmp_path, name))
    assert not list(retriever.check())
    found = show_scores(retriever.retrieve([Query(text)], 6))
    scored = {text: score for text, score in zip(TEXTS, expected, strict=True) if score}
    assert found == pytest.approx(scored, abs=1e-4)
    assert not retriever.retrieve([Query("zzz")], 6)  # none of its tokens has a weight


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("idf.json", "{", "not JSON"),
        ("idf.json", "[1]", "an object is expected"),
        ("idf.json", '{"tea": "much"}', "weight of 'tea'"),
        ("idf.json", '{"tea": NaN}', "weight of 'tea'"),
        ("weights.txt", "tea\t1\nkettle 2\n", "line 2.*a token, a tab"),
        ("weights.txt", "tea\tmuch\n", "line 1.*weight of 'tea'"),
        ("weights.txt", None, "cannot be read"),
    ],
)
def test_a_file_of_weights_that_is_none_is_said_before_the_run(
    name: str, text: str | None, problem: str, encoders: tuple[str, str], tmp_path: Path
) -> None:
    path = tmp_path / name
    if text is not None:
        path.write_text(text, encoding="utf-8")
    (message,) = make_retriever(tmp_path, encoders[0], query_weights=path).check()
    assert re.search(f"{name}.*{problem}", message), message


def test_weights_of_another_model_are_refused(encoders: tuple[str, str], tmp_path: Path) -> None:
    path = tmp_path / "idf.json"
    path.write_text('{"teapot": 1.0}', encoding="utf-8")
    retriever = make_retriever(tmp_path, encoders[0], query_weights=path)
    with pytest.raises(ConvragError, match=r"idf.json.*none of these tokens"):
        retriever.retrieve([Query("teapot")], 3)


def test_queries_for_words_are_left_out(encoders: tuple[str, str], tmp_path: Path) -> None:
    retriever = make_retriever(tmp_path, encoders[0])
    both = [Query("kettle", search="lexical"), Query("tea", search="dense")]
    assert show_scores(retriever.retrieve(both, 6)) == show_scores(
        retriever.retrieve([Query("tea")], 6)
    )


def test_queries_are_encoded_in_one_way(encoders: tuple[str, str], tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="query_model and retriever.query_weights"):
        make_retriever(
            tmp_path, encoders[0], query_model=encoders[1], query_weights=tmp_path / "idf.json"
        )


def test_the_heaviest_tokens_are_kept() -> None:
    rows, numbers = np.array([0, 0, 0, 2, 2]), np.array([5, 3, 9, 4, 1])
    tokens = Tokens(rows, numbers, np.array([1.0, 2.0, 1.0, 0.5, 0.5], dtype=np.float32))
    kept = keep_heaviest(tokens, 2)
    assert kept.rows.tolist() == [0, 0, 2, 2]
    assert kept.numbers.tolist() == [5, 3, 4, 1]
    assert keep_heaviest(tokens, 1).numbers.tolist() == [3, 1]
    assert keep_heaviest(tokens, None) is tokens


def test_long_queries_and_passages_are_pruned(encoders: tuple[str, str], tmp_path: Path) -> None:
    model = library.SparseEncoder(encoders[0], device="cpu")
    query = model.encode_query(["a kettle"], max_active_dims=2)
    passages = model.encode_document(TEXTS, max_active_dims=3)
    expected = model.similarity(query, passages)[0].tolist()
    retriever = make_retriever(tmp_path, encoders[0], max_terms=2, max_passage_terms=3)
    found = show_scores(retriever.retrieve([Query("a kettle")], 6))
    scored = {text: score for text, score in zip(TEXTS, expected, strict=True) if score}
    assert found == pytest.approx(scored, abs=1e-4)


def test_disco_reads_the_conversation_with_its_own_encoder() -> None:
    chosen = compose("retriever=disco").retriever
    assert chosen.model == "naver/splade-cocondenser-ensembledistil"
    assert chosen.query_model == "slupart/splade-disco-human-mistral"
    assert (chosen.query, chosen.order, chosen.separator) == (
        "conversation",
        "newest_first",
        " [SEP] ",
    )
