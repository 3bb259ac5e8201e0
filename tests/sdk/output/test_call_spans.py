"""Where the calls of a stage stand in time, of which only their lengths are known."""

import pytest

from convrag import Completion, Message, Prompt
from convrag.sdk.output.call_spans import make_call_spans
from convrag.sdk.types import Usage

SECOND = 10**9


def make_call(
    seconds: float, tokens: tuple[int, int] = (7, 3), cost: float | None = 0.5
) -> tuple[Prompt, Completion]:
    reply = Completion("Yes.", *tokens, cost_usd=cost, seconds=seconds)
    return Prompt(task="answer", messages=(Message("user", "Is it?"),)), reply


@pytest.mark.parametrize(
    ("seconds", "usage", "stored", "places"),
    [
        ([1.0, 2.0], Usage(calls=2), False, [(0, 1), (1, 3)]),
        ([3.0, 2.0, 9.0], Usage(calls=3), False, [(0, 3), (0, 2), (0, 4)]),  # from several threads
        ([1.0, 2.0], Usage(reused=2), True, [(0, 0), (0, 0)]),
        ([1.0, 2.0], Usage(calls=1, reused=1), None, [(0, 1), (1, 3)]),  # of which one is not known
    ],
)
def test_calls_stand_within_their_stage(
    seconds: list[float], usage: Usage, stored: bool | None, places: list[tuple[int, int]]
) -> None:
    begin = 100 * SECOND
    calls = [make_call(each) for each in seconds]
    spans = list(make_call_spans(calls, usage, begin, begin + 4 * SECOND, parent=3))
    assert [((s["start"] - begin) // SECOND, (s["end"] - begin) // SECOND) for s in spans] == places
    assert {span["attributes"].get("convrag.stored") for span in spans} == {stored}
    assert {span["parent"] for span in spans} == {3}


def test_a_rule_is_no_chat_and_an_unknown_price_is_none() -> None:
    unpriced = make_call(1.0, cost=None)
    rule = make_call(1.0, (0, 0), None)
    first, second = make_call_spans([unpriced, rule], Usage(calls=2), 0, 4 * SECOND, parent=0)
    assert (first["attributes"]["kind"], second["attributes"]["kind"]) == ("CHAT_MODEL", "TASK")
    assert "cost" not in first["attributes"]
    assert first["attributes"]["tokens"] == {
        "input_tokens": 7,
        "output_tokens": 3,
        "total_tokens": 10,
    }
    assert "tokens" not in second["attributes"]
