"""Haystack: a Pipeline of ChatPromptBuilder and OpenAIChatGenerator with ChatMessages."""

import os
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"

from haystack import Pipeline
from haystack.components.builders import ChatPromptBuilder
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.dataclasses import ChatMessage
from haystack.utils import Secret

from conversing import SYSTEM, measure


@cache
def pipeline(address: str) -> Pipeline:
    """One pipeline for all conversations."""
    made = Pipeline()
    made.add_component("prompt", ChatPromptBuilder())
    key = Secret.from_token("none")
    made.add_component("llm", OpenAIChatGenerator(api_key=key, model="m", api_base_url=address))
    made.connect("prompt.prompt", "llm.messages")
    return made


def begin(address: str, name: str) -> Callable[[str], Any]:
    """A conversation."""
    messages = [ChatMessage.from_system(SYSTEM)]

    def talk(question: str) -> str:
        messages.append(ChatMessage.from_user(question))
        return keep(pipeline(address).run({"prompt": {"template": messages}}))

    async def talk_async(question: str) -> str:
        messages.append(ChatMessage.from_user(question))
        return keep(await pipeline(address).run_async({"prompt": {"template": messages}}))

    def keep(said: dict[str, Any]) -> str:
        messages.append(reply := said["llm"]["replies"][0])
        return str(reply.text)

    return talk if sys.argv[3] == "threads" else talk_async


if __name__ == "__main__":
    measure(begin)
