"""The bare openai client: a list of messages is the conversation."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from typing import Any

from openai import AsyncOpenAI, OpenAI

from conversing import SYSTEM, measure


@cache
def client(kind: type, address: str) -> Any:
    """One client for all conversations, as its page says."""
    return kind(base_url=address, api_key="none")


def begin(address: str, name: str) -> Callable[[str], Any]:
    """A conversation."""
    messages: list[Any] = [{"role": "system", "content": SYSTEM}]

    def talk(question: str) -> str:
        messages.append({"role": "user", "content": question})
        reply = client(OpenAI, address).chat.completions.create(model="m", messages=messages)
        return keep(reply.choices[0].message.content)

    async def talk_async(question: str) -> str:
        messages.append({"role": "user", "content": question})
        reply = await client(AsyncOpenAI, address).chat.completions.create(model="m", messages=messages)
        return keep(reply.choices[0].message.content)

    def keep(text: str) -> str:
        messages.append({"role": "assistant", "content": text})
        return text

    return talk if sys.argv[3] == "threads" else talk_async


if __name__ == "__main__":
    measure(begin)
