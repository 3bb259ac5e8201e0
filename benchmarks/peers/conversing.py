"""The measure of every library that talks: 64 conversations at once, each a call after the other.

A peer's program is `measure(make)`, called with the server's address, the turns of a conversation,
and `threads` or `asyncio`. A round without a figure goes first: it imports what a library imports
late, and opens the connections.
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from measuring import Clock, answer

AT_ONCE = 64
SYSTEM = "Be brief."
REPLY = "A dog."

Talk = Callable[[str], str]
AsyncTalk = Callable[[str], Awaitable[str]]


def ask(name: str, turn: int) -> str:
    """A question of some 1,900 characters, as long as one with a few passages."""
    return f"{name}, {turn}: what flies? {'A passage about dogs in space. ' * 60}"


def talk_in_messages(
    complete: Callable[[list[Any]], Any], complete_async: Callable[[list[Any]], Any]
) -> Any:
    """A conversation for `measure`, of a library that keeps none: a list of messages is the
    conversation.

    Args:
        complete: a call of the library with the messages so far; it returns a reply as the openai
            client has it.
        complete_async: the same, to be awaited.
    """
    messages: list[Any] = [{"role": "system", "content": SYSTEM}]

    def talk(question: str) -> str:
        messages.append({"role": "user", "content": question})
        return keep(complete(messages))

    async def talk_async(question: str) -> str:
        messages.append({"role": "user", "content": question})
        return keep(await complete_async(messages))

    def keep(reply: Any) -> str:
        text: str = reply.choices[0].message.content
        messages.append({"role": "assistant", "content": text})
        return text

    return talk if sys.argv[3] == "threads" else talk_async


def measure(make: Callable[[str, str], Any]) -> None:
    """Measure a library.

    Args:
        make: begins a conversation: given the server's address and the conversation's name, a
            function of a question that returns the answer; for `asyncio` one that is awaited.
    """
    address, turns, way = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    rounds = _in_threads if way == "threads" else _in_a_loop
    took = rounds(lambda name: make(address, name), turns)
    calls = AT_ONCE * turns
    answer(
        {
            "calls": calls,
            "wall_s": took["talk_wall_s"],
            "cpu_ms_a_call": round(1000 * took["talk_cpu_s"] / calls, 4),
        }
    )


def _in_threads(begin: Callable[[str], Talk], turns: int) -> dict[str, float]:
    def converse(name: str, talk: Talk) -> None:
        for turn in range(turns):
            _check(talk(ask(name, turn)))

    with ThreadPoolExecutor(AT_ONCE) as pool:
        talks = [begin(f"c{number}") for number in range(AT_ONCE)]
        list(pool.map(lambda n: _check(talks[n](ask(f"before{n}", 0))), range(AT_ONCE)))
        clock = Clock()
        list(pool.map(lambda n: converse(f"c{n}", talks[n]), range(AT_ONCE)))
        return clock.read("talk")


def _in_a_loop(begin: Callable[[str], AsyncTalk], turns: int) -> dict[str, float]:
    async def converse(name: str, talk: AsyncTalk) -> None:
        for turn in range(turns):
            _check(await talk(ask(name, turn)))

    async def run() -> dict[str, float]:
        talks = [begin(f"c{number}") for number in range(AT_ONCE)]
        await asyncio.gather(*(talk(ask(f"before{n}", 0)) for n, talk in enumerate(talks)))
        clock = Clock()
        await asyncio.gather(*(converse(f"c{n}", talk) for n, talk in enumerate(talks)))
        return clock.read("talk")

    return asyncio.run(run())


def _check(reply: str) -> None:
    if reply != REPLY:
        raise SystemExit(f"the server says {REPLY!r}, the library {reply!r}")
