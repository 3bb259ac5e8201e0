"""What a computing call returns is what a reusing call returns, type for type, for all types of
convrag.api.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field, fields, is_dataclass
from enum import Enum
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as nps

from convrag.api import passages, records
from convrag.api.completions import Message
from convrag.api.conversations import Question, Turn
from convrag.api.evidence import Evidence
from convrag.api.passages import Hit, Passage
from convrag.store.json_text import CannotBeKept, MarkedJson
from convrag.store.values import ArrayCodec, find_classes


class Colour(Enum):
    RED = (1, 2)
    BLUE = "blue"


class Span(NamedTuple):
    start: int
    end: int | None = None


@dataclass(frozen=True)
class Note:
    span: Span
    colours: set[Colour] = field(default_factory=set)
    inner: Note | None = None
    extra: Any = None


def find_notes() -> list[Note] | None:
    """A method of a plugin: its annotation names the classes of its own that it returns."""


CODEC = MarkedJson(find_classes(find_notes))


def are_same(one: Any, other: Any) -> bool:
    """Whether two values are equal, and of equal types all the way down."""
    if type(one) is not type(other):
        return False
    if isinstance(one, float) and not isinstance(one, np.generic):
        return repr(one) == repr(other)  # also NaN, and -0.0
    if isinstance(one, np.generic | np.ndarray):
        return (
            one.dtype == other.dtype
            and one.shape == other.shape
            and one.tobytes() == other.tobytes()
        )
    if is_dataclass(one):
        return all(
            are_same(getattr(one, each.name), getattr(other, each.name)) for each in fields(one)
        )
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(are_same, one, other))
    if isinstance(one, dict):
        return are_same(list(one), list(other)) and are_same(
            list(one.values()), list(other.values())
        )
    if isinstance(one, set | frozenset):
        return len(one) == len(other) and all(
            any(are_same(each, found) for found in other) for each in one
        )
    return bool(one == other)


texts = st.text(st.characters(codec=None, categories=None), max_size=8) | st.sampled_from(
    ["~tuple", "~", "\ud800", "\ude00x", "\ud83d\ude00", "😀", "\x00", ""]
)
numbers = st.floats() | st.integers()
scalars = (
    st.none() | st.booleans() | numbers | texts | st.binary(max_size=5) | st.sampled_from(list(Colour))
    | st.builds(Path, st.just("a/b")) | st.sampled_from([PurePosixPath("/x")])
    | st.builds(Message, st.just("user"), texts)
    | nps.arrays(st.sampled_from(["f4", "i8", ">i2", "?", "c16", "U3", "M8[s]"]), nps.array_shapes(min_side=0))
    | st.sampled_from([np.float32(0.1), np.float64("nan"), np.int64(3), np.bool_(True), np.str_("")])
)  # fmt: skip
colours = st.sampled_from(list(Colour))
keys = st.none() | st.booleans() | st.integers() | texts | st.tuples(texts, st.integers()) | colours
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.lists(inner, max_size=3).map(tuple)
    | st.dictionaries(keys, inner, max_size=3) | st.sets(keys, max_size=3) | st.frozensets(keys, max_size=3),
    max_leaves=8,
)  # fmt: skip

DATA = [cls for cls in find_classes(find_notes).values() if is_dataclass(cls)]


def build(cls: type) -> st.SearchStrategy[Any]:
    """Objects of a dataclass whose fields hold anything: annotations do not bind."""
    return st.builds(cls, **{each.name: values for each in fields(cls) if each.init})


@given(st.data())
def test_every_type_of_the_api_comes_back_as_it_was(data: st.DataObject) -> None:
    value = data.draw(st.one_of(*map(build, DATA)) | values)
    nested = data.draw(st.sampled_from([value, [value], (value, None), {"x": value}, {3: [value]}]))
    encoded = CODEC.encode(nested)
    assert are_same(CODEC.decode(encoded), nested)
    assert CODEC.encode(CODEC.decode(encoded)) == encoded


def test_all_types_of_the_api_are_tried() -> None:
    assert {
        Question,
        Turn,
        Evidence,
        records.TurnRecord,
        records.RunSummary,
        Note,
    } <= set(DATA)


@given(values)
def test_what_half_a_file_holds_is_an_error_and_never_another_value(value: Any) -> None:
    encoded = CODEC.encode([value, "end"])
    for cut in range(0, len(encoded), 7):
        with pytest.raises(Exception):  # noqa: B017, PT011
            CODEC.decode(encoded[:cut])


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        ({"a": OrderedDict(b=1)}, {"a": {"b": 1}}),
        (MappingProxyType({"b": (1,)}), {"b": (1,)}),
        (type("Markup", (str,), {})("x"), "x"),
        (type("Rows", (list,), {})([1]), [1]),
    ],
)
def test_what_is_derived_from_a_plain_type_is_plain_in_both_calls(value: Any, kept: Any) -> None:
    assert are_same(CODEC.decode(CODEC.encode(value)), kept)


@dataclass
class Unnamed:
    text: str


class Shade(Enum):
    DARK = 1


def test_an_object_that_cannot_be_kept_is_named_with_its_place() -> None:
    for value, problem in (
        (object(), "an object of builtins.object"),
        (Unnamed("x"), "an object of Unnamed, a class that the return annotation does not name"),
        (Shade.DARK, "an object of Shade, a class that the return annotation does not name"),
        (np.array([None]), "an array of object"),
        (len, "an object of builtins.builtin_function_or_method"),
    ):
        hits = [
            Hit(Passage("p", "text"), 1.0),
            Hit(Passage("q", "text", metadata={"span": [value]}), 0.5),
        ]
        with pytest.raises(CannotBeKept) as raised:
            CODEC.encode(hits)
        assert (raised.value.problem, raised.value.place) == (
            problem,
            "[1].passage.metadata.span[0]",
        )
    circle: list[Any] = []
    circle.append(circle)
    with pytest.raises(CannotBeKept, match="contains itself, or is nested too deeply"):
        CODEC.encode(circle)


def test_a_class_under_a_name_of_the_api_is_kept_apart() -> None:
    @dataclass
    class Passage:
        body: str

    def find() -> list[Any]: ...

    find.__annotations__["return"] = list[Passage]
    codec = MarkedJson(find_classes(find))
    both = [Passage("x"), passages.Passage("p", "t")]
    assert codec.decode(codec.encode(both)) == both


@given(
    nps.arrays(
        st.sampled_from(["f2", "f4", "f8", "i1", "i8", "u1"]),
        nps.array_shapes(min_dims=0, min_side=0),
    )
)
def test_arrays_have_the_declared_type_and_their_shape(array: np.ndarray[Any, Any]) -> None:
    codec = ArrayCodec("float64")
    for given_value in (
        array,
        array.tolist(),
        array[..., ::-1] if array.ndim else array,
        np.asfortranarray(array),
    ):
        decoded = codec.decode(codec.encode(given_value))
        assert decoded.dtype == np.float64
        assert decoded.flags.c_contiguous
        assert decoded.flags.writeable
        assert np.array_equal(decoded, np.asarray(given_value), equal_nan=True)


@pytest.mark.parametrize(
    ("dtype", "value", "problem"),
    [
        ("int64", [0.5, 1.0], "float64 values, and some are not int64"),
        ("int64", [float("nan")], "float64 values, and some are not int64"),
        ("float64", ["1", "2"], "<U1 values, which are not float64"),
        ("float64", [None, 1.0], "object values, which are not float64"),
        ("float64", [[1.0], [1.0, 2.0]], "no array"),
        ("float64", [1j], "complex128 values, which are not float64"),
    ],
)
def test_numbers_are_never_changed_silently(dtype: str, value: Any, problem: str) -> None:
    with pytest.raises(CannotBeKept, match=problem):
        ArrayCodec(dtype).encode(value)


class Broken:
    """Cannot be an annotation, for another reason than that nothing has its name."""

    def __class_getitem__(cls, item: object) -> None:
        raise RuntimeError("a defect")


def test_an_annotation_that_fails_is_an_error_and_an_unknown_name_is_none() -> None:
    def find() -> Any: ...

    find.__annotations__["return"] = "ImportedForTypeCheckers"
    assert find_classes(find) == find_classes()
    find.__annotations__["return"] = "Broken[int]"
    with pytest.raises(RuntimeError, match="a defect"):
        find_classes(find)
