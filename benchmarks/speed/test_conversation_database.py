"""The cost of the conversation database for a turn and for idle conversations (-s prints it)."""

import gc
import statistics
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from convrag.api.evidence import Evidence, EvidenceItem
from convrag.api.passages import Hit, Passage
from convrag.turn.conversations import Conversations
from postgres_server import postgres  # noqa: F401 - a fixture
from toys import ListRetriever, PlainContext, pipeline

TURNS = 400
PASSAGES = [Passage(f"p{number}", "word " * 200, f"Title {number}") for number in range(100)]


class TenHits(ListRetriever):
    """Finds ten passages of a kilobyte, as a search does."""

    def retrieve(self, queries: Any, k: int) -> list[Hit]:
        return [Hit(passage, 1.0) for passage in PASSAGES[:10]]


class HundredHits(ListRetriever):
    """Finds a hundred."""

    def retrieve(self, queries: Any, k: int) -> list[Hit]:
        return [Hit(passage, 1.0) for passage in PASSAGES]


class FiveShown(PlainContext):
    """Shows five of them."""

    def assemble(self, question: Any, hits: Any, messages: Any) -> Evidence:
        return Evidence(
            tuple(
                EvidenceItem(n, hit.passage, hit.passage.text) for n, hit in enumerate(hits[:5], 1)
            )
        )


def measure_turns(calls: dict[str, Callable[[int], object]]) -> dict[str, float]:
    """Median milliseconds of each call, the calls interleaved."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for number in range(TURNS):
        for name, call in calls.items():
            start = time.perf_counter()
            call(number)
            times[name].append(time.perf_counter() - start)
    return {name: 1000 * statistics.median(each) for name, each in times.items()}


@pytest.mark.parametrize("retriever", [TenHits, HundredHits])
def test_a_turn(retriever: Any, postgres: Any, tmp_path: Path) -> None:  # noqa: F811
    databases = {
        "memory": None,
        "sqlite": tmp_path / "c.db",
        "postgresql": postgres.make_database(),
    }
    chats = {
        name: pipeline(
            conversations=Conversations(database), retriever=retriever(), context=FiveShown()
        )
        for name, database in databases.items()
    }

    def ask(chat: Any) -> Callable[[int], object]:
        return lambda number: chat.turn(f"c{number % 20}", f"What is {number}?")

    found = measure_turns({name: ask(chat) for name, chat in chats.items()})
    for name, milliseconds in found.items():
        print(f"\n{retriever.__name__}, {name}: {milliseconds:.2f} ms a turn", end="")
    print()
    assert found["memory"] < 1  # the kernel's budget beside its stages
    assert found["sqlite"] < found["memory"] + 20


def test_five_hundred_idle_conversations(tmp_path: Path) -> None:
    """Ten turns each, of a hundred hits; memory keeps what later turns need, and shares passages."""
    conversations = Conversations(tmp_path / "c.db")
    chat = pipeline(conversations=conversations, retriever=HundredHits(), context=FiveShown())
    chat.turn("warm", "up?")
    gc.collect()
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    for turn in range(10):
        for number in range(500):
            chat.turn(f"c{number}", f"What is {turn}?")
    gc.collect()
    held = (tracemalloc.get_traced_memory()[0] - before) / 500 / 1024
    tracemalloc.stop()
    again = Conversations(tmp_path / "c.db")
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    for number in range(500):
        again.get(f"c{number}")
    gc.collect()
    reread = (tracemalloc.get_traced_memory()[0] - before) / 500 / 1024
    tracemalloc.stop()
    print(
        f"\nan idle conversation of ten turns: {held:.0f} KiB, {reread:.0f} KiB where it was read from the database"
    )
    assert held < 60
    assert reread < 300


def test_a_list_of_ten_thousand(tmp_path: Path) -> None:
    conversations = Conversations(tmp_path / "c.db")
    chat = pipeline(conversations=conversations)
    for number in range(10_000):
        chat.turn(f"c{number}", f"What is {number}?")
    first, last = (
        statistics.median(
            _time(lambda offset=offset: conversations.list(50, offset)) for _ in range(20)
        )
        for offset in (0, 9_950)
    )
    print(f"\n50 of 10,000 conversations: {1000 * first:.1f} ms, the last 50: {1000 * last:.1f} ms")
    assert first < 0.1
    assert [info.id for info in conversations.list(1)] == ["c9999"]


def _time(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start
