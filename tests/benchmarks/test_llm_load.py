"""64 conversations at once through llm=litellm: what is reached of the ideal, and of bare litellm. Run with -s.

The server is a process of its own that costs next to nothing; both sides of a comparison run in this one, in turns.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import toys
from convrag.api.types import Answer, Message, Prompt, Rewrite
from convrag.config.settings import Settings
from convrag.run.workers import ConversationWorkers
from convrag.store.remember import remember
from convrag.store.store import Store
from convrag.turn.pipeline import Pipeline
from delayed_llm import delayed_llm

litellm = pytest.importorskip("litellm")
from litellm._service_logger import ServiceLogging  # noqa: E402
from litellm.litellm_core_utils import logging_utils  # noqa: E402

from convrag_llms import _litellm  # noqa: E402
from convrag_llms.litellm_llm import LiteLLM  # noqa: E402

pytestmark = [
    pytest.mark.integration,
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),  # bare litellm leaves loops open
]

AT_ONCE = 64


@pytest.fixture
def served(request: pytest.FixtureRequest) -> Iterator[tuple[str, float]]:
    """The address of a server that takes so many seconds for each reply."""
    with delayed_llm(request.param) as address:
        yield address, request.param


class Plain(toys.ShoutingRewriter):
    """Rewrites nothing."""

    def rewrite(self, question: Any) -> Rewrite:
        return Rewrite.of(question.text)


class Asking(toys.QuotingGenerator):
    """One call of the llm a turn."""

    def __init__(self, llm: Any) -> None:
        self.llm = llm

    def generate(self, question: Any, evidence: Any) -> Answer:
        return Answer(self.llm.complete(Prompt("answer", messages(question.turn_id))).text)


def messages(turn: str) -> tuple[Message, ...]:
    return (Message("system", "Be brief."), Message("user", f"{turn} {'A passage about dogs in space. ' * 60}"))


def ours(address: str, store: Store) -> Callable[[int], float]:
    """Seconds for so many turns of each of 64 conversations: the whole kernel, with its store, around our door."""
    llm = LiteLLM(model="openai/local", api_base=address)
    llm.fingerprint = "f"
    remember(llm, store)
    pipeline = Pipeline(
        rewriter=Plain(llm=llm),
        retriever=toys.ListRetriever(),
        reranker=toys.EvenRanker(),
        context=toys.PlainContext(),
        generator=Asking(llm),
        settings=Settings(workers=AT_ONCE),
    )
    rounds = count()

    def converse(turns: int) -> float:
        name = next(rounds)
        talks = [toys.talk(f"{name}-{n}", *["what?"] * turns) for n in range(AT_ONCE)]
        start = time.perf_counter()
        records = list(ConversationWorkers(pipeline, talks, Settings(workers=AT_ONCE)).records())
        took = time.perf_counter() - start
        assert [record.answer.text for record in records] == ["A dog."] * turns * AT_ONCE
        assert sum(usage.calls for record in records for usage in record.usage.values()) >= turns * AT_ONCE
        return took

    return converse


def bare(address: str) -> Callable[[int], float]:
    """Seconds for as many calls of litellm itself from 64 threads, one after the other in each as in a conversation;
    litellm as it comes, with its own HTTP clients.
    """

    def call(turn: int) -> str:
        sent = [{"role": message.role, "content": message.content} for message in messages(str(turn))]
        for _ in range(3):  # with its own clients, threads close each other's connections now and then
            try:
                response = litellm.completion(
                    model="openai/local",
                    messages=sent,
                    api_base=address,
                    api_key="x",
                    temperature=0,
                    max_tokens=512,
                    max_retries=0,
                    timeout=59,  # not 60: litellm keeps clients by timeout, and this one must not be ours
                )
                return str(response.choices[0].message.content)
            except litellm.InternalServerError:
                pass
        raise AssertionError("three times in a row")

    def converse(turns: int) -> float:
        session, litellm.client_session = litellm.client_session, None
        services, logging_utils._service_logger = logging_utils._service_logger, ServiceLogging()
        try:
            start = time.perf_counter()
            with ThreadPoolExecutor(AT_ONCE) as pool:
                spoken = list(pool.map(lambda n: [call(n) for _ in range(turns)], range(AT_ONCE)))
            took = time.perf_counter() - start
        finally:
            litellm.client_session = session
            logging_utils._service_logger = services
        assert spoken == [["A dog."] * turns] * AT_ONCE
        return took

    return converse


@pytest.mark.parametrize("served", [1.0], indirect=True)
def test_with_a_slow_model_conversations_wait_together(served: tuple[str, float], tmp_path: Path) -> None:
    address, delay = served
    converse = ours(address, Store(tmp_path))
    converse(1)  # the library is loaded, and connections are there
    turns = 10
    reached = [turns * delay / converse(turns) for _ in range(2)]
    print(f"a model that takes 1 s: {', '.join(f'{share:.2f}' for share in reached)} of the ideal")  # noqa: T201
    assert statistics.mean(reached) >= 0.9


@pytest.mark.parametrize("served", [0.1], indirect=True)
def test_with_a_fast_model_our_door_costs_little_beside_litellm(served: tuple[str, float], tmp_path: Path) -> None:
    address, delay = served
    _litellm.load_library()
    doors = {"ours": ours(address, Store(tmp_path)), "bare litellm": bare(address)}
    for converse in doors.values():
        converse(1)
    turns = 12
    took: dict[str, list[float]] = {name: [] for name in doors}
    for _ in range(5):
        for name, converse in doors.items():
            took[name].append(converse(turns))
    for name, seconds in took.items():
        rate = turns * AT_ONCE / statistics.median(seconds)
        print(f"a model that takes 0.1 s, {name}: {rate:.0f} calls a second, {rate * delay / AT_ONCE:.2f} of the ideal")  # noqa: T201
    ratio = statistics.median(took["bare litellm"]) / statistics.median(took["ours"])
    print(f"ours reaches {ratio:.2f} of what bare litellm reaches")  # noqa: T201
    assert ratio >= 0.9
