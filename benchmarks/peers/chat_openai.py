"""The bare openai client: a list of messages is the conversation."""

from functools import cache
from typing import Any

from openai import AsyncOpenAI, OpenAI

from conversing import measure, talk_in_messages


@cache
def client(kind: type, address: str) -> Any:
    """One client for all conversations, as its page says."""
    return kind(base_url=address, api_key="none")


def begin(address: str, name: str) -> Any:
    """A conversation."""
    return talk_in_messages(
        lambda messages: client(OpenAI, address).chat.completions.create(
            model="m", messages=messages
        ),
        lambda messages: client(AsyncOpenAI, address).chat.completions.create(
            model="m", messages=messages
        ),
    )


if __name__ == "__main__":
    measure(begin)
