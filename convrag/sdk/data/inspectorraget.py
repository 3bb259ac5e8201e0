"""Files of InspectorRAGet (JSON): answers of several models, with their marks."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from convrag.api.errors import DataError
from convrag.api.passages import Passage
from convrag.sdk.data.jsonl import Line, check_is_file

Author = Literal["human", "algorithm"]


class MarkedAnswer(NamedTuple):
    """An answer of a model.

    Args:
        turn_id: of the turn that it answers.
        model: the name of the model.
        text: of the answer.
        passages: that the model was shown.
        marks: author -> measure -> annotator -> mark; labels ("Mostly Yes") as the numbers that the
            file has for them.
    """

    turn_id: str
    model: str
    text: str
    passages: Sequence[Passage]
    marks: Mapping[Author, Mapping[str, Mapping[str, float]]]


@dataclass(frozen=True)
class _Metric:
    name: str
    author: str = "algorithm"
    type: str = "numerical"
    values: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class _Document:
    document_id: str
    text: str = ""
    title: str | None = ""


@dataclass(frozen=True)
class _Task:
    task_id: str
    contexts: list[_Document] | None = None


@dataclass(frozen=True)
class _Evaluation(_Task):
    model_id: str = ""
    model_response: str = field(kw_only=True)
    annotations: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)


@dataclass(frozen=True)
class _File:
    metrics: list[_Metric]
    tasks: list[_Task]
    evaluations: list[_Evaluation]
    documents: list[_Document] = field(default_factory=list)


def read_marked_answers(path: Path) -> Iterator[MarkedAnswer]:
    """Read the answers of a file, in its order.

    Raises:
        DataError: it is missing or malformed, or a mark is neither a number nor a label that the
            file explains.
    """
    file = _read_file(path)
    texts = {document.document_id: document for document in file.documents}
    contexts = {task.task_id: task.contexts for task in file.tasks}
    metrics = {metric.name: metric for metric in file.metrics}
    for place, evaluation in enumerate(file.evaluations):
        shown = evaluation.contexts or contexts.get(evaluation.task_id) or []
        passages = []
        for context in shown:
            document = texts.get(context.document_id, context)
            passages.append(Passage(document.document_id, document.text, document.title or ""))
        marks: dict[Author, dict[str, dict[str, float]]] = {"human": {}, "algorithm": {}}
        for name, annotations in evaluation.annotations.items():
            metric = metrics.get(name, _Metric(name))
            author: Author = "human" if metric.author == "human" else "algorithm"
            where = f"evaluations.{place}.annotations.{name}"
            marks[author][name] = _read_marks(metric, annotations, where, path)
        yield MarkedAnswer(
            evaluation.task_id, evaluation.model_id, evaluation.model_response, passages, marks
        )


def _read_file(path: Path) -> _File:
    check_is_file(path)
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise DataError("this is no text in UTF-8", path=path) from error
    return Line(path, 0, text).parse(_File, "a file of InspectorRAGet")


def _read_marks(
    metric: _Metric, annotations: Mapping[str, dict[str, Any]], where: str, path: Path
) -> dict[str, float]:
    """Read the marks of a metric by annotator, without those that are missing."""
    marks = {}
    for annotator, annotation in annotations.items():
        mark = _read_mark(metric, annotation.get("value"), where, path)
        if mark is not None:
            marks[annotator] = mark
    return marks


def _read_mark(metric: _Metric, value: Any, where: str, path: Path) -> float | None:
    """Read a mark as a number; None for a missing mark, and for a text that is not a label."""
    labels = {str(label.get("value")): label.get("numeric_value") for label in metric.values}
    number = labels.get(str(value))
    if number is not None:
        return float(number)
    if value is None:
        return None
    try:
        return float(value)
    except (ValueError, TypeError) as error:
        if metric.type == "text":
            return None
        known = f": {', '.join(labels)}" if labels else ""
        raise DataError(
            f"{where} is {value!r}, which is no number and none of its labels{known}", path=path
        ) from error
