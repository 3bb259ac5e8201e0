"""`retriever=sparse` with tiny models of the real classes, whose weights are random."""

import os
from pathlib import Path
from typing import Any

import pytest

from convrag import Hit, Passage, Query, Question, Turn
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
from convrag_retrieval.bm25 import BM25Retriever  # noqa: E402
from convrag_retrieval.hybrid import HybridRetriever  # noqa: E402


def save_model(folder: Path, *, inference_free: bool) -> str:
    """Save a SPLADE model of one layer; its queries are encoded by it, or by the weights of their
    words alone.
    """
    import torch
    from sentence_transformers.base.modules import Router, Transformer
    from sentence_transformers.sparse_encoder.modules import SparseStaticEmbedding, SpladePooling
    from transformers import BertConfig, BertForMaskedLM, BertTokenizerFast

    torch.manual_seed(7)
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
        "kettle",
        "tea",
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
    encode = SparseRetriever._encode

    def encode_some(self: SparseRetriever, texts: list[str], *, is_query: bool) -> Any:
        if not is_query:
            if len(encoded) == 4 and not killed:
                killed.append(True)
                raise KeyboardInterrupt
            encoded.extend(texts)
        return encode(self, texts, is_query=is_query)

    killed: list[bool] = []
    monkeypatch.setattr(SparseRetriever, "_encode", encode_some)
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
