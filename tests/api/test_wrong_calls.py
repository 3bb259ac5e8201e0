"""A TypeError about arguments says which call it is, and which argument."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from convrag.api.types import Hit, Query
from convrag.api.wrong_calls import find_wrong_call
from convrag.testing import LetterEmbedder, RecordedLLM, question
from convrag.testing.samples import make_prompt

EMBEDDER = LetterEmbedder()


def add(first: int, *, second: int = 0) -> int:
    return first + second


def place(first: int, /, second: int) -> int:
    return first + second


def explain(call: Callable[[], Any]) -> str:
    with pytest.raises(TypeError) as caught:
        call()
    return str(find_wrong_call(caught.value))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: EMBEDDER.embed(["a"], True), "embed(['a'], True): query is keyword-only; it is embed(texts, *, query"),
        (lambda: add(1, seconds=2), "add(1, seconds=2): it has no parameter seconds; it is add(first, *, second=0)"),
        (lambda: add(), "add(): first is missing; it is add(first, *, second=0)"),
        (lambda: add(1, first=2), "add(1, first=2): first is given twice"),
        (lambda: add(1, 2, second=3), "add(1, 2, second=3): 2 arguments are given, and it takes 1;"),
        (lambda: place(first=1, second=2), "place(first=1, second=2): first is positional-only; it is place(first, /"),
        (lambda: Query("tea", wieght=1), "Query('tea', wieght=1): it has no parameter wieght; it is Query(text, weigh"),
        (lambda: Hit("a passage"), "Hit('a passage'): score is missing; it is Hit(passage, score)"),
        (
            lambda: add(
                "ä",
                "ß" * 100,
            ),
            "add('ä', 'ß' * 100): second is keyword-only",
        ),
    ],
)
def test_the_call_and_its_mistake_are_named(call: Callable[[], Any], message: str) -> None:
    assert explain(call).startswith(message)


@pytest.mark.parametrize(
    "call",
    [
        lambda: len(5),
        lambda: add("1", second=2),
        lambda: add(*[1, 2]),
        lambda: add(**dict(x=1)),  # noqa: C408
        lambda: (lambda: 1)(2),
        lambda: sum(["a"]),
    ],
)
def test_another_mistake_is_left_to_python(call: Callable[[], Any]) -> None:
    assert explain(call) == "None"


def test_errors_that_are_no_type_errors_are_none() -> None:
    assert find_wrong_call(ValueError("add() takes")) is None
    assert find_wrong_call(TypeError("never raised")) is None


def test_a_stage_that_cannot_be_called_as_its_kind_is_is_told_from_a_wrong_call() -> None:
    class Short(RecordedLLM):
        def complete(self) -> Any:
            return None

    def find(call: Callable[[], Any]) -> Any:
        with pytest.raises(TypeError) as caught:
            call()
        return find_wrong_call(caught.value)

    short, recorded = Short(replies={}), RecordedLLM(replies={})
    wrong = find(lambda: short.complete(make_prompt()))
    assert (wrong.owner, wrong.promised, wrong.written) == (short, "complete(prompt)", "complete()")
    wrong = find(lambda: recorded.complete(make_prompt(), question()))
    assert (wrong.owner, wrong.promised) == (recorded, "")
