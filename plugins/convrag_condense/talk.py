"""A conversation as the messages that a model reads: rebuilt from the history, the same each time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from convrag import EvidenceItem, Message, Passage, PromptTemplate, Turn

PER_MESSAGE = 4
"""Tokens that a chat format adds to each message, about."""


class Exchange(NamedTuple):
    """A question with its evidence, and the answer, as messages; `evidence` as the template was given it."""

    question: Message
    answer: Message
    evidence: list[dict[str, Any]]
    turn: Turn
    items: tuple[EvidenceItem, ...]


class Talk:
    """The answered exchanges of a history, and the numbers of its passages.

    Passages are numbered for the whole conversation, by id and in the order in which they were shown: each keeps its
    number, new ones count on. A turn without an answer is left out, for a chat alternates; its passages keep their
    numbers all the same.

    Args:
        template: makes the system message, and a user's message from `question`, `evidence` and `first`.
        history: the earlier turns, oldest first, each with the passages that were shown in it.
        every_turn: whether follow-ups have evidence too.
    """

    def __init__(self, template: PromptTemplate, history: Iterable[Turn], *, every_turn: bool) -> None:
        self.template = template
        self.every_turn = every_turn
        self.numbers: dict[str, int] = {}
        self.exchanges: list[Exchange] = []
        for turn in history:
            items = turn.shown or tuple(EvidenceItem(0, passage, passage.content) for passage in turn.passages)
            evidence = self.evidence((item.passage, item.text) for item in items)
            if turn.answer.strip():
                question = self.ask(turn.question, evidence)
                self.exchanges.append(Exchange(question, Message("assistant", turn.answer), evidence, turn, items))

    @property
    def system(self) -> Message:
        """The first message, which no later one repeats."""
        return self.template.render(question="", evidence=[], first=True).messages[0]

    def evidence(self, shown: Iterable[tuple[Passage, str]]) -> list[dict[str, Any]]:
        """What the next question shows of these passages and texts: `number`, `title`, `authors` and `text`."""
        if self.exchanges and not self.every_turn:
            return []
        return [_entry(self._number(passage), passage, text) for passage, text in shown]

    def ask(self, question: str, evidence: Sequence[dict[str, Any]]) -> Message:
        """The plain question and, as a note behind it, its evidence. In one message: many models insist on turns."""
        first = not self.exchanges
        return self.template.render(question=question, evidence=evidence, first=first).messages[1]

    def whole(self, exchanges: Sequence[Exchange]) -> list[Exchange]:
        """These exchanges, where a hint whose text stands in none of those before it gives way to the text."""
        standing: set[str] = set()
        result = []
        for exchange in exchanges:
            orphans = [item for item in exchange.items if item.hint and item.passage.id not in standing]
            if orphans and exchange.evidence:
                texts = [(i.passage, i.passage.content if i in orphans else i.text) for i in exchange.items]
                evidence = [_entry(self._number(passage), passage, text) for passage, text in texts]
                question = self.template.render(question=exchange.turn.question, evidence=evidence, first=False)
                exchange = exchange._replace(question=question.messages[1], evidence=evidence)
            standing.update(item.passage.id for item in exchange.items)
            result.append(exchange)
        return result

    def _number(self, passage: Passage) -> int:
        return self.numbers.setdefault(passage.id, len(self.numbers) + 1)


def fitting(exchanges: Sequence[Exchange], room: int, most: int, count: Callable[[str], int]) -> list[Exchange]:
    """The first exchange, always, and of the others the newest without a gap, as many as fit.

    Args:
        exchanges: oldest first.
        room: tokens for all of them.
        most: how many, the first among them.
        count: tells the tokens of a text.
    """
    first, later = list(exchanges[:1]), exchanges[1:]
    room -= sum(_tokens(exchange, count) for exchange in first)
    kept: list[Exchange] = []
    for exchange in reversed(later):
        room -= _tokens(exchange, count)
        if room < 0 or len(first) + len(kept) >= most:
            break
        kept.append(exchange)
    return [*first, *reversed(kept)]


def _tokens(exchange: Exchange, count: Callable[[str], int]) -> int:
    return sum(count(message.content) + PER_MESSAGE for message in (exchange.question, exchange.answer))


def _entry(number: int, passage: Passage, text: str) -> dict[str, Any]:
    """A passage for the template; a title that the text begins with stands there already."""
    title, body = passage.title.strip(), text
    if title and text.startswith(f"{passage.title}\n"):
        body = text[len(passage.title) + 1 :]
    elif text.startswith(title):
        title = ""
    return {"number": number, "title": title, "authors": _authors(passage), "text": body}


def _authors(passage: Passage) -> str:
    """Who wrote it and when, in one line, where the corpus says so."""
    given = passage.metadata.get("authors") or ""
    names = given if isinstance(given, str) else ", ".join(map(str, given))
    year = passage.metadata.get("year") or ""
    return f"{names} ({year})" if names and year else names or str(year)
