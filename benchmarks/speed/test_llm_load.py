"""64 conversations at once: the llm options' share of the ideal, beside bare libraries.

Run with -s. The server is a process of its own that costs next to nothing; all sides of a
comparison run in this one, in turns. Processor time is that of this process.
"""

import json
import statistics
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import urllib3

import convrag_llms  # noqa: F401 - it tells litellm before its import to fetch no price list
import toys
from convrag.api.answers import Answer
from convrag.api.completions import Message, Prompt
from convrag.api.queries import Rewrite
from convrag.concurrency.streaming import listen_with
from convrag.config.settings import Settings
from convrag.run.workers import ConversationWorkers
from convrag.store.remember import remember
from convrag.store.store import Store
from convrag.turn.pipeline import Pipeline
from delayed_llm import delayed_llm

litellm = pytest.importorskip("litellm")
from litellm._service_logger import ServiceLogging  # noqa: E402
from litellm.litellm_core_utils import logging_utils  # noqa: E402

from convrag_llms import litellm_library  # noqa: E402
from convrag_llms.http_llm import HttpLLM  # noqa: E402
from llm_client import OPTIONS  # noqa: E402

pytestmark = [
    pytest.mark.integration,
    pytest.mark.filterwarnings(
        "ignore::pytest.PytestUnraisableExceptionWarning"
    ),  # bare litellm leaves loops open
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
    return (
        Message("system", "Be brief."),
        Message("user", f"{turn} {'A passage about dogs in space. ' * 60}"),
    )


def ours(address: str, store: Store, option: str) -> Callable[[int], float]:
    """Time so many turns of each of 64 conversations with the whole kernel."""
    llm = OPTIONS[option](model="openai/local", api_base=address)
    llm.fingerprint = option
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
        talks = [toys.talk(f"{option}-{name}-{n}", *["what?"] * turns) for n in range(AT_ONCE)]
        start = time.perf_counter()
        records = list(ConversationWorkers(pipeline, talks, Settings(workers=AT_ONCE)).records())
        took = time.perf_counter() - start
        assert [record.answer.text for record in records] == ["A dog."] * turns * AT_ONCE
        assert (
            sum(usage.calls for record in records for usage in record.usage.values())
            >= turns * AT_ONCE
        )
        return took

    return converse


def bare(address: str) -> Callable[[int], float]:
    """Time as many calls of litellm itself from 64 threads, with its own HTTP clients."""

    def call(turn: int) -> str:
        sent = [
            {"role": message.role, "content": message.content} for message in messages(str(turn))
        ]
        for _ in range(
            3
        ):  # with its own clients, threads close each other's connections now and then
            try:
                response = litellm.completion(
                    model="openai/local",
                    messages=sent,
                    api_base=address,
                    api_key="x",
                    temperature=0,
                    max_tokens=512,
                    max_retries=0,
                    # Not 60: litellm keeps clients by timeout, and this one must not be ours
                    timeout=59,
                )
                return str(response.choices[0].message.content)
            except (litellm.InternalServerError, litellm.Timeout):
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


def bare_urllib3(address: str) -> Callable[[int], float]:
    """Seconds for as many requests of urllib3 itself from 64 threads."""
    pool = urllib3.PoolManager(maxsize=AT_ONCE)

    def call(turn: int) -> str:
        sent = [
            {"role": message.role, "content": message.content} for message in messages(str(turn))
        ]
        body = json.dumps(
            {"model": "local", "messages": sent, "temperature": 0, "max_tokens": 512}
        ).encode()
        headers = {"content-type": "application/json"}
        response = pool.request(
            "POST", f"{address}/chat/completions", body=body, headers=headers, retries=False
        )
        return str(json.loads(response.data)["choices"][0]["message"]["content"])

    def converse(turns: int) -> float:
        start = time.perf_counter()
        with ThreadPoolExecutor(AT_ONCE) as threads:
            spoken = list(threads.map(lambda n: [call(n) for _ in range(turns)], range(AT_ONCE)))
        assert spoken == [["A dog."] * turns] * AT_ONCE
        return time.perf_counter() - start

    return converse


@pytest.mark.parametrize("served", [1.0], indirect=True)
def test_with_a_slow_model_conversations_wait_together(
    served: tuple[str, float], tmp_path: Path
) -> None:
    address, delay = served
    turns = 10
    litellm_library.load_library()
    sides = {f"llm={option}": ours(address, Store(tmp_path / option), option) for option in OPTIONS}
    sides["bare litellm"] = bare(address)
    reached: dict[str, float] = {}
    for name, converse in sides.items():
        converse(1)  # connections are there
        shares = [turns * delay / converse(turns) for _ in range(2)]
        reached[name] = statistics.mean(shares)
        print(
            f"a model that takes 1 s, {name}: {', '.join(f'{share:.2f}' for share in shares)} of the ideal"
        )
    assert reached["llm=openai_compatible"] >= 0.9
    assert reached["llm=litellm"] >= min(0.9, reached["bare litellm"])


@pytest.mark.parametrize("served", [0.1], indirect=True)
def test_with_a_fast_model_our_options_cost_little_beside_bare_libraries(
    served: tuple[str, float], tmp_path: Path
) -> None:
    address, delay = served
    litellm_library.load_library()
    sides = {f"llm={option}": ours(address, Store(tmp_path / option), option) for option in OPTIONS}
    sides |= {"bare urllib3": bare_urllib3(address), "bare litellm": bare(address)}
    for converse in sides.values():
        converse(1)
    turns = 12
    took: dict[str, list[float]] = {name: [] for name in sides}
    spent: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(5):
        for name, converse in sides.items():
            start = time.process_time()
            took[name].append(converse(turns))
            spent[name].append(1000 * (time.process_time() - start) / (turns * AT_ONCE))
    for name, seconds in took.items():
        share = turns * delay / statistics.median(seconds)
        processor = statistics.median(spent[name])
        print(
            f"a model that takes 0.1 s, {name}: {share:.2f} of the ideal, processor {processor:.2f} ms a turn"
        )
    ratio = statistics.median(took["bare litellm"]) / statistics.median(took["llm=litellm"])
    print(f"llm=litellm reaches {ratio:.2f} of what bare litellm reaches")
    assert ratio >= 0.9
    assert (
        statistics.median(spent["llm=openai_compatible"])
        < statistics.median(spent["llm=litellm"]) / 2
    )


@pytest.mark.parametrize("served", [0.1], indirect=True)
@pytest.mark.parametrize("streamed", [False, True])
def test_processor_time_of_a_call(served: tuple[str, float], streamed: bool) -> None:
    """The calls alone, without stages and store around them."""
    address, delay = served
    turns = 8
    llms = {option: cls(model="openai/local", api_base=address) for option, cls in OPTIONS.items()}
    spent: dict[str, list[float]] = {name: [] for name in llms}
    shares: dict[str, list[float]] = {name: [] for name in llms}
    for number in range(6):
        for name, llm in llms.items():
            start, before = time.perf_counter(), time.process_time()

            def converse(n: int, llm: HttpLLM = llm) -> None:
                with listen_with((lambda piece: None) if streamed else None):
                    for _ in range(turns):
                        llm.complete(Prompt("answer", messages(str(n))))

            with ThreadPoolExecutor(AT_ONCE) as threads:
                list(threads.map(converse, range(AT_ONCE)))
            if number:  # the first round loads libraries and opens connections
                spent[name].append(1000 * (time.process_time() - before) / (turns * AT_ONCE))
                shares[name].append(turns * delay / (time.perf_counter() - start))
    for name in llms:
        share, processor = statistics.median(shares[name]), statistics.median(spent[name])
        kind = "streamed" if streamed else "whole"
        print(f"{kind}, llm={name}: {share:.2f} of the ideal, processor {processor:.2f} ms a call")
    assert statistics.median(spent["openai_compatible"]) < 1.5
