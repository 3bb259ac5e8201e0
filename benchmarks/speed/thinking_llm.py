"""A plugin: the language model `thinking` takes a second for a reply, and streams it in twenty pieces.

The pieces come when they are due, as those of a server do, whether or not their reader was in time
for the last.
"""

import time

from convrag import LLM, Completion, Prompt, hookimpl
from convrag.concurrency.cancellation import sleep
from convrag.concurrency.streaming import current_listener

PIECES = 20


class ThinkingLLM(LLM):
    """Take a second for a reply.

    Args:
        seconds: for a whole reply.
    """

    def __init__(self, *, seconds: float = 1.0) -> None:
        self.seconds = seconds

    def complete(self, prompt: Prompt) -> Completion:
        """Reply; to a listener in pieces, else as a whole."""
        words = [f"word{number} " for number in range(PIECES)]
        listener = current_listener()
        start = time.monotonic()
        for number, word in enumerate(words if listener else (), 1):
            sleep(max(0.0, start + self.seconds * number / PIECES - time.monotonic()))
            listener(word)
        if not listener:
            sleep(self.seconds)
        return Completion(
            "".join(words).strip(), 10, PIECES, cost_usd=0.0, seconds=self.seconds, model="thinking"
        )

    def count_tokens(self, text: str) -> int:
        """The number of words."""
        return len(text.split())


@hookimpl
def convrag_register(register):
    """Register it."""
    register("llm", "thinking", ThinkingLLM)
