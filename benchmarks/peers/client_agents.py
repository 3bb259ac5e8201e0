"""OpenAI's agents: as they are ("responses"), over chat completions ("chat"), and with a tool
("tool").
"""

import sys

from agents import (
    Agent,
    OpenAIChatCompletionsModel,
    Runner,
    function_tool,
    set_default_openai_client,
    set_tracing_disabled,
)
from openai import AsyncOpenAI

from client_asking import make_messages, run

address, way = sys.argv[1:3]
client = AsyncOpenAI(base_url=address, api_key="none")
set_default_openai_client(client, use_for_tracing=False)
set_tracing_disabled(True)


@function_tool
def today() -> str:
    """The date."""
    return "Monday"


agent = Agent(
    name="Assistant",
    instructions="Answer out of the documents.",
    model="convrag" if way == "responses" else OpenAIChatCompletionsModel("convrag", client),
    tools=[] if way == "chat" else [today],
)


def ask(question: str, history: list[tuple[str, str]]) -> tuple[str, int]:
    """Run the agent; the items of its answer have the annotations."""
    result = Runner.run_sync(agent, make_messages(question, history))  # type: ignore[arg-type]
    parts = [
        part
        for each in result.raw_responses
        for item in each.output
        for part in getattr(item, "content", [])
    ]
    return str(result.final_output), sum(
        len(getattr(part, "annotations", None) or []) for part in parts
    )


run(ask)
