"""The JSON of IBM's InspectorRAGet: the answers of one or several runs, with their scores."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from convrag import DataError, Passage, TurnRecord, UnknownName
from convrag.sdk.data.strict_json import format_json
from convrag_tasks.export_mtrag import LABELS, list_messages, rename_labels
from convrag_tasks.run_records import DatasetTurn, read_run_records, read_run_scores

_ANNOTATOR = "convrag"
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
    """Format the file, as one line.

    InspectorRAGet drops a turn in which a model lacks a number. So a measure that some turn lacks
    is written as text, which is shown with the turn and in no chart; if measures are chosen, turns
    that lack one are left out instead.

    Args:
        folders: the folders of finished runs over the same turns; each becomes a model.
        turns: the turns of the data set.
        wanted: the measures to write; all if empty.
        remarks: gets a line about turns that were left out and measures that were written as text.

    Raises:
        DataError: the runs are not of the same turns.
        UnknownName: no turn has a wanted measure.
    """
    models = _read_models(folders)
    turn_ids = list(models[0].records)
    known = _list_measures(models)
    for name in wanted:
        if name not in known:
            raise UnknownName("task.measures: measure", name, known)
    measures = list(wanted) or known
    if wanted:
        turn_ids = [
            turn_id
            for turn_id in turn_ids
            if all(_is_complete(name, models, [turn_id]) for name in wanted)
        ]
        remarks.append(f"{len(turn_ids)} of them have {', '.join(wanted)}.")
    complete = [name for name in measures if _is_complete(name, models, turn_ids)]
    partial = [name for name in measures if name not in complete]
    if partial:
        remarks.append(
            f"Measures that some turns lack are text, and in no chart: {', '.join(partial)}."
        )
    places = [turns[turn_id] for turn_id in turn_ids]
    return [format_json(_make_document(models, turn_ids, places, measures, complete))]


def _make_document(
    models: Sequence[_Model],
    turn_ids: Sequence[str],
    places: Sequence[DatasetTurn],
    measures: Sequence[str],
    complete: Sequence[str],
) -> dict[str, Any]:
    """Make the document of the file; incomplete measures are written as text."""
    metrics = []
    for name in measures:
        if name in complete:
            metrics.append(_make_number_metric(name, models, turn_ids))
        else:
            metrics.append(_make_text_metric(name))
    evaluations = [
        _make_evaluation(model, turn_id, measures, complete)
        for model in models
        for turn_id in turn_ids
    ]
    return {
        "name": " against ".join(model.id for model in models),
        "models": [_describe_model(model) for model in models],
        "metrics": metrics,
        "documents": _list_documents(models, turn_ids),
        "filters": _list_filters(places),
        "tasks": [_make_task(place, models[0].records[place.turn.id]) for place in places],
        "evaluations": evaluations,
    }


def _describe_model(model: _Model) -> dict[str, str]:
    return {"model_id": model.id, "name": model.id, "owner": "convrag"}


def _read_models(folders: Sequence[Path]) -> list[_Model]:
    """Read the runs. Folders with the same name are numbered."""
    models: list[_Model] = []
    names: list[str] = []
    for folder in folders:
        records = {record.turn_id: record for record in read_run_records(folder)}
        name = folder.resolve().name
        names.append(name)
        number = names.count(name)
        model_id = name if number == 1 else f"{name} ({number})"
        models.append(_Model(model_id, records, read_run_scores(folder)))
        if records.keys() != models[0].records.keys():
            raise DataError(f"this run is not of the same turns as {folders[0]}", path=folder)
    return models


def _list_measures(models: Sequence[_Model]) -> list[str]:
    """List the measures that some turn of some model has."""
    measures: dict[str, None] = {}
    for model in models:
        for turn_id in models[0].records:
            measures |= dict.fromkeys(model.scores.get(turn_id, {}))
    return list(measures)


def _is_complete(measure: str, models: Sequence[_Model], turn_ids: Sequence[str]) -> bool:
    return all(measure in model.scores.get(turn_id, {}) for model in models for turn_id in turn_ids)


def _make_number_metric(
    name: str, models: Sequence[_Model], turn_ids: Sequence[str]
) -> dict[str, Any]:
    """Make a numerical measure with its range: 0 to 1, or further where its values go further."""
    values = [model.scores[turn_id][name] for model in models for turn_id in turn_ids]
    low = min(0.0, *values)
    high = max(1.0, *values)
    return {
        "name": name,
        "display_name": name,
        "author": "algorithm",
        "type": "numerical",
        "aggregator": "average",
        "range": [low, high, (high - low) / _BINS],
    }


def _make_text_metric(name: str) -> dict[str, Any]:
    return {"name": name, "display_name": name, "author": "algorithm", "type": "text"}


def _list_documents(models: Sequence[_Model], turn_ids: Sequence[str]) -> list[dict[str, str]]:
    """List the passages in the evidence of any answer, each once."""
    passages: dict[str, Passage] = {}
    for model in models:
        for turn_id in turn_ids:
            for item in model.records[turn_id].evidence.items:
                passages.setdefault(item.passage.id, item.passage)
    return [
        {
            "document_id": passage.id,
            "text": passage.text,
            "title": passage.title,
            "url": passage.url,
        }
        for passage in passages.values()
    ]


def _list_filters(places: Sequence[DatasetTurn]) -> list[str]:
    names = dict.fromkeys(
        LABELS.get(label, label) for place in places for label in place.turn.labels
    )
    return ["domain", *names]


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


def _make_evaluation(
    model: _Model, turn_id: str, measures: Sequence[str], complete: Sequence[str]
) -> dict[str, Any]:
    """Make the evaluation of a turn: the answer, and its scores, as text if some turn lacks one."""
    record = model.records[turn_id]
    scores = model.scores.get(turn_id, {})
    annotations = {}
    for name in measures:
        if name in scores:
            value = scores[name] if name in complete else f"{scores[name]:.4f}"
            annotations[name] = {_ANNOTATOR: {"value": value}}
    return {
        "task_id": turn_id,
        "model_id": model.id,
        "model_response": record.answer.text,
        "contexts": _list_context_ids(record),
        "annotations": annotations,
    }
