"""LlamaIndex, `OpenAILike`: whole and streamed."""

import sys

from llama_index.core.llms import ChatMessage
from llama_index.llms.openai_like import OpenAILike

from client_asking import make_messages, run

llm = OpenAILike(model="convrag", api_base=sys.argv[1], api_key="none", is_chat_model=True)


def ask(question: str, history: list[tuple[str, str]]) -> tuple[str, int | None]:
    """Chat with the whole history; the raw reply has the annotations."""
    messages = [ChatMessage(**message) for message in make_messages(question, history)]
    reply = llm.chat(messages)
    *_, streamed = llm.stream_chat(messages)
    assert streamed.message.content == reply.message.content
    return str(reply.message.content), len(reply.raw.choices[0].message.annotations or [])  # type: ignore[union-attr]


run(ask)
