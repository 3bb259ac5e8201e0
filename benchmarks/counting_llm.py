"""A plugin: an LLM that takes 20 ms and counts its calls in asked.txt.

It may have a dictionary as its cache.
"""

import time
from hashlib import blake2b
from pathlib import Path

from convrag import LLM, Completion, Prompt, Register, hookimpl

REPLIES: dict[str, str] = {}


class CountingLLM(LLM):
    """Answers with some words of the request; a rewrite is the question.

    Args:
        cached: whether a request that was answered in this process is answered from a dictionary.
    """

    def __init__(self, *, cached: bool = False) -> None:
        self.cached = cached

    def complete(self, prompt: Prompt) -> Completion:
        """The reply, after 20 ms."""
        text = "\n".join(message.content for message in prompt.messages)
        if not self.cached or text not in REPLIES:
            with Path("asked.txt").open("a", encoding="utf-8") as file:
                file.write("asked\n")
            time.sleep(0.02)
            REPLIES[text] = (
                str(prompt.inputs["question"]) if prompt.task == "rewrite" else _pick_words(text)
            )
        words = len(text.split())
        return Completion(REPLIES[text], words, len(REPLIES[text].split()), cost_usd=0.001)

    def count_tokens(self, text: str) -> int:
        """The number of its words."""
        return len(text.split())


def _pick_words(text: str) -> str:
    words = text.split()
    return " ".join(
        words[byte % len(words)] for byte in blake2b(text.encode(), digest_size=8).digest()
    )


@hookimpl
def convrag_register(register: Register) -> None:
    """Add `llm=counting`."""
    register("llm", "counting", CountingLLM)
