"""Several servers with the same model: llm.api_base=[A,B,C]."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import pytest

from convrag import ConfigError, LLMError, Message, Prompt
from convrag.store.streaming import listen_with
from convrag_llms import retrying, servers
from convrag_llms.prefix_index import BLOCK, SHARED, PrefixIndex, name_blocks
from llm_client import OPTIONS
from llm_server import Server, Step, make_error, make_reply

pytestmark = pytest.mark.integration

Start = Callable[..., Server]


@pytest.fixture(params=OPTIONS)
def option(request: pytest.FixtureRequest) -> str:
    if request.param == "litellm":
        pytest.importorskip("litellm")
    return str(request.param)


@pytest.fixture
def start() -> Iterator[Start]:
    """Start a server on loopback with these steps."""
    with ExitStack() as stack:

        def start_server(*steps: Step) -> Server:
            server = Server()
            stack.callback(server.close)
            server.plan_replies(*steps)
            return server

        yield start_server


def ask(text: str = "Is there a dog?") -> Prompt:
    return Prompt("answer", (Message("user", text),))


def make(option: str, asked: Sequence[Server], **parameters: Any) -> Any:
    addresses = [server.address for server in asked]
    return OPTIONS[option](model="openai/local", api_base=addresses, **parameters)


def count_requests(asked: Sequence[Server]) -> list[int]:
    return [len(server.requests) for server in asked]


def test_requests_go_round(option: str, start: Start) -> None:
    asked = [start(Step(body=make_reply())) for _ in range(3)]
    llm = make(option, asked)
    for n in range(9):
        llm.complete(ask(f"question {n}"))
    assert count_requests(asked) == [3, 3, 3]


def test_the_least_busy_one_is_asked(start: Start) -> None:
    slow, quick = start(Step(body=make_reply(), silence=1.0)), start(Step(body=make_reply()))
    llm = make("openai_compatible", [slow, quick])
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(llm.complete, ask("slow"))
        while not slow.requests:
            time.sleep(0.01)
        for n in range(5):
            llm.complete(ask(f"question {n}"))
        waiting.result()
    assert count_requests([slow, quick]) == [1, 5]


def test_one_that_fails_is_left_out_and_the_call_goes_to_another_at_once(
    option: str, start: Start, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    monkeypatch.setattr(retrying, "sleep", waits.append)
    broken, well = start(make_error(503)), start(Step(body=make_reply()))
    llm = make(option, [broken, well])
    with caplog.at_level(logging.WARNING):
        completion = llm.complete(ask())
        for n in range(4):
            llm.complete(ask(f"question {n}"))
    assert waits == [0.0]
    assert completion.retries == 1
    assert count_requests([broken, well]) == [1, 5]
    assert f"{broken.address} failed and gets no request for 1 s" in caplog.text


def test_one_that_is_not_there_is_left_out(option: str, start: Start) -> None:
    gone, well = start(Step(body=make_reply())), start(Step(body=make_reply()))
    llm = make(option, [gone, well])
    gone.stop_listening()
    assert llm.complete(ask()).text == "A dog."
    assert not list(llm.check())


def test_where_all_are_away_each_is_named(start: Start) -> None:
    gone = [start(Step(body=make_reply())) for _ in range(2)]
    for server in gone:
        server.stop_listening()
    problems = list(make("openai_compatible", gone).check())
    assert len(problems) == 2
    assert all(server.address in problem for server, problem in zip(gone, problems, strict=True))


def test_one_that_was_left_out_is_tried_again_with_one_request(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers, "FIRST_PAUSE", 0.2)
    ailing = start(make_error(500), Step(body=make_reply(), silence=1.0), Step(body=make_reply()))
    well = start(Step(body=make_reply()))
    llm = make("openai_compatible", [ailing, well])
    llm.complete(ask("first"))
    time.sleep(0.25)
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda n: llm.complete(ask(f"question {n}")), range(6)))
    assert count_requests([ailing, well]) == [2, 6]
    llm.complete(ask("after"))
    assert count_requests([ailing, well]) == [3, 6]


def test_a_pause_is_what_the_server_asks_for(start: Start, caplog: pytest.LogCaptureFixture) -> None:
    limited, well = start(make_error(429, headers={"Retry-After": "30"})), start(Step(body=make_reply()))
    make("openai_compatible", [limited, well]).complete(ask())
    assert "gets no request for 30 s" in caplog.text


def test_where_all_fail_the_last_failure_is_said(option: str, start: Start) -> None:
    asked = [start(make_error(500, "one is ill")), start(make_error(500, "two is ill"))]
    with pytest.raises(LLMError, match=f"at {asked[1].address} gave no reply .*two is ill"):
        make(option, asked, retries=1).complete(ask())


def test_a_mistake_in_the_request_is_no_failure_of_the_server(start: Start) -> None:
    asked = [start(make_error(400)), start(make_error(400))]
    llm = make("openai_compatible", asked)
    for n in range(2):
        with pytest.raises(LLMError):
            llm.complete(ask(f"question {n}"))
    assert count_requests(asked) == [1, 1]


def test_a_stream_that_broke_off_is_not_begun_again_elsewhere(start: Start) -> None:
    broken = start(Step(body=make_reply("one two three four"), pieces=2))
    well = start(Step(body=make_reply()))
    pieces: list[str] = []
    with listen_with(pieces.append), pytest.raises(LLMError):
        make("openai_compatible", [broken, well]).complete(ask())
    assert pieces
    assert count_requests([broken, well]) == [1, 0]


def test_a_conversation_stays_with_its_server(start: Start) -> None:
    asked = [start(Step(body=make_reply())) for _ in range(3)]
    llm = make("openai_compatible", asked)
    system = Message("system", "Answer from what you know of dogs, and briefly. " * 20)
    talks = [[system, Message("user", f"talk {n}: " + "Tell me of dogs in space. " * 20)] for n in range(9)]
    for _ in range(4):
        for talk in talks:
            llm.complete(Prompt("answer", tuple(talk)))
            talk += [Message("assistant", "A dog. " * 40), Message("user", "And then? " * 10)]
    by_talk: dict[str, set[int]] = {}
    for number, server in enumerate(asked):
        for request in server.requests:
            by_talk.setdefault(request["messages"][1]["content"][:8], set()).add(number)
    moved = [talk for talk, numbers in by_talk.items() if len(numbers) > 1]
    assert not moved
    assert min(count_requests(asked)) >= 4, "new conversations are spread"


def test_a_busy_server_gives_conversations_away() -> None:
    made = [servers.Server(None, None) for _ in range(2)]  # type: ignore[arg-type]
    pool = servers.Servers(made)
    body = {"messages": [{"role": "user", "content": "x" * 3 * BLOCK}]}
    with pool.choose(body) as first:
        pass
    with ExitStack() as stack:
        for _ in range(servers.EXTRA_REQUESTS):
            assert stack.enter_context(pool.choose(body)) is first
        stack.enter_context(pool.choose(body))
        assert stack.enter_context(pool.choose(body)) is not first


def test_threads_leave_no_request_in_flight(start: Start) -> None:
    asked = [start(make_error(500), Step(body=make_reply())), start(Step(body=make_reply()))]
    llm = make("openai_compatible", asked)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: llm.complete(ask(f"question {n}")), range(40)))
    assert [server.in_flight for server in llm.servers._servers] == [0, 0]


def test_requests_that_fail_together_are_one_failure(start: Start) -> None:
    dying, well = start(Step(reset=True, silence=0.3)), start(Step(body=make_reply(), silence=0.3))
    llm = make("openai_compatible", [dying, well])
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: llm.complete(ask(f"question {n}")), range(8)))
    assert [server.failures for server in llm.servers._servers] == [1, 0]


def test_what_all_prompts_share_is_no_conversation() -> None:
    index = PrefixIndex()
    shared = "s" * BLOCK
    for n in range(SHARED + 1):
        index.add(name_blocks([{"role": "user", "content": shared + str(n) * BLOCK}]), server=1)
    assert index.find(name_blocks([{"role": "user", "content": shared + "y" * BLOCK}])) is None
    assert index.find(name_blocks([{"role": "user", "content": shared + "2" * BLOCK + "z" * BLOCK}])) == 1


def test_blocks_follow_from_all_the_text_before() -> None:
    one, other = (name_blocks([{"role": "user", "content": first + "b" * 2 * BLOCK}]) for first in "xy")
    assert len(one) == 2
    assert not set(one) & set(other)


def test_replies_are_kept_under_the_first_address(start: Start) -> None:
    asked = [start(Step(body=make_reply())) for _ in range(2)]
    both, alone = make("openai_compatible", asked), make("openai_compatible", asked[:1])
    assert both.request(ask()) == alone.request(ask())
    assert both.endpoints() == alone.endpoints()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"api_base": []}, "name at least one server"),
        ({"api_base": ["http://a/v1", "http://a/v1"]}, "names the server http://a/v1 twice"),
        ({"api_base": ["http://a/v1", "http://b/v1"], "api_base_env": "MINE"}, "give one of the two"),
    ],
)
def test_addresses_are_checked(option: str, given: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        OPTIONS[option](model="openai/local", **given)
