"""Samples for tests of stages: passages, conversations, records, a data set, an LLM with recorded
replies.
"""

import threading
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from convrag.api.answers import Answer
from convrag.api.completions import Completion, Message, Prompt
from convrag.api.conversations import Conversation, Question, Turn
from convrag.api.errors import LLMError
from convrag.api.evidence import Evidence, EvidenceItem
from convrag.api.passages import Hit, Passage
from convrag.api.records import TurnRecord
from convrag.api.stage import LLM
from convrag.api.stages import Dataset

TEXTS = (
    "A kettle whistles because steam is forced through two small openings in its lid.",
    "Green tea is brewed at about eighty degrees; boiling water makes it bitter.",
    "Copper conducts heat better than steel, so a copper kettle boils sooner.",
    "Le thé à la menthe est servi très sucré. 茶は八十度で入れる。",
)

ODD_TEXTS = (
    "お茶は何度？ Ça va 🙂?",
    # One visible sign of several code points
    "👩‍👩‍👧 \U0001f3f4\U000e0067\U000e0062\U000e007f kettle",
    "כמה חם צריך להיות התה? \u202eeel kettle\u202c",  # from right to left
    # Letters with combining marks
    "The\u0301 a\u0300 la menthe, Ångström and A\u030angstro\u0308m",
    "zero\u200bwidth and\u00a0hard spaces\ttabs\nlines\r\n",
    "nul \x00 and bell \x07 kettle",
)
"""Texts with characters that are hard to handle."""

BLANK_TEXTS = ("", " ", "\n", "?!", "...")
"""Texts without words."""


_QUESTIONS = (
    ("What conducts heat best?", "Does a steel kettle boil sooner?", "And how hot does it get?"),
    ("Qui boit du thé à la menthe ?", "Est-il très sucré ?", "And in English, please?"),
    (
        "How is green tea brewed?",
        "What makes it bitter?",
        "Is eighty degrees enough for a small cup?",
    ),
    ("Where does the steam go?", "Through which openings?", "Why are there two of them?"),
    ("Which water is best for tea?", "Must the water boil?", "How long does that take in copper?"),
    ("What is a lid for?", "Is steam forced through it?", "Would a kettle without one whistle?"),
    ("Who invented the kettle?", "Was it made of copper?", "Then why are they made of steel now?"),
)
"""The questions of seven conversations beside the sample conversation; each differs from all
others.
"""


def passages() -> list[Passage]:
    """Make four short passages, one of them not in English."""
    return [Passage(f"tea-{number}", text, title="Tea") for number, text in enumerate(TEXTS, 1)]


def odd_passages() -> list[Passage]:
    """Make passages that are empty, blank, or hard to handle."""
    return [
        Passage(f"odd-{number}", text) for number, text in enumerate([*ODD_TEXTS, *BLANK_TEXTS], 1)
    ]


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


def odd_questions() -> list[Question]:
    """Make questions that are hard to handle: without a history, after a failed turn, and of odd
    texts.
    """
    first, failed = question(turns=0), Turn("tea<::>1", "Why does a kettle whistle?")
    odd = [
        (text, Turn("tea<::>1", text, text, (Passage("odd", text),)))
        for text in (*ODD_TEXTS, *BLANK_TEXTS)
    ]
    after = [("Is copper better?", failed), *odd]
    return [first, *(replace(first, text=text, history=(turn,), number=2) for text, turn in after)]


def questions() -> list[list[Question]]:
    """Make the questions of eight conversations of three turns, in order; a conversation's share a
    state.
    """
    asked = []
    for each in [
        conversation(),
        *(_make_conversation(n, texts) for n, texts in enumerate(_QUESTIONS, 2)),
    ]:
        state: dict[object, dict[str, Any]] = {}
        asked.append(
            [
                Question(
                    turn.question,
                    each.id,
                    turn.id,
                    number=n + 1,
                    history=each.turns[:n],
                    stage_state=state,
                )
                for n, turn in enumerate(each.turns)
            ]
        )
    return asked


def rotate_passages(steps: int) -> list[Passage]:
    """Make the sample passages in another order: the first ones come last."""
    found = passages()
    steps %= len(found)
    return found[steps:] + found[:steps]


def make_hits(steps: int) -> list[Hit]:
    """Make hits of the sample passages in another order, best first."""
    return [Hit(passage, 4.0 - n) for n, passage in enumerate(rotate_passages(steps))]


def make_evidence(*shown: Passage) -> Evidence:
    """Make evidence of passages, numbered from 1; without arguments, of the sample passages."""
    chosen = shown or tuple(passages())
    return Evidence(
        tuple(EvidenceItem(n, passage, passage.content) for n, passage in enumerate(chosen, 1))
    )


def vary_records(records: list[TurnRecord], steps: int) -> list[TurnRecord]:
    """Make other records of the same turns: with hits in another order, and another answer."""
    hits = make_hits(steps)
    answer = Answer(f"{hits[0].passage.text} [1]", (hits[0].passage.id,))
    evidence = make_evidence(*(hit.passage for hit in hits))
    return [
        record
        if record.error
        else replace(record, hits=tuple(hits[: 1 + steps % 4]), evidence=evidence, answer=answer)
        for record in records
    ]


def _make_conversation(number: int, asked: tuple[str, ...]) -> Conversation:
    found = rotate_passages(number)
    turns = [
        Turn(f"tea-{number}<::>{n + 1}", question, found[n].text, (found[n],))
        for n, question in enumerate(asked)
    ]
    return Conversation(f"tea-{number}", tuple(turns))


def make_prompt(text: str = "What is tea?") -> Prompt:
    """Make a prompt to answer a question from one passage, with messages and named inputs."""
    evidence = [{"number": 1, "title": "Tea", "text": TEXTS[1]}]
    inputs = {"question": text, "history": [], "evidence": evidence}
    return Prompt("answer", (Message("user", f"[1] {TEXTS[1]}\n\n{text}"),), inputs)


class TinyDataset(Dataset):
    """A data set of the sample conversation and the sample passages, with a relevance judgement for
    each turn.
    """

    def conversations(self) -> Iterator[Conversation]:
        """Yield the sample conversation."""
        yield conversation()

    def corpus(self, domain: str) -> Iterator[Passage]:
        """Yield the sample passages."""
        return iter(passages())

    def qrels(self) -> Mapping[str, Mapping[str, int]]:
        """Return the passage of each turn's answer as relevant."""
        return {
            turn.id: {passage.id: 1 for passage in turn.passages} for turn in conversation().turns
        }


class RecordedLLM(LLM):
    """An LLM with recorded replies; `prompts` keeps the prompts that it got.

    Args:
        replies: a text -> the reply to prompts whose last message contains the text. The first text
            that fits counts. The empty text fits every prompt, and counts last, wherever it stands.
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
        raise LLMError(
            f"no reply was recorded for a prompt that ends with {message[-80:]!r}", model="recorded"
        )

    def count_tokens(self, text: str) -> int:
        """Count words."""
        return len(text.split())
