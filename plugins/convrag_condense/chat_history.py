"""The history of a conversation as the messages that a model is sent, rebuilt in the same way at each turn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from convrag import EvidenceItem, Message, Passage, PromptTemplate, Turn

TOKENS_PER_MESSAGE = 4
"""Tokens that a chat format adds to each message, about."""


class Exchange(NamedTuple):
    """A question with its evidence, and the answer, as messages.

    `evidence` is what the template was given for the turn's `items`.
    """

    question: Message
    answer: Message
    evidence: list[dict[str, Any]]
    turn: Turn
    items: tuple[EvidenceItem, ...]


class ChatHistory:
    """The answered exchanges of a history (`exchanges`), and the citation numbers of its passages (`numbers`).

    Passages are numbered for the whole conversation, by id and in the order in which they were shown: each keeps its
    number, new ones count on. A turn without an answer is left out, since the messages of a chat alternate; its
    passages keep their numbers all the same.

    Args:
        template: makes the system message, and a user's message from `question`, `evidence` and `first`.
        turns: the earlier turns, oldest first, each with the passages that were shown in it.
        every_turn: whether follow-ups show evidence too, and not only the first question.
    """

    def __init__(self, template: PromptTemplate, turns: Iterable[Turn], *, every_turn: bool) -> None:
        self.template = template
        self.every_turn = every_turn
        self.numbers: dict[str, int] = {}
        self.exchanges: list[Exchange] = []
        for turn in turns:
            items = turn.shown or tuple(EvidenceItem(0, passage, passage.content) for passage in turn.passages)
            evidence = self.number_evidence(items)
            if turn.answer.strip():
                question = self.render_question(turn.question, evidence)
                self.exchanges.append(Exchange(question, Message("assistant", turn.answer), evidence, turn, items))

    @property
    def system_message(self) -> Message:
        """The first message of the chat."""
        return self.template.render(question="", evidence=[], first=True).messages[0]

    def number_evidence(self, items: Iterable[EvidenceItem]) -> list[dict[str, Any]]:
        """Evidence for the next question: `number`, `title`, `authors`, `text` and `hint` of each passage.

        Empty for a follow-up where only the first question shows evidence.
        """
        if self.exchanges and not self.every_turn:
            return []
        return [self._format_item(item) for item in items]

    def render_question(self, question: str, evidence: Sequence[dict[str, Any]]) -> Message:
        """The next question with its evidence as a note behind it, in one message: many models refuse two in a row."""
        first = not self.exchanges
        return self.template.render(question=question, evidence=evidence, first=first).messages[1]

    def restore_hinted_texts(self, exchanges: Sequence[Exchange]) -> list[Exchange]:
        """The exchanges with full texts in place of hints to a text that none of the exchanges before it shows.

        Args:
            exchanges: those that are sent, oldest first; others may have shown the text that a hint stands for.
        """
        shown: set[str] = set()
        restored = []
        for exchange in exchanges:
            orphans = [item for item in exchange.items if item.hint and item.passage.id not in shown]
            if orphans and exchange.evidence:
                full = [replace(i, text=i.passage.content, hint=False) if i in orphans else i for i in exchange.items]
                evidence = [self._format_item(item) for item in full]
                question = self.template.render(question=exchange.turn.question, evidence=evidence, first=False)
                exchange = exchange._replace(question=question.messages[1], evidence=evidence)
            shown.update(item.passage.id for item in exchange.items)
            restored.append(exchange)
        return restored

    def _format_item(self, item: EvidenceItem) -> dict[str, Any]:
        number = self.numbers.setdefault(item.passage.id, len(self.numbers) + 1)
        return {**_format_passage(number, item.passage, item.text), "hint": item.hint}


def select_exchanges(
    exchanges: Sequence[Exchange], max_tokens: int, max_exchanges: int, count_tokens: Callable[[str], int]
) -> list[Exchange]:
    """The first exchange, always, and as many of the newest as fit, without a gap between them.

    Args:
        exchanges: oldest first.
        max_tokens: for all that are selected.
        max_exchanges: the first among them.
        count_tokens: counts the tokens of a text.
    """
    first, later = list(exchanges[:1]), exchanges[1:]
    remaining = max_tokens - sum(count_exchange(exchange, count_tokens) for exchange in first)
    newest: list[Exchange] = []
    for exchange in reversed(later):
        remaining -= count_exchange(exchange, count_tokens)
        if remaining < 0 or len(first) + len(newest) >= max_exchanges:
            break
        newest.append(exchange)
    return [*first, *reversed(newest)]


def count_exchange(exchange: Exchange, count_tokens: Callable[[str], int]) -> int:
    """The tokens of both messages, with those that a chat format adds."""
    messages = (exchange.question, exchange.answer)
    return sum(count_tokens(message.content) + TOKENS_PER_MESSAGE for message in messages)


def _format_passage(number: int, passage: Passage, text: str) -> dict[str, Any]:
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
