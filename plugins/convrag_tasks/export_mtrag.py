"""IBM's formats: MTRAG's predictions, submissions to SemEval-2026 task 8 (MTRAGEval), and
InspectorRAGet's JSON.

From: scripts/evaluation/README.md and format_checker.py of github.com/IBM/mt-rag-benchmark.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from convrag import DataError, Hit, Passage, TurnRecord, UnknownName
from convrag.sdk.data.jsonl import read_lines
from convrag.sdk.data.strict_json import format_json
from convrag.sdk.tasks.runs import break_ties
from convrag_tasks.run_records import DatasetTurn, read_run_records, read_run_scores

LIMIT = 10
"""The most contexts of a turn that the format checker allows."""

COLLECTIONS: Mapping[str, str] = {
    "clapnq": "mt-rag-clapnq-elser-512-100-20240503",
    "govt": "mt-rag-govt-elser-512-100-20240611",
    "fiqa": "mt-rag-fiqa-beir-elser-512-100-20240501",
    "cloud": "mt-rag-ibmcloud-elser-512-100-20240502",
}
"""Domain -> the name of its collection in MTRAG's retrieval script; other domains keep their names.
"""

LABELS: Mapping[str, str] = {
    "answerability": "Answerability",
    "question_type": "Question Type",
    "multi_turn": "Multi-Turn",
}
"""Label -> its name in MTRAG's files; other labels keep their names."""


Subtask = Literal["retrieval", "reference", "rag"]

_KEPT = ("conversation_id", "task_id", "turn", "Collection", "input")


def format_mtrag_lines(
    records: Sequence[TurnRecord],
    turns: Mapping[str, DatasetTurn],
    contexts: Literal["evidence", "hits"],
) -> Iterator[str]:
    """The lines of the file. A turn that failed has an empty prediction, because the checker wants
    every turn.

    Args:
        records: of the run.
        turns: of the data set.
        contexts: whether a turn's contexts are its evidence or its hits.
    """
    for record in records:
        place = turns[record.turn_id]
        task = _make_task(record, place) | {
            "task_type": "rag",
            "contexts": format_contexts(shown_hits(record, contexts)),
            "targets": [{"speaker": "agent", "text": place.turn.answer}]
            if place.turn.answer
            else [],
            **rename_labels(place.turn.labels),
            "predictions": [{"text": record.answer.text}],
        }
        yield format_json(task)


def _make_task(record: TurnRecord, place: DatasetTurn) -> dict[str, Any]:
    return {
        "conversation_id": record.conversation_id,
        "task_id": record.turn_id,
        "turn": str(record.number),
        "Collection": COLLECTIONS.get(record.domain, record.domain),
        "input": list_messages(place),
    }


def exceeds_limit(record: TurnRecord, contexts: Literal["evidence", "hits"]) -> bool:
    """Whether a turn has more contexts than the checker allows."""
    return len(record.hits if contexts == "hits" else record.evidence.items) > LIMIT


def shown_hits(record: TurnRecord, contexts: Literal["evidence", "hits"]) -> list[Hit]:
    """The passages of a turn that its answer was given, with the scores that ranked them, or the
    whole ranking.
    """
    if contexts == "hits":
        return list(record.hits)
    scores = {hit.passage.id: hit.score for hit in record.hits}
    return [Hit(item.passage, scores.get(item.passage.id, 0.0)) for item in record.evidence.items]


def format_contexts(hits: Sequence[Hit]) -> list[dict[str, Any]]:
    """At most 10 passages. Their scores fall strictly, because MTRAG's retrieval script sorts them
    by score.
    """
    pairs = zip((hit.passage for hit in hits[:LIMIT]), break_ties(hits), strict=False)
    return [
        {
            "document_id": p.id,
            "source": "",
            "score": score,
            "text": p.text,
            "title": p.title,
            "url": p.url,
        }
        for p, score in pairs
    ]


def list_messages(place: DatasetTurn) -> list[dict[str, str]]:
    """The conversation up to the question, with the data set's answers, as MTRAG's tasks have it."""
    messages: list[dict[str, str]] = []
    said = (*place.conversation.history, *place.conversation.turns)
    for turn in said[: place.number - 1]:
        messages += [
            {"speaker": "user", "text": turn.question},
            {"speaker": "agent", "text": turn.answer},
        ]
    return [*messages, {"speaker": "user", "text": place.turn.question}]


def rename_labels(labels: Mapping[str, Any]) -> dict[str, list[str]]:
    """Labels by MTRAG's names, each with a list of values."""
    return {
        LABELS.get(name, name): [str(each) for each in value]
        if isinstance(value, list | tuple)
        else [str(value)]
        for name, value in labels.items()
    }


@dataclass(frozen=True)
class _Passage:
    document_id: str


@dataclass(frozen=True)
class _Task:
    task_id: str
    input: list[Any]
    contexts: list[_Passage] = field(default_factory=list)


def read_tasks(path: Path) -> dict[str, dict[str, Any]]:
    """The tasks of the benchmark's file (reference.jsonl, rag_taskAC.jsonl) by id. Raises
    DataError.
    """
    tasks: dict[str, dict[str, Any]] = {}
    for line in read_lines(path):
        task_id = line.parse(_Task, "a task of MTRAG").task_id
        if task_id in tasks:
            raise line.error(f"the task {task_id!r} occurs twice")
        tasks[task_id] = {"contexts": [], **line.json()}
    if not tasks:
        raise DataError("this file holds no tasks", path=path)
    return tasks


def make_tasks(
    records: Sequence[TurnRecord], turns: Mapping[str, DatasetTurn]
) -> dict[str, dict[str, Any]]:
    """Every turn of a run as a task, where the benchmark's own file is not at hand."""
    found = {}
    for record in records:
        place = turns[record.turn_id]
        own = format_contexts([Hit(passage, 0.0) for passage in place.turn.passages])
        found[record.turn_id] = _make_task(record, place) | {"contexts": own}
    return found


def format_submission_lines(
    subtask: Subtask,
    tasks: Mapping[str, Mapping[str, Any]],
    records: Sequence[TurnRecord],
    folder: Path,
) -> Iterator[str]:
    """A line for each task, in their order.

    retrieval (subtask A) has the ranking's first 10 passages and no answer; reference (B) the
    task's own passages and the answer; rag (C) the passages that the answer was given, and the
    answer.

    Args:
        subtask: which.
        tasks: task id -> the task.
        records: of the run; turns that are no tasks are left out.
        folder: of the run, for errors.

    Raises:
        DataError: the run lacks a task, which the checker refuses.
    """
    by_id = {record.turn_id: record for record in records}
    lacking = [task_id for task_id in tasks if task_id not in by_id]
    if lacking:
        message = f"the run lacks {len(lacking)} of {len(tasks)} tasks, for instance {lacking[0]!r}: run the whole part"
        raise DataError(message, path=folder)
    for task_id, task in tasks.items():
        record = by_id[task_id]
        line = {name: task[name] for name in _KEPT if name in task}
        if subtask == "reference":
            line["contexts"] = _score_contexts(task["contexts"])
        else:
            line["contexts"] = format_contexts(
                shown_hits(record, "hits" if subtask == "retrieval" else "evidence")
            )
        if subtask != "retrieval":
            line["predictions"] = [{"text": record.answer.text}]
        yield format_json(line)


def count_other_evidence(
    tasks: Mapping[str, Mapping[str, Any]], records: Sequence[TurnRecord]
) -> int:
    """How many answers were given passages that are not the task's own, which subtask B is about."""
    named = {
        task_id: {each.get("document_id") for each in task["contexts"]}
        for task_id, task in tasks.items()
    }
    return sum(
        bool({item.passage.id for item in record.evidence.items} - named[record.turn_id])
        for record in records
        if record.turn_id in named
    )


def _score_contexts(contexts: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The task's passages, each with a score, which the checker wants and reference passages may
    lack.
    """
    return [
        {
            **context,
            "score": score if isinstance(score := context.get("score"), int | float) else 1.0,
        }
        for context in contexts[:LIMIT]
    ]


_WORKER = "convrag"
_BINS = 10


class _Model(NamedTuple):
    """A run, which InspectorRAGet calls a model."""

    id: str
    records: Mapping[str, TurnRecord]
    scores: Mapping[str, Mapping[str, float]]


def format_inspector_lines(
    folders: Sequence[Path],
    turns: Mapping[str, DatasetTurn],
    wanted: Sequence[str],
    remarks: list[str],
) -> list[str]:
    """The file, as one line.

    InspectorRAGet drops a turn in which a model lacks a number. So a measure that some turn lacks
    is written as text, which is shown with the turn and in no chart; if measures are chosen, turns
    that lack one are left out instead.

    Args:
        folders: of finished runs over the same turns; each becomes a model.
        turns: of the data set.
        wanted: the measures to write; all if empty.
        remarks: gets a line about turns that were left out and measures that were written as text.

    Raises:
        DataError: the runs are not of the same turns.
        UnknownName: no turn has a wanted measure.
    """
    models = _read_models(folders)
    tasks = list(models[0].records)
    known = list(
        dict.fromkeys(
            name for model in models for turn in tasks for name in model.scores.get(turn, {})
        )
    )
    for name in wanted:
        if name not in known:
            raise UnknownName("task.measures: measure", name, known)
    measures = list(wanted) or known
    if wanted:
        scored = [
            turn for turn in tasks if all(_is_complete(name, models, [turn]) for name in wanted)
        ]
        remarks.append(f"{len(scored)} of them have {', '.join(wanted)}.")
        tasks = scored
    complete = [name for name in measures if _is_complete(name, models, tasks)]
    if partial := [name for name in measures if name not in complete]:
        remarks.append(
            f"Measures that some turns lack are text, and in no chart: {', '.join(partial)}."
        )
    metrics = [
        _make_metric(name, [model.scores[turn][name] for model in models for turn in tasks])
        if name in complete
        else {"name": name, "display_name": name, "author": "algorithm", "type": "text"}
        for name in measures
    ]
    document = {
        "name": " against ".join(model.id for model in models),
        "models": [
            {"model_id": model.id, "name": model.id, "owner": "convrag"} for model in models
        ],
        "metrics": metrics,
        "documents": _list_documents(models, tasks),
        "filters": _list_filters(turns[turn] for turn in tasks),
        "tasks": [_make_inspector_task(turns[turn], models[0].records[turn]) for turn in tasks],
        "evaluations": [
            _make_evaluation(model, turn, measures, set(complete))
            for model in models
            for turn in tasks
        ],
    }
    return [format_json(document)]


def _read_models(folders: Sequence[Path]) -> list[_Model]:
    models: list[_Model] = []
    for folder in folders:
        records = {record.turn_id: record for record in read_run_records(folder)}
        name = folder.resolve().name
        again = sum(model.id.partition(" (")[0] == name for model in models)
        models.append(
            _Model(f"{name} ({again + 1})" if again else name, records, read_run_scores(folder))
        )
        if records.keys() != models[0].records.keys():
            raise DataError(f"this run is not of the same turns as {folders[0]}", path=folder)
    return models


def _is_complete(measure: str, models: Sequence[_Model], tasks: Sequence[str]) -> bool:
    return all(measure in model.scores.get(turn, {}) for model in models for turn in tasks)


def _make_metric(name: str, values: Sequence[float]) -> dict[str, Any]:
    """A numerical measure with its range: 0 to 1, or further where its values go further."""
    low, high = min(0.0, *values), max(1.0, *values)
    kind = {"author": "algorithm", "type": "numerical", "aggregator": "average"}
    return {"name": name, "display_name": name, **kind, "range": [low, high, (high - low) / _BINS]}


def _list_documents(models: Sequence[_Model], tasks: Sequence[str]) -> list[dict[str, str]]:
    """The passages in the evidence of any answer, each once."""
    shown: dict[str, Passage] = {}
    for model in models:
        for turn in tasks:
            for item in model.records[turn].evidence.items:
                shown.setdefault(item.passage.id, item.passage)
    return [
        {"document_id": id_, "text": p.text, "title": p.title, "url": p.url}
        for id_, p in shown.items()
    ]


def _list_filters(places: Iterator[DatasetTurn]) -> list[str]:
    return [
        "domain",
        *dict.fromkeys(LABELS.get(name, name) for place in places for name in place.turn.labels),
    ]


def _make_inspector_task(place: DatasetTurn, record: TurnRecord) -> dict[str, Any]:
    return {
        "task_id": place.turn.id,
        "task_type": "rag",
        "domain": place.conversation.domain,
        **rename_labels(place.turn.labels),
        "input": list_messages(place),
        "contexts": _list_context_ids(record),
        "targets": [{"text": place.turn.answer}] if place.turn.answer else [],
    }


def _list_context_ids(record: TurnRecord) -> list[dict[str, str]]:
    return [{"document_id": item.passage.id} for item in record.evidence.items]


def _make_evaluation(
    model: _Model, turn: str, measures: Sequence[str], complete: set[str]
) -> dict[str, Any]:
    record, scores = model.records[turn], model.scores.get(turn, {})
    values = {
        name: scores[name] if name in complete else f"{scores[name]:.4f}"
        for name in measures
        if name in scores
    }
    return {
        "task_id": turn,
        "model_id": model.id,
        "model_response": record.answer.text,
        "contexts": _list_context_ids(record),
        "annotations": {name: {_WORKER: {"value": value}} for name, value in values.items()},
    }
