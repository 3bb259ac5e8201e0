import json
from dataclasses import dataclass
from math import inf, nan
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from convrag.store.json_text import format_json, parse_json

PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


@dataclass
class Point:
    x: float


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": NaN}', "NaN is not a JSON number"),
        ("[-Infinity]", "-Infinity is not a JSON number"),
        ("[1e400]", "the number 1e400 is too large"),
        (f"[{'9' * 5000}]", r"the number 9{20}\.\.\. is too large"),
        ("[" * 100_000, "it is nested too deeply|Expecting value"),
        ("{", "Expecting"),
    ],
)
def test_what_is_no_json_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_json(text)


@given(PLAIN)
def test_plain_data_come_back(value: Any) -> None:
    assert parse_json(format_json(value)) == value
    assert parse_json(format_json(value, indent=2)) == value


def test_what_no_json_can_hold_is_written_all_the_same() -> None:
    """A trace holds what plugins put there, and its turn must be written."""
    itself: dict[str, Any] = {}
    itself["self"] = itself
    value = {
        "nan": [nan, inf, np.array([1.0, nan])],
        "set": {"b", "a"},
        ("a", 1): Point(-inf),
        "big": 10**5000,
        "other": ValueError("x"),
        "itself": itself,
    }
    text = format_json(value)
    row = json.loads(text, parse_constant=pytest.fail)
    assert row["nan"] == [None, None, [1.0, None]]
    assert row["set"] == ["a", "b"]
    assert row["('a', 1)"] == {"x": None}
    assert row["big"] is None
    assert row["other"] == "x"
