"""The data that flows between the stages of a turn. All of it is immutable plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

Role = Literal["system", "user", "assistant"]


class Message(NamedTuple):
    """One chat message, as it is sent to a model."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of text that is retrieved, shown to a model and cited."""

    id: str
    text: str
    title: str = ""
    url: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def content(self) -> str:
        """Title and text; the text alone if it begins with the title."""
        return self.text if self.text.startswith(self.title) else f"{self.title}\n{self.text}"

    @property
    def place(self) -> str:
        """Where it stands in its document, for people: "leave.md, 'Sick leave', page 3"; empty if in no document."""
        place = self.metadata.get("place")
        return place if isinstance(place, str) and "document" in self.metadata else ""

    @property
    def name(self) -> str:
        """What people know it by: its place, else its title, else its id."""
        return self.place or self.title or self.id


@dataclass(frozen=True, slots=True)
class Turn:
    """A user's utterance and the answer to it: a row of a data set, or an exchange in a question's history.

    `passages` are the passages that the answer is based on. `shown` is the evidence as the model saw it, if that is
    known. `labels` come from the data set (for example, answerability); a turn in a question's history has none.
    """

    id: str
    question: str
    answer: str = ""
    passages: tuple[Passage, ...] = ()
    labels: Mapping[str, Any] = field(default_factory=dict)
    shown: tuple[EvidenceItem, ...] = ()


@dataclass(frozen=True, slots=True)
class Conversation:
    """The turns of one conversation in order; `domain` names the corpus that it is about.

    `profile` are personal statements of the user ("I'm vegetarian."), which hold in every turn. `history` are exchanges
    before the first of the turns: they are given, with their answers, and nobody asks them again.
    """

    id: str
    turns: tuple[Turn, ...]
    domain: str = "default"
    profile: tuple[str, ...] = ()
    history: tuple[Turn, ...] = ()


@dataclass(frozen=True, slots=True)
class Question:
    """The question of the current turn, with its conversation's history.

    `history` holds the turns before this one, oldest first; it is empty with the setting history=none. `number` counts
    the conversation's turns from 1 in any case. `standalone` is the rewritten question, for stages after the rewriter.
    `profile` are personal statements of the user ("I'm vegetarian."), as far as they are known.
    """

    text: str
    conversation_id: str = ""
    turn_id: str = ""
    domain: str = "default"
    number: int = 1
    history: tuple[Turn, ...] = ()
    standalone: str = ""
    profile: tuple[str, ...] = ()
    stage_state: dict[object, dict[str, Any]] = field(
        default_factory=dict, repr=False, compare=False, metadata={"identity": False}
    )

    def state(self, stage: object) -> dict[str, Any]:
        """Return the dictionary in which a stage keeps data about this conversation from turn to turn.

        It is empty after a restart, so a stage must be able to rebuild its contents from the history.
        """
        return self.stage_state.setdefault(stage, {})


@dataclass(frozen=True, slots=True)
class Query:
    """A standalone search query. The pipeline fills in the turn and the domain; a rewriter need not.

    `search` says which kind of search it is for: by words ("lexical"), by vectors ("dense"), or both ("any"). A
    retriever takes the queries for its kind, see `convrag.sdk.queries`. `source` names the rewriter that made it, where
    a rewrite has the queries of several.
    """

    text: str
    weight: float = 1.0
    turn_id: str = ""
    domain: str = "default"
    search: Literal["any", "lexical", "dense"] = "any"
    source: str = ""


@dataclass(frozen=True, slots=True)
class Rewrite:
    """One or more standalone queries; `trace` says how the rewriter made them.

    `fallback` says why the rewriter had to return the original question; it is empty if it did not have to.
    """

    queries: tuple[Query, ...]
    trace: Mapping[str, Any] = field(default_factory=dict)
    fallback: str = ""

    @classmethod
    def of(cls, text: str, *, fallback: str = "", **trace: Any) -> Rewrite:
        """Make a rewrite of a single query."""
        return cls((Query(text),), trace, fallback)

    @property
    def text(self) -> str:
        """The text of the first query."""
        return self.queries[0].text


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage and the score that ranked it; higher is better."""

    passage: Passage
    score: float


@dataclass(frozen=True, slots=True)
class Nugget:
    """A span of a passage that answers (part of) a query: `text == passage.text[start:end]`, in characters."""

    text: str
    passage_id: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class EvidenceItem:
    """A passage as the model sees it: `[number]` and `text`. A hint points to the full text in an earlier message.

    `score` is the one that ranked the passage in this turn; the pipeline fills it in. None: it was not ranked.
    """

    number: int
    passage: Passage
    text: str
    hint: bool = False
    score: float | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Evidence:
    """The passages that the model sees in this turn, in this order; `trace` says what was left out or saved."""

    items: tuple[EvidenceItem, ...] = ()
    trace: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PassageSpan:
    """A part of a passage: `passage.text[start:end]`, in characters."""

    passage_id: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Support:
    """A statement of an answer, `answer.text[start:end]` in characters, and the parts of passages that it rests on."""

    start: int
    end: int
    spans: tuple[PassageSpan, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """The assistant's answer. `citations` are ids of passages in the evidence, in order of first mention.

    `support` says which parts of the passages its statements rest on, where the generator knows that; what shows the
    answer marks them. For passages that are not named there, it marks the sentences with the same words.
    """

    text: str
    citations: tuple[str, ...] = ()
    trace: Mapping[str, Any] = field(default_factory=dict)
    support: tuple[Support, ...] = ()

    def find_spans(self, passage_id: str) -> list[tuple[int, int]]:
        """Find the parts of a passage that the answer rests on, as (start, end), in order; none where it is unknown."""
        spans = (span for support in self.support for span in support.spans)
        return sorted({(span.start, span.end) for span in spans if span.passage_id == passage_id})


@dataclass(frozen=True, slots=True)
class Prompt:
    """A request to a language model: the chat messages, and their content as named inputs.

    Language models read `messages`. Rule-based LLM stages read `task` ("rewrite", "answer", ...) and `inputs`.
    `sampling` (temperature, max_tokens, ...) overrides the parameters of the llm. `attempt` counts from 0; a second
    attempt is a new call, so the remembered reply to the first is not used.
    """

    task: str
    messages: tuple[Message, ...]
    inputs: Mapping[str, Any] = field(default_factory=dict)
    sampling: Mapping[str, Any] = field(default_factory=dict)
    attempt: int = 0


@dataclass(frozen=True, slots=True)
class Completion:
    """A model's reply. `cost_usd` is None if the price is not known; `seconds` is the time of the original call.

    `finish_reason` is why the model ended it, as OpenAI names it: stop, length (cut at max_tokens), content_filter;
    empty if that is not known.
    """

    text: str
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    cost_usd: float | None = None
    seconds: float = 0.0
    retries: int = 0
    model: str = ""
    finish_reason: str = ""
