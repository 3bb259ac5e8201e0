"""pydantic-ai: chat completions ("chat"), responses ("responses"), each with a tool."""

import sys

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider

from client_asking import run

address, way = sys.argv[1:3]
provider = OpenAIProvider(base_url=address, api_key="none")
model = (OpenAIChatModel if way == "chat" else OpenAIResponsesModel)("convrag", provider=provider)
agent = Agent(model, instructions="Answer out of the documents.")
kept: list[ModelMessage] = []


@agent.tool_plain
def today() -> str:
    """The date."""
    return "Monday"


def ask(question: str, history: list[tuple[str, str]]) -> tuple[str, None]:
    """Run the agent with the messages of the run before."""
    result = agent.run_sync(question, message_history=kept if history else None)
    kept[:] = result.all_messages()
    return str(result.output), None


run(ask)
