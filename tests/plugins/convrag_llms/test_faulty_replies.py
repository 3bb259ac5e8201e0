"""Replies and errors that do not keep to the protocol, and calls that are cancelled, through both
options.
"""

import threading
import time
from typing import Any

import pytest

from convrag import LLMError, Message, Prompt
from convrag.concurrency.cancellation import Cancellation, Cancelled
from convrag.concurrency.streaming import listen_with
from convrag_llms.openai_protocol import make_http_error
from llm_client import every_option, make_client
from llm_server import Server, Step, make_reply

PROMPT = Prompt("answer", (Message("user", "Who was Laika?"),))


@every_option
@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"error": {"message": "bad parameter", "code": "x_invalid"}}, "bad parameter"),
        ({"object": "error", "message": "bad parameter", "code": 400}, "bad parameter"),
        ({"detail": [{"msg": "field required"}]}, "field required"),
        ({"error": "bad parameter"}, "bad parameter"),
        (b"<html><title>Bad</title></html>", "Bad"),
        (b"", "nothing more|Error code: 400"),  # the latter are the words of litellm's client
        (b"[" * 100_000, r"\[\["),
    ],
)
def test_errors_are_quoted_whatever_their_form(server: Server, body: Any, said: str) -> None:
    server.plan_replies(Step(400, body))
    with pytest.raises(LLMError, match=said) as raised:
        make_client(server).complete(PROMPT)
    assert raised.value.status == 400
    assert len(server.requests) == 1


def test_the_code_of_an_error_is_quoted() -> None:
    error = make_http_error(400, {"error": {"message": "bad parameter", "code": "x_invalid"}})
    assert str(error) == "bad parameter (x_invalid)"


@every_option
@pytest.mark.parametrize(
    "body", [b"[" * 100_000, b"[1]", b"null", b"\xff", b'{"choices": [3]}', b'{"choices": "x"}']
)
def test_what_is_no_reply_is_asked_for_again(server: Server, body: bytes) -> None:
    server.plan_replies(Step(body=body), make_reply())
    assert make_client(server).complete(PROMPT).retries == 1


@every_option
@pytest.mark.parametrize("streamed", [False, True])
def test_a_call_that_is_cancelled_ends_at_once(server: Server, streamed: bool) -> None:
    """While the server is silent, or between two pieces."""
    server.plan_replies(
        Step(
            body=make_reply("A dog in space."),
            byte_delay=1.0,
            silence=0.0 if streamed else 60.0,
        )
    )
    cancellation, has_begun, told = Cancellation(), threading.Event(), list[str]()

    def ask() -> None:
        with (
            cancellation.apply(),
            listen_with((lambda piece: has_begun.set()) if streamed else None),
        ):
            try:
                make_client(server, timeout=120).complete(PROMPT)
            except Cancelled:
                told.append("cancelled")

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    while not (has_begun.is_set() if streamed else server.requests):
        time.sleep(0.01)
    cancellation.cancel()
    thread.join(30)
    assert told == ["cancelled"]
