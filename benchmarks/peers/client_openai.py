"""OpenAI's client: chat completions, streamed ones, and responses in a row."""

import sys
from typing import Any

from openai import OpenAI

from client_asking import make_messages, run

address, way = sys.argv[1:3]
client = OpenAI(base_url=address, api_key="none", max_retries=0)


def chat(question: str, history: list[tuple[str, str]]) -> tuple[str, int]:
    """Ask with the whole history, and with a tool, which is never called."""
    function = {"name": "today", "parameters": {"type": "object", "properties": {}}}
    messages: Any = make_messages(question, history)
    tools: Any = [{"type": "function", "function": function}]
    message = (
        client.chat.completions.create(model="convrag", messages=messages, tools=tools)
        .choices[0]
        .message
    )
    return message.content or "", len(message.annotations or [])


def stream(question: str, history: list[tuple[str, str]]) -> tuple[str, int]:
    """Ask and read the chunks."""
    messages: Any = make_messages(question, history)
    chunks = list(client.chat.completions.create(model="convrag", messages=messages, stream=True))
    deltas = [chunk.choices[0].delta for chunk in chunks]
    annotations = [
        each for delta in deltas for each in (delta.model_extra or {}).get("annotations", [])
    ]
    return "".join(delta.content or "" for delta in deltas), len(annotations)


last: list[str] = []


def respond(question: str, history: list[tuple[str, str]]) -> tuple[str, int]:
    """Ask for a response that follows the last one where there is a history."""
    response = client.responses.create(
        model="convrag",
        input=question,
        previous_response_id=last[-1] if history else None,
        instructions="Be brief.",
    )
    last.append(response.id)
    message: Any = response.output[0]
    with client.responses.stream(model="convrag", input=question, store=False) as events:
        assert any(event.type == "response.output_text.delta" for event in events)
        assert events.get_final_response().output_text
    return response.output_text, len(message.content[0].annotations)


run({"chat": chat, "stream": stream, "responses": respond}[way])
