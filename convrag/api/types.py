"""The data that flows between the stages of a turn. All of it is immutable plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

Role = Literal["system", "user", "assistant"]


class Message(NamedTuple):
    """One chat message, as it is sent to a model.

    Args:
        role: who says it: "system", "user" or "assistant".
        content: the text.

    Example:
        >>> Message("user", "How hot should green tea be?").role
        'user'
    """

    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class Passage:
    r"""A piece of text that is retrieved, shown to a model and cited.

    Args:
        id: unique in its domain's corpus.
        text: the text, without the title.
        title: of the document or section it is from; may be empty.
        url: where a reader finds it; may be empty.
        metadata: plain data that a data set or chunker keeps with it. A passage that was cut from a document has
            `document`, `start`, `end` and `place` (see `convrag.sdk.document_passages`).

    Example:
        >>> passage = Passage("tea-2", "Green tea is brewed at about eighty degrees.", title="Tea")
        >>> passage.content
        'Tea\nGreen tea is brewed at about eighty degrees.'
    """

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

    Args:
        id: unique in the data set; by custom "conversation<::>number".
        question: what the user said.
        answer: what was answered; empty where there is no answer: of a failed turn, say.
        passages: those that the answer is based on.
        labels: of the data set ("answerability": "ANSWERABLE"); a turn in a question's history has none.
        shown: the evidence as the model saw it, if that is known.

    Example:
        >>> Turn("tea<::>1", "Why does a kettle whistle?", "Steam is forced through its lid.").shown
        ()
    """

    id: str
    question: str
    answer: str = ""
    passages: tuple[Passage, ...] = ()
    labels: Mapping[str, Any] = field(default_factory=dict)
    shown: tuple[EvidenceItem, ...] = ()


@dataclass(frozen=True, slots=True)
class Conversation:
    """The turns of one conversation in order.

    Args:
        id: unique in the data set.
        turns: what is asked, in order; at least one.
        domain: the name of the corpus that it is about.
        profile: personal statements of the user ("I'm vegetarian."), which hold in every turn.
        history: exchanges before the first of the turns: given with their answers, and not asked again.

    Example:
        >>> Conversation("tea", (Turn("tea<::>1", "Why does a kettle whistle?"),)).domain
        'default'
    """

    id: str
    turns: tuple[Turn, ...]
    domain: str = "default"
    profile: tuple[str, ...] = ()
    history: tuple[Turn, ...] = ()


@dataclass(frozen=True, slots=True)
class Question:
    """The question of the current turn, with its conversation's history.

    Args:
        text: what the user said.
        conversation_id: of the conversation.
        turn_id: of this turn.
        domain: the name of the corpus to search.
        number: of the turn in its conversation, from 1, whatever is seen of the history.
        history: the turns before this one, oldest first, as the memory gives them; empty with the setting history=none.
            What a model reads comes from here.
        before_memory: all turns before this one, where the memory shows a part of them only (see `whole_history`).
        standalone: the rewritten question, for the stages after the rewriter; before, empty.
        profile: personal statements of the user ("I'm vegetarian."), as far as they are known.
        stage_state: what `state` gives out.
        queries: all queries of the rewrite, for the stages after the rewriter; before, none.

    Example:
        >>> history = (Turn("tea<::>1", "Why does a kettle whistle?", "Steam is forced through its lid."),)
        >>> question = Question("And mine?", "tea", "tea<::>2", number=2, history=history)
        >>> [turn.question for turn in question.history]
        ['Why does a kettle whistle?']
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
    queries: tuple[Query, ...] = ()
    before_memory: tuple[Turn, ...] | None = None

    @property
    def whole_history(self) -> tuple[Turn, ...]:
        """All turns before this one, whatever the memory shows; empty with the setting history=none.

        For what must not change when a turn leaves the view: the numbers of the passages that earlier answers cite.
        """
        return self.history if self.before_memory is None else self.before_memory

    def state(self, stage: object) -> dict[str, Any]:
        """Return the dictionary in which a stage keeps data about this conversation from turn to turn.

        It is empty after a restart, so a stage must be able to rebuild its contents from the history.
        """
        return self.stage_state.setdefault(stage, {})


@dataclass(frozen=True, slots=True)
class MemoryView:
    """What the later stages of a turn see of the history.

    Args:
        history: turns, oldest first: the conversation's, and what the memory has made of several (a summary).
            A turn that it made has an id of its own, and a question and an answer that are not empty.
        trace: how it was chosen, as plain data, for the record.
        fallback: why the memory could not do its work; empty if it could.

    Example:
        >>> last = Turn("tea<::>5", "And how long?", "Two minutes.")
        >>> MemoryView((last,), {"left_out": 4}).fallback
        ''
    """

    history: tuple[Turn, ...]
    trace: Mapping[str, Any] = field(default_factory=dict)
    fallback: str = ""


@dataclass(frozen=True, slots=True)
class Query:
    """A standalone search query. The pipeline fills in the turn and the domain; a rewriter need not.

    Args:
        text: what is searched for.
        weight: beside the other queries of its rewrite; above 0.
        turn_id: of the turn.
        domain: the name of the corpus to search.
        search: which kind of search it is for: by words ("lexical"), by vectors ("dense"), or both ("any"). A retriever
            takes the queries for its kind, see `convrag.sdk.queries`.
        source: the rewriter that made it, where a rewrite has the queries of several.

    Example:
        >>> Query("kettle whistle steam", weight=0.5, search="lexical").domain
        'default'
    """

    text: str
    weight: float = 1.0
    turn_id: str = ""
    domain: str = "default"
    search: Literal["any", "lexical", "dense"] = "any"
    source: str = ""


@dataclass(frozen=True, slots=True)
class Rewrite:
    """One or more standalone queries for a question.

    Args:
        queries: at least one; the first is the rewritten question that later stages see.
        trace: how they were made, as plain data, for the record.
        fallback: why the rewriter had to return the original question; empty if it did not have to.

    Example:
        >>> rewrite = Rewrite.of("How hot should green tea be?", turns=2)
        >>> rewrite.text, rewrite.trace
        ('How hot should green tea be?', {'turns': 2})
        >>> len(Rewrite((Query("green tea"), Query("temperature", weight=0.5))).queries)
        2
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
    """A passage that was found.

    Args:
        passage: the passage.
        score: what ranked it; higher is better. Its scale is the retriever's.

    Example:
        >>> Hit(Passage("tea-2", "Green tea is brewed at about eighty degrees."), 7.3).passage.id
        'tea-2'
    """

    passage: Passage
    score: float


@dataclass(frozen=True, slots=True)
class SearchStep:
    """One of the searches of a turn: what it is for, and, when it is done, what it found.

    Args:
        queries: what is searched for; none where the turn has no further search.
        trace: why these, or why no more, as plain data, for the record.
        fallback: why the search could not be planned as chosen; empty if it could.
        hits: what was found, best first; the pipeline fills it in.

    Example:
        >>> SearchStep((Query("green tea temperature"),), {"missing": "the temperature"}).hits
        ()
    """

    queries: tuple[Query, ...] = ()
    trace: Mapping[str, Any] = field(default_factory=dict)
    fallback: str = ""
    hits: tuple[Hit, ...] = ()


@dataclass(frozen=True, slots=True)
class Selection:
    """The passages that were chosen of those that were found.

    Args:
        hits: of those that were found, unchanged, in the order in which they are shown; the best first.
        trace: why these and so many, as plain data, for the record.
        fallback: why the selector could not do its work; empty if it could.

    Example:
        >>> hits = [Hit(Passage("tea-1", "Kettles whistle."), 2.0), Hit(Passage("tea-2", "Tea is brewed."), 0.1)]
        >>> len(Selection(tuple(hit for hit in hits if hit.score > 1), {"least": 1}).hits)
        1
    """

    hits: tuple[Hit, ...]
    trace: Mapping[str, Any] = field(default_factory=dict)
    fallback: str = ""


@dataclass(frozen=True, slots=True)
class Nugget:
    """A span of a passage that answers (part of) a query.

    Args:
        text: `passage.text[start:end]`, without a change.
        passage_id: of the passage.
        start: of the span in the passage's text, in characters from 0.
        end: the character after its last one.

    Example:
        >>> passage = Passage("tea-2", "Green tea is brewed at about eighty degrees.")
        >>> nugget = Nugget("about eighty degrees", "tea-2", 23, 43)
        >>> nugget.text == passage.text[nugget.start : nugget.end]
        True
    """

    text: str
    passage_id: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class EvidenceItem:
    """A passage as the model sees it.

    Args:
        number: by which the answer cites it, as [number]; above 0, and one passage's alone in this turn.
        passage: the passage.
        text: what is shown of it: all, a part, or a hint.
        hint: whether the text only points to the full text, which stands in an earlier message.
        score: the one that ranked the passage in this turn; the pipeline fills it in. None: it was not ranked.

    Example:
        >>> passage = Passage("tea-2", "Green tea is brewed at about eighty degrees.", title="Tea")
        >>> EvidenceItem(1, passage, passage.content).hint
        False
    """

    number: int
    passage: Passage
    text: str
    hint: bool = False
    score: float | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Evidence:
    """The passages that the model sees in this turn.

    Args:
        items: in the order in which they are shown.
        trace: what was left out or saved, as plain data, for the record.

    Example:
        >>> passages = [Passage("tea-1", "Kettles whistle."), Passage("tea-2", "Tea is brewed.")]
        >>> evidence = Evidence(tuple(EvidenceItem(n, each, each.text) for n, each in enumerate(passages, 1)))
        >>> [item.number for item in evidence.items]
        [1, 2]
    """

    items: tuple[EvidenceItem, ...] = ()
    trace: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PassageSpan:
    """A part of a passage.

    Args:
        passage_id: of the passage.
        start: of the part in `passage.text`, in characters from 0.
        end: the character after its last one.

    Example:
        >>> PassageSpan("tea-2", 23, 43).end
        43
    """

    passage_id: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Support:
    """A statement of an answer, and the parts of passages that it rests on.

    Args:
        start: of the statement in `answer.text`, in characters from 0.
        end: the character after its last one.
        spans: the parts of passages.

    Example:
        >>> support = Support(0, 20, (PassageSpan("tea-2", 23, 43),))
        >>> Answer("About eighty degrees [1].", ("tea-2",), support=(support,)).find_spans("tea-2")
        [(23, 43)]
    """

    start: int
    end: int
    spans: tuple[PassageSpan, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """The assistant's answer.

    Args:
        text: the answer; it may cite the evidence by number, as in "About eighty degrees [1]."
        citations: ids of passages in the evidence, in order of first mention.
        trace: how it was made, as plain data, for the record. Its `fallback` says why the generator could not do its
            work as chosen.
        support: which parts of the passages its statements rest on, where the generator knows that; what shows the
            answer marks them. In passages that are not named there, it marks the sentences with the same words.

    Example:
        >>> Answer("About eighty degrees [1].", ("tea-2",)).citations
        ('tea-2',)
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

    `PromptTemplate.render` makes one. Language models read `messages`; rule-based LLM stages read `task` and `inputs`.

    Args:
        task: what is asked for ("rewrite", "answer").
        messages: as they are sent.
        inputs: what the messages were made of, by name.
        sampling: parameters that override the llm's (temperature, max_tokens, ...).
        attempt: counts from 0. A second attempt is a new call, so the remembered reply to the first is not used.
        room: tokens that the reply needs: a smaller max_tokens of the llm's own is raised to them.

    Example:
        >>> from dataclasses import replace
        >>> prompt = Prompt("rewrite", (Message("user", "Rewrite: And mine?"),), {"question": "And mine?"})
        >>> replace(prompt, sampling={"temperature": 0.0}, attempt=1).attempt
        1
    """

    task: str
    messages: tuple[Message, ...]
    inputs: Mapping[str, Any] = field(default_factory=dict)
    sampling: Mapping[str, Any] = field(default_factory=dict)
    attempt: int = 0
    room: int = 0


@dataclass(frozen=True, slots=True)
class Completion:
    """A model's reply.

    Args:
        text: the reply; where the model calls tools instead (`tools` in the sampling), its calls as JSON, a list of
            objects with `name` and `arguments`, a text in which the model wrote them as JSON.
        prompt_tokens: of the prompt, as the model counts.
        completion_tokens: of the reply.
        cached_tokens: of the prompt's, those that the provider had cached.
        cost_usd: of the call, in US dollars; None if the price is not known.
        seconds: of the original call, also where the reply comes from the store.
        retries: calls that failed before this one.
        model: that replied, as the provider names it.
        finish_reason: why the model ended it, as OpenAI names it: stop, length (cut at max_tokens), content_filter;
            empty if that is not known.
        first_words: likely first tokens -> the logarithm of their probability, where `logprobs` was asked for and the
            server gives them.

    Example:
        >>> Completion("How hot should green tea be?", prompt_tokens=31, completion_tokens=7, cost_usd=0.0001).text
        'How hot should green tea be?'
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
    first_words: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Usage:
    """The calls, tokens, costs and times of one stage in one turn.

    Args:
        calls: made in this run.
        reused: answered from the store. Tokens count for both.
        prompt_tokens: of all prompts; 0 where no language model was asked, but rules (`LLM.tasks`).
        completion_tokens: of all replies.
        cached_tokens: prompt tokens that the provider had cached.
        cost_usd: what all calls cost when they were made, in US dollars.
        spent_usd: what was spent in this run.
        unpriced: replies without a known price.
        seconds: spent in this run waiting for replies.
        retries: calls that failed and were made again.
        reused_seconds: that the reused calls took when they were made, if known.
        failed: of the calls, those that raised an error.
        cut: replies that ended at max_tokens.
        filtered: replies that the provider's content filter ended.

    Example:
        >>> Usage(calls=1, seconds=0.5) + Usage(calls=2, seconds=1.0) == Usage(calls=3, seconds=1.5)
        True
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
    failed: int = 0
    cut: int = 0
    filtered: int = 0

    @property
    def tokens(self) -> int:
        """Those of prompts and replies together; 0 where no language model was asked."""
        return self.prompt_tokens + self.completion_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(*(getattr(self, name) + getattr(other, name) for name in self.__slots__))
