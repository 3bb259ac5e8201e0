"""LlamaIndex: a SimpleChatEngine for each conversation, one OpenAILike for all."""

import sys
from collections.abc import Callable
from functools import cache
from typing import Any

from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.llms.openai_like import OpenAILike

from conversing import SYSTEM, measure


@cache
def llm(address: str) -> OpenAILike:
    """The model."""
    return OpenAILike(
        model="m", api_base=address, api_key="none", is_chat_model=True, context_window=100_000
    )


def begin(address: str, name: str) -> Callable[[str], Any]:
    """A conversation."""
    engine = SimpleChatEngine.from_defaults(llm=llm(address), system_prompt=SYSTEM)

    def talk(question: str) -> str:
        return str(engine.chat(question))

    async def talk_async(question: str) -> str:
        return str(await engine.achat(question))

    return talk if sys.argv[3] == "threads" else talk_async


if __name__ == "__main__":
    measure(begin)
