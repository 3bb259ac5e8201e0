"""convrag's LLM stage alone, with the store around it: a list of messages is the conversation."""

import sys
import tempfile
from collections.abc import Callable
from functools import cache
from typing import Any

from conversing import SYSTEM, measure
from convrag import LLM, Message, Prompt
from convrag.config.compose import compose
from convrag.turn.wiring import Wiring


@cache
def llm(address: str) -> LLM:
    """The stage."""
    chosen = [f"llm={sys.argv[4]}", "llm.model=openai/m", f"llm.api_base={address}"]
    found: LLM = Wiring(compose(*chosen, f"store.path={tempfile.mkdtemp()}")).get("llm")
    return found


def begin(address: str, name: str) -> Callable[[str], Any]:
    """A conversation."""
    messages = [Message("system", SYSTEM)]

    def talk(question: str) -> str:
        messages.append(Message("user", question))
        text = llm(address).complete(Prompt("answer", tuple(messages))).text
        messages.append(Message("assistant", text))
        return text

    return talk


if __name__ == "__main__":
    measure(begin)
