"""smolagents, `OpenAIServerModel`."""

import sys
from typing import ClassVar

from smolagents import ChatMessage, OpenAIServerModel, Tool

from client_asking import make_messages, run

model = OpenAIServerModel("convrag", api_base=sys.argv[1], api_key="none")


class Today(Tool):
    """A tool, which is never called."""

    name = "today"
    description = "The date."
    inputs: ClassVar[dict[str, dict[str, str]]] = {}
    output_type = "string"

    def forward(self) -> str:
        """The date."""
        return "Monday"


def ask(question: str, history: list[tuple[str, str]]) -> tuple[str, int | None]:
    """Generate with a tool that may be called; the raw reply has the annotations."""
    messages = [ChatMessage.from_dict(message) for message in make_messages(question, history)]
    reply = model.generate(messages, tools_to_call_from=[Today()], tool_choice="auto")
    return str(reply.content), len(reply.raw.choices[0].message.annotations or [])  # type: ignore[union-attr]


run(ask)
