"""One turn: memory -> rewriter -> search, retriever -> reranker -> selector -> context -> generator
-> answer.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from convrag.api.answers import Answer
from convrag.api.completions import Message
from convrag.api.conversations import MemoryView, Question
from convrag.api.errors import ConfigError, ConvragError, RunStopped
from convrag.api.evidence import Evidence
from convrag.api.passages import Hit, Selection
from convrag.api.queries import Query, Rewrite, SearchStep
from convrag.api.records import TurnRecord
from convrag.api.secrets import redact
from convrag.api.stages import (
    Context,
    Generator,
    Memory,
    Ranker,
    Retriever,
    Rewriter,
    Search,
    Selector,
)
from convrag.concurrency.cancellation import check_cancelled
from convrag.concurrency.streaming import listen_with
from convrag.config.settings import Settings
from convrag.store.remember import answer_again
from convrag.store.usage import UsageMeter
from convrag.turn.defects import check_result, check_scores, explain_error, make_error
from convrag.turn.logs import FailureLog
from convrag.turn.observers import Observers


class Stages(NamedTuple):
    """The stages of a turn in order.

    Without a memory the whole history is seen, without a search there is one, and without a
    selector the first n count.
    """

    memory: Memory | None
    rewriter: Rewriter
    search: Search | None
    retriever: Retriever
    reranker: Ranker
    selector: Selector | None
    context: Context
    generator: Generator


class StageFinished(NamedTuple):
    """A stage ("rewriter") has ended well; the record holds the results so far."""

    stage: str
    record: TurnRecord


Listener = Callable[[Any], None]
"""Is called with each piece of the answer, a str, and with each StageFinished where these are
wanted.
"""


class Watch(NamedTuple):
    """Who watches the turns of a pipeline, and what they are told of it: its configuration, its
    name in a server.
    """

    observers: Observers
    config: Mapping[str, Any] = {}
    model: str = ""


@dataclass(frozen=True)
class TurnOptions:
    """The options of one turn; `Pipeline.turn` explains them. Raises ConfigError for a `top_k`
    below 1.
    """

    query: str | None = None
    top_k: int | None = None
    generate: bool = True
    listener: Listener | None = None
    stages: bool = False
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
    watch: Watch
    options: TurnOptions = TurnOptions()
    meter: UsageMeter = field(default_factory=UsageMeter)
    queries: tuple[Query, ...] = ()
    planned: SearchStep = SearchStep()
    steps: list[SearchStep] = field(default_factory=list)
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
        """Run all stages, and tell the observers. A stage that fails without a fallback ends the
        turn.

        Raises:
            RunStopped: the run must stop.
            Cancelled: the turn was cancelled (see `convrag.concurrency.cancellation`).
        """
        asked, (observers, config, model) = self.question, self.watch
        observers.notify("convrag_turn_started", question=asked, config=config, model=model)
        try:
            self._run_stages(asked)
        except BaseException as error:
            reason = (
                redact(str(error)) if isinstance(error, RunStopped) else "stopped before its end"
            )
            self.error = f"{self.stage}: {reason}"
            raise
        finally:
            record = self.make_record()
            observers.notify("convrag_turn_ended", question=asked, record=record)
        return record

    def _run_stages(self, asked: Question) -> None:
        observers, listener = (
            self.watch.observers,
            self.options.listener if self.options.stages else None,
        )
        watched = "convrag_stage_finished" in observers.heard
        for name, step in self._list_steps():
            self.stage = name
            check_cancelled()
            try:
                with self.meter.measure_stage(name), answer_again(self.options.attempt):
                    step()
            except RunStopped:
                raise
            except Exception as error:  # a plugin's own: it costs this turn, and no other
                self.error = f"{name}: {self._log_failure(error, name)}"
                break
            if watched or listener:
                record = self.make_record()
                observers.notify(
                    "convrag_stage_finished", question=asked, stage=name, record=record
                )
                if listener:
                    listener(StageFinished(name, record))

    def rewrite(self) -> Rewrite:
        """View the history and rewrite the question, without the other stages."""
        self.view_history()
        return self.rewrite_question()

    def view_history(self) -> None:
        """Put what the memory lets the later stages see in place of the history; if that fails,
        they see all of it.
        """
        if (memory := self.stages.memory) is None:
            return
        with self._falling_back("memory"):
            view: MemoryView = check_result(memory, "view", memory.view(self.question), MemoryView)
            if view.history is not self.question.history:
                self.question = replace(
                    self.question, history=view.history, before_memory=self.question.history
                )
            self._note("memory", view)

    def rewrite_question(self) -> Rewrite:
        """Rewrite the question as standalone queries; if that fails, the question is the query.

        A question that the generator reads as an empty text has no queries: nothing is searched
        for.
        """
        asked = self.stages.generator.read(self.question)
        if not asked.text and self.options.query is None:
            return Rewrite.of(self.question.text)
        rewriter, rewrite = self.stages.rewriter, Rewrite.of(asked.text)
        with self._falling_back("rewriter"):
            if self.options.query is not None:
                rewrite = Rewrite.of(self.options.query, edited=True)
            else:
                rewrite = check_result(rewriter, "rewrite", rewriter.rewrite(asked), Rewrite)
            if not any(query.text.strip() for query in rewrite.queries):
                rewrite = Rewrite.of(asked.text, fallback="the rewriter gave no query")
        if reason := self.fallbacks.get("rewriter"):
            rewrite = Rewrite.of(asked.text, fallback=reason)
        self.queries = self._complete(rewrite.queries)
        self.question = replace(
            self.question, standalone=self.queries[0].text, queries=self.queries
        )
        self.planned = SearchStep(self.queries)
        self._note("rewriter", rewrite)
        return replace(rewrite, queries=self.queries)

    def plan_search(self) -> None:
        """Plan the next search; without one, join what was found. If planning fails, only the first
        search is made.
        """
        search, k = self.stages.search, self.options.top_k or self.settings.top_k
        assert search
        with self._falling_back("search"):
            plan = search.plan(self.question, self.steps, sum(self.meter.timings.values()))
            step: SearchStep = check_result(search, "plan", plan, SearchStep)
            step = replace(step, queries=self._complete(step.queries))
            if step.queries and any(
                step.queries == made.queries for made in self.steps
            ):  # a model in circles
                step = replace(
                    step, queries=(), trace={**step.trace, "why": "it was searched for before"}
                )
            self.planned = step
            self._note("search", step)
        if not self.planned.queries:
            self.hits = check_result(
                search, "join", search.join(self.question, self.steps, k), [Hit]
            )
            self.queries = (
                tuple(dict.fromkeys(q for step in self.steps for q in step.queries)) or self.queries
            )
        rows = [
            {"queries": [q.text for q in s.queries], "found": len(s.hits), **s.trace}
            for s in self.steps
        ]
        rows += (
            [{"queries": [q.text for q in self.planned.queries]}] if self.planned.queries else []
        )
        self.trace["search"] = {**self.trace.get("search", {}), "steps": rows}

    def retrieve(self) -> None:
        """Retrieve passages for the queries of the rewrite, or of the planned search."""
        retriever, step = self.stages.retriever, self.planned
        hits = retriever.retrieve_for(
            self.question, step.queries, self.options.top_k or self.settings.top_k
        )
        self.hits = check_result(retriever, "retrieve", hits, [Hit])
        self.steps.append(replace(step, hits=self.hits))
        self.planned = SearchStep()
        if trace := retriever.explain(step.queries):
            self.trace["retriever"] = dict(trace)

    def rerank(self) -> None:
        """Rerank the passages; if that fails, they keep their order."""
        with self._falling_back("reranker"):
            self.hits = rerank_hits(self.stages.reranker, self.question, self.hits)

    def select(self) -> None:
        """Choose passages for the evidence; if that fails, take the first ones."""
        if (selector := self.stages.selector) is None:
            return
        with self._falling_back("selector"):
            chosen = selector.select(
                self.question, self.hits, self.options.top_k or self.settings.top_n
            )
            selection: Selection = check_result(selector, "select", chosen, Selection)
            if unknown := {hit.passage.id for hit in selection.hits} - {
                hit.passage.id for hit in self.hits
            }:
                said = f"select returned the passage {min(unknown)!r}, which is none of those it was given"
                raise make_error(selector, said, "select")
            self.selected = selection.hits
            self._note("selector", selection)

    def assemble(self) -> None:
        """Make the evidence, which the model sees, of the chosen passages, with the scores that
        ranked them.
        """
        hits = (
            self.hits[: self.options.top_k or self.settings.top_n]
            if self.selected is None
            else self.selected
        )
        generator, context = self.stages.generator, self.stages.context
        messages = check_result(generator, "messages", generator.messages(self.question), [Message])
        made = context.assemble(self.question, hits, messages)
        evidence: Evidence = check_result(context, "assemble", made, Evidence)
        scores = {hit.passage.id: hit.score for hit in reversed(hits)}
        items = tuple(
            replace(item, score=scores.get(item.passage.id, item.score)) for item in evidence.items
        )
        self.evidence = replace(evidence, items=items)
        self.trace["context"] = dict(self.evidence.trace)

    def generate(self) -> None:
        """Generate the answer. The listener gets it in pieces if the generator streams, else as a
        whole.
        """
        if not self.options.generate:
            return
        generator, listener = self.stages.generator, self.options.listener
        replies = self.meter.replies
        before = len(replies)
        try:
            with listen_with(listener if generator.streams else None):
                answer = generator.generate(self.question, self.evidence)
            self.answer = check_result(generator, "generate", answer, Answer)
        finally:
            self.prompt = replies[-1][0].messages if len(replies) > before else ()
        if listener and not generator.streams:
            listener(self.answer.text)
        self.trace["generator"] = dict(self.answer.trace)
        if reason := self.answer.trace.get("fallback"):
            self.fallbacks["generator"] = str(reason)

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
        """List the steps of the turn, each with the group of its stage; without queries, none of
        those that search.
        """
        if self.stages.memory:
            yield "memory", self.view_history
        yield "rewriter", self.rewrite_question
        if self.queries:
            search = self.stages.search
            plan = (
                [("search", self.plan_search)]
                if search and search.several and self.options.query is None
                else []
            )
            yield from plan
            while self.planned.queries:
                yield from [("retriever", self.retrieve), *plan]
            yield "reranker", self.rerank
            if self.stages.selector:
                yield "selector", self.select
            yield "context", self.assemble
        yield "generator", self.generate

    def _complete(self, queries: Iterable[Query]) -> tuple[Query, ...]:
        """Return those of the queries that have a text, with the turn and the domain."""
        turn, domain = self.question.turn_id, self.question.domain
        return tuple(
            replace(each, turn_id=turn, domain=domain) for each in queries if each.text.strip()
        )

    def _note(self, stage: str, result: MemoryView | Rewrite | SearchStep | Selection) -> None:
        """Note what a stage says of its result: how it came about, and why it is less than it
        should be.
        """
        self.trace[stage] = dict(result.trace)
        if result.fallback:
            self.fallbacks[stage] = result.fallback

    @contextmanager
    def _falling_back(self, stage: str) -> Iterator[None]:
        """Note an error of the block as the reason why a stage fell back."""
        try:
            yield
        except (
            RunStopped,
            ImportError,
        ):  # a library that cannot be imported is a defect, whichever stage needs it
            raise
        except Exception as error:  # a plugin's own: it costs this stage
            self.fallbacks[stage] = self._log_failure(error, stage)

    def _log_failure(self, error: Exception, stage: str) -> str:
        """Log the failure of a stage, and return its reason: for a mistake in its code, with the
        file and the line.
        """
        reason = redact(explain_error(error, getattr(self.stages, stage)))
        self.failures.log_failure(
            reason, "turn %s: %s failed: %s", self.question.turn_id, stage, reason, error=error
        )
        return reason


def rerank_hits(ranker: Ranker, question: Question, hits: tuple[Hit, ...]) -> tuple[Hit, ...]:
    """Sort hits by the ranker's scores. If all scores are equal, the hits keep their order and
    their own scores.
    """
    scores = check_scores(ranker, ranker.score_for(question, [hit.passage.content for hit in hits]))
    if len(scores) != len(hits):
        raise ConvragError(
            f"{type(ranker).__name__} gave {len(scores)} scores for {len(hits)} texts"
        )
    if len(set(scores)) < 2:
        return hits
    order = sorted(range(len(hits)), key=lambda index: -scores[index])
    return tuple(Hit(hits[index].passage, scores[index]) for index in order)
