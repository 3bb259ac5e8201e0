"""An earlier question with its evidence, and its answer, as the messages that a model is sent."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
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
        self._tokens: dict[tuple[int, ...], int] = {}
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
            items = (replace_hint(item) if n in in_full else item for n, item in enumerate(self.items))
            shown = items if self.shows_evidence else ()
            evidence = [format_item(numbers[item.passage.id], item) for item in shown]
            prompt = template.render(question=self.turn.question, evidence=evidence, first=self.first and not in_full)
            answer = Message("assistant", self.turn.answer)
            rendered = self._rendered[in_full] = RenderedExchange(prompt.messages[1], answer, evidence, self.turn)
        return rendered

    def count_tokens(
        self,
        template: PromptTemplate,
        numbers: Mapping[str, int],
        count_tokens: Callable[[str], int],
        in_full: tuple[int, ...] = (),
    ) -> int:
        """The tokens of both messages, as `render` makes them, with those that a chat format adds."""
        if in_full not in self._tokens:
            rendered = self.render(template, numbers, in_full)
            messages = (rendered.question, rendered.answer)
            self._tokens[in_full] = sum(count_tokens(message.content) + TOKENS_PER_MESSAGE for message in messages)
        return self._tokens[in_full]

    def drop_messages(self) -> None:
        """Free the messages, which are rendered again if they are asked for."""
        self._rendered = {}


def find_orphaned_hints(exchanges: Sequence[Exchange]) -> Iterator[tuple[Exchange, tuple[int, ...]]]:
    """Each exchange with the positions of its hints to texts that none of the exchanges before it shows."""
    shown: set[str] = set()
    for exchange in exchanges:
        hints = ((n, item) for n, item in enumerate(exchange.items) if item.hint and exchange.shows_evidence)
        yield exchange, tuple(n for n, item in hints if item.passage.id not in shown)
        shown.update(item.passage.id for item in exchange.items)


def replace_hint(item: EvidenceItem) -> EvidenceItem:
    """The item with the passage's full text."""
    return replace(item, text=item.passage.content, hint=False)


def format_item(number: int, item: EvidenceItem) -> dict[str, Any]:
    """A passage, or a hint at one, for the template; a title with which the text begins is not repeated."""
    passage, text = item.passage, item.text
    title, body = passage.title.strip(), text
    if title and text.startswith(f"{passage.title}\n"):
        body = text[len(passage.title) + 1 :]
    elif text.startswith(title):
        title = ""
    authors = _format_authors(passage)
    return {"number": number, "title": title, "authors": authors, "text": body, "hint": item.hint}


def _format_authors(passage: Passage) -> str:
    """Authors and year in one line, where the corpus has them."""
    given = passage.metadata.get("authors") or ""
    names = given if isinstance(given, str) else ", ".join(map(str, given))
    year = passage.metadata.get("year") or ""
    return f"{names} ({year})" if names and year else names or str(year)
