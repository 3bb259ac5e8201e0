"""What each client asks convrag, and what its program prints. The standard library alone."""

import json
import sys
from collections.abc import Callable

FIRST = "Why do we always see the same side of the Moon?"
SECOND = "How far away is the Moon?"
FOLLOW_UP = "And when was its far side seen for the first time?"


def run(ask: Callable[[str, list[tuple[str, str]]], tuple[str, int | None]]) -> None:
    """Ask two questions and a follow-up, and print how many sources the client shows of the last answer.

    Args:
        ask: asks a question with its history, and returns the answer, and the number of sources that the client hands
            on; None where it hands on none.
    """
    _, _ = ask(FIRST, [])
    answer, _ = ask(SECOND, [])
    last, sources = ask(FOLLOW_UP, [(SECOND, answer)])
    for text in (answer, last):
        if not text.strip():
            raise SystemExit("an answer is empty")
    sys.stdout.write(f"\n{json.dumps({'answer': last, 'sources': sources})}\n")


def make_messages(question: str, history: list[tuple[str, str]]) -> list[dict[str, str]]:
    """The messages of OpenAI's protocol."""
    pairs = [(role, text) for exchange in history for role, text in zip(("user", "assistant"), exchange, strict=True)]
    return [{"role": role, "content": text} for role, text in [*pairs, ("user", question)]]
