"""llm.api_base=[A,B,C]: what three servers reach beside one, and with one of them killed half-way. Run with -s.

Each server works on 8 requests at a time and takes .5 s for each, in a process of its own on loopback.
"""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

from convrag import Message, Prompt
from convrag_llms.openai_compatible import OpenAICompatible
from delayed_llm import DelayedLLM

AT_ONCE, TURNS, PLACES, DELAY = 48, 5, 8, 0.5


def measure(servers: int, *, kill_one: bool = False) -> tuple[float, list[int]]:
    """The replies in a second, as a multiple of what one server can give, and how many each server was asked for."""
    with ExitStack() as stack:
        running = [stack.enter_context(DelayedLLM(DELAY, PLACES)) for _ in range(servers)]
        llm = OpenAICompatible(model="local", api_base=[server.address for server in running])
        done, lock = [0], threading.Lock()

        def converse(number: int) -> list[str]:
            said = []
            for turn in range(TURNS):
                said.append(llm.complete(Prompt("answer", (Message("user", f"{number} {turn} What?"),))).text)
                with lock:
                    done[0] += 1
                    if kill_one and done[0] == AT_ONCE * TURNS // 2:
                        running[0].kill()
            return said

        start = time.perf_counter()
        with ThreadPoolExecutor(AT_ONCE) as pool:
            replies = list(pool.map(converse, range(AT_ONCE)))
        took = time.perf_counter() - start
        assert replies == [["A dog."] * TURNS] * AT_ONCE, "each turn is answered"
        return AT_ONCE * TURNS / took / (PLACES / DELAY), [server.requests for server in llm.servers._servers]


def test_three_servers_answer_more_and_one_may_die() -> None:
    (one, _), (three, shares), (after, killed) = measure(1), measure(3), measure(3, kill_one=True)
    print(f"one server: {one:.2f} of what one can give; three: {three:.2f}, asked {shares}")  # noqa: T201
    print(f"three, of which one is killed half-way: {after:.2f}, asked {killed}")  # noqa: T201
    assert three > 2 * one
    assert after > one
    assert max(shares) <= 1.2 * min(shares)
