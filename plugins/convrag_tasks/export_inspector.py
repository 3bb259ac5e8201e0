"""InspectorRAGet's JSON, in the first version of the format, which every release of InspectorRAGet loads."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from convrag import DataError, Passage, TurnRecord, UnknownName
from convrag.sdk.strict_json import format_json
from convrag_tasks.dataset_turns import DatasetTurn
from convrag_tasks.export_mtrag import LABELS, list_messages, rename_labels
from convrag_tasks.run_records import read_run_records, read_run_scores

_WORKER = "convrag"
_BINS = 10


class _Model(NamedTuple):
    """A run, which InspectorRAGet calls a model."""

    id: str
    records: Mapping[str, TurnRecord]
    scores: Mapping[str, Mapping[str, float]]


def format_inspector_lines(
    folders: Sequence[Path], turns: Mapping[str, DatasetTurn], wanted: Sequence[str], remarks: list[str]
) -> list[str]:
    """The file, as one line.

    InspectorRAGet drops a turn in which a model lacks a number. So a measure that some turn lacks is written as text,
    which is shown with the turn and in no chart; if measures are chosen, turns that lack one are left out instead.

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
    known = list(dict.fromkeys(name for model in models for turn in tasks for name in model.scores.get(turn, {})))
    for name in wanted:
        if name not in known:
            raise UnknownName("task.measures: measure", name, known)
    measures = list(wanted) or known
    if wanted:
        scored = [turn for turn in tasks if all(_is_complete(name, models, [turn]) for name in wanted)]
        remarks.append(f"{len(scored)} of them have {', '.join(wanted)}.")
        tasks = scored
    complete = [name for name in measures if _is_complete(name, models, tasks)]
    if partial := [name for name in measures if name not in complete]:
        remarks.append(f"Measures that some turns lack are text, and in no chart: {', '.join(partial)}.")
    metrics = [
        _make_metric(name, [model.scores[turn][name] for model in models for turn in tasks])
        if name in complete
        else {"name": name, "display_name": name, "author": "algorithm", "type": "text"}
        for name in measures
    ]
    document = {
        "name": " against ".join(model.id for model in models),
        "models": [{"model_id": model.id, "name": model.id, "owner": "convrag"} for model in models],
        "metrics": metrics,
        "documents": _list_documents(models, tasks),
        "filters": _list_filters(turns[turn] for turn in tasks),
        "tasks": [_make_task(turns[turn], models[0].records[turn]) for turn in tasks],
        "evaluations": [_make_evaluation(model, turn, measures, set(complete)) for model in models for turn in tasks],
    }
    return [format_json(document)]


def _read_models(folders: Sequence[Path]) -> list[_Model]:
    models: list[_Model] = []
    for folder in folders:
        records = {record.turn_id: record for record in read_run_records(folder)}
        name = folder.resolve().name
        again = sum(model.id.partition(" (")[0] == name for model in models)
        models.append(_Model(f"{name} ({again + 1})" if again else name, records, read_run_scores(folder)))
        if records.keys() != models[0].records.keys():
            raise DataError(f"this run is not of the same turns as {folders[0]}", path=folder)
    return models


def _is_complete(measure: str, models: Sequence[_Model], tasks: Sequence[str]) -> bool:
    return all(measure in model.scores.get(turn, {}) for model in models for turn in tasks)


def _make_metric(name: str, values: Sequence[float]) -> dict[str, Any]:
    """A numerical measure with its range: 0 to 1, or further where its values go further."""
    low, high = min(0.0, *values), max(1.0, *values)
    return {
        "name": name,
        "display_name": name,
        "author": "algorithm",
        "type": "numerical",
        "aggregator": "average",
        "range": [low, high, (high - low) / _BINS],
    }


def _list_documents(models: Sequence[_Model], tasks: Sequence[str]) -> list[dict[str, str]]:
    """The passages in the evidence of any answer, each once."""
    shown: dict[str, Passage] = {}
    for model in models:
        for turn in tasks:
            for item in model.records[turn].evidence.items:
                shown.setdefault(item.passage.id, item.passage)
    return [{"document_id": id_, "text": p.text, "title": p.title, "url": p.url} for id_, p in shown.items()]


def _list_filters(places: Iterator[DatasetTurn]) -> list[str]:
    return ["domain", *dict.fromkeys(LABELS.get(name, name) for place in places for name in place.turn.labels)]


def _make_task(place: DatasetTurn, record: TurnRecord) -> dict[str, Any]:
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


def _make_evaluation(model: _Model, turn: str, measures: Sequence[str], complete: set[str]) -> dict[str, Any]:
    record, scores = model.records[turn], model.scores.get(turn, {})
    values = {name: scores[name] if name in complete else f"{scores[name]:.4f}" for name in measures if name in scores}
    return {
        "task_id": turn,
        "model_id": model.id,
        "model_response": record.answer.text,
        "contexts": _list_context_ids(record),
        "annotations": {name: {_WORKER: {"value": value}} for name, value in values.items()},
    }
