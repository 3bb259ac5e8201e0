"""One turn: a question goes through the stages, and a record comes out.

memory -> rewriter -> search, retriever -> reranker -> selector -> context -> generator -> answer
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from convrag.api.answers import Answer
from convrag.api.completions import Message
from convrag.api.conversations import MemoryView, Question
from convrag.api.errors import ConfigError, RunStopped
from convrag.api.evidence import Evidence
from convrag.api.filters import join_filters
from convrag.api.passages import Candidates, Hit, Ranking, Selection
from convrag.api.queries import Query, Rewrite, SearchStep
from convrag.api.records import REASONING, TurnRecord
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
from convrag.concurrency.exits import is_failure
from convrag.concurrency.streaming import listen_with, notify_with
from convrag.config.settings import Settings
from convrag.store.remember import answer_again
from convrag.store.usage_meter import UsageMeter
from convrag.turn.defects import (
    check_hits,
    check_result,
    check_scores,
    check_type,
    explain_error,
    make_error,
)
from convrag.turn.logs import FailureLog
from convrag.turn.observers import Observers


class Stages(NamedTuple):
    """The stages of a turn in order.

    Without a memory the stages see the whole history, without a search the turn searches once, and
    without a selector the model sees the first n passages.
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
    """The event that a stage ("rewriter") has ended well; the record holds the results so far."""

    stage: str
    record: TurnRecord


class StageNotice(NamedTuple):
    """The event that a stage waits ("The model is asked again in 8 s"), for a listener to show.

    If it `restarts`, the pieces until now are not part of the answer, which begins after them.
    """

    stage: str
    text: str
    restarts: bool = False


Listener = Callable[[Any], None]
"""A function that is called with each piece of the answer, each StageFinished and StageNotice."""


class Audience(NamedTuple):
    """The observers of a pipeline's turns, and what they are given.

    Args:
        observers: the observers.
        config: the configuration of the pipeline.
        model: the name that a server gives to the pipeline.
    """

    observers: Observers
    config: Mapping[str, Any] = {}
    model: str = ""


@dataclass(frozen=True)
class TurnOptions:
    """The options of one turn, which `Pipeline.turn` explains.

    Raises ConfigError for a `top_k` below 1.
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
    """A turn in progress: its question, the stages, and their results so far.

    Args:
        question: the question as the next stage sees it.
        stages: the stages.
        settings: the settings of the pipeline.
        failures: logs the failures of stages.
        audience: the observers.
        options: the options of this turn.
    """

    question: Question
    stages: Stages
    settings: Settings
    failures: FailureLog
    audience: Audience
    options: TurnOptions = TurnOptions()
    meter: UsageMeter = field(default_factory=UsageMeter)
    queries: tuple[Query, ...] = ()
    planned: SearchStep = SearchStep()
    """The next search; one without queries when there is none."""
    steps: list[SearchStep] = field(default_factory=list)
    hits: tuple[Hit, ...] = ()
    contenders: dict[str, Hit] = field(default_factory=dict)
    """Passage id -> a hit that the reranker may rank among the others (see `Candidates`)."""
    selected: tuple[Hit, ...] | None = None
    evidence: Evidence = Evidence()
    answer: Answer = Answer("")
    prompt: tuple[Message, ...] = ()
    trace: dict[str, dict[str, Any]] = field(default_factory=dict)
    fallbacks: dict[str, str] = field(default_factory=dict)
    thoughts: dict[str, list[str]] = field(default_factory=dict)
    """Stage -> what models thought before they replied to it."""
    error: str = ""
    stage: str = ""
    """The stage that runs, or ran last."""

    def run(self) -> TurnRecord:
        """Run all stages, and call the observers.

        A stage that fails without a fallback ends the turn.

        Raises:
            RunStopped: the run must stop.
            Cancelled: the turn was cancelled (see `convrag.concurrency.cancellation`).
        """
        asked = self.question
        observers, config, model = self.audience
        observers.notify("convrag_turn_started", question=asked, config=config, model=model)
        try:
            self._run_stages(asked)
        except BaseException as error:
            stopped = isinstance(error, RunStopped)
            reason = redact(str(error)) if stopped else "stopped before its end"
            self.error = f"{self.stage}: {reason}"
            raise
        finally:
            record = self.make_record()
            observers.notify("convrag_turn_ended", question=asked, record=record)
        return record

    def _run_stages(self, asked: Question) -> None:
        for name, step in self._list_steps():
            self.stage = name
            check_cancelled()
            replies_before = len(self.meter.replies)
            try:
                with (
                    self.meter.measure_stage(name),
                    answer_again(self.options.attempt),
                    notify_with(self._find_notified(name)),
                ):
                    step()
            except RunStopped:
                raise
            except BaseException as error:
                if not is_failure(error):
                    raise
                # It is a plugin's own: it costs this turn, and no other
                self.error = f"{name}: {self._log_failure(error, name)}"
                return
            finally:
                self._keep_thoughts(name, replies_before)
            self._report_stage(asked, name)

    def _find_notified(self, stage: str) -> Callable[[str, bool], None] | None:
        """Return a function that passes the notices of a stage to the listener, if it wants any."""
        listener = self.options.listener
        if listener is None or not self.options.stages:
            return None
        return lambda text, restarts: listener(StageNotice(stage, text, restarts))

    def _keep_thoughts(self, stage: str, replies_before: int) -> None:
        """Keep what models thought before they replied to a stage."""
        for _, reply in self.meter.replies[replies_before:]:
            if reply.reasoning:
                self.thoughts.setdefault(stage, []).append(reply.reasoning)

    def _report_stage(self, asked: Question, name: str) -> None:
        """Tell the observers and the listener that a stage has ended well."""
        observers = self.audience.observers
        listener = self.options.listener if self.options.stages else None
        if listener is None and not observers.implements("convrag_stage_finished"):
            return
        record = self.make_record()
        observers.notify("convrag_stage_finished", question=asked, stage=name, record=record)
        if listener is not None:
            listener(StageFinished(name, record))

    def rewrite(self) -> Rewrite:
        """View the history and rewrite the question, without the other stages."""
        self.view_history()
        return self.rewrite_question()

    def view_history(self) -> None:
        """Replace the history by what the memory shows of it.

        If the memory fails, the later stages see the whole history.
        """
        memory = self.stages.memory
        if memory is None:
            return
        with self._fallback("memory"):
            whole = self.question.history
            view: MemoryView = check_type(memory, "view", memory.view(self.question), MemoryView)
            is_whole = view.history is whole
            unchecked = replace(view, history=()) if is_whole else view
            check_result(memory, "view", unchecked, MemoryView)
            if not is_whole:
                self.question = replace(self.question, history=view.history, before_memory=whole)
            self._add_trace("memory", view)

    def rewrite_question(self) -> Rewrite:
        """Rewrite the question as standalone queries; if that fails, the question is the query.

        A question that the generator reads as an empty text has no queries, so that nothing is
        searched for.
        """
        asked = self.stages.generator.read(self.question)
        if not asked.text and self.options.query is None:
            return Rewrite.of(self.question.text)
        rewrite = Rewrite.of(asked.text)
        with self._fallback("rewriter"):
            rewrite = self._ask_rewriter(asked)
        if reason := self.fallbacks.get("rewriter"):
            rewrite = Rewrite.of(asked.text, fallback=reason)
        self.queries = self._complete(rewrite.queries)
        self.question = replace(
            self.question, standalone=self.queries[0].text, queries=self.queries
        )
        self.planned = SearchStep(self.queries)
        self._add_trace("rewriter", rewrite)
        return replace(rewrite, queries=self.queries)

    def _ask_rewriter(self, asked: Question) -> Rewrite:
        """Return the rewrite of the rewriter, or of the query that the user has edited."""
        if self.options.query is not None:
            rewrite = Rewrite.of(self.options.query, edited=True)
        else:
            rewriter = self.stages.rewriter
            asked = replace(asked, top_k=self._count_hits())
            rewrite = check_result(rewriter, "rewrite", rewriter.rewrite(asked), Rewrite)
        if not any(query.text.strip() for query in rewrite.queries):
            return Rewrite.of(asked.text, fallback="the rewriter gave no query")
        return rewrite

    def plan_search(self) -> None:
        """Plan the next search, or join the results of the searches when there is no further one.

        If planning fails, the searches that were planned so far count.
        """
        search = self.stages.search
        assert search
        with self._fallback("search"):
            self.planned = self._ask_search(search)
            self._add_trace("search", self.planned)
        if not self.planned.queries:
            hits = search.join(self.question, self.steps, self._count_hits())
            self.hits = check_hits(search, "join", hits)
            searched = [query for step in self.steps for query in step.queries]
            self.queries = tuple(dict.fromkeys(searched)) or self.queries
        self.trace["search"] = {**self.trace.get("search", {}), "steps": self._trace_searches()}

    def _ask_search(self, search: Search) -> SearchStep:
        """Return the next search; one that was made before ends the searching."""
        seconds = sum(self.meter.timings.values())
        plan = search.plan(self.question, self.steps, seconds)
        step: SearchStep = check_result(search, "plan", plan, SearchStep)
        step = replace(step, queries=self._complete(step.queries))
        is_repeated = any(step.queries == earlier.queries for earlier in self.steps)
        if step.queries and is_repeated:  # a model goes in circles
            trace = {**step.trace, "why": "it was searched for before"}
            return replace(step, queries=(), trace=trace)
        return step

    def _trace_searches(self) -> list[dict[str, Any]]:
        """Return the queries and the number of hits of each search, and the queries of the next."""
        rows: list[dict[str, Any]] = []
        for step in self.steps:
            texts = [query.text for query in step.queries]
            rows.append({"queries": texts, "found": len(step.hits), **step.trace})
        if self.planned.queries:
            rows.append({"queries": [query.text for query in self.planned.queries]})
        return rows

    def retrieve(self) -> None:
        """Retrieve passages for the queries of the rewrite, or of the planned search."""
        retriever = self.stages.retriever
        step = self.planned
        condition = join_filters(query.filter for query in step.queries)
        if condition is not None:
            retriever.check_filter(condition, self.question.domain)
        found = retriever.find_candidates(self.question, step.queries, self._count_hits())
        candidates: Candidates = check_result(retriever, "find_candidates", found, Candidates)
        self.hits = check_hits(retriever, "retrieve", candidates.hits)
        for hit in check_hits(retriever, "find_candidates", candidates.contenders):
            self.contenders.setdefault(hit.passage.id, hit)
        self.steps.append(replace(step, hits=self.hits))
        self.planned = SearchStep()
        if candidates.trace:
            self.trace["retriever"] = dict(candidates.trace)

    def rerank(self) -> None:
        """Rerank the passages; if that fails, they keep their order.

        Contenders of the retriever are ranked with the others, and the best stay.
        """
        reranker = self.stages.reranker
        found = {hit.passage.id for hit in self.hits}
        contenders = [hit for id_, hit in self.contenders.items() if id_ not in found]
        with self._fallback("reranker"):
            ranking = rank_hits(reranker, self.question, (*self.hits, *contenders))
            self.hits = sort_hits((*self.hits, *contenders), ranking)[: len(self.hits)]
            self._add_trace("reranker", ranking)

    def select(self) -> None:
        """Choose passages for the evidence; if that fails, take the first ones."""
        selector = self.stages.selector
        if selector is None:
            return
        with self._fallback("selector"):
            chosen = selector.select(self.question, self.hits, self._count_shown())
            selection: Selection = check_result(selector, "select", chosen, Selection)
            known = {hit.passage.id for hit in self.hits}
            unknown = {hit.passage.id for hit in selection.hits} - known
            if unknown:
                problem = (
                    f"select returned the passage {min(unknown)!r}, "
                    "which is none of those it was given"
                )
                raise make_error(selector, problem, "select")
            self.selected = selection.hits
            self._add_trace("selector", selection)

    def assemble(self) -> None:
        """Make the evidence of the chosen passages, with the scores that ranked them."""
        generator = self.stages.generator
        context = self.stages.context
        hits = self.hits[: self._count_shown()] if self.selected is None else self.selected
        messages = check_result(generator, "messages", generator.messages(self.question), [Message])
        assembled = context.assemble(self.question, hits, messages)
        evidence: Evidence = check_result(context, "assemble", assembled, Evidence)
        scores = {hit.passage.id: hit.score for hit in reversed(hits)}
        items = tuple(
            replace(item, score=scores.get(item.passage.id, item.score)) for item in evidence.items
        )
        self.evidence = replace(evidence, items=items)
        self.trace["context"] = dict(self.evidence.trace)

    def _count_hits(self) -> int:
        """Return how many passages are retrieved."""
        return self.options.top_k or self.settings.top_k

    def _count_shown(self) -> int:
        """Return how many passages the model sees."""
        return self.options.top_k or self.settings.top_n

    def generate(self) -> None:
        """Generate the answer.

        The listener gets it in pieces if the generator streams, else as a whole.
        """
        if not self.options.generate:
            return
        generator = self.stages.generator
        listener = self.options.listener
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
            trace=self._make_trace(),
            timings=dict(self.meter.timings),
            usage=dict(self.meter.usage),
            fallbacks=dict(self.fallbacks),
            error=self.error,
            replies=tuple(self.meter.replies),
            prompt=self.prompt,
            attempt=self.options.attempt,
            profile=question.profile,
        )

    def _make_trace(self) -> dict[str, dict[str, Any]]:
        """Make the trace of the record: that of each stage, with the thoughts of its models."""
        trace = {stage: dict(entries) for stage, entries in self.trace.items() if entries}
        for stage, thoughts in self.thoughts.items():
            trace.setdefault(stage, {})[REASONING] = "\n\n".join(thoughts)
        return trace

    def _list_steps(self) -> Iterator[tuple[str, Callable[[], object]]]:
        """Yield the steps of the turn, each with the group of its stage.

        Without queries, the steps that search are left out.
        """
        if self.stages.memory:
            yield "memory", self.view_history
        yield "rewriter", self.rewrite_question
        if self.queries:
            plans = self._plans_searches()
            if plans:
                yield "search", self.plan_search
            while self.planned.queries:
                yield "retriever", self.retrieve
                if plans:
                    yield "search", self.plan_search
            yield "reranker", self.rerank
            if self.stages.selector:
                yield "selector", self.select
            yield "context", self.assemble
        yield "generator", self.generate

    def _plans_searches(self) -> bool:
        """Whether the search plans what this turn searches for; an edited query is not planned."""
        search = self.stages.search
        return search is not None and search.several and self.options.query is None

    def _complete(self, queries: Iterable[Query]) -> tuple[Query, ...]:
        """Return the queries that have a text, with the turn, the domain and the turn's filter."""
        question = self.question
        return tuple(
            replace(
                query,
                turn_id=question.turn_id,
                domain=question.domain,
                filter=join_filters([question.filter, query.filter]),
            )
            for query in queries
            if query.text.strip()
        )

    def _add_trace(
        self, stage: str, result: MemoryView | Rewrite | SearchStep | Ranking | Selection
    ) -> None:
        """Keep how the result of a stage came about, and why the stage fell back."""
        self.trace[stage] = dict(result.trace)
        if result.fallback:
            self.fallbacks[stage] = result.fallback

    @contextmanager
    def _fallback(self, stage: str) -> Iterator[None]:
        """Keep an error of the block as the reason why a stage fell back."""
        try:
            yield
        except (RunStopped, ImportError):  # a missing library is a defect, whichever stage needs it
            raise
        except BaseException as error:  # a plugin's own: it costs this stage
            if not is_failure(error):
                raise
            self.fallbacks[stage] = self._log_failure(error, stage)

    def _log_failure(self, error: BaseException, stage: str) -> str:
        """Log the failure of a stage, and return its reason.

        The reason of a mistake in its code has the file and the line.
        """
        reason = redact(explain_error(error, getattr(self.stages, stage)))
        self.failures.log_failure(
            reason, "turn %s: %s failed: %s", self.question.turn_id, stage, reason, error=error
        )
        return reason


def rank_hits(ranker: Ranker, question: Question, hits: Sequence[Hit]) -> Ranking:
    """Return the ranker's ranking of hits, with checked scores."""
    ranking: Ranking = check_result(ranker, "rank_hits", ranker.rank_hits(question, hits), Ranking)
    return replace(ranking, scores=check_scores(ranker, ranking.scores, len(hits)))


def sort_hits(hits: tuple[Hit, ...], ranking: Ranking) -> tuple[Hit, ...]:
    """Sort hits by the scores of a ranking.

    If all scores are equal, the hits keep their order and their own scores.
    """
    scores = [float(score) for score in ranking.scores]
    if len(set(scores)) < 2:
        return hits
    order = sorted(range(len(hits)), key=lambda index: -scores[index])
    return tuple(Hit(hits[index].passage, scores[index]) for index in order)
