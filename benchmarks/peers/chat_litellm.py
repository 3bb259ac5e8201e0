"""Bare litellm: a list of messages is the conversation."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

from conversing import SYSTEM, measure

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else its import waits for a list of prices from the network
import litellm


def begin(address: str, name: str) -> Callable[[str], Any]:
    """A conversation."""
    messages: list[Any] = [{"role": "system", "content": SYSTEM}]
    given = {"model": "openai/m", "messages": messages, "api_base": address, "api_key": "none"}

    def talk(question: str) -> str:
        messages.append({"role": "user", "content": question})
        return keep(litellm.completion(**given).choices[0].message.content)

    async def talk_async(question: str) -> str:
        messages.append({"role": "user", "content": question})
        reply = await litellm.acompletion(**given)
        return keep(reply.choices[0].message.content)

    def keep(text: str) -> str:
        messages.append({"role": "assistant", "content": text})
        return text

    return talk if sys.argv[3] == "threads" else talk_async


if __name__ == "__main__":
    measure(begin)
