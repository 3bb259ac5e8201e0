"""Samples for tests of stages: passages, a conversation, a prompt, a data set and an LLM with recorded replies."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping

from convrag.api.errors import LLMError
from convrag.api.models import LLM
from convrag.api.stages import Dataset
from convrag.api.types import Completion, Conversation, Message, Passage, Prompt, Question, Turn

TEXTS = (
    "A kettle whistles because steam is forced through two small openings in its lid.",
    "Green tea is brewed at about eighty degrees; boiling water makes it bitter.",
    "Copper conducts heat better than steel, so a copper kettle boils sooner.",
    "Le thé à la menthe est servi très sucré. 茶は八十度で入れる。",
)

ODD_TEXTS = (
    "お茶は何度？ Ça va 🙂?",
    "👩‍👩‍👧 \U0001f3f4\U000e0067\U000e0062\U000e007f kettle",  # one visible sign of several code points
    "כמה חם צריך להיות התה? \u202eeel kettle\u202c",  # from right to left
    "The\u0301 a\u0300 la menthe, Ångström and A\u030angstro\u0308m",  # letters with combining marks
    "zero\u200bwidth and\u00a0hard spaces\ttabs\nlines\r\n",
    "nul \x00 and bell \x07 kettle",
)
"""Texts with characters that are hard to handle."""

BLANK_TEXTS = ("", " ", "\n", "?!", "...")
"""Texts without words."""


def passages() -> list[Passage]:
    """Make four short passages, one of them not in English."""
    return [Passage(f"tea-{number}", text, title="Tea") for number, text in enumerate(TEXTS, 1)]


def odd_passages() -> list[Passage]:
    """Make passages that are empty, blank, or hard to handle."""
    return [Passage(f"odd-{number}", text) for number, text in enumerate([*ODD_TEXTS, *BLANK_TEXTS], 1)]


def conversation() -> Conversation:
    """Make a conversation of three turns about tea, with answers."""
    first, second, third, _ = passages()
    return Conversation(
        "tea",
        (
            Turn("tea<::>1", "Why does a kettle whistle?", first.text, (first,)),
            Turn("tea<::>2", "And how hot should green tea be?", second.text, (second,)),
            Turn("tea<::>3", "Is copper better?", third.text, (third,)),
        ),
    )


def question(text: str = "Is copper better?", turns: int = 2) -> Question:
    """Make a question after some turns of the sample conversation."""
    history = conversation().turns[:turns]
    return Question(text, "tea", f"tea<::>{turns + 1}", number=turns + 1, history=history)


def make_prompt(text: str = "What is tea?") -> Prompt:
    """Make a prompt to answer a question from one passage, with messages and named inputs."""
    evidence = [{"number": 1, "title": "Tea", "text": TEXTS[1]}]
    inputs = {"question": text, "history": [], "evidence": evidence}
    return Prompt("answer", (Message("user", f"[1] {TEXTS[1]}\n\n{text}"),), inputs)


class TinyDataset(Dataset):
    """A data set of the sample conversation and the sample passages, with a relevance judgement for each turn."""

    def conversations(self) -> Iterator[Conversation]:
        """Yield the sample conversation."""
        yield conversation()

    def corpus(self, domain: str) -> Iterator[Passage]:
        """Yield the sample passages."""
        return iter(passages())

    def qrels(self) -> Mapping[str, Mapping[str, int]]:
        """Return the passage of each turn's answer as relevant."""
        return {turn.id: {passage.id: 1 for passage in turn.passages} for turn in conversation().turns}


class RecordedLLM(LLM):
    """An LLM with recorded replies; `prompts` keeps the prompts that it got.

    Args:
        replies: a text -> the reply to prompts whose last message contains the text. The first text that fits counts.
            The empty text fits every prompt, and counts last, wherever it stands.
    """

    def __init__(self, *, replies: dict[str, str]) -> None:
        self.replies = replies
        self.prompts: list[Prompt] = []
        self._lock = threading.Lock()

    def complete(self, prompt: Prompt) -> Completion:
        """Return the recorded reply, with a cost of 0. Raises LLMError if no text fits the prompt."""
        with self._lock:
            self.prompts.append(prompt)
        message = prompt.messages[-1].content if prompt.messages else ""
        for part, reply in sorted(self.replies.items(), key=lambda item: item[0] == ""):
            if part in message:
                tokens = self.count_tokens(message), self.count_tokens(reply)
                return Completion(reply, *tokens, cost_usd=0.0, model="recorded")
        raise LLMError(f"no reply was recorded for a prompt that ends with {message[-80:]!r}", model="recorded")

    def count_tokens(self, text: str) -> int:
        """Count words."""
        return len(text.split())
