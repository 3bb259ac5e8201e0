"""The search for the best passages of postings, which skips what cannot be among them, beside
summing up everything.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from convrag.sdk.search import postings as module
from convrag.sdk.search.postings import Postings


def make_postings(folder: Path, passages: int, words: int, seed: int, levels: int = 0) -> Postings:
    """Make postings whose first words are frequent and weigh little; with `levels`, few different
    weights.
    """
    random = np.random.default_rng(seed)
    shares = np.minimum(1.0, 1.5 / np.arange(1, words + 1))
    lists = [np.flatnonzero(random.random(passages) < share) for share in shares]
    lists = [found if len(found) else random.integers(0, passages, 1) for found in lists]
    weights = [random.random(len(found)) * np.log(1 + passages / len(found)) for found in lists]
    joined = np.concatenate(weights).astype(np.float32)
    if levels:
        joined = np.ceil(joined * levels).astype(np.float32) / levels
    starts = np.cumsum([0, *map(len, lists)])
    Postings.save(folder, joined, np.concatenate(lists).astype(np.int32), starts)
    return Postings(folder, passages)


def search_all(
    postings: Postings, words: dict[int, float], k: int, passages: int
) -> list[tuple[int, float]]:
    scores = postings.score(words, np.arange(passages, dtype=np.int32))
    order = np.argsort(-scores, kind="stable")[:k]
    return [(int(position), float(scores[position])) for position in order if scores[position] > 0]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("postings")


@settings(max_examples=200)
@given(
    seed=st.integers(0, 40),
    passages=st.sampled_from([1, 7, 300]),
    levels=st.sampled_from([0, 1, 3]),
    words=st.dictionaries(
        st.integers(0, 19), st.sampled_from([1.0, 0.3, 2.0, 1e-9, 0.0, -0.5]), max_size=8
    ),
    k=st.sampled_from([1, 2, 10, 400]),
    few=st.sampled_from([0, 8]),
)
def test_the_search_is_that_of_summing_up_everything(
    folder: Path, seed: int, passages: int, levels: int, words: Any, k: int, few: int
) -> None:
    """`few` of 0: frequent words are looked up as soon as that is right, whether it pays or not."""
    postings = make_postings(folder, passages, 20, seed, levels)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_LOOK_UP_COST", few)
        assert postings.search(words, k) == search_all(postings, words, k, passages)


def test_long_lists_are_only_looked_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    postings = make_postings(tmp_path, 20_000, 400, 3)
    added = []
    score = module._Term.score

    def count(term: Any, *places: Any) -> Any:
        scores = score(term, *places)
        added.append(len(scores))
        return scores

    words = {0: 1.0, 300: 1.0, 350: 2.0}
    expected = search_all(postings, words, 10, 20_000)
    monkeypatch.setattr(module._Term, "score", count)
    assert postings.search(words, 10) == expected
    assert sum(added) < 0.1 * 20_000
