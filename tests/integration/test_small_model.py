"""A real model, asked in the process and through its server: see tests/support/small_model.py."""

import json
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from convrag import Message, Prompt
from convrag.concurrency.cancellation import Cancellation, Cancelled
from convrag.concurrency.streaming import listen_with
from convrag_llms.llama_cpp_llm import LlamaCpp
from convrag_llms.openai_compatible import OpenAICompatible
from small_model import SETTINGS, load, needs_small_model, serve

pytestmark = [pytest.mark.slow, pytest.mark.integration, needs_small_model]

PROMPTS = [
    Prompt("answer", (Message("user", text),))
    for text in (
        "The Moon is 384,400 km away. How far is the Moon?",
        "Write one line about tea.",
        "Antworte: Wie heißt die Hauptstadt von Österreich?",
    )
]
SCHEMA = {
    "type": "object",
    "properties": {"kilometres": {"type": "integer"}},
    "required": ["kilometres"],
    "additionalProperties": False,
}
WITHOUT_PENALTY = {"repeat_penalty": 1.0}
"""This server's default is 1.1, under which numbers of the prompt are copied with other digits."""

DOORS = ("server", "process")


@pytest.fixture(scope="module")
def stages(small_model: Path) -> Iterator[dict[str, Any]]:
    pytest.importorskip("starlette_context", reason="needs llama-cpp-python[server]")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with serve(small_model, port) as address:
        loaded = load(small_model)
        yield {
            "server": OpenAICompatible(
                model="smollm2", api_base=address, max_tokens=16, extra=WITHOUT_PENALTY
            ),
            "process": LlamaCpp(model=small_model, max_tokens=16, **SETTINGS),
            "loaded": loaded,
        }


def test_both_write_the_same(stages: dict[str, Any]) -> None:
    for prompt in PROMPTS:
        at_server = stages["server"].complete(prompt)
        in_process = stages["process"].complete(prompt)
        assert at_server.text == in_process.text
        assert at_server.prompt_tokens == in_process.prompt_tokens
        assert at_server.completion_tokens == in_process.completion_tokens
        assert at_server.finish_reason == in_process.finish_reason


@pytest.mark.parametrize("door", DOORS)
def test_a_streamed_reply_is_the_whole_one(stages: dict[str, Any], door: str) -> None:
    pieces: list[str] = []
    with listen_with(pieces.append):
        streamed = stages[door].complete(PROMPTS[0])
    assert len(pieces) > 3
    assert "".join(pieces).strip() == streamed.text == stages[door].complete(PROMPTS[0]).text


@pytest.mark.parametrize("door", DOORS)
def test_a_cancelled_reply_ends_within_a_second(stages: dict[str, Any], door: str) -> None:
    cancellation = Cancellation()
    times: list[float] = []

    def cancel() -> None:
        times.append(time.monotonic())
        cancellation.cancel()

    prompt = replace(PROMPTS[1], sampling={"max_tokens": 400})
    threading.Timer(0.5, cancel).start()
    with cancellation.apply(), pytest.raises(Cancelled), listen_with(lambda piece: None):
        stages[door].complete(prompt)
    assert time.monotonic() - times[0] < 1


@pytest.mark.parametrize("door", DOORS)
def test_a_schema_is_kept(stages: dict[str, Any], door: str) -> None:
    sampling = {"response_format": {"type": "json_object", "schema": SCHEMA}, "max_tokens": 30}
    reply = stages[door].complete(replace(PROMPTS[0], sampling=sampling))
    value = json.loads(reply.text)
    assert list(value) == ["kilometres"]
    assert isinstance(value["kilometres"], int)
