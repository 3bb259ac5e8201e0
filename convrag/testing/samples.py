"""Samples for tests: passages, conversations, records, a data set and recorded replies."""

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
"""The questions of seven more conversations; each question differs from all others."""


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
    """Make questions that are hard to handle.

    One has no history, one comes after a failed turn, and others have odd texts.
    """
    first = question(turns=0)
    failed = Turn("tea<::>1", "Why does a kettle whistle?")
    asked = [first, replace(first, text="Is copper better?", history=(failed,), number=2)]
    for text in (*ODD_TEXTS, *BLANK_TEXTS):
        turn = Turn("tea<::>1", text, text, (Passage("odd", text),))
        asked.append(replace(first, text=text, history=(turn,), number=2))
    return asked


def questions() -> list[list[Question]]:
    """Make the questions of eight conversations of three turns, in order.

    The questions of a conversation share a state.
    """
    others = [_make_conversation(number, texts) for number, texts in enumerate(_QUESTIONS, 2)]
    return [_list_questions(each) for each in (conversation(), *others)]


def _list_questions(asked: Conversation) -> list[Question]:
    state: dict[object, dict[str, Any]] = {}
    return [
        Question(
            turn.question,
            asked.id,
            turn.id,
            number=place + 1,
            history=asked.turns[:place],
            stage_state=state,
        )
        for place, turn in enumerate(asked.turns)
    ]


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
    items = [EvidenceItem(number, each, each.content) for number, each in enumerate(chosen, 1)]
    return Evidence(tuple(items))


def make_records() -> list[TurnRecord]:
    """Make the records of two turns; the second failed."""
    hits = tuple(Hit(passage, 1.0 / n) for n, passage in enumerate(passages(), 1))
    return [
        TurnRecord("tea", "tea<::>1", "default", 1, "Why does a kettle whistle?", hits=hits),
        TurnRecord("tea", "tea<::>2", "default", 2, "And green tea?", error="retriever: down"),
    ]


def vary_records(records: list[TurnRecord], steps: int) -> list[TurnRecord]:
    """Make other records of the same turns: with hits in another order, and another answer."""
    hits = make_hits(steps)
    answer = Answer(f"{hits[0].passage.text} [1]", (hits[0].passage.id,))
    evidence = make_evidence(*(hit.passage for hit in hits))
    shown = tuple(hits[: 1 + steps % 4])
    varied = []
    for record in records:
        if not record.error:
            record = replace(record, hits=shown, evidence=evidence, answer=answer)
        varied.append(record)
    return varied


def _make_conversation(number: int, asked: tuple[str, ...]) -> Conversation:
    """Make a conversation, whose answers are the sample passages in another order."""
    turns = [
        Turn(f"tea-{number}<::>{place}", text, passage.text, (passage,))
        for place, (text, passage) in enumerate(
            zip(asked, rotate_passages(number), strict=False), 1
        )
    ]
    return Conversation(f"tea-{number}", tuple(turns))


def make_prompt(text: str = "What is tea?") -> Prompt:
    """Make a prompt to answer a question from one passage, with messages and named inputs."""
    evidence = [{"number": 1, "title": "Tea", "text": TEXTS[1]}]
    inputs = {"question": text, "history": [], "evidence": evidence}
    return Prompt("answer", (Message("user", f"[1] {TEXTS[1]}\n\n{text}"),), inputs)


class TinyDataset(Dataset):
    """A data set of the sample conversation and passages, with a qrel for each turn."""

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
    """An LLM with recorded replies; `prompts` has the prompts that it got.

    Args:
        replies: a text -> the reply to prompts whose last message contains the text. The first text
            that fits counts. The empty text fits every prompt, and is tried last.
    """

    def __init__(self, *, replies: dict[str, str]) -> None:
        self.replies = replies
        self.prompts: list[Prompt] = []
        self._lock = threading.Lock()

    def complete(self, prompt: Prompt) -> Completion:
        """Return the recorded reply, at a cost of 0. Raises LLMError if no text fits the prompt."""
        with self._lock:
            self.prompts.append(prompt)
        message = prompt.messages[-1].content if prompt.messages else ""
        for part in sorted(self.replies, key=lambda part: part == ""):
            if part in message:
                reply = self.replies[part]
                return Completion(
                    reply,
                    self.count_tokens(message),
                    self.count_tokens(reply),
                    cost_usd=0.0,
                    model="recorded",
                )
        raise LLMError(
            f"no reply was recorded for a prompt that ends with {message[-80:]!r}", model="recorded"
        )

    def count_tokens(self, text: str) -> int:
        """Count words."""
        return len(text.split())
