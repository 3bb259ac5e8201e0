import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from convrag.api.stage import Embedder
from convrag.testing import RankerContract
from convrag_retrieval.rankers import BM25Ranker, EmbeddingRanker


class Directions(Embedder):
    """Vectors by text; remembers which texts were embedded as queries."""

    def __init__(self, **vectors: Sequence[float]) -> None:
        self.vectors = vectors
        self.queries: list[str] = []

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Any:
        self.queries += texts if query else []
        return np.array(
            [self.vectors.get(text, (0, 0)) for text in texts], dtype=np.float32
        ).reshape(len(texts), 2)


class TestBM25(RankerContract):
    def make(self) -> BM25Ranker:
        return BM25Ranker()


class TestOkapi(RankerContract):
    def make(self) -> BM25Ranker:
        return BM25Ranker(variant="okapi")


class TestEmbedding(RankerContract):
    def make(self) -> EmbeddingRanker:
        return EmbeddingRanker(embedder=Directions())


def bm25_plus(texts: Sequence[str], query: str, k1: float, b: float) -> list[float]:
    """Lv and Zhai's formula, with their delta of 1."""
    documents = [Counter(text.split()) for text in texts]
    average = sum(document.total() for document in documents) / len(documents)
    scores = []
    for document in documents:
        score = 0.0
        for word in query.split():
            if frequency := sum(word in other for other in documents):
                length = 1 - b + b * document.total() / average
                matched = document[word] * (k1 + 1) / (k1 * length + document[word])
                score += math.log((len(documents) + 1) / frequency) * (1 + matched)
        scores.append(score)
    return scores


WORDS = st.lists(st.sampled_from(["aa", "bb", "cc", "dd"]), max_size=6).map(" ".join)


@given(
    texts=st.lists(WORDS.filter(bool), min_size=1, max_size=8),
    query=WORDS,
    k1=st.sampled_from([0.5, 1.5]),
    b=st.sampled_from([0.0, 0.75, 1.0]),
)
def test_scores_are_those_of_a_brute_force_bm25(
    texts: list[str], query: str, k1: float, b: float
) -> None:
    scores = BM25Ranker(words="plain", k1=k1, b=b).score(query, texts)
    assert scores.tolist() == pytest.approx(bm25_plus(texts, query, k1, b))


def test_case_and_punctuation_do_not_matter() -> None:
    scores = BM25Ranker().score(
        "What is BERT?", ["It is (bert), a model.", "GPT, a model.", "Another model: BERTHA."]
    )
    assert scores[0] > scores[1] == scores[2]


def test_words_are_those_of_every_stage() -> None:
    """Stems in the language of the texts, digits and C++ among them, pieces of texts without
    spaces.
    """
    for query, texts in {
        "How are the kettles tested?": ["Each kettle is a test.", "Who is it?"],
        "rule 4 for C++": ["Rule 4 is about C++.", "Rule 5 is about C."],
        "Wann werden Wohnungen gekündigt?": [
            "Die Wohnung ist mit einer Kündigung frei.",
            "Dann gehen wir.",
        ],
        "哪里可以停车": ["停车场在大楼后面。", "食堂在一楼。"],
    }.items():
        scores = BM25Ranker().score(query, texts)
        assert scores[0] > scores[1], query


def test_a_word_that_half_of_the_texts_have_still_counts() -> None:
    """The few clusters of an answer are such texts; Okapi tells them apart no more."""
    texts = ["copper kettle", "steel pan"]
    plus, okapi = (
        BM25Ranker(variant=variant).score("copper", texts) for variant in ("plus", "okapi")
    )  # type: ignore[arg-type]
    assert plus[0] > plus[1]
    assert okapi[0] == okapi[1]


@pytest.mark.parametrize("variant", ["plus", "okapi"])
@pytest.mark.parametrize("b", [0.0, 1.0])
def test_texts_without_words_are_no_match(variant: Any, b: float) -> None:
    ranker = BM25Ranker(variant=variant, b=b)
    assert ranker.score("copper", ["", "...", " "]).tolist() == [0, 0, 0]
    found = ranker.score("copper kettle", ["a copper kettle", "", "tea", "milk", "an old spoon"])
    assert np.isfinite(found).all()
    assert found[0] > found[1] == found[2] == found[3]
    assert ranker.score("", ["copper", "tea"]).tolist() == [0, 0]


def test_embeddings_score_by_cosine_with_the_query_as_a_query() -> None:
    embedder = Directions(up=(0, 1), down=(0, -1), right=(1, 0), slope=(0.6, 0.8))
    ranker = EmbeddingRanker(embedder=embedder)
    scores = ranker.score("up", ["slope", "down", "unknown", "right", "up", "slope"])
    assert scores.tolist() == pytest.approx([0.8, -1, 0, 0, 1, 0.8])
    assert scores.dtype == np.float64
    assert embedder.queries == ["up"]
