"""Copies of values, and what a contract says of two that differ."""

import math
from typing import Any

import numpy as np
import pytest

from convrag import Nugget
from convrag.testing.values import describe_difference, freeze


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ([1, 2], [1, 2], ""),
        (math.nan, math.nan, ""),
        (1, 1.0, "x: 1 before, 1.0 after"),
        ([1], (1,), "x: list of 1 before, tuple of 1 after"),
        (["b", "a"], ["a", "b"], "x[0]: 'b' before, 'a' after"),
        ({"a": 1}, {"a": 1, "b": 2}, "x['b']: nothing before, 2 after"),
        ([Nugget("a", "p", 0, 1)], [Nugget("a", "p", 0, 2)], "x[0].end: 1 before, 2 after"),
        (np.zeros(2), np.array([0.0, 1.0]), "x[1]: 0.0 before, 1.0 after"),
        (np.zeros(1), np.zeros(1, np.float32), "x: ndarray of float64 (1,) before, "),
        ({"é", "a"}, {"a", "é"}, ""),
    ],
)
def test_what_differs_is_named(first: Any, second: Any, expected: str) -> None:
    found = describe_difference(freeze(first), freeze(second), "x", ("before", "after"))
    assert found.startswith(expected) if expected else found == ""


def test_rounding_is_forgiven_where_asked() -> None:
    pair = freeze([0.1 + 0.2]), freeze([0.3])
    assert describe_difference(*pair, "x", ("here", "there"))
    assert not describe_difference(*pair, "x", ("here", "there"), tolerance=1e-9)
