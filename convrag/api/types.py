"""The words of convrag: what flows between the stages of a turn. Everything here is immutable plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

Role = Literal["system", "user", "assistant"]


class Message(NamedTuple):
    """One chat message, as it is sent to a model."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of text that can be retrieved, shown to a model and cited."""

    id: str
    text: str
    title: str = ""
    url: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def content(self) -> str:
        """Title and text, without the title where the text already begins with it."""
        return self.text if self.text.startswith(self.title) else f"{self.title}\n{self.text}"


@dataclass(frozen=True, slots=True)
class Turn:
    """A user's utterance and the answer to it: a row of a data set, or an exchange in a question's history.

    `passages` are those that the answer rests on; `shown` is how the model saw them, where that is known. `labels`
    (say, answerability) are the data set's; a turn in the history of a question carries none.
    """

    id: str
    question: str
    answer: str = ""
    passages: tuple[Passage, ...] = ()
    labels: Mapping[str, Any] = field(default_factory=dict)
    shown: tuple[EvidenceItem, ...] = ()


@dataclass(frozen=True, slots=True)
class Conversation:
    """The turns of one conversation in order; `domain` names the corpus that it talks about."""

    id: str
    turns: tuple[Turn, ...]
    domain: str = "default"


@dataclass(frozen=True, slots=True)
class Question:
    """What a user asks now, with what belongs to it.

    `history` holds only turns strictly before this one, oldest first. `number` counts the conversation's turns from 1,
    also where the history is hidden. `standalone` is the rewrite's text, for the stages after the rewriter.
    """

    text: str
    conversation_id: str = ""
    turn_id: str = ""
    domain: str = "default"
    number: int = 1
    history: tuple[Turn, ...] = ()
    standalone: str = ""
    stage_state: dict[object, dict[str, Any]] = field(default_factory=dict, repr=False, compare=False)

    def state(self, stage: object) -> dict[str, Any]:
        """`stage`'s own working memory for this conversation, kept from turn to turn.

        Whatever a stage puts here must be rebuildable from the history: it is gone after a restart.
        """
        return self.stage_state.setdefault(stage, {})


@dataclass(frozen=True, slots=True)
class Query:
    """A standalone search query. The pipeline fills in the turn and the domain; a rewriter need not."""

    text: str
    weight: float = 1.0
    turn_id: str = ""
    domain: str = "default"


@dataclass(frozen=True, slots=True)
class Rewrite:
    """One or more standalone queries, and how they came about.

    `fallback` says why the rewriter had to give the original question back; it is empty where all went well.
    """

    queries: tuple[Query, ...]
    trace: Mapping[str, Any] = field(default_factory=dict)
    fallback: str = ""

    @classmethod
    def of(cls, text: str, *, fallback: str = "", **trace: Any) -> Rewrite:
        """A rewrite that is a single query."""
        return cls((Query(text),), trace, fallback)

    @property
    def text(self) -> str:
        """The first query's text: the rewrite, where one text is wanted."""
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
    """A passage as the model sees it: `[number]` and `text`, which is a hint where the full text is already there."""

    number: int
    passage: Passage
    text: str
    hint: bool = False


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the model is shown in this turn, in this order; `trace` says what was left out or saved."""

    items: tuple[EvidenceItem, ...] = ()
    trace: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Answer:
    """What the assistant says. `citations` are ids of passages in the evidence, in order of first mention."""

    text: str
    citations: tuple[str, ...] = ()
    trace: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Prompt:
    """A request to a language model: the chat messages, and the same content as named inputs.

    A model reads `messages`. `task` ("rewrite", "answer", ...) and `inputs` say the same to an LLM stage that is no
    language model. `sampling` (temperature, max_tokens, ...) overrides the llm's own; `attempt` counts from 0 and makes
    asking again another call.
    """

    task: str
    messages: tuple[Message, ...]
    inputs: Mapping[str, Any] = field(default_factory=dict)
    sampling: Mapping[str, Any] = field(default_factory=dict)
    attempt: int = 0


@dataclass(frozen=True, slots=True)
class Completion:
    """A model's reply. `cost_usd` is None where no price is known; `seconds` is the time of the original call."""

    text: str
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    cost_usd: float | None = None
    seconds: float = 0.0
    retries: int = 0
    model: str = ""


@dataclass(frozen=True, slots=True)
class Usage:
    """What the calls of one stage in one turn took: made now, or `reused` from the store (tokens count for both).

    `cached_tokens` are those of the prompt that the provider had cached. `cost_usd` is what all calls cost when they
    were made, `spent_usd` what was spent now, `unpriced` the number of replies whose price nobody knows. `seconds` is
    what was waited for replies now, `reused_seconds` what all reused calls took when they were made, as far as known.
    """

    calls: int = 0
    reused: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    cost_usd: float = 0.0
    spent_usd: float = 0.0
    unpriced: int = 0
    seconds: float = 0.0
    retries: int = 0
    reused_seconds: float = 0.0

    def __add__(self, other: Usage) -> Usage:
        return Usage(*(getattr(self, name) + getattr(other, name) for name in self.__slots__))


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """All that happened in one turn. `trace`, `timings` (seconds), `usage` and `fallbacks` are keyed by stage.

    A turn that could not be answered has an `error`, and what had been done until then. `labels` are the data set's.
    `replies` are the prompts that were answered for it, with their answers; files hold them only where a run is
    recorded.
    """

    conversation_id: str
    turn_id: str
    domain: str
    number: int
    original_query: str
    queries: tuple[Query, ...] = ()
    hits: tuple[Hit, ...] = ()
    evidence: Evidence = Evidence()
    answer: Answer = Answer("")
    trace: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    timings: Mapping[str, float] = field(default_factory=dict)
    usage: Mapping[str, Usage] = field(default_factory=dict)
    fallbacks: Mapping[str, str] = field(default_factory=dict)
    error: str = ""
    labels: Mapping[str, Any] = field(default_factory=dict)
    replies: tuple[tuple[Prompt, Completion], ...] = field(default=(), repr=False)

    @property
    def rewritten_query(self) -> str:
        """The first query that was searched for; the user's own words where none was."""
        return self.queries[0].text if self.queries else self.original_query


@dataclass(frozen=True, slots=True)
class Run:
    """A run as its observers see it: where its files go, what was chosen, and how much there is to do.

    `notes` are what stages want a reader to know; `prompts` holds the templates by place and task. `sweep` is the id of
    the sweep that the run is a cell of; it is empty for a run by itself.
    """

    folder: Path
    config: Mapping[str, Any]
    conversations: int
    turns: int
    fingerprints: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    prompts: Mapping[str, str] = field(default_factory=dict)
    sweep: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """What a stage, a metric or an observer has to say about a run as a whole.

    `lines` are shown in the summary, `numbers` (plain data) stand in metrics.json under `title`, and `files`, by name,
    are written into the run's folder. Reports of one title are joined.
    """

    title: str
    lines: tuple[str, ...] = ()
    numbers: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)


class Measurement(dict[str, Mapping[str, float]]):
    """The values of a metric (turn id -> measure -> value), and a report on the run where it has one.

        return Measurement(values, report=Report("judging", lines))

    Args:
        values: by turn.
        report: what the metric has to say about the run as a whole.
    """

    def __init__(self, values: Mapping[str, Mapping[str, float]], *, report: Report | None = None) -> None:
        super().__init__(values)
        self.report = report


@dataclass(frozen=True, slots=True)
class Slice:
    """Some of a run's turns: how many of them are scored, and what their scores come to."""

    turns: int
    scores: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class RunSummary:
    """What a run came to: scores overall and per domain, counts, and what plugins report under their titles.

    `intervals` are the 95 % intervals of the overall scores. `slices` are the scores by turn position ("turn") and by
    the value of each label of the data set. `stopped` says why the run ended early (say, at a cost limit); it is empty
    where it did not.
    """

    overall: Mapping[str, float]
    domains: Mapping[str, Mapping[str, float]]
    scored: Mapping[str, int]
    turns: int
    failed: int
    fallbacks: Mapping[str, int]
    usage: Mapping[str, Usage]
    timings: Mapping[str, float]
    seconds: float
    reports: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    stopped: str = ""
    intervals: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    slices: Mapping[str, Mapping[str, Slice]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Cell:
    """One combination of a grid. Its id stands for its overrides, and is the name of its folder.

    `name` is what people call it: those of its overrides in which it differs from other cells.
    `state` is "ok", "reused" (finished by an earlier run of the same command), "failed", "same" (it is the same
    experiment as the cell whose id is `same_as`, and is not run), or empty while it is to come.
    """

    id: str
    overrides: tuple[str, ...]
    folder: Path
    state: str = ""
    error: str = ""
    name: str = ""
    same_as: str = ""


@dataclass(frozen=True, slots=True)
class Sweep:
    """A grid as its observers see it. `id` stands for the command: the same command again is the same sweep.

    `notes` say which factors made no difference to which cells.
    """

    id: str
    folder: Path
    cells: tuple[Cell, ...]
    config: Mapping[str, Any] = field(default_factory=dict)
    interrupted: bool = False
    notes: tuple[str, ...] = ()
