"""Maximal marginal relevance, by a reference of its formula and by hand."""

from typing import Any

import numpy as np
from hypothesis import given, settings, strategies as st
from numpy.typing import NDArray

from convrag.sdk.search.diversity import compute_similarities, select_by_mmr

grids = st.integers(1, 4).flatmap(
    lambda width: st.lists(
        st.lists(st.integers(-3, 3), min_size=width, max_size=width), min_size=1, max_size=12
    )
)


def select(
    query: NDArray[np.float32], rows: NDArray[np.float32], count: int, lambda_: float
) -> list[int]:
    """Rows by their similarity to a query."""
    return select_by_mmr(compute_similarities(rows, query), rows, count, lambda_)


def reference_mmr(query: Any, rows: Any, count: int, lambda_: float) -> list[int]:
    """The seed's formula, word for word; whole numbers make every sum exact."""
    picked: list[int] = []
    while len(picked) < min(count, len(rows)):
        best, best_score = -1, -np.inf
        for index, row in enumerate(rows):
            if index in picked:
                continue
            relevance = sum(a * b for a, b in zip(row, query, strict=True))
            score: float = relevance
            if picked:
                redundancy = max(
                    sum(a * b for a, b in zip(row, rows[j], strict=True)) for j in picked
                )
                score = lambda_ * relevance - (1 - lambda_) * redundancy
            if score > best_score:
                best, best_score = index, score
        picked.append(best)
    return picked


@settings(max_examples=300)
@given(
    grids,
    st.integers(1, 14),
    st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]),
    st.randoms(use_true_random=False),
)
def test_mmr_equals_the_reference(
    rows: list[list[int]], count: int, lambda_: float, random: Any
) -> None:
    query = [random.randint(-3, 3) for _ in rows[0]]
    picked = select(
        np.array(query, dtype=np.float32), np.array(rows, dtype=np.float32), count, lambda_
    )
    assert picked == reference_mmr(query, rows, count, lambda_)
    assert len(set(picked)) == len(picked) == min(count, len(rows))
    relevance = np.array(rows) @ np.array(query)
    assert picked[0] == int(relevance.argmax())
    if lambda_ == 1:
        assert picked == np.argsort(-relevance, kind="stable")[:count].tolist()


def test_equal_rows_tie_wherever_they_stand() -> None:
    """In BLAS, the same row may give another product in another position."""
    row = np.random.default_rng(0).normal(size=384).astype(np.float32)
    assert select(row, np.tile(row, (23, 1)), 23, 0.7) == list(range(23))


def test_diversity_passes_over_a_repetition() -> None:
    rows = np.array([[1, 0], [1, 0], [0.6, 0.8]], dtype=np.float32)
    query = np.array([0.7, 0.7], dtype=np.float32)
    assert select(query, rows, 2, 1.0) == [2, 0]
    assert select(np.array([1, 0], dtype=np.float32), rows, 2, 0.4) == [0, 2]
    assert select(np.array([1, 0], dtype=np.float32), rows, 2, 1.0) == [0, 1]
