"""LangChain, `ChatOpenAI`: chat completions ("chat") and responses ("responses"), with a tool."""

import sys

from langchain_core.tools import tool
from langchain_openai import ChatOpenAI

from client_asking import make_messages, run


@tool
def today() -> str:
    """The date."""
    return "Monday"


address, way = sys.argv[1:3]
chosen = ChatOpenAI(
    model="convrag", base_url=address, api_key="none", use_responses_api=way == "responses"
)  # type: ignore[arg-type]
model = chosen.bind_tools([today])


def ask(question: str, history: list[tuple[str, str]]) -> tuple[str, int | None]:
    """Invoke with the whole history; responses alone have annotations."""
    message = model.invoke(make_messages(question, history))
    text = message.text if isinstance(message.text, str) else message.text()
    parts = message.content if isinstance(message.content, list) else []
    sources = sum(len(part.get("annotations", [])) for part in parts if isinstance(part, dict))
    return text, sources or None


run(ask)
