"""The cost of a turn whose stages are cached, and of the store with 64 threads.

The passages are made up: CONVRAG_PASSAGES=200000 makes as many as the figures of the issue have
(two minutes to index).
"""

import os
import random
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from convrag import Passage
from convrag.api.queries import Query
from convrag.store.store import Store
from convrag.turn.conversations import Conversations
from convrag.turn.pipeline import Pipeline

PASSAGES = int(os.environ.get("CONVRAG_PASSAGES", "5000"))
TURNS = 60


def make_passages() -> list[Passage]:
    """Five sentences of twelve words each, which are as rare as those of a language."""
    draw = random.Random(7)
    words = [
        "".join(draw.choice("bdfgklmnprst") + draw.choice("aeiou") for _ in range(3))
        for _ in range(20_000)
    ]
    weights = [1 / rank for rank in range(2, len(words) + 2)]

    def write_sentence() -> str:
        return " ".join(draw.choices(words, weights, k=12)).capitalize() + "."

    return [
        Passage(f"p{n}", " ".join(write_sentence() for _ in range(5)), f"Title {n}")
        for n in range(PASSAGES)
    ]


def measure(call: Callable[[int], object], times: int = TURNS) -> float:
    """Median milliseconds of a call, of those that another process did not interrupt for long."""
    took = []
    for number in range(times):
        start = time.perf_counter()
        call(number)
        took.append(time.perf_counter() - start)
    return 1000 * statistics.median(took)


def measure_beside_stages(chat: Pipeline, questions: list[str]) -> float:
    """Median milliseconds of what a turn takes beyond its own measurements of its stages."""
    chat.conversations = Conversations()
    took = []
    for number, question in enumerate(questions):
        start = time.perf_counter()
        record = chat.turn(f"c{number % 15}", question)
        took.append(time.perf_counter() - start - sum(record.timings.values()))
    return 1000 * statistics.median(took)


def test_a_remembered_turn(tmp_path: Path) -> None:
    passages = make_passages()
    chat = Pipeline.over(passages, f"store.path={tmp_path}", "llm=extractive", "generator=direct")
    draw = random.Random(3)
    questions = [
        f"what is {' '.join(draw.sample(draw.choice(passages).text.split(), 5))}"
        for _ in range(TURNS)
    ]

    def ask(number: int) -> object:
        return chat.turn(f"c{number % 15}", questions[number])

    records = [chat.turn(f"c{number % 15}", questions[number]) for number in range(TURNS)]
    queries = [(Query(text=record.queries[0].text, turn_id=record.turn_id),) for record in records]

    def retrieve(number: int) -> object:
        return chat.stages.retriever.retrieve(queries[number], 10)

    turns, calls, besides = [], [], []
    for _ in range(5):  # in turns, so that both meet the same load
        chat.conversations = Conversations()
        turns.append(measure(ask))
        calls.append(measure(retrieve))
        besides.append(measure_beside_stages(chat, questions))
    turn, call, beside = min(turns), min(calls), min(besides)
    print(
        f"\n{PASSAGES} passages: a remembered turn {turn:.2f} ms, {beside:.3f} of it beside its stages; "
        f"one remembered call of the retriever {call:.3f} ms"
    )
    assert turn < 1


def test_the_store_with_64_threads(tmp_path: Path) -> None:
    store = Store(tmp_path)
    keys = [f"{number:040x}" for number in range(2000)]
    store.put("kind", {key: os.urandom(2000) for key in keys})

    def read(key: str) -> int:
        return len(store.get([key]))

    read(keys[0])
    start, processor = time.perf_counter(), time.process_time()
    assert sum(map(read, keys)) == len(keys)
    alone = (time.perf_counter() - start) / len(keys)
    processor_alone = (time.process_time() - processor) / len(keys)
    with ThreadPoolExecutor(64) as threads:
        list(threads.map(read, keys))
        start, processor = time.perf_counter(), time.process_time()
        assert sum(threads.map(read, keys)) == len(keys)
        together = (time.perf_counter() - start) / len(keys)
        processor_together = (time.process_time() - processor) / len(keys)
    print(
        f"\na value of 2 kB: {1e6 * alone:.0f} us with one thread, {1e6 * together:.0f} us with 64 "
        f"({together / alone:.1f} times); processor: {1e6 * processor_alone:.0f}, {1e6 * processor_together:.0f} us"
    )
    assert together < 6 * alone
