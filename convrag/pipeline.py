"""One turn: question -> rewriter -> retriever -> reranker -> context -> generator -> answer."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from convrag.config import compose, settings_of
from convrag.conversation import Conversation, turn_of
from convrag.errors import ConvragError, RunStopped, UnknownName
from convrag.meter import Meter
from convrag.settings import Settings
from convrag.stages import Context, Generator, Ranker, Retriever, Rewriter
from convrag.streaming import Stream, listening
from convrag.types import Answer, Evidence, Hit, Query, Question, Rewrite, TurnRecord
from convrag.wiring import Wiring

log = logging.getLogger(__name__)


class Pipeline:
    """Answers questions, one turn at a time; conversations may go on side by side, from several threads.

        chat = Pipeline.compose("rewriter=full_history", "llm=extractive")
        record = chat.turn("my-conversation", "What is BERT?")

    Args:
        rewriter: makes the question stand alone.
        retriever: finds passages.
        reranker: puts them in a better order.
        context: decides what of them the model sees.
        generator: answers.
        settings: how many passages to retrieve and to show.
        domains: the corpora that a conversation can be about.
    """

    def __init__(
        self,
        *,
        rewriter: Rewriter,
        retriever: Retriever,
        reranker: Ranker,
        context: Context,
        generator: Generator,
        settings: Settings | None = None,
        domains: Sequence[str] = ("default",),
    ) -> None:
        self.rewriter = rewriter
        self.retriever = retriever
        self.reranker = reranker
        self.context = context
        self.generator = generator
        self.settings = settings or Settings()
        self.domains = tuple(domains)
        self._conversations: dict[str, Conversation] = {}
        self._guard = threading.Lock()
        self._reported: set[str] = set()

    @classmethod
    def compose(cls, *overrides: str) -> Pipeline:
        """The pipeline that the command would run with these overrides, checked and ready.

        Raises:
            ConfigError: something cannot be chosen or set.
            NotReady: something is missing: a key, a file, an extra.
        """
        config = compose(*overrides)
        wiring = Wiring(config)
        pipeline = cls.wired(wiring, settings_of(config))
        wiring.check()
        wiring.prepare()
        return pipeline

    @classmethod
    def wired(cls, wiring: Wiring, settings: Settings) -> Pipeline:
        """The pipeline of a wiring, not yet checked."""
        stages = {group: wiring.get(group) for group in ("rewriter", "retriever", "reranker", "context", "generator")}
        return cls(**stages, settings=settings, domains=wiring.get("dataset").domains())

    def turn(
        self,
        conversation_id: str,
        text: str,
        *,
        domain: str | None = None,
        listener: Callable[[str], None] | None = None,
    ) -> TurnRecord:
        """Ask the next question of a conversation; a new id begins a new one.

        A turn that fails is a record with an `error`; the conversation goes on.

        Args:
            conversation_id: any name; equal names share their history.
            text: what the user says.
            domain: the corpus that a new conversation is about; needed where there is more than one.
            listener: is called with the pieces of the answer as they come.
        """
        with self._guard:
            if (conversation := self._conversations.get(conversation_id)) is None:
                conversation = Conversation(conversation_id, self._domain(domain))
                self._conversations[conversation_id] = conversation
        with conversation.lock:
            record = self.answer(conversation.question(text, blind=self.settings.history == "none"), listener)
            conversation.add(turn_of(record))
        return record

    def stream(self, conversation_id: str, text: str, *, domain: str | None = None) -> Stream[TurnRecord]:
        """As `turn`, but to be iterated over: the pieces of the answer as they come; then it has the `record`."""
        return Stream(lambda listener: self.turn(conversation_id, text, domain=domain, listener=listener))

    def history(self, conversation_id: str) -> Conversation | None:
        """What was said in a conversation so far; None where there was none of that id."""
        return self._conversations.get(conversation_id)

    def reset(self, conversation_id: str) -> None:
        """Forget a conversation; an unknown id is nothing to forget."""
        with self._guard:
            self._conversations.pop(conversation_id, None)

    def answer(self, question: Question, listener: Callable[[str], None] | None = None) -> TurnRecord:
        """Answer one question from its own history, keeping nothing. Raises RunStopped, and nothing else."""
        turn = _Turn(question, listener)
        steps: tuple[tuple[str, Callable[[_Turn], None]], ...] = (
            ("rewriter", self._rewrite),
            ("retriever", self._retrieve),
            ("reranker", self._rerank),
            ("context", self._assemble),
            ("generator", self._generate),
        )
        for stage, step in steps:
            try:
                with turn.meter.stage(stage):
                    step(turn)
            except RunStopped:
                raise
            except Exception as error:
                turn.error = f"{stage}: {self._reason(error, stage, question)}"
                break
        return turn.record()

    def _reason(self, error: Exception, stage: str, question: Question) -> str:
        """Why a stage failed, in one line. The terminal sees each reason once, the log each time, with a traceback."""
        known = isinstance(error, ConvragError)
        reason = str(error) if known else f"{type(error).__name__}: {error}"
        level = logging.INFO if reason in self._reported else logging.WARNING
        self._reported.add(reason)
        log.log(level, "turn %s: %s failed: %s", question.turn_id, stage, reason, exc_info=None if known else error)
        return reason

    def _domain(self, named: str | None) -> str:
        if named is None and len(self.domains) == 1:
            return self.domains[0]
        if named not in self.domains:
            raise UnknownName("domain", str(named), self.domains)
        return named

    def _rewrite(self, turn: _Turn) -> None:
        question = turn.question
        try:
            rewrite = self.rewriter.rewrite(question)
            if not any(query.text.strip() for query in rewrite.queries):
                rewrite = Rewrite.of(question.text, fallback="the rewriter gave no query")
        except RunStopped:
            raise
        except Exception as error:
            rewrite = Rewrite.of(question.text, fallback=self._reason(error, "rewriter", question))
        queries = (query for query in rewrite.queries if query.text.strip())
        turn.queries = tuple(replace(query, turn_id=question.turn_id, domain=question.domain) for query in queries)
        turn.trace["rewriter"] = dict(rewrite.trace)
        if rewrite.fallback:
            turn.fallbacks["rewriter"] = rewrite.fallback

    def _retrieve(self, turn: _Turn) -> None:
        turn.hits = tuple(self.retriever.retrieve(turn.queries, self.settings.top_k))

    def _rerank(self, turn: _Turn) -> None:
        try:
            turn.hits = rerank(self.reranker, turn.queries[0].text, turn.hits)
        except RunStopped:
            raise
        except Exception as error:
            turn.fallbacks["reranker"] = self._reason(error, "reranker", turn.question)

    def _assemble(self, turn: _Turn) -> None:
        hits = turn.hits[: self.settings.top_n]
        turn.evidence = self.context.assemble(turn.question, hits, self.generator.messages(turn.question))
        turn.trace["context"] = dict(turn.evidence.trace)

    def _generate(self, turn: _Turn) -> None:
        with listening(turn.listener if self.generator.streams else None):
            turn.answer = self.generator.generate(turn.question, turn.evidence)
        if turn.listener and not self.generator.streams:
            turn.listener(turn.answer.text)
        turn.trace["generator"] = dict(turn.answer.trace)


def rerank(ranker: Ranker, query: str, hits: tuple[Hit, ...]) -> tuple[Hit, ...]:
    """The hits by the ranker's scores; one that scores all the same leaves their order and their scores alone."""
    scores = [float(score) for score in ranker.score(query, [hit.passage.content for hit in hits])]
    if len(scores) != len(hits):
        raise ConvragError(f"{type(ranker).__name__} gave {len(scores)} scores for {len(hits)} texts")
    if len(set(scores)) < 2:
        return hits
    order = sorted(range(len(hits)), key=lambda index: -scores[index])
    return tuple(Hit(hits[index].passage, scores[index]) for index in order)


@dataclass
class _Turn:
    """A turn while it is being answered."""

    question: Question
    listener: Callable[[str], None] | None = None
    meter: Meter = field(default_factory=Meter)
    queries: tuple[Query, ...] = ()
    hits: tuple[Hit, ...] = ()
    evidence: Evidence = Evidence()
    answer: Answer = Answer("")
    trace: dict[str, dict[str, Any]] = field(default_factory=dict)
    fallbacks: dict[str, str] = field(default_factory=dict)
    error: str = ""

    def record(self) -> TurnRecord:
        question = self.question
        return TurnRecord(
            conversation_id=question.conversation_id,
            turn_id=question.turn_id,
            domain=question.domain,
            number=question.number,
            original_query=question.text,
            queries=self.queries,
            hits=self.hits,
            evidence=self.evidence,
            answer=self.answer,
            trace={stage: trace for stage, trace in self.trace.items() if trace},
            timings=self.meter.timings,
            usage=self.meter.usage,
            fallbacks=self.fallbacks,
            error=self.error,
            replies=tuple(self.meter.replies),
        )
