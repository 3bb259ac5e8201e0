"""An earlier question with its evidence, and its answer, as the messages that a model is sent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from convrag import EvidenceItem, Message, Passage, PromptTemplate, Turn

TOKENS_PER_MESSAGE = 4
"""Tokens that a chat format adds to each message, about."""


class RenderedExchange(NamedTuple):
    """A question with its evidence, and the answer, as messages.

    `evidence` is what the template was given for the turn's passages.
    """

    question: Message
    answer: Message
    evidence: list[dict[str, Any]]
    turn: Turn


class Exchange:
    """An answered turn. It is rendered when that is asked for, and its tokens are counted once.

    Args:
        turn: the turn.
        items: the evidence that was shown in it.
        first: whether it is the first exchange of the conversation.
        shows_evidence: whether its question is sent with the evidence.
    """

    def __init__(self, turn: Turn, items: tuple[EvidenceItem, ...], *, first: bool, shows_evidence: bool) -> None:
        self.turn = turn
        self.items = items
        self.first = first
        self.shows_evidence = shows_evidence
        self._tokens: int | None = None
        self._rendered: dict[tuple[int, ...], RenderedExchange] = {}

    def render(
        self, template: PromptTemplate, numbers: Mapping[str, int], in_full: tuple[int, ...] = ()
    ) -> RenderedExchange:
        """The exchange as messages.

        Args:
            template: makes a user's message from `question`, `evidence` and `first`.
            numbers: passage id -> citation number.
            in_full: the positions of the items whose full text is sent in place of what was shown.
        """
        if (rendered := self._rendered.get(in_full)) is None:
            texts = [item.passage.content if n in in_full else item.text for n, item in enumerate(self.items)]
            shown = zip(self.items, texts, strict=True) if self.shows_evidence else ()
            evidence = [format_passage(numbers[item.passage.id], item.passage, text) for item, text in shown]
            prompt = template.render(question=self.turn.question, evidence=evidence, first=self.first and not in_full)
            answer = Message("assistant", self.turn.answer)
            rendered = self._rendered[in_full] = RenderedExchange(prompt.messages[1], answer, evidence, self.turn)
        return rendered

    def count_tokens(
        self, template: PromptTemplate, numbers: Mapping[str, int], count_tokens: Callable[[str], int]
    ) -> int:
        """The tokens of both messages as they were sent first, with those that a chat format adds."""
        if self._tokens is None:
            rendered = self.render(template, numbers)
            messages = (rendered.question, rendered.answer)
            self._tokens = sum(count_tokens(message.content) + TOKENS_PER_MESSAGE for message in messages)
        return self._tokens

    def drop_messages(self) -> None:
        """Free the messages, which are rendered again if they are asked for."""
        self._rendered = {}


def format_passage(number: int, passage: Passage, text: str) -> dict[str, Any]:
    """A passage for the template; a title with which the text begins is not repeated."""
    title, body = passage.title.strip(), text
    if title and text.startswith(f"{passage.title}\n"):
        body = text[len(passage.title) + 1 :]
    elif text.startswith(title):
        title = ""
    return {"number": number, "title": title, "authors": _format_authors(passage), "text": body}


def _format_authors(passage: Passage) -> str:
    """Authors and year in one line, where the corpus has them."""
    given = passage.metadata.get("authors") or ""
    names = given if isinstance(given, str) else ", ".join(map(str, given))
    year = passage.metadata.get("year") or ""
    return f"{names} ({year})" if names and year else names or str(year)
