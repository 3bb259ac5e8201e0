"""One turn: question -> memory -> rewriter -> retriever -> reranker -> selector -> context -> generator -> answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from convrag.api.errors import ConfigError, ConvragError, RunStopped
from convrag.api.records import TurnRecord
from convrag.api.secrets import redact
from convrag.api.stages import Context, Generator, Memory, Ranker, Retriever, Rewriter, Selector
from convrag.api.types import Answer, Evidence, Hit, MemoryView, Message, Query, Question, Rewrite, Selection
from convrag.config.settings import Settings
from convrag.store.cancellation import check_cancelled
from convrag.store.remember import answer_again
from convrag.store.streaming import listen_with
from convrag.store.usage import UsageMeter
from convrag.turn import results
from convrag.turn.defects import explain_error
from convrag.turn.logs import FailureLog

Listener = Callable[[str], None]
Watcher = Callable[[str, TurnRecord], None]


class Stages(NamedTuple):
    """The stages of a turn in order. Without a memory the whole history is seen; without a selector, the first n."""

    memory: Memory | None
    rewriter: Rewriter
    retriever: Retriever
    reranker: Ranker
    selector: Selector | None
    context: Context
    generator: Generator


@dataclass(frozen=True)
class TurnOptions:
    """The options of one turn; `Pipeline.turn` explains them. Raises ConfigError for a `top_k` below 1."""

    query: str | None = None
    top_k: int | None = None
    generate: bool = True
    listener: Listener | None = None
    watch: Watcher | None = None
    attempt: int = 0

    def __post_init__(self) -> None:
        if self.top_k is not None and self.top_k < 1:
            raise ConfigError(f"top_k={self.top_k}: it must be at least 1")


@dataclass
class TurnInProgress:
    """A turn in progress: its question, the stages, and their results so far."""

    question: Question
    stages: Stages
    settings: Settings
    failures: FailureLog
    options: TurnOptions = TurnOptions()
    meter: UsageMeter = field(default_factory=UsageMeter)
    queries: tuple[Query, ...] = ()
    hits: tuple[Hit, ...] = ()
    selected: tuple[Hit, ...] | None = None
    evidence: Evidence = Evidence()
    answer: Answer = Answer("")
    prompt: tuple[Message, ...] = ()
    trace: dict[str, dict[str, Any]] = field(default_factory=dict)
    fallbacks: dict[str, str] = field(default_factory=dict)
    error: str = ""
    stage: str = ""
    """The one that runs, or was the last to."""

    def run(self) -> TurnRecord:
        """Run all stages. A stage that fails without a fallback ends the turn.

        Raises:
            RunStopped: the run must stop.
            Cancelled: the turn was cancelled (see `convrag.store.cancellation`).
        """
        for name, step in self._list_steps():
            self.stage = name
            check_cancelled()
            try:
                with self.meter.measure_stage(name), answer_again(self.options.attempt):
                    step()
            except RunStopped:
                raise
            except Exception as error:
                self.error = f"{name}: {self._log_failure(error, name)}"
                break
            if self.options.watch:
                self.options.watch(name, self.make_record())
        return self.make_record()

    def rewrite(self) -> Rewrite:
        """View the history and rewrite the question, without the other stages."""
        self.view_history()
        return self.rewrite_question()

    def view_history(self) -> None:
        """Put what the memory lets the later stages see in place of the history; if that fails, they see all of it."""
        if (memory := self.stages.memory) is None:
            return
        try:
            view = results.check_view(memory, memory.view(self.question))
        except RunStopped:
            raise
        except Exception as error:
            self.fallbacks["memory"] = self._log_failure(error, "memory")
            return
        if view.history is not self.question.history:
            self.question = replace(self.question, history=view.history, before_memory=self.question.history)
        self._note("memory", view)

    def rewrite_question(self) -> Rewrite:
        """Rewrite the question as standalone queries; if that fails, the question is the query."""
        try:
            rewrite = self._make_rewrite()
            if not any(query.text.strip() for query in rewrite.queries):
                rewrite = Rewrite.of(self.question.text, fallback="the rewriter gave no query")
        except RunStopped:
            raise
        except Exception as error:
            rewrite = Rewrite.of(self.question.text, fallback=self._log_failure(error, "rewriter"))
        turn, domain = self.question.turn_id, self.question.domain
        self.queries = tuple(replace(q, turn_id=turn, domain=domain) for q in rewrite.queries if q.text.strip())
        self.question = replace(self.question, standalone=self.queries[0].text, queries=self.queries)
        self._note("rewriter", rewrite)
        return replace(rewrite, queries=self.queries)

    def retrieve(self) -> None:
        """Retrieve passages for the queries."""
        retriever = self.stages.retriever
        hits = retriever.retrieve(self.queries, self.options.top_k or self.settings.top_k)
        self.hits = results.check_hits(retriever, hits)

    def rerank(self) -> None:
        """Rerank the passages; if that fails, they keep their order."""
        try:
            self.hits = rerank_hits(self.stages.reranker, self.queries[0].text, self.hits)
        except RunStopped:
            raise
        except Exception as error:
            self.fallbacks["reranker"] = self._log_failure(error, "reranker")

    def select(self) -> None:
        """Choose passages for the evidence; if that fails, take the first ones."""
        if (selector := self.stages.selector) is None:
            return
        try:
            chosen = selector.select(self.question, self.hits, self._count_wanted())
            selection = results.check_selection(selector, chosen, self.hits)
        except RunStopped:
            raise
        except Exception as error:
            self.fallbacks["selector"] = self._log_failure(error, "selector")
            return
        self.selected = selection.hits
        self._note("selector", selection)

    def assemble(self) -> None:
        """Make the evidence, which the model sees, of the chosen passages."""
        hits = self.hits[: self._count_wanted()] if self.selected is None else self.selected
        generator, context = self.stages.generator, self.stages.context
        messages = results.check_messages(generator, generator.messages(self.question))
        evidence = results.check_evidence(context, context.assemble(self.question, hits, messages))
        self.evidence = results.add_scores(evidence, hits)
        self.trace["context"] = dict(self.evidence.trace)

    def generate(self) -> None:
        """Generate the answer. The listener gets it in pieces if the generator streams, else as a whole."""
        if not self.options.generate:
            return
        generator, listener = self.stages.generator, self.options.listener
        replies = self.meter.replies
        before = len(replies)
        try:
            with listen_with(listener if generator.streams else None):
                self.answer = results.check_answer(generator, generator.generate(self.question, self.evidence))
        finally:
            self.prompt = replies[-1][0].messages if len(replies) > before else ()
        if listener and not generator.streams:
            listener(self.answer.text)
        self.trace["generator"] = dict(self.answer.trace)

    def make_record(self) -> TurnRecord:
        """Make the record of the turn from the results so far."""
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
            timings=dict(self.meter.timings),
            usage=dict(self.meter.usage),
            fallbacks=dict(self.fallbacks),
            error=self.error,
            replies=tuple(self.meter.replies),
            prompt=self.prompt,
            attempt=self.options.attempt,
            profile=question.profile,
        )

    def _list_steps(self) -> Iterator[tuple[str, Callable[[], object]]]:
        """List the steps of the turn, each with the group of its stage."""
        if self.stages.memory:
            yield "memory", self.view_history
        yield "rewriter", self.rewrite_question
        yield "retriever", self.retrieve
        yield "reranker", self.rerank
        if self.stages.selector:
            yield "selector", self.select
        yield "context", self.assemble
        yield "generator", self.generate

    def _count_wanted(self) -> int:
        """Return how many passages the evidence should have."""
        return self.options.top_k or self.settings.top_n

    def _note(self, stage: str, result: MemoryView | Rewrite | Selection) -> None:
        """Note what a stage says of its result: how it came about, and why it is less than it should be."""
        self.trace[stage] = dict(result.trace)
        if result.fallback:
            self.fallbacks[stage] = result.fallback

    def _make_rewrite(self) -> Rewrite:
        if self.options.query is not None:
            return Rewrite.of(self.options.query, edited=True)
        return results.check_rewrite(self.stages.rewriter, self.stages.rewriter.rewrite(self.question))

    def _log_failure(self, error: Exception, stage: str) -> str:
        """Log the failure of a stage, and return its reason: for a mistake in its code, with the file and the line."""
        reason = redact(explain_error(error, getattr(self.stages, stage)))
        self.failures.log_failure(reason, "turn %s: %s failed: %s", self.question.turn_id, stage, reason, error=error)
        return reason


def rerank_hits(ranker: Ranker, query: str, hits: tuple[Hit, ...]) -> tuple[Hit, ...]:
    """Sort hits by the ranker's scores. If all scores are equal, the hits keep their order and their own scores."""
    scores = results.check_scores(ranker, ranker.score(query, [hit.passage.content for hit in hits]))
    if len(scores) != len(hits):
        raise ConvragError(f"{type(ranker).__name__} gave {len(scores)} scores for {len(hits)} texts")
    if len(set(scores)) < 2:
        return hits
    order = sorted(range(len(hits)), key=lambda index: -scores[index])
    return tuple(Hit(hits[index].passage, scores[index]) for index in order)
