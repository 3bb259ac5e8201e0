"""The history of a conversation as a model's messages, continued from turn to turn."""

from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

from convrag import EvidenceItem, Message, Passage, PromptTemplate, Question, Turn
from convrag.sdk.llm.history import HistoryReader
from convrag.sdk.llm.prompts import add_profile

EvidenceShown = Literal["every_turn", "newest", "first_turn"]

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


@dataclass(eq=False)
class Exchange:
    """An answered turn, whose tokens are counted once.

    Args:
        turn: the turn.
        items: the evidence that was shown in it.
        first: whether it is the first exchange of the conversation.
        shows_evidence: whether its question is sent with the evidence.
        label: a prefix of the numbers of passages.
    """

    turn: Turn
    items: tuple[EvidenceItem, ...]
    first: bool
    shows_evidence: bool
    label: str
    tokens: dict[tuple[int, ...], int] = field(default_factory=dict)
    """The tokens of its messages, by the positions of the items whose full text is sent."""

    def render(
        self, template: PromptTemplate, numbers: Mapping[str, int], in_full: tuple[int, ...] = ()
    ) -> RenderedExchange:
        """Render the exchange as messages.

        Args:
            template: makes a user's message from `question`, `evidence` and `first`.
            numbers: passage id -> citation number.
            in_full: the positions of the items whose full text is sent in place of what was shown.
        """
        evidence = []
        for position, item in enumerate(self.items if self.shows_evidence else ()):
            shown = show_in_full(item) if position in in_full else item
            evidence.append(format_item(numbers[item.passage.id], shown))
        first = self.first and not in_full
        prompt = template.render(
            question=self.turn.question, evidence=evidence, first=first, label=self.label
        )
        return RenderedExchange(
            prompt.messages[1], Message("assistant", self.turn.answer), evidence, self.turn
        )


def find_orphaned_hints(
    exchanges: Sequence[Exchange],
) -> Iterator[tuple[Exchange, tuple[int, ...]]]:
    """Yield each exchange with the positions of its hints to texts that no earlier one shows."""
    shown: set[str] = set()
    for exchange in exchanges:
        orphaned = []
        for position, item in enumerate(exchange.items if exchange.shows_evidence else ()):
            if item.hint and item.passage.id not in shown:
                orphaned.append(position)
        yield exchange, tuple(orphaned)
        shown.update(item.passage.id for item in exchange.items)


def show_in_full(item: EvidenceItem) -> EvidenceItem:
    """Replace a hint by the passage's full text."""
    return replace(item, text=item.passage.content, hint=False)


def format_item(number: int, item: EvidenceItem) -> dict[str, Any]:
    """Format a passage, or a hint at one, for the template.

    A title with which the text begins is not repeated.
    """
    passage = item.passage
    text = item.text
    title = passage.title.strip()
    body = text
    if title and text.startswith(f"{title}\n"):
        body = text[len(title) + 1 :]
    elif passage.begins_with_title(text):
        title = ""
    authors = _format_authors(passage)
    return {"number": number, "title": title, "authors": authors, "text": body, "hint": item.hint}


def _format_authors(passage: Passage) -> str:
    """Join authors and year in one line, where the corpus has them."""
    given = passage.metadata.get("authors") or ""
    names = given if isinstance(given, str) else ", ".join(map(str, given))
    year = passage.metadata.get("year") or ""
    return f"{names} ({year})" if names and year else names or str(year)


class NewestQuestion(NamedTuple):
    """The question of the current turn, followed by its evidence as a note.

    Args:
        message: the message of both.
        evidence: the template's input.
        numbers: passage id -> citation number, of the history and this evidence.
        passages: the reverse of it.
        new: how many numbers this evidence adds; they join the history with the turn itself.
    """

    message: Message
    evidence: list[dict[str, Any]]
    numbers: Mapping[str, int]
    passages: Mapping[int, str]
    new: int


@dataclass(eq=False)
class ChatHistory(HistoryReader):
    """The answered exchanges of a history, and the citation numbers of its passages.

    Passages are numbered for the whole conversation, by id and in the order in which they were
    shown: each keeps its number, and new ones get the next. A turn without an answer is left out,
    since the messages of a chat alternate; its passages keep their numbers all the same.

    It depends on the turns and their order alone. It covers the whole conversation, since earlier
    answers cite by its numbers; only the exchanges that the memory shows are sent.

    Args:
        template: makes the system message, and a user's message from `question`, `evidence` and
            `first`.
        count_tokens: counts the tokens of a text.
        evidence: the questions that are sent with their evidence; see ChatGenerator.
        max_tokens: for the system message, the question and the exchanges that are sent.
        max_exchanges: the most exchanges that are sent.
        profile: personal statements of the user, for the system message.
        label: a prefix of the numbers of passages.
    """

    template: PromptTemplate
    count_tokens: Callable[[str], int]
    evidence: EvidenceShown
    max_tokens: int
    max_exchanges: int
    profile: tuple[str, ...] = ()
    label: str = ""
    exchanges: list[Exchange] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)
    passages: dict[int, str] = field(default_factory=dict)
    """Citation number -> passage id."""
    _by_turn: dict[str, Exchange] = field(default_factory=dict)

    @cached_property
    def system_message(self) -> Message:
        """The first message of the chat."""
        prompt = self.template.render(question="", evidence=[], first=True, label=self.label)
        return add_profile(prompt, self.profile).messages[0]

    def render_newest(self, question: str, items: Iterable[EvidenceItem]) -> NewestQuestion:
        """Render the next question and its evidence as one message.

        Many models refuse two messages of one role in a row.
        """
        new: dict[str, int] = {}
        evidence = []
        for item in items if self._shows_evidence() else ():
            id_ = item.passage.id
            number = self.numbers.get(id_)
            if number is None:
                number = new.setdefault(id_, len(self.numbers) + len(new) + 1)
            evidence.append(format_item(number, item))
        first = not self.exchanges
        prompt = self.template.render(
            question=question, evidence=evidence, first=first, label=self.label
        )
        numbers = ChainMap(new, self.numbers)
        passages = ChainMap({number: passage for passage, number in new.items()}, self.passages)
        return NewestQuestion(prompt.messages[1], evidence, numbers, passages, len(new))

    def list_exchanges(self, question: Question) -> list[Exchange]:
        """List the exchanges that the memory shows, oldest first.

        Turns that the memory made have no evidence of their own. Where follow-ups show no evidence,
        the first exchange is always listed, since it has all the evidence.
        """
        if question.before_memory is None:
            return self.exchanges
        shown = [self._find_exchange(turn) for turn in question.history if turn.answer.strip()]
        if self.evidence == "first_turn" and self.exchanges and self.exchanges[0] not in shown:
            shown.insert(0, self.exchanges[0])
        return shown

    def select_exchanges(self, question: Question) -> list[RenderedExchange]:
        """Select the exchanges that are sent before a question: the first, and the newest that fit.

        The newest follow each other without a gap among those that the memory shows. A hint to a
        text that none of the exchanges before it shows becomes that text.
        """
        max_tokens = self.max_tokens - self._system_tokens - self._count_message(question.text)
        selected = self._select(self.list_exchanges(question), max_tokens)
        while len(selected) > 1 and self._count_sent(selected) > max_tokens:
            del selected[1]  # the oldest but the first
        return [
            each.render(self.template, self.numbers, full)
            for each, full in find_orphaned_hints(selected)
        ]

    def add(self, turn: Turn) -> None:
        """Number the passages of a turn, and keep the exchange where it has an answer."""
        items = turn.shown or tuple(
            EvidenceItem(0, passage, passage.content) for passage in turn.passages
        )
        shows_evidence = self._shows_evidence()
        for item in items if shows_evidence else ():
            number = self.numbers.setdefault(item.passage.id, len(self.numbers) + 1)
            self.passages[number] = item.passage.id
        if turn.answer.strip():
            sent = shows_evidence and self.evidence != "newest"
            exchange = Exchange(
                turn, items, first=not self.exchanges, shows_evidence=sent, label=self.label
            )
            self.exchanges.append(exchange)
            self._by_turn[turn.id] = exchange

    def _find_exchange(self, turn: Turn) -> Exchange:
        """Find the exchange of a turn.

        A turn that a memory has made gets a new one, with the passages that have a number.
        """
        known = self._by_turn.get(turn.id)
        if known is not None and known.turn == turn:
            return known
        items = turn.shown or tuple(
            EvidenceItem(0, passage, passage.content) for passage in turn.passages
        )
        numbered = tuple(item for item in items if item.passage.id in self.numbers)
        return Exchange(turn, numbered, False, self.evidence == "every_turn", self.label)

    def _shows_evidence(self) -> bool:
        """Tell whether the next question is sent with its evidence."""
        return self.evidence != "first_turn" or not self.exchanges

    @cached_property
    def _system_tokens(self) -> int:
        return self._count_message(self.system_message.content)

    def _count_message(self, text: str) -> int:
        return self.count_tokens(text) + TOKENS_PER_MESSAGE

    def _select(self, exchanges: Sequence[Exchange], max_tokens: int) -> list[Exchange]:
        first = list(exchanges[:1])
        remaining = max_tokens - sum(map(self._count_exchange, first))
        newest: list[Exchange] = []
        for number in range(len(exchanges) - 1, 0, -1):
            if len(first) + len(newest) >= self.max_exchanges:
                break
            remaining -= self._count_exchange(exchanges[number])
            if remaining < 0:
                break
            newest.append(exchanges[number])
        return [*first, *reversed(newest)]

    def _count_exchange(self, exchange: Exchange, in_full: tuple[int, ...] = ()) -> int:
        """Count the tokens of both messages of an exchange, once."""
        if in_full not in exchange.tokens:
            question, answer, *_ = exchange.render(self.template, self.numbers, in_full)
            exchange.tokens[in_full] = self._count_message(question.content) + self._count_message(
                answer.content
            )
        return exchange.tokens[in_full]

    def _count_sent(self, exchanges: Sequence[Exchange]) -> int:
        """Count the tokens of exchanges as they are sent, with the texts of orphaned hints."""
        return sum(
            self._count_exchange(exchange, in_full)
            for exchange, in_full in find_orphaned_hints(exchanges)
        )
