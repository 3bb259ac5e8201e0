"""Every way in which a server can fail, with the exact number of requests that each one takes."""

import re
import threading
import time
from collections import Counter
from email.utils import formatdate
from pathlib import Path
from typing import ClassVar

import pytest

from convrag import LLMError, Message, Pipeline, Prompt
from convrag_llms import call
from convrag_llms.litellm_llm import LiteLLM
from llm_client import every_option, make_client
from llm_server import Server, Step, make_error, make_reply

pytest.importorskip("litellm")
pytestmark = pytest.mark.integration

PROMPT = Prompt("answer", (Message("system", "Be brief."), Message("user", "Who was Laika?")))


TRANSIENT = {
    "408": make_error(408),
    "429": make_error(429),
    "500": make_error(500),
    "502": Step(502, b"<html>bad gateway</html>"),
    "503": make_error(503),
    "529": make_error(529, "overloaded"),
    "connection reset": Step(reset=True),
    "cut off": Step(body=make_reply(), sent_bytes=40),
    "nothing at all": Step(body=make_reply(), sent_bytes=0),
    "HTML": Step(body=b"<html>oops</html>"),
    "malformed JSON": Step(body=b'{"choices": ['),
    "an empty object": Step(body=b"{}"),
    "no choices": Step(body={**make_reply(), "choices": []}),
    "choices null": Step(body={**make_reply(), "choices": None}),
    "content null": Step(body=make_reply(None, "stop")),
    "content empty": Step(body=make_reply("")),
    "content blank": Step(body=make_reply("  \n")),
    "an error with status 200": Step(body={"error": {"message": "overloaded", "code": 503}}),
}
FINAL = {
    "400": (make_error(400, "bad parameter"), "sampling parameters"),
    "401": (
        make_error(401, "who are you"),
        "Check the key in the environment variable OPENAI_API_KEY",
    ),
    "403": (make_error(403, "not you"), "Check the key"),
    "404": (make_error(404, "no such model"), "llm.model and llm.api_base"),
    "422": (make_error(422, "cannot be processed"), "sampling parameters"),
    "too long": (
        make_error(
            400, "This model's maximum context length is 10", code="context_length_exceeded"
        ),
        "Send less",
    ),
    "too long, as 500": (
        make_error(500, "the request exceeds the available context size"),
        "Send less",
    ),
}


@every_option
@pytest.mark.parametrize("fault", TRANSIENT)
def test_what_may_pass_is_repeated(server: Server, fault: str) -> None:
    server.plan_replies(TRANSIENT[fault], TRANSIENT[fault], make_reply())
    completion = make_client(server).complete(PROMPT)
    assert (completion.text, completion.retries) == ("A dog.", 2)
    assert len(server.requests) == 3


@every_option
@pytest.mark.parametrize("retries", [0, 3])
@pytest.mark.parametrize("fault", TRANSIENT)
def test_each_retry_is_one_request(server: Server, fault: str, retries: int) -> None:
    server.plan_replies(TRANSIENT[fault])
    with pytest.raises(LLMError) as raised:
        make_client(server, retries=retries).complete(PROMPT)
    assert len(server.requests) == retries + 1
    assert (raised.value.provider, raised.value.model) == ("openai", "openai/local")


@every_option
@pytest.mark.parametrize("fault", FINAL)
def test_what_cannot_pass_is_not(server: Server, fault: str) -> None:
    step, advice = FINAL[fault]
    server.plan_replies(step)
    with pytest.raises(LLMError, match=advice) as raised:
        make_client(server).complete(PROMPT)
    assert len(server.requests) == 1
    assert raised.value.status == step.status
    assert step.body["error"]["message"] in str(raised.value)
    assert server.address in str(raised.value)


@pytest.mark.parametrize("status", [429, 503, 529])
def test_claude_is_asked_as_often(server: Server, status: int) -> None:
    headers = {"retry-after": "1"} if status == 429 else {}
    server.plan_replies(make_error(status, headers=headers), make_reply())
    base = server.address.removesuffix("/v1")
    stage = LiteLLM(model="anthropic/claude-sonnet-4-5-20250929", api_base=base)
    assert stage.complete(PROMPT).retries == 1
    assert len(server.requests) == 2
    assert status != 429 or server.times[1] - server.times[0] >= 1
    server.plan_replies(make_error(status))
    with pytest.raises(LLMError):
        LiteLLM(model="anthropic/claude-sonnet-4-5-20250929", api_base=base, retries=3).complete(
            PROMPT
        )
    assert len(server.requests) == 4


@every_option
@pytest.mark.parametrize(("retries", "waits"), [(0, []), (1, [0.3]), (5, [0.3, 0.6])])
def test_a_server_that_has_ended_is_said_soon(
    server: Server, retries: int, waits: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []
    monkeypatch.setattr(call, "sleep", waited.append)
    server.stop_listening()
    address = re.escape(server.address)
    with pytest.raises(
        LLMError,
        match=rf"\(connection refused\): .*Start the model server at {address}, or set llm\.api",
    ):
        make_client(server, retries=retries).complete(PROMPT)
    assert waited == waits


@pytest.mark.parametrize("system", [("rewriter=condense", "generator=chat"), ("rewriter=mmr",)])
def test_a_whole_turn_says_it_within_three_seconds(
    server: Server, system: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, here: Path
) -> None:
    """The chat, the page and the API ask through the pipeline, and so does a run."""
    server.plan_replies(Step(body=make_reply(), headers=(("connection", "close"),)))
    chosen = (
        "llm=openai_compatible",
        f"llm.api_base={server.address}",
        "tracker=none",
        "detector=llm",
    )
    pipeline = Pipeline.compose(*system, *chosen)
    pipeline.turn("c", "What is a dog?")
    server.stop_listening()
    waited = Counter[str]()  # by thread: GINGER's calls go out together

    def sleep(seconds: float) -> None:
        waited.update({threading.current_thread().name: seconds})
        time.sleep(seconds / 10)  # else one thread would make all the calls

    monkeypatch.setattr(call, "sleep", sleep)
    record = pipeline.turn("c", "How old can it be?")
    assert "connection refused" in record.error
    assert 0 < max(waited.values()) < 3


def test_a_model_without_a_provider() -> None:
    with pytest.raises(LLMError, match="provider/model"):
        LiteLLM(model="nonsense").complete(PROMPT)


@every_option
class TestWaiting:
    @pytest.fixture(autouse=True)
    def waited(self, monkeypatch: pytest.MonkeyPatch) -> list[float]:
        """The seconds of each wait; none is waited for."""
        waited: list[float] = []
        monkeypatch.setattr(call, "sleep", waited.append)
        return waited

    @pytest.mark.parametrize("is_date", [False, True])
    def test_as_long_as_the_server_says(
        self, server: Server, waited: list[float], is_date: bool
    ) -> None:
        when = formatdate(time.time() + 100, usegmt=True) if is_date else "100"
        server.plan_replies(
            make_error(503 if is_date else 429, headers={"Retry-After": when}), make_reply()
        )
        assert make_client(server).complete(PROMPT).text == "A dog."
        assert (60 if is_date else 100) < waited[0] <= 100 + call.FIRST_WAIT

    def test_not_longer_than_there_is_patience(self, server: Server, waited: list[float]) -> None:
        server.plan_replies(make_error(429, headers={"Retry-After": "9999"}))
        with pytest.raises(
            LLMError, match=r"asks for 9999 s of patience, and llm\.retry_seconds=120"
        ):
            make_client(server).complete(PROMPT)
        assert (len(server.requests), waited) == (1, [])

    def test_the_budget_counts_all_waits(
        self, server: Server, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(call, "FIRST_WAIT", 0.2)  # 0.2 to 0.4, then 0.4 to 0.6, then 0.8 to 1.0
        server.plan_replies(make_error(500))
        with pytest.raises(LLMError):
            make_client(server, retries=9, retry_seconds=1.1).complete(PROMPT)
        assert len(server.requests) == 3


class TestDeadline:
    """For the whole reply, however it trickles in."""

    SLOW: ClassVar = {
        "late": Step(body=make_reply()),
        "dripping body": Step(body=make_reply(), byte_delay=0.2),
        "dripping headers": Step(body=make_reply(), header_byte_delay=0.2),
    }

    @every_option
    @pytest.mark.parametrize("fault", SLOW)
    def test_a_slow_reply_is_cut_off(self, server: Server, fault: str) -> None:
        make_client(server).complete(PROMPT)  # the library is loaded, and there is a connection
        server.delay = 60.0 if fault == "late" else 0.0
        server.plan_replies(self.SLOW[fault])
        with pytest.raises(LLMError, match=r"llm\.timeout=0\.8") as raised:
            make_client(server, timeout=0.8, retries=1).complete(PROMPT)
        assert len(server.requests) == 2
        assert raised.value.status == 408

    @every_option
    def test_the_server_sees_the_connection_close(self, server: Server) -> None:
        server.plan_replies(Step(body=make_reply(), byte_delay=0.5))
        with pytest.raises(LLMError):
            make_client(server, timeout=0.3, retries=0).complete(PROMPT)
        end = time.monotonic() + 60
        while server._in_flight and time.monotonic() < end:
            time.sleep(0.02)
        assert time.monotonic() < end, "it goes on sending to nobody"
