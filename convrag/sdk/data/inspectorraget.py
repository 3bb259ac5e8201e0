"""Files of InspectorRAGet (JSON): answers of several models, with marks of people and of
algorithms.
"""

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
        model: which answered.
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
        DataError: it is missing or in another form, or a mark is no number and no label that the
            file explains.
    """
    check_is_file(path)
    try:
        file = Line(path, 0, path.read_text(encoding="utf-8")).parse(
            _File, "a file of InspectorRAGet"
        )
    except UnicodeDecodeError as error:
        raise DataError("this is no text in UTF-8", path=path) from error
    texts = {each.document_id: each for each in file.documents}
    contexts = {task.task_id: task.contexts for task in file.tasks}
    metrics = {metric.name: metric for metric in file.metrics}
    for place, each in enumerate(file.evaluations):
        shown = [
            texts.get(one.document_id, one)
            for one in each.contexts or contexts.get(each.task_id) or []
        ]
        passages = [Passage(one.document_id, one.text, one.title or "") for one in shown]
        marks: dict[Author, dict[str, dict[str, float]]] = {"human": {}, "algorithm": {}}
        for name, given in each.annotations.items():
            metric = metrics.get(name, _Metric(name))
            where = f"evaluations.{place}.annotations.{name}"
            read = {
                who: _read_mark(metric, mark.get("value"), where, path)
                for who, mark in given.items()
            }
            author: Author = "human" if metric.author == "human" else "algorithm"
            marks[author][name] = {who: mark for who, mark in read.items() if mark is not None}
        yield MarkedAnswer(each.task_id, each.model_id, each.model_response, passages, marks)


def _read_mark(metric: _Metric, value: Any, where: str, path: Path) -> float | None:
    """A mark as a number; None for no mark, and for one of a measure that is text."""
    labels = {str(label.get("value")): label.get("numeric_value") for label in metric.values}
    if (number := labels.get(str(value))) is not None:
        return float(number)
    try:
        return None if value is None else float(value)
    except (ValueError, TypeError) as error:
        if metric.type == "text":
            return None
        known = f": {', '.join(labels)}" if labels else ""
        raise DataError(
            f"{where} is {value!r}, which is no number and none of its labels{known}", path=path
        ) from error
