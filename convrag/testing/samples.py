"""A few passages, a conversation, a data set and a language model: enough to try a stage on."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping

from convrag.api.errors import LLMError
from convrag.api.stages import LLM, Dataset
from convrag.api.types import Completion, Conversation, Message, Passage, Prompt, Question, Turn

TEXTS = (
    "A kettle whistles because steam is forced through two small openings in its lid.",
    "Green tea is brewed at about eighty degrees; boiling water makes it bitter.",
    "Copper conducts heat better than steel, so a copper kettle boils sooner.",
    "Le thé à la menthe est servi très sucré. 茶は八十度で入れる。",
)

ODD_TEXTS = (
    "お茶は何度？ Ça va 🙂?",
    "👩‍👩‍👧 \U0001f3f4\U000e0067\U000e0062\U000e007f kettle",  # one sign for the reader, several for the computer
    "כמה חם צריך להיות התה? \u202eeel kettle\u202c",  # from right to left
    "The\u0301 a\u0300 la menthe, Ångström and A\u030angstro\u0308m",  # letters with combining marks
    "zero\u200bwidth and\u00a0hard spaces\ttabs\nlines\r\n",
    "nul \x00 and bell \x07 kettle",
)
"""Texts that are harder to handle than they look."""

BLANK_TEXTS = ("", " ", "\n", "?!", "...")
"""Texts without a word."""


def passages() -> list[Passage]:
    """Four short passages, one of them not in English."""
    return [Passage(f"tea-{number}", text, title="Tea") for number, text in enumerate(TEXTS, 1)]


def odd_passages() -> list[Passage]:
    """Passages that are empty, blank, or harder to handle than they look."""
    return [Passage(f"odd-{number}", text) for number, text in enumerate([*ODD_TEXTS, *BLANK_TEXTS], 1)]


def conversation() -> Conversation:
    """Three turns about tea, with answers."""
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
    """A question after so many turns of the sample conversation."""
    history = conversation().turns[:turns]
    return Question(text, "tea", f"tea<::>{turns + 1}", number=turns + 1, history=history)


def ask(text: str = "What is tea?") -> Prompt:
    """A prompt that answers a question from one passage, in messages and in named inputs."""
    evidence = [{"number": 1, "title": "Tea", "text": TEXTS[1]}]
    inputs = {"question": text, "history": [], "evidence": evidence}
    return Prompt("answer", (Message("user", f"[1] {TEXTS[1]}\n\n{text}"),), inputs)


class TinyDataset(Dataset):
    """The sample conversation over the sample passages, with a judgement for each turn."""

    def conversations(self) -> Iterator[Conversation]:
        """The one conversation."""
        yield conversation()

    def corpus(self, domain: str) -> Iterator[Passage]:
        """The four passages."""
        return iter(passages())

    def qrels(self) -> Mapping[str, Mapping[str, int]]:
        """For each turn, the passage that its answer rests on."""
        return {turn.id: {passage.id: 1 for passage in turn.passages} for turn in conversation().turns}


class RecordedLLM(LLM):
    """Gives replies that were written down before, and keeps the prompts that it was asked (`prompts`).

    Args:
        replies: a text that the last message of a prompt must hold -> the reply; the first that fits is given. The
            empty text fits every prompt.
    """

    def __init__(self, *, replies: dict[str, str]) -> None:
        self.replies = replies
        self.prompts: list[Prompt] = []
        self._lock = threading.Lock()

    def complete(self, prompt: Prompt) -> Completion:
        """The reply, which costs nothing. Raises LLMError where none was written down for this prompt."""
        with self._lock:
            self.prompts.append(prompt)
        asked = prompt.messages[-1].content if prompt.messages else ""
        for part, reply in self.replies.items():
            if part in asked:
                tokens = self.count_tokens(asked), self.count_tokens(reply)
                return Completion(reply, *tokens, cost_usd=0.0, model="recorded")
        raise LLMError(f"no reply was recorded for a prompt that ends with {asked[-80:]!r}", model="recorded")

    def count_tokens(self, text: str) -> int:
        """Words."""
        return len(text.split())
