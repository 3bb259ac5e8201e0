"""What a fingerprint covers, and what cannot be identified."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, Flag, StrEnum
from fractions import Fraction
from pathlib import Path, PurePath
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given, strategies as st

import toys
from convrag.api.completions import Message
from convrag.api.conversations import Question
from convrag.api.errors import UnidentifiedValue
from convrag.api.passages import Passage
from convrag.api.stage import Embedder
from convrag.store import fingerprint
from convrag.store.fingerprint import collect_libraries, compute_fingerprint, digest, find_version
from convrag.store.remember import compute_call_key


class Unknown:
    """Its `str` says where in memory it is."""


class Listed:
    """It has `tolist`, and is no array."""

    tolist = list


class Colour(Enum):
    RED = 1
    BLUE = 2


@dataclass
class Settings:
    memory: int = 0
    weight: float = field(default=1.0, compare=False)


@dataclass(frozen=True)
class Point:
    x: Any = 0
    y: Any = 0


@dataclass(frozen=True)
class Size:
    """It has the fields of `Point`."""

    x: Any = 0
    y: Any = 0


class Named(StrEnum):
    RED = "red"


class Mode(Flag):
    READ = 1
    WRITE = 2


class Text(str):
    """A text of a class of its own."""


class Based(toys.EchoLLM):
    requires = {"numpy": "acme"}  # noqa: RUF012
    libraries = ("pluggy",)


class Derived(Based):
    libraries = ("hydra-core",)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Settings(memory=1), Settings(memory=2)),
        (Settings(weight=1.0), Settings(weight=2.0)),
        ({"a", "b"}, {"a", "c"}),
        (frozenset({1}), frozenset({2})),
        (Colour.RED, Colour.BLUE),
        (b"a", b"b"),
        (Path("a"), Path("b")),
        (date(2026, 1, 1), date(2026, 1, 2)),
        (np.array([1.0, 2.0]), np.array([1.0, 3.0])),
        (np.array([1, 2], dtype=np.int32), np.array([1, 2], dtype=np.int64)),
        (np.float32(0.1), np.float32(0.2)),
        (float("nan"), float("inf")),
        (Message("user", "a"), Message("user", "b")),
        (Passage("p", "t", metadata={"year": 1}), Passage("p", "t", metadata={"year": 2})),
    ],
)
def test_different_values_have_different_hashes(one: Any, other: Any) -> None:
    assert digest([one]) != digest([other])
    assert digest([one]) == digest([one])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({1: "a"}, {"1": "a"}),
        ({1: "a"}, {1.5: "a"}),
        ({True: "a"}, {"true": "a"}),
        ({None: "a"}, {"null": "a"}),
        ({(1, 2): "a"}, {"[1, 2]": "a"}),
        ({"a"}, {"set": ["a"]}),
        ({"a"}, ["a"]),
        ({"~set": ["a"]}, {"a"}),
        ({"~mapping": [[1, "a"]]}, {1: "a"}),
        (b"a", {"bytes": "b'a'"}),
        (b"a", "a"),
        (Path("a"), "a"),
        (1, 1.0),
        (1, True),
        (0, False),
        (0.0, -0.0),
        (1, "1"),
        (None, "null"),
        (None, ""),
        (Decimal(1), 1),
        (Decimal("1.0"), Decimal("1.00")),
        (Fraction(1, 2), 0.5),
        (1 + 0j, 1.0),
        (range(3), [0, 1, 2]),
        (date(2026, 1, 1), "2026-01-01"),
        (date(2026, 1, 1), datetime(2026, 1, 1)),
        (time(1), timedelta(hours=1)),
        (UUID(int=1), str(UUID(int=1))),
        (Colour.RED, ["Colour", "RED"]),
        (Named.RED, "red"),
        (Mode(0), Mode.READ),
        (Mode.READ | Mode.WRITE, Mode.READ),
        (Point(1, 2), {"x": 1, "y": 2}),
        (Point(1, 2), Size(1, 2)),
        (np.array([1.0]), [1.0]),
        (np.zeros((0, 2)), np.zeros((0, 3))),
        (np.float64(1.0), 1.0),
        (np.array(1.0), np.float64(1.0)),
        ("\ud83d\ude00", "\U0001f600"),
    ],
    ids=repr,
)
def test_types_are_told_apart(one: Any, other: Any) -> None:
    for wrap in (lambda value: value, lambda value: [value], lambda value: {"a": {"b": value}}):
        assert digest(wrap(one)) != digest(wrap(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([1, "a"], (1, "a")),
        (Message("user", "a"), ["user", "a"]),
        ({"a": 1, "b": 2}, OrderedDict({"b": 2, "a": 1})),
        ({2: 1, "b": 2}, {"b": 2, 2: 1}),
        ({1, 2}, frozenset({2, 1})),
        (Text("a"), "a"),
        ({Text("a"): 1}, {"a": 1}),
    ],
    ids=repr,
)
def test_what_counts_as_the_same_type(one: Any, other: Any) -> None:
    assert digest(one) == digest(other)


_LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3) | st.integers(),
    st.sampled_from([0.0, 1.0, -1.0]) | st.floats(allow_nan=False),
    st.sampled_from(["", "1", "1.0", "true", "null", "~set", "a"]) | st.text(),
    st.binary(max_size=2),
    st.dates(),
    st.datetimes(),
    st.times(),
    st.timedeltas(),
    st.decimals(allow_nan=False),
    st.fractions(),
    st.uuids(),
    st.sampled_from([Path("a"), Path("1"), Colour.RED, Named.RED, Mode.READ, Mode(3)]),
)
_KEYS = st.one_of(_LEAVES, st.tuples(_LEAVES, _LEAVES), st.frozensets(_LEAVES, max_size=2))
_VALUES = st.recursive(
    _LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(_KEYS, inner, max_size=3),
        st.frozensets(_KEYS, max_size=3),
        st.builds(Point, inner, inner),
        st.builds(Size, inner, inner),
    ),
    max_leaves=6,
)


def _normalize(value: Any) -> Any:
    """A form that is equal for two values just where `digest` says that they count as the same."""
    if is_dataclass(value):
        inner = {each.name: _normalize(getattr(value, each.name)) for each in fields(value)}
        return type(value), frozenset(inner.items())
    if isinstance(value, list | tuple):
        return "list", tuple(_normalize(each) for each in value)
    if isinstance(value, Mapping):
        return "mapping", frozenset(
            (_normalize(key), _normalize(item)) for key, item in value.items()
        )
    if isinstance(value, frozenset):
        return "set", frozenset(_normalize(each) for each in value)
    if isinstance(value, PurePath):
        return "path", str(value)
    return type(value), repr(value)


@given(_VALUES, _VALUES)
def test_hashes_are_equal_just_where_values_and_their_types_are(one: Any, other: Any) -> None:
    assert (digest(one) == digest(other)) == (_normalize(one) == _normalize(other))


@given(_VALUES)
def test_a_hash_is_that_of_the_value_alone(value: Any) -> None:
    assert digest(value) == digest(value)
    assert digest(value) != digest([value]) != digest({"a": value}) != digest(Point(value))


def test_a_stage_state_is_no_part_of_a_question() -> None:
    assert digest(Question("Why?", stage_state={"mmr": {"turn": Unknown()}})) == digest(
        Question("Why?")
    )


@pytest.mark.parametrize(
    "value", [Unknown(), Listed(), Unknown, print, {Unknown(): "a"}, toys.EchoLLM()]
)
def test_what_has_no_fixed_form_is_an_error_that_names_the_parameter(value: Any) -> None:
    with pytest.raises(
        UnidentifiedValue, match=r"^mine: parameter weights cannot be identified, so results"
    ):
        compute_fingerprint(toys.EchoLLM(), "mine", {"weights": [value]})


def test_an_argument_that_cannot_be_identified_is_named() -> None:
    stage = toys.LetterEmbedder()
    stage.fingerprint = "f"
    with pytest.raises(
        UnidentifiedValue,
        match=r"^LetterEmbedder\.detect: an argument cannot .*Unknown has no fixed form",
    ):
        compute_call_key(stage, "detect", {"query": "Why?", "passage": Unknown()})


def test_libraries_are_those_of_all_classes_and_their_versions_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert collect_libraries(Derived) == ("hydra-core", "numpy", "pluggy")
    before = compute_fingerprint(Derived(), "derived", {})
    assert compute_fingerprint(Derived(), "derived", {}) == before
    monkeypatch.setattr(
        fingerprint, "find_version", lambda name: "9" if name == "pluggy" else find_version(name)
    )
    assert compute_fingerprint(Derived(), "derived", {}) != before


def test_a_version_is_found_by_distribution_or_by_module() -> None:
    assert find_version("scikit-learn").split(".")[0].isdigit()
    assert find_version("sklearn") == f"scikit-learn {find_version('scikit-learn')}"
    assert find_version("no_such_library") == ""


def test_endpoints_and_contents_count(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {compute_fingerprint(toys.EchoLLM(), "echo", {})}
    monkeypatch.setattr(toys.EchoLLM, "endpoints", lambda self: ["http://a"], raising=False)
    found.add(compute_fingerprint(toys.EchoLLM(), "echo", {}))
    monkeypatch.setattr(toys.EchoLLM, "content_hash", lambda self: "files")
    found.add(compute_fingerprint(toys.EchoLLM(), "echo", {}))
    assert len(found) == 3


def test_a_code_version_counts_in_place_of_the_source(monkeypatch: pytest.MonkeyPatch) -> None:
    class Paid(Embedder):
        code_version = "1"

        def embed(self, texts: Sequence[str], *, query: bool = False) -> Any:
            raise NotImplementedError

    first = compute_fingerprint(Paid(), "paid", {})
    monkeypatch.setattr("convrag.store.fingerprint.hash_class", lambda *_: "another source")
    assert compute_fingerprint(Paid(), "paid", {}) == first
    monkeypatch.setattr(Paid, "code_version", "2")
    assert compute_fingerprint(Paid(), "paid", {}) != first
