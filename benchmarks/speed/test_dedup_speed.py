"""Time limits of deduplication after a long history, and against set operations."""

import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import toys
from convrag.api.conversations import Question, Turn
from convrag.api.passages import Hit, Passage
from convrag.api.session import Session
from convrag_dedup import MultiTurnManager
from convrag_dedup.context import DedupContext

TEXT = "word " * 200
SHOWN = 10
LONG = 100_000


def corpus(size: int) -> dict[str, Any]:
    return {str(number): {"text": f"Document {number} {TEXT}"} for number in range(size)}


class SetManager:
    """A manager that only intersects sets and joins strings."""

    def __init__(self) -> None:
        self.histories: dict[str, set[int]] = {}

    def turn(self, conversation_id: str, ids: Sequence[int], documents: dict[str, Any]) -> str:
        history = self.histories.setdefault(conversation_id, set())
        known = history.intersection(ids)
        parts = [
            f"Please refer to [Doc_{number}] in the previous conversation.\n"
            if number in known
            else f"[Doc_{number}]: {documents[str(number)]['text']}\n"
            for number in ids
        ]
        history.update(ids)
        return "\n".join(parts)


def median(call: Callable[[int], Any], turns: int = 1000) -> float:
    """Seconds of a call."""
    times = []
    for number in range(turns):
        start = time.perf_counter()
        call(number)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def ids(turn: int, history: int) -> list[int]:
    """Half of them seen before, all over the history, and half new."""
    seen = [(turn * 7919 + place * 104_729) % history for place in range(SHOWN // 2)]
    return [*seen, *(history + turn * SHOWN + place for place in range(SHOWN // 2))]


def test_a_turn_of_the_manager() -> None:
    documents = corpus(LONG + 2000 * SHOWN)
    figures: dict[tuple[str, int], float] = {}
    for history in (1000, LONG):
        hashing, plain, sets = (
            MultiTurnManager(),
            MultiTurnManager(content_hash=False),
            SetManager(),
        )
        for manager in (hashing, plain):
            manager.deduplicate_context("c", range(history), documents)
        sets.turn("c", range(history), documents)
        turns = [ids(turn, history) for turn in range(1000)]
        figures["sets", history] = median(lambda n, s=sets, t=turns: s.turn("c", t[n], documents))
        for name, manager in (("plain", plain), ("hashing", hashing)):
            figures[name, history] = median(
                lambda n, m=manager, t=turns: m.deduplicate_context("c", t[n], documents)
            )
    ratio = figures["plain", LONG] / figures["sets", LONG]
    for name in ("sets", "plain", "hashing"):
        short, long = figures[name, 1000], figures[name, LONG]
        print(
            f"manager, {name}: {1e6 * short:.1f} us after 1,000 documents, {1e6 * long:.1f} us after {LONG:,}"
        )
    print(f"manager without hashing: {ratio:.2f} times set operations alone")
    assert figures["hashing", LONG] < 1e-3
    assert figures["hashing", LONG] < 3 * figures["hashing", 1000]
    assert ratio < 5


def passages(numbers: Sequence[int]) -> tuple[Passage, ...]:
    return tuple(Passage(f"p{number}", f"Passage {number} {TEXT}") for number in numbers)


def conversation(documents: int) -> Session:
    turns = [
        Turn(f"c<::>{start}", "Question?", "Answer.", passages(range(start, start + SHOWN)))
        for start in range(0, documents, SHOWN)
    ]
    return Session("c", history=turns)


def _turns(context: DedupContext, going: Session, documents: int) -> float:
    """Measure median seconds of consecutive turns; the first one reads the history and is left out."""
    times = []
    for turn in range(60):
        question: Question = going.make_question("And?")
        found = passages(ids(turn, documents))
        hits = [Hit(passage, 1.0 - place / 100) for place, passage in enumerate(found)]
        start = time.perf_counter()
        evidence = context.assemble(question, hits, [])
        times.append(time.perf_counter() - start)
        assert evidence.trace["num_deduplicated"] == SHOWN // 2
        going.add_turn(Turn(f"c<::>new{turn}", "Question?", "Answer.", found))
    return statistics.median(times[1:])


def test_a_turn_of_the_context() -> None:
    """Deduplicate as RAGBoost does; otherwise texts are looked for in the limited messages."""
    figures = {}
    for documents in (1000, LONG):
        context = DedupContext(llm=toys.EchoLLM(), only_if_present=False)
        figures[documents] = _turns(context, conversation(documents), documents)
    short, long = figures[1000], figures[LONG]
    print(
        f"context: {1e3 * short:.3f} ms after 1,000 documents, {1e3 * long:.3f} ms after {LONG:,}"
    )
    assert long < 1e-3
    assert long < 4 * short


LOAD = """
import queue, threading, time
from convrag_dedup import MultiTurnManager
CONVERSATIONS, TURNS, THREADS = 3200, 20, 16
documents = {str(n): {"text": f"Document {n} " + "word " * 200} for n in range(200)}
manager, jobs = MultiTurnManager(), queue.SimpleQueue()
for turn in range(TURNS):
    for number in range(CONVERSATIONS):
        jobs.put((f"c{number}", turn))
def work():
    while True:
        try:
            name, turn = jobs.get_nowait()
        except queue.Empty:
            return
        manager.deduplicate_context(name, range(turn, turn + 5), documents)
threads = [threading.Thread(target=work) for _ in range(THREADS)]
start = time.perf_counter()
for thread in threads: thread.start()
for thread in threads: thread.join()
seconds, stats = time.perf_counter() - start, manager.get_all_stats()
with open("/proc/self/status") as file:  # ru_maxrss begins at that of the process that started this one
    peak = next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) / 1024
totals = [stats[name] for name in ("total_conversations", "total_turns", "total_retrieved", "total_novel",
                                   "total_deduplicated")]
print(seconds, peak, *totals)
"""


def test_sixteen_threads() -> None:
    """In a process of its own, whose peak of memory is measured."""
    done = subprocess.run([sys.executable, "-c", LOAD], capture_output=True, text=True, check=True)
    seconds, megabytes, *totals = map(float, done.stdout.split())
    print(
        f"3,200 conversations of 20 turns from 16 threads: {seconds:.1f} s, {megabytes:.0f} MB at most"
    )
    # of each conversation: 5 new ones, then 1 new and 4 known ones in each of 19 turns
    assert totals == [3200, 64_000, 320_000, 3200 * 24, 3200 * 76]
    assert seconds <= 60
    assert megabytes <= 320
