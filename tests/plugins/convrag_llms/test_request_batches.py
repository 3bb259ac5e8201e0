"""Batches of texts, and what servers say when one is too large."""

from typing import Any

import numpy as np
import pytest

from convrag_llms.errors import HttpError
from convrag_llms.request_batches import RequestBatches, TooLarge, find_refused_size

REFUSALS = [
    # TEI
    (422, "batch size 64 > maximum allowed batch size 32", (64, 32), True),
    (413, "Input validation error: `inputs` must have less than 512 tokens. Given: 1234", (512, 1234), False),
    # OpenAI
    (400, "Invalid 'input': array too long. Expected an array with maximum length 2048, but got an "
     "array with length 3000 instead.", (2048, 3000), True),
    (400, "This model's maximum context length is 8192 tokens, however you requested 10000 tokens "
     "(10000 in your prompt; 0 for the completion).", (8192, 10000, 10000, 0), False),
    (400, "Requested 310,000 tokens, max 300,000 tokens per request. The request is too large.",
     (310000, 300000), False),
    # Cohere
    (400, "invalid request: total number of texts must be at most 96 - received 200", (96, 200), True),
    # Voyage
    (400, "The max allowed tokens per submitted batch is 120000. Your batch has 200000 tokens.",
     (120000, 200000), False),
    # llama.cpp
    (500, "input (1234 tokens) is too large to process. increase the physical batch size (current "
     "batch size: 512)", (1234, 512), False),
]  # fmt: skip


@pytest.mark.parametrize(("status", "message", "numbers", "counts_texts"), REFUSALS)
def test_servers_say_in_their_own_ways_that_a_request_is_too_large(
    status: int, message: str, numbers: tuple[int, ...], counts_texts: bool
) -> None:
    assert find_refused_size(HttpError(status, message)) == TooLarge(numbers, counts_texts)


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "The model `e` does not exist"),
        (401, "Incorrect API key provided"),
        (404, "Not Found"),
        (429, "Rate limit exceeded: 3000000 tokens per minute"),
        (400, "dimensions is not supported by this model"),
    ],
)
def test_other_errors_are_none(status: int, message: str) -> None:
    assert find_refused_size(HttpError(status, message)) is None


def test_every_text_gets_its_result_from_one_batch() -> None:
    batches = RequestBatches(3, 1000, 4, "m")
    sent: list[list[str]] = []

    def ask(texts: list[str]) -> Any:
        sent.append(texts)
        return np.array([[float(text)] for text in texts])

    found: dict[int, float] = {}
    texts = [str(number) for number in range(10)]
    batches.send(
        texts, ask, lambda places, rows: found.update(zip(places, rows[:, 0], strict=True))
    )
    assert found == {number: float(number) for number in range(10)}
    assert sorted(len(each) for each in sent) == [1, 3, 3, 3]
