import threading
from collections.abc import Iterator
from typing import Any

import pytest

from convrag import Completion, LLMError, Message, Prompt
from convrag.concurrency.streaming import listen_with
from llm_client import COST_WITHOUT_PRICE, every_option, make_client
from llm_server import DONE, Server, Step, make_error, make_event, make_reply

pytest.importorskip("litellm")
from convrag_llms import reply

pytestmark = [
    pytest.mark.integration,
    pytest.mark.filterwarnings(
        "ignore:Accessing the .* attribute on the instance is deprecated"
    ),  # litellm's own
]

PROMPT = Prompt("answer", (Message("user", "Who was Laika?"),))
PRICES = {
    "input_cost_per_token": 3e-5,
    "output_cost_per_token": 6e-5,
}  # gpt-4's, which litellm knows
LONG = "A dog that flew into space."


def heard(server: Server, **parameters: Any) -> tuple[Completion, list[str]]:
    pieces: list[str] = []
    priced = {"extra": PRICES} if server.option == "openai_compatible" else {}
    stage = make_client(server, **{"model": "openai/gpt-4", **priced, **parameters})
    with listen_with(pieces.append):
        return stage.complete(PROMPT), pieces


@every_option
def test_pieces_are_handed_out_and_make_the_reply(server: Server) -> None:
    server.plan_replies(make_reply(LONG, prompt_tokens_details={"cached_tokens": 2}))
    completion, pieces = heard(server)
    assert len(pieces) == 6
    assert "".join(pieces) == completion.text == LONG
    assert server.requests[0]["stream"] is True
    assert (completion.prompt_tokens, completion.completion_tokens, completion.cached_tokens) == (
        7,
        3,
        2,
    )
    assert completion.cost_usd == pytest.approx(7 * 3e-5 + 3 * 6e-5)


@every_option
def test_pieces_come_while_the_reply_is_written(server: Server) -> None:
    has_come = threading.Event()

    def write() -> Iterator[bytes]:
        yield say("A ")
        assert has_come.wait(60)
        yield from (say("dog."), STOP, DONE)

    server.plan_replies(Step(events=write()))
    with listen_with(lambda piece: has_come.set()):
        assert make_client(server, timeout=120).complete(PROMPT).text == "A dog."


@every_option
def test_nobody_listens_nothing_is_streamed(server: Server) -> None:
    make_client(server).complete(PROMPT)
    assert "stream" not in server.requests[0]


@every_option
def test_the_request_is_the_same_either_way(server: Server) -> None:
    stage = make_client(server)
    silent = stage.request(PROMPT)
    with listen_with(lambda piece: None):
        assert stage.request(PROMPT) == silent


@every_option
def test_a_server_without_usage_is_counted_here(server: Server) -> None:
    server.plan_replies({**make_reply(LONG), "usage": None})
    completion, _ = heard(server, model="openai/local", extra={})
    assert completion.completion_tokens >= 6
    assert completion.cost_usd == COST_WITHOUT_PRICE[server.option]


@every_option
@pytest.mark.parametrize(
    "fault",
    [make_error(429), Step(reset=True), make_reply(""), Step(body=make_reply(LONG), pieces=0)],
)
def test_before_the_first_piece_it_is_asked_again(server: Server, fault: Any) -> None:
    server.plan_replies(fault, make_reply(LONG))
    completion, pieces = heard(server)
    assert ("".join(pieces), completion.retries) == (LONG, 1)
    assert len(server.requests) == 2


@every_option
@pytest.mark.parametrize("chunked", [True, False])
def test_after_the_first_piece_it_is_not(server: Server, chunked: bool) -> None:
    server.plan_replies(Step(body=make_reply(LONG), pieces=3, chunked=chunked), make_reply(LONG))
    pieces: list[str] = []
    stage = make_client(server)
    with (
        listen_with(pieces.append),
        pytest.raises(LLMError, match="A part of it was shown already"),
    ):
        stage.complete(PROMPT)
    assert pieces == ["A ", "dog ", "that "]
    assert len(server.requests) == 1


@every_option
def test_the_deadline_holds_for_the_whole_of_a_stream(server: Server) -> None:
    heard(server)
    server.plan_replies(Step(body=make_reply(LONG), byte_delay=0.5))  # four seconds in all
    with pytest.raises(LLMError):
        heard(server, timeout=2)
    assert len(server.requests) == 1


@every_option
def test_who_listens_may_stop_it(server: Server) -> None:
    def enough(piece: str) -> None:
        raise KeyboardInterrupt

    server.plan_replies(make_reply(LONG))
    stage = make_client(server)
    with listen_with(enough), pytest.raises(KeyboardInterrupt):
        stage.complete(PROMPT)
    assert stage.complete(PROMPT).text == LONG


def say(text: str | None) -> bytes:
    return make_event({"role": "assistant", "content": text})


STOP = make_event({}, "stop")
TOOL = make_event(
    {"tool_calls": [{"index": 0, "id": "x", "type": "function", "function": {"name": "f"}}]}
)
UNICODE = say("").replace(b'"content": ""', '"content": "caf\u00e9 \U0001f680"'.encode())
SPLIT = UNICODE.index("\u00e9".encode()) + 1  # between the two bytes of a letter


@every_option
@pytest.mark.parametrize(
    ("events", "text"),
    [
        pytest.param((say("A dog"), STOP, DONE), "A dog", id="no usage"),
        pytest.param((say("A dog"), STOP), "A dog", id="no end after the finish reason"),
        pytest.param((say("A "), STOP, STOP, say("cat"), STOP, DONE, DONE), "A", id="a second end"),
        pytest.param(
            (say("A dog"), STOP, make_event(choices=[], usage={"prompt_tokens": "x"})),
            "A dog",
            id="usage",
        ),
        pytest.param(
            (UNICODE[:SPLIT], UNICODE[SPLIT:], STOP, DONE),
            "caf\u00e9 \U0001f680",
            id="a letter in two parts",
        ),
        pytest.param(
            (say("A "), say("dog").replace(b"\n", b"\r\n"), b": ping\n\n", STOP, DONE),
            "A dog",
            id="line ends",
        ),
        pytest.param(
            (say(None), make_event(choices=[]), say("A dog"), STOP, DONE),
            "A dog",
            id="chunks without text",
        ),
        pytest.param(
            (
                say("A dog"),
                make_event(
                    choices=[{"index": 1, "delta": {"content": "OTHER"}, "finish_reason": None}]
                ),
                STOP,
                DONE,
            ),
            "A dog",
            id="a second choice",
        ),
        pytest.param(
            (say("Let me see."), TOOL, make_event({}, "tool_calls"), DONE),
            "Let me see.",
            id="text and a tool",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
def test_a_reply_that_came_whole_is_kept(
    server: Server, events: tuple[bytes, ...], text: str
) -> None:
    server.plan_replies(Step(events=events))
    completion, pieces = heard(server, model="openai/local")
    assert completion.text == text == "".join(pieces).strip()
    assert len(server.requests) == 1


@every_option
@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(b"data: {bad\n\n", id="malformed"),
        pytest.param(
            b'data: {"error": {"message": "overloaded", "code": 503}}\n\n', id="an error object"
        ),
        pytest.param(b'event: error\ndata: {"error": "overloaded"}\n\n', id="an error event"),
        pytest.param(b"data: [1, 2]\n\n", id="no object"),
        pytest.param(b"data: \xff\xfe\n\n", id="no UTF-8"),
        pytest.param(b"", id="nothing more"),
        pytest.param(DONE, id="the end without a finish reason"),
    ],
)
class TestFaultOfAStream:
    def test_at_the_beginning_it_is_asked_again(self, server: Server, fault: bytes) -> None:
        server.plan_replies(Step(events=(fault,)), Step(events=(say("A dog."), STOP, DONE)))
        completion, pieces = heard(server, model="openai/local")
        assert (completion.text, pieces, completion.retries) == ("A dog.", ["A dog."], 1)

    def test_after_invisible_pieces_too(self, server: Server, fault: bytes) -> None:
        server.plan_replies(
            Step(events=(say("\u200b"), say("\n"), fault)), Step(events=(say("A dog."), STOP, DONE))
        )
        completion, pieces = heard(server, model="openai/local")
        assert (completion.text, pieces) == ("A dog.", ["A dog."])

    def test_in_the_middle_it_is_an_error_without_the_text(
        self, server: Server, fault: bytes
    ) -> None:
        server.plan_replies(Step(events=(say("A "), fault)))
        with pytest.raises(LLMError, match="A part of it was shown already") as failure:
            heard(server, model="openai/local")
        assert "MidStreamFallbackError" not in str(failure.value)
        assert len(server.requests) == 1


@every_option
@pytest.mark.parametrize(
    "events", [(), (DONE,), (STOP, DONE), (say("\u200b"), STOP, DONE), (TOOL, DONE)]
)
def test_an_empty_stream_is_asked_again(server: Server, events: tuple[bytes, ...]) -> None:
    server.plan_replies(Step(events=events), Step(events=(say("A dog."), STOP, DONE)))
    completion, _ = heard(server, model="openai/local")
    assert (completion.text, completion.retries) == ("A dog.", 1)


@every_option
@pytest.mark.parametrize("part", [say("A dog "), b": ping\n\n", say(""), b"data: xxxx"])
def test_a_stream_without_end_ends_at_the_timeout(server: Server, part: bytes) -> None:
    heard(server)
    server.plan_replies(Step(events=(part,), endless=True, byte_delay=0.02))
    with pytest.raises(LLMError) as failure:
        heard(server, model="openai/local", timeout=0.7, retries=0)
    assert failure.value.status == 408


@every_option
def test_a_stream_without_end_ends_at_the_limit(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reply, "MAX_REPLY_BYTES", 2**20)
    server.plan_replies(Step(events=tuple(say(f"{n} " * 10_000) for n in range(100)), endless=True))
    with pytest.raises(LLMError, match="longer than 1 MB"):
        heard(server, model="openai/local", timeout=20)
    assert len(server.requests) == 1
