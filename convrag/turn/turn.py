"""One turn: question -> rewriter -> retriever -> reranker -> context -> generator -> answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from convrag.api.errors import ConvragError, RunStopped
from convrag.api.records import TurnRecord
from convrag.api.stages import Context, Generator, Ranker, Retriever, Rewriter
from convrag.api.types import Answer, Evidence, Hit, Query, Question, Rewrite
from convrag.config.settings import Settings
from convrag.store.streaming import listen_with
from convrag.store.usage import UsageMeter
from convrag.turn.logs import WarnOnce

Listener = Callable[[str], None]


class Stages(NamedTuple):
    """The stages of a turn, in their order."""

    rewriter: Rewriter
    retriever: Retriever
    reranker: Ranker
    context: Context
    generator: Generator


@dataclass(frozen=True)
class Plan:
    """What is particular to one turn: see `Pipeline.turn`."""

    query: str | None = None
    top_k: int | None = None
    generate: bool = True
    listener: Listener | None = None


@dataclass
class TurnInProgress:
    """A question on its way through the stages, and what has come of it so far."""

    question: Question
    stages: Stages
    settings: Settings
    warnings: WarnOnce
    plan: Plan = Plan()
    meter: UsageMeter = field(default_factory=UsageMeter)
    queries: tuple[Query, ...] = ()
    hits: tuple[Hit, ...] = ()
    evidence: Evidence = Evidence()
    answer: Answer = Answer("")
    trace: dict[str, dict[str, Any]] = field(default_factory=dict)
    fallbacks: dict[str, str] = field(default_factory=dict)
    error: str = ""

    def run(self) -> TurnRecord:
        """Go through all stages. One that fails without a fallback ends the turn. Raises RunStopped, nothing else."""
        steps = (self.rewrite, self.retrieve, self.rerank, self.assemble, self.generate)
        for stage, step in zip(Stages._fields, steps, strict=True):
            try:
                with self.meter.measure_stage(stage):
                    step()
            except RunStopped:
                raise
            except Exception as error:
                self.error = f"{stage}: {self._reason(error, stage)}"
                break
        return self.record()

    def rewrite(self) -> Rewrite:
        """Make the question stand alone; where that fails, it is searched for as it is."""
        try:
            rewrite = self._rewritten()
            if not any(query.text.strip() for query in rewrite.queries):
                rewrite = Rewrite.of(self.question.text, fallback="the rewriter gave no query")
        except RunStopped:
            raise
        except Exception as error:
            rewrite = Rewrite.of(self.question.text, fallback=self._reason(error, "rewriter"))
        turn, domain = self.question.turn_id, self.question.domain
        self.queries = tuple(replace(q, turn_id=turn, domain=domain) for q in rewrite.queries if q.text.strip())
        self.question = replace(self.question, standalone=self.queries[0].text)
        self.trace["rewriter"] = dict(rewrite.trace)
        if rewrite.fallback:
            self.fallbacks["rewriter"] = rewrite.fallback
        return replace(rewrite, queries=self.queries)

    def retrieve(self) -> None:
        """Find passages."""
        self.hits = tuple(self.stages.retriever.retrieve(self.queries, self.plan.top_k or self.settings.top_k))

    def rerank(self) -> None:
        """Put them in a better order; where that fails, the order stays."""
        try:
            self.hits = rerank(self.stages.reranker, self.queries[0].text, self.hits)
        except RunStopped:
            raise
        except Exception as error:
            self.fallbacks["reranker"] = self._reason(error, "reranker")

    def assemble(self) -> None:
        """Decide what the model sees."""
        hits = self.hits[: self.plan.top_k or self.settings.top_n]
        messages = self.stages.generator.messages(self.question)
        self.evidence = self.stages.context.assemble(self.question, hits, messages)
        self.trace["context"] = dict(self.evidence.trace)

    def generate(self) -> None:
        """Answer, letting who listens hear it."""
        if not self.plan.generate:
            return
        generator, listener = self.stages.generator, self.plan.listener
        with listen_with(listener if generator.streams else None):
            self.answer = generator.generate(self.question, self.evidence)
        if listener and not generator.streams:
            listener(self.answer.text)
        self.trace["generator"] = dict(self.answer.trace)

    def record(self) -> TurnRecord:
        """What has come of it so far."""
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

    def _rewritten(self) -> Rewrite:
        if self.plan.query is not None:
            return Rewrite.of(self.plan.query, edited=True)
        return self.stages.rewriter.rewrite(self.question)

    def _reason(self, error: Exception, stage: str) -> str:
        """Why a stage failed, in one line; what was not to be expected leaves its traceback in the log."""
        known = isinstance(error, ConvragError)
        reason = str(error) if known else f"{type(error).__name__}: {error}"
        self.warnings.warn(reason, "turn %s: %s failed: %s", self.question.turn_id, stage, reason, error=error)
        return reason


def rerank(ranker: Ranker, query: str, hits: tuple[Hit, ...]) -> tuple[Hit, ...]:
    """The hits by the ranker's scores; one that scores all the same leaves their order and their scores alone."""
    scores = [float(score) for score in ranker.score(query, [hit.passage.content for hit in hits])]
    if len(scores) != len(hits):
        raise ConvragError(f"{type(ranker).__name__} gave {len(scores)} scores for {len(hits)} texts")
    if len(set(scores)) < 2:
        return hits
    order = sorted(range(len(hits)), key=lambda index: -scores[index])
    return tuple(Hit(hits[index].passage, scores[index]) for index in order)
