"""The history of a conversation as a model's messages, continued from turn to turn."""

from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

from convrag import EvidenceItem, Message, Passage, PromptTemplate, Question, Turn
from convrag.sdk.llm.history import HistoryReader
from convrag.sdk.llm.prompts import add_profile
from convrag.sdk.text.sentences import truncate_text
from convrag_condense.labels import Labels, format_label, write_document_labels

EvidenceShown = Literal["every_turn", "newest", "first_turn"]

TOKENS_PER_MESSAGE = 4
"""Tokens that a chat format adds to each message, about."""


@dataclass(frozen=True)
class HistoryLimits:
    """The limits of the exchanges that are sent before a question.

    Args:
        tokens: of the system message, the question and the exchanges together.
        exchanges: the number of exchanges.
        characters: of the exchanges; None does not limit them.
        keep_first: whether the first exchange of the conversation is always sent. If not, the
            newest one always is, shortened if it is too long.
    """

    tokens: int
    exchanges: int
    characters: int | None = None
    keep_first: bool = True


class Size(NamedTuple):
    """The size of messages."""

    tokens: int = 0
    characters: int = 0

    def plus(self, other: "Size") -> "Size":
        """Return the size of both together."""
        return Size(self.tokens + other.tokens, self.characters + other.characters)


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
    """An answered turn, which is measured once.

    Args:
        turn: the turn.
        items: the evidence that was shown in it.
        first: whether it is the first exchange of the conversation.
        shows_evidence: whether its question is sent with the evidence.
        labels: what the labels of passages name.
    """

    turn: Turn
    items: tuple[EvidenceItem, ...]
    first: bool
    shows_evidence: bool
    labels: Labels
    sizes: dict[tuple[int, ...], Size] = field(default_factory=dict)
    """The size of its messages, by the positions of the items whose full text is sent."""

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
            evidence.append(format_item(numbers[item.passage.id], shown, self.labels))
        first = self.first and not in_full
        prompt = template.render(question=self.turn.question, evidence=evidence, first=first)
        answer = self.turn.answer
        if self.labels == "documents":
            documents = {number: passage_id for passage_id, number in numbers.items()}
            answer = write_document_labels(answer, documents)
        return RenderedExchange(
            prompt.messages[1], Message("assistant", answer), evidence, self.turn
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


def format_item(number: int, item: EvidenceItem, labels: Labels = "numbers") -> dict[str, Any]:
    """Format a passage, or a hint at one, for the template.

    The title stands above every text. A line of the text that only repeats it is left out. The
    content is title and text together, as they were shown.
    """
    passage = item.passage
    title = passage.title.strip()
    body = item.text
    if title and body.startswith(f"{title}\n"):
        body = body[len(title) + 1 :]
    return {
        "number": number,
        "label": format_label(number, passage.id, labels),
        "content": item.text,
        "title": title,
        "year": _format_year(passage),
        "authors": _format_authors(passage),
        "text": body,
        "hint": item.hint,
    }


def _format_authors(passage: Passage) -> str:
    """Join the authors in one line, where the corpus has them."""
    given = passage.metadata.get("authors") or ""
    return given if isinstance(given, str) else ", ".join(map(str, given))


def _format_year(passage: Passage) -> str:
    """Return the year, where the corpus has it."""
    return str(passage.metadata.get("year") or "")


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
        limits: of the exchanges that are sent.
        profile: personal statements of the user, for the system message.
        labels: what the labels of passages name.
    """

    template: PromptTemplate
    count_tokens: Callable[[str], int]
    evidence: EvidenceShown
    limits: HistoryLimits
    profile: tuple[str, ...] = ()
    labels: Labels = "numbers"
    exchanges: list[Exchange] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)
    passages: dict[int, str] = field(default_factory=dict)
    """Citation number -> passage id."""
    _by_turn: dict[str, Exchange] = field(default_factory=dict)

    @cached_property
    def system_message(self) -> Message:
        """The first message of the chat."""
        prompt = self.template.render(question="", evidence=[], first=True)
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
            evidence.append(format_item(number, item, self.labels))
        first = not self.exchanges
        prompt = self.template.render(question=question, evidence=evidence, first=first)
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
        """Select the exchanges that are sent before a question: the newest that fit.

        They follow each other without a gap among those that the memory shows, except that the
        first one may come before them (`HistoryLimits.keep_first`). A hint to a text that none of
        the exchanges before it shows becomes that text.
        """
        limits = self.limits
        used = self._system_tokens + self._count_message(question.text)
        limits = replace(limits, tokens=limits.tokens - used)
        exchanges = self.list_exchanges(question)
        selected = self._select(exchanges, limits)
        oldest = 1 if limits.keep_first else 0  # that may be left out
        while len(selected) > 1 and not self._fit(selected, limits):
            del selected[oldest]
        if not limits.keep_first and exchanges:
            selected = selected or [exchanges[-1]]
            if len(selected) == 1:
                selected = self._shorten(selected[0], limits)
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
                turn, items, first=not self.exchanges, shows_evidence=sent, labels=self.labels
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
        return Exchange(turn, numbered, False, self.evidence == "every_turn", self.labels)

    def _shows_evidence(self) -> bool:
        """Tell whether the next question is sent with its evidence."""
        return self.evidence != "first_turn" or not self.exchanges

    @cached_property
    def _system_tokens(self) -> int:
        return self._count_message(self.system_message.content)

    def _count_message(self, text: str) -> int:
        return self.count_tokens(text) + TOKENS_PER_MESSAGE

    def _select(self, exchanges: Sequence[Exchange], limits: HistoryLimits) -> list[Exchange]:
        """Select the first exchange if it is always sent, and the newest that fit next to it."""
        first = list(exchanges[:1]) if limits.keep_first else []
        size = Size()
        for exchange in first:
            size = size.plus(self._measure(exchange))
        newest: list[Exchange] = []
        for exchange in reversed(exchanges[len(first) :]):
            size = size.plus(self._measure(exchange))
            if len(first) + len(newest) >= limits.exchanges or not _is_within(size, limits):
                break
            newest.append(exchange)
        return [*first, *reversed(newest)]

    def _shorten(self, exchange: Exchange, limits: HistoryLimits) -> list[Exchange]:
        """Shorten an exchange until it fits: leave out its last passages, then cut its answer.

        Nothing is left of it if its question alone does not fit.
        """
        shortened = exchange
        for count in range(len(exchange.items), -1, -1):
            shortened = replace(exchange, items=exchange.items[:count], sizes={})
            if self._fit([shortened], limits):
                return [shortened]
        question = shortened.render(self.template, self.numbers).question.content
        tokens = limits.tokens - self._count_message(question) - TOKENS_PER_MESSAGE
        answer = truncate_text(exchange.turn.answer, max(tokens, 0), self.count_tokens)
        if limits.characters is not None:
            characters = limits.characters - len(question)
            answer = truncate_text(answer, max(characters, 0), len)
        if not answer:
            return []
        return [replace(shortened, turn=replace(exchange.turn, answer=answer), sizes={})]

    def _measure(self, exchange: Exchange, in_full: tuple[int, ...] = ()) -> Size:
        """Measure both messages of an exchange, once."""
        if in_full not in exchange.sizes:
            question, answer, *_ = exchange.render(self.template, self.numbers, in_full)
            tokens = self._count_message(question.content) + self._count_message(answer.content)
            characters = len(question.content) + len(answer.content)
            exchange.sizes[in_full] = Size(tokens, characters)
        return exchange.sizes[in_full]

    def _fit(self, exchanges: Sequence[Exchange], limits: HistoryLimits) -> bool:
        """Whether exchanges fit as they are sent, with the texts of orphaned hints."""
        size = Size()
        for exchange, in_full in find_orphaned_hints(exchanges):
            size = size.plus(self._measure(exchange, in_full))
        return _is_within(size, limits)


def _is_within(size: Size, limits: HistoryLimits) -> bool:
    """Whether messages of this size are within the limits of tokens and characters."""
    if limits.characters is not None and size.characters > limits.characters:
        return False
    return size.tokens <= limits.tokens
