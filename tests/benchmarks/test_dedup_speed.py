"""Time limits of deduplication: for a turn after a long history, and against set operations. -s shows the figures."""

# ruff: noqa: T201 - the figures are what benchmarks are for

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import toys
from convrag.api.types import Hit, Message, Passage, Question, Turn
from convrag.turn.session import Session
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
        hashing, plain, sets = MultiTurnManager(), MultiTurnManager(content_hash=False), SetManager()
        for manager in (hashing, plain):
            manager.deduplicate_context("c", range(history), documents)
        sets.turn("c", range(history), documents)
        turns = [ids(turn, history) for turn in range(1000)]
        figures["sets", history] = median(lambda n, s=sets, t=turns: s.turn("c", t[n], documents))
        for name, manager in (("plain", plain), ("hashing", hashing)):
            figures[name, history] = median(lambda n, m=manager, t=turns: m.deduplicate_context("c", t[n], documents))
    ratio = figures["plain", LONG] / figures["sets", LONG]
    for name in ("sets", "plain", "hashing"):
        short, long = figures[name, 1000], figures[name, LONG]
        print(f"manager, {name}: {1e6 * short:.1f} us after 1,000 documents, {1e6 * long:.1f} us after {LONG:,}")
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


def all_messages(going: Session) -> list[Message]:
    """The messages of a generator that sends the whole conversation: the slowest case for finding a text."""
    messages = [Message("system", "Answer.")]
    for turn in going.history:
        evidence = "\n\n".join(f"[Doc_{passage.id}]: {passage.content}" for passage in turn.passages)
        messages += [Message("user", f"{turn.question}\n\n{evidence}"), Message("assistant", turn.answer)]
    return messages


def _turns(context: DedupContext, going: Session, messages: list[Message], documents: int) -> float:
    """Median seconds of turns that follow each other. The first one reads the history, and does not count."""
    times = []
    for turn in range(60):
        question: Question = going.make_question("And?")
        found = passages(ids(turn, documents))
        hits = [Hit(passage, 1.0 - place / 100) for place, passage in enumerate(found)]
        start = time.perf_counter()
        evidence = context.assemble(question, hits, messages)
        times.append(time.perf_counter() - start)
        assert evidence.trace["num_deduplicated"] == SHOWN // 2
        going.add_turn(Turn(f"c<::>new{turn}", "Question?", "Answer.", found))
        messages += all_messages(Session("c", history=going.history[-1:]))[1:]
    return statistics.median(times[1:])


def test_a_turn_of_the_context() -> None:
    for options in ({"only_if_present": False}, {"only_if_present": True}):
        figures = {}
        for documents in (1000, LONG):
            going = conversation(documents)
            messages = all_messages(going)
            figures[documents] = _turns(DedupContext(llm=toys.EchoLLM(), **options), going, messages, documents)
            del going, messages
        short, long = figures[1000], figures[LONG]
        print(f"context {options}: {1e3 * short:.3f} ms after 1,000 documents, {1e3 * long:.3f} ms after {LONG:,}")
        assert long < 1e-3
        assert long < 4 * short


def test_sixteen_threads() -> None:
    documents = corpus(200)
    jobs = [(f"c{number}", turn) for turn in range(20) for number in range(1000)]
    manager = MultiTurnManager()
    start = time.perf_counter()
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda job: manager.deduplicate_context(job[0], range(job[1], job[1] + 5), documents), jobs))
    seconds = time.perf_counter() - start
    stats = manager.get_all_stats()
    print(f"1,000 conversations of 20 turns from 16 threads: {seconds:.2f} s, {1e6 * seconds / 20_000:.0f} us a turn")
    assert (stats["total_turns"], stats["total_retrieved"], stats["total_deduplicated"]) == (20_000, 100_000, 76_000)
