"""LangChain: ChatOpenAI; a list of messages is the conversation."""

import sys
from collections.abc import Callable
from functools import cache
from typing import Any

from langchain_core.messages import HumanMessage, SystemMessage
from langchain_openai import ChatOpenAI

from conversing import SYSTEM, measure


@cache
def llm(address: str) -> ChatOpenAI:
    """The model."""
    return ChatOpenAI(model="m", base_url=address, api_key="none")


def begin(address: str, name: str) -> Callable[[str], Any]:
    """A conversation."""
    messages: list[Any] = [SystemMessage(SYSTEM)]

    def talk(question: str) -> str:
        messages.append(HumanMessage(question))
        messages.append(reply := llm(address).invoke(messages))
        return str(reply.content)

    async def talk_async(question: str) -> str:
        messages.append(HumanMessage(question))
        messages.append(reply := await llm(address).ainvoke(messages))
        return str(reply.content)

    return talk if sys.argv[3] == "threads" else talk_async


if __name__ == "__main__":
    measure(begin)
