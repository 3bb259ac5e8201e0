"""A turn as spans, for a tracker that traces: the turn, its stages, and the calls of language
models that they made.

A tracker makes a `TurnTrace` when a turn starts, tells it of each stage, and takes its spans when
the turn has ended.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from convrag.api.completions import Completion, Prompt
from convrag.api.conversations import Question
from convrag.api.passages import Hit, Passage
from convrag.api.records import TurnRecord, Usage
from convrag.api.rows import make_plain
from convrag.sdk.groups import OPTION_KEY

_KINDS = {"memory": "MEMORY", "retriever": "RETRIEVER", "reranker": "RERANKER"}
"""Stage -> the kind of its span; the others are a CHAIN."""

Row = dict[str, Any]
"""A span as plain data, as `make_span` makes it."""

Exchange = Mapping[str, str]
"""A turn as later ones see it: its "question" and "answer"."""


@dataclass(frozen=True)
class EndedStage:
    """A stage of a turn that has ended.

    Args:
        name: its group ("rewriter").
        end: in nanoseconds since 1970.
        replies: of language models in the turn by then.
        ranking: what a retriever found, in its own order; the record of the whole turn has the
            reranker's.
        error: why it failed; empty if it did not.
    """

    name: str
    end: int
    replies: int
    ranking: Sequence[Hit] = ()
    error: str = ""


class TurnTrace:
    """One turn while it runs, and as spans when it has ended.

    Args:
        config: of the run or of the pipeline: the options of the stages, and which history a turn
            sees.
        question: with the history that the turn sees.
    """

    def __init__(self, config: Mapping[str, Any], question: Question) -> None:
        self.config = config
        self._history: Sequence[Exchange] = [
            {"question": turn.question, "answer": turn.answer} for turn in question.history
        ]
        self._start = time.time_ns()
        self._end = 0
        self._stages: list[EndedStage] = []

    def end_stage(self, stage: str, record: TurnRecord) -> None:
        """Note that a stage has ended."""
        ranking = record.hits if stage == "retriever" else ()
        self._stages.append(EndedStage(stage, time.time_ns(), len(record.replies), ranking))

    def end(self) -> None:
        """Note that the turn has ended."""
        self._end = time.time_ns()

    def make(self, record: TurnRecord) -> list[Row]:
        """Make the spans: the turn's own first, then its stages, each followed by its calls."""
        history = None if self.config.get("history") == "none" else self._history
        stages = make_stage_spans(record, self._stages, self._start, history, self.config)
        row = record.to_dict()
        told = {
            "convrag.conversation": record.conversation_id,
            "convrag.turn": record.turn_id,
            "convrag.number": record.number,
            "convrag.domain": record.domain,
            "convrag.models": sorted({reply.model for _, reply in record.replies if reply.model}),
            "convrag.profile": row.get("profile"),
            "convrag.fallbacks": row["fallbacks"],
            "convrag.labels": row["labels"],
            "convrag.reference": record.reference,
            "convrag.relevant": row["gold"],
        }
        attributes = {name: value for name, value in told.items() if value}
        said = {"question": record.original_query}, describe_result(record)
        root = make_span(
            "turn",
            "CHAIN",
            self._start,
            self._end,
            *said,
            attributes,
            parent=None,
            error=record.error,
        )
        return [root, *stages]


def make_span(
    name: str,
    kind: str,
    start: int,
    end: int,
    inputs: Any,
    outputs: Any,
    attributes: Mapping[str, Any],
    *,
    parent: int | None = 0,
    error: str = "",
    events: Mapping[str, Mapping[str, str]] | None = None,
) -> Row:
    """Make a span as plain data.

    Args:
        name: of the stage, or of the task of a language model.
        kind: "CHAIN", "MEMORY", "RETRIEVER", "RERANKER", "CHAT_MODEL", or "TASK" for what a rule
            does.
        start: in nanoseconds since 1970.
        end: likewise.
        inputs: plain data; None for none.
        outputs: likewise.
        attributes: name -> plain data; "model", "tokens" and "cost" where the span has them.
        parent: the parent's place in the list of the turn's spans; None for the root, which is the
            first.
        error: why it failed; empty if it did not.
        events: name -> attributes.
    """
    given = {**attributes, "kind": kind, "inputs": inputs, "outputs": outputs}
    attributes = {key: value for key, value in given.items() if value is not None}
    span = {"name": name, "start": start, "end": end, "parent": parent, "attributes": attributes}
    return {**span, "error": error, "events": dict(events or {})}


def make_stage_spans(
    record: TurnRecord,
    stages: Sequence[EndedStage],
    start: int,
    history: Sequence[Exchange] | None,
    config: Mapping[str, Any],
) -> list[Row]:
    """Make the spans that stand behind the root of a turn.

    Stages run one after the other. The end of each was noted and its seconds were measured.

    Args:
        record: of the turn.
        stages: that have ended, in their order.
        start: of the turn, in nanoseconds since 1970; 0 where it is not known.
        history: the turns before, as this one sees them; None where it sees none.
        config: has the options of the stages.
    """
    spans: list[Row] = []
    row = record.to_dict()
    end, replies = start, 0
    for stage in [*stages, *_find_failed(record, stages, start)]:
        name = stage.name
        begin = max(end, stage.end - _to_nanoseconds(record.timings.get(name)))
        calls, usage = record.replies[replies : stage.replies], record.usage.get(name, Usage())
        inputs, outputs = _describe_stage(stage, record, row, history)
        if fallback := record.fallbacks.get(name, ""):
            outputs = {"fallback": fallback, **(outputs or {})}
        told = {
            "convrag.option": get_option(config, name),
            "convrag.trace": row["trace"].get(name),
            "convrag.usage": {
                key: value for key, value in row["usage"].get(name, {}).items() if value
            },
            "convrag.fallback": fallback,
        }
        counted = {} if calls else count_usage(usage)
        attributes = {**counted, **{key: value for key, value in told.items() if value}}
        kind = _KINDS.get(name, "CHAIN")
        events = {"fallback": {"reason": fallback}} if fallback else {}
        outputs = None if stage.error else outputs
        spans.append(
            make_span(
                name,
                kind,
                begin,
                stage.end,
                inputs,
                outputs,
                attributes,
                error=stage.error,
                events=events,
            )
        )
        spans += make_call_spans(calls, usage, begin, stage.end, parent=len(spans))
        end, replies = stage.end, stage.replies
    return spans


def make_call_spans(
    calls: Sequence[tuple[Prompt, Completion]], usage: Usage, start: int, end: int, *, parent: int
) -> Iterator[Row]:
    """Make a span for each call of a language model in a stage, in the order of the replies.

    How long a call took is known, and not when it began. They stand one after the other; all at the
    stage's beginning where they took longer together than the stage, which then has asked from
    several threads. A reply from the store takes no time.

    Args:
        calls: prompts and replies.
        usage: of the stage: tells whether its replies come from the store.
        start: of the stage, in nanoseconds since 1970.
        end: likewise.
        parent: the place of the stage's span in the turn's list.
    """
    stored = None if usage.calls and usage.reused else bool(usage.reused)
    lengths = [
        0 if stored else min(_to_nanoseconds(reply.seconds), end - start) for _, reply in calls
    ]
    at_once = sum(lengths) > end - start
    begin = start
    for (prompt, reply), length in zip(calls, lengths, strict=True):
        counted = count_usage(reply)
        attributes = {
            **counted,
            "model": reply.model or None,
            "convrag.stored": stored,
            "convrag.retries": reply.retries,
            "convrag.seconds": reply.seconds,
        }
        kind = "CHAT_MODEL" if counted.get("tokens") else "TASK"  # rules count no tokens
        messages = {
            "messages": [{"role": each.role, "content": each.content} for each in prompt.messages]
        }
        choice: Row = {
            "index": 0,
            "message": {"role": "assistant", "content": reply.text},
        }  # as MLflow shows a chat
        choice |= {"finish_reason": reply.finish_reason} if reply.finish_reason else {}
        yield make_span(
            prompt.task,
            kind,
            begin,
            begin + length,
            messages,
            {"choices": [choice]},
            attributes,
            parent=parent,
        )
        begin = start if at_once else begin + length


def count_usage(of: Usage | Completion) -> Row:
    """The attributes "tokens" and "cost" (in US dollars) of a call, a stage or a turn.

    No tokens where no language model was asked; no cost where that is nothing, or not known.
    """
    counted: Row = {}
    if total := of.prompt_tokens + of.completion_tokens:
        tokens = {
            "input_tokens": of.prompt_tokens,
            "output_tokens": of.completion_tokens,
            "total_tokens": total,
        }
        counted["tokens"] = tokens | (
            {"cache_read_input_tokens": of.cached_tokens} if of.cached_tokens else {}
        )
    if of.cost_usd:
        counted["cost"] = {"total_cost": float(of.cost_usd)}
    return counted


def describe_result(record: TurnRecord) -> Row:
    """The answer with the passages that it cites, in the order in which it first names them; or the
    error.
    """
    if record.error:
        return {"error": record.error}
    numbers = {item.passage.id: item.number for item in record.evidence.items}
    names = {hit.passage.id: _name(hit.passage) for hit in record.hits}
    names |= {item.passage.id: _name(item.passage) for item in record.evidence.items}
    cited = [
        {"number": numbers.get(each), "title": names.get(each, ""), "id": each}
        for each in record.answer.citations
    ]
    return {"answer": record.answer.text, "citations": cited}


def _find_failed(record: TurnRecord, stages: Sequence[EndedStage], start: int) -> list[EndedStage]:
    """The stage that ended the turn by an error; it began when the last one before it ended.

    There is none where the turn was stopped when a stage had ended.
    """
    name, _, reason = record.error.partition(": ")
    if not name or any(name == stage.name for stage in stages):
        return []
    begin = stages[-1].end if stages else start
    return [
        EndedStage(
            name,
            begin + _to_nanoseconds(record.timings.get(name)),
            len(record.replies),
            error=reason,
        )
    ]


def _describe_stage(
    stage: EndedStage, record: TurnRecord, row: Row, history: Sequence[Exchange] | None
) -> tuple[Any, Any]:
    """What a stage was given and what it gave, as far as the record of the turn says."""
    question, query = {"question": record.original_query}, {"query": record.rewritten_query}
    match stage.name:
        case "memory":
            return {**question, **_describe_history(record, history)}, row["trace"].get("memory")
        case "rewriter":
            return question, {"queries": row["queries"]}
        case "search":
            return {**question, **query}, row["trace"].get("search")
        case "retriever":
            return {"queries": row["queries"]}, _list_documents(stage.ranking)
        case "reranker":
            ranking = [
                {
                    "rank": rank,
                    "score": make_plain(hit.score),
                    "title": _name(hit.passage),
                    "id": hit.passage.id,
                }
                for rank, hit in enumerate(record.hits, 1)
            ]
            return query, {"ranking": ranking}
        case "selector":
            return query | {"passages": len(record.hits)}, {
                "passages": _list_evidence(record, texts=False)
            }
        case "context":
            return query, {"evidence": _list_evidence(record, texts=True)}
        case "generator":
            return question | query | {
                "evidence": _list_evidence(record, texts=False)
            }, describe_result(record)
    return None, None  # of a later version


def _describe_history(record: TurnRecord, history: Sequence[Exchange] | None) -> Row:
    """The turns before; where the data set gives turns without asking them, how many."""
    if history is None:
        return {"history": []}
    given = record.number - 1 - len(history)
    return {"history": list(history)} | ({"given_before": given} if given else {})


def _list_documents(ranking: Iterable[Hit]) -> list[Row]:
    """What a retriever found, best first, in the form that MLflow's page shows as documents."""
    return [
        {
            "page_content": passage.text,
            "id": passage.id,
            "metadata": {
                "title": passage.title,
                "score": make_plain(hit.score),
                "rank": rank,
                "chunk_id": passage.id,
                "doc_uri": passage.url or passage.name,
            },
        }
        for rank, hit in enumerate(ranking, 1)
        for passage in [hit.passage]
    ]


def _list_evidence(record: TurnRecord, *, texts: bool) -> list[Row]:
    """The passages that the model saw, in the order in which it saw them; with `texts`, what was
    shown of each.
    """
    return [
        {"number": item.number, "title": _name(item.passage), "id": item.passage.id}
        | ({"text": item.text, "hint": item.hint} if texts else {})
        for item in record.evidence.items
    ]


def _name(passage: Passage) -> str:
    return passage.place or passage.title


def get_option(config: Mapping[str, Any], group: str) -> str:
    """The option of a group; empty for a configuration without the group."""
    settings = config.get(group)
    return str(settings.get(OPTION_KEY, "")) if isinstance(settings, Mapping) else ""


def _to_nanoseconds(seconds: float | None) -> int:
    return round((seconds or 0.0) * 1e9)


Clear = Callable[[str], str]
"""Takes keys, passwords and control characters out of a text."""


def clear_all(value: Any, clear: Clear) -> Any:
    """Plain data with every text cleared, keys included."""
    if isinstance(value, str):
        return clear(value)
    if isinstance(value, Mapping):
        return {clear(key): clear_all(each, clear) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [clear_all(each, clear) for each in value]
    return value
