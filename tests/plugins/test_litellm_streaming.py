from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from convrag.api.errors import LLMError
from convrag.api.types import Completion, Message, Prompt
from convrag.store.streaming import listen_with
from convrag_litellm import retrying
from convrag_litellm.llm import LiteLLM
from llm_server import Server, Step, make_error, make_reply

pytest.importorskip("litellm")
pytest.importorskip("tenacity")
pytestmark = [
    pytest.mark.integration,
    pytest.mark.filterwarnings("ignore:Accessing the .* attribute on the instance is deprecated"),  # litellm's own
]

PROMPT = Prompt("answer", (Message("user", "Who was Laika?"),))
LONG = "A dog that flew into space."


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retrying, "FIRST_WAIT", 0.01)


def heard(server: Server, **parameters: Any) -> tuple[Completion, list[str]]:
    pieces: list[str] = []
    stage = LiteLLM(**{"model": "openai/gpt-4", "api_base": server.address, **parameters})
    with listen_with(pieces.append):
        return stage.complete(PROMPT), pieces


def test_pieces_are_handed_out_and_make_the_reply(server: Server) -> None:
    server.plan_replies(make_reply(LONG, prompt_tokens_details={"cached_tokens": 2}))
    completion, pieces = heard(server)
    assert len(pieces) == 6
    assert "".join(pieces) == completion.text == LONG
    assert server.requests[0]["stream"] is True
    assert (completion.prompt_tokens, completion.completion_tokens, completion.cached_tokens) == (7, 3, 2)
    assert completion.cost_usd == pytest.approx(7 * 3e-5 + 3 * 6e-5)


def test_pieces_come_while_the_reply_is_written(server: Server) -> None:
    server.plan_replies(Step(body=make_reply(LONG), byte_delay=0.1))
    times: list[float] = []
    stage = LiteLLM(model="openai/local", api_base=server.address)
    with listen_with(lambda piece: times.append(time.monotonic())):
        stage.complete(PROMPT)
    assert times[-1] - times[0] > 0.4


def test_nobody_listens_nothing_is_streamed(server: Server) -> None:
    LiteLLM(model="openai/local", api_base=server.address).complete(PROMPT)
    assert "stream" not in server.requests[0]


def test_the_request_is_the_same_either_way(server: Server) -> None:
    stage = LiteLLM(model="openai/local", api_base=server.address)
    silent = stage.request(PROMPT)
    with listen_with(lambda piece: None):
        assert stage.request(PROMPT) == silent


def test_a_server_without_usage_is_counted_here(server: Server) -> None:
    server.plan_replies({**make_reply(LONG), "usage": None})
    completion, _ = heard(server, model="openai/local")
    assert completion.completion_tokens >= 6
    assert completion.cost_usd is None


@pytest.mark.parametrize(
    "fault", [make_error(429), Step(reset=True), make_reply(""), Step(body=make_reply(LONG), pieces=0)]
)
def test_before_the_first_piece_it_is_asked_again(server: Server, fault: Any) -> None:
    server.plan_replies(fault, make_reply(LONG))
    completion, pieces = heard(server)
    assert ("".join(pieces), completion.retries) == (LONG, 1)
    assert len(server.requests) == 2


@pytest.mark.parametrize("chunked", [True, False])
def test_after_the_first_piece_it_is_not(server: Server, chunked: bool) -> None:
    server.plan_replies(Step(body=make_reply(LONG), pieces=3, chunked=chunked), make_reply(LONG))
    pieces: list[str] = []
    stage = LiteLLM(model="openai/local", api_base=server.address)
    with listen_with(pieces.append), pytest.raises(LLMError, match="A part of it was shown already"):
        stage.complete(PROMPT)
    assert pieces == ["A ", "dog ", "that "]
    assert len(server.requests) == 1


def test_the_deadline_holds_for_the_whole_of_a_stream(server: Server) -> None:
    heard(server)
    server.plan_replies(Step(body=make_reply(LONG), byte_delay=0.2))
    start = time.monotonic()
    with pytest.raises(LLMError):
        heard(server, timeout=0.5)
    assert time.monotonic() - start < 1.2
    assert len(server.requests) == 1


def test_who_listens_may_stop_it(server: Server) -> None:
    def enough(piece: str) -> None:
        raise KeyboardInterrupt

    server.plan_replies(make_reply(LONG))
    stage = LiteLLM(model="openai/local", api_base=server.address)
    with listen_with(enough), pytest.raises(KeyboardInterrupt):
        stage.complete(PROMPT)
    assert stage.complete(PROMPT).text == LONG
