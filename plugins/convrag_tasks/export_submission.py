"""Submissions to SemEval-2026 task 8 (MTRAGEval), whose format checker wants every task."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from convrag import DataError, Hit, TurnRecord
from convrag.sdk.data.jsonl import read_lines
from convrag.sdk.data.strict_json import format_json
from convrag_tasks.export_mtrag import LIMIT, format_contexts, list_context_hits, make_task
from convrag_tasks.run_records import DatasetTurn

Subtask = Literal["retrieval", "reference", "rag"]

_FIELDS = ("conversation_id", "task_id", "turn", "Collection", "input")
"""The fields of a task that a submission repeats."""


@dataclass(frozen=True)
class _Passage:
    document_id: str


@dataclass(frozen=True)
class _Task:
    task_id: str
    input: list[Any]
    contexts: list[_Passage] = field(default_factory=list)


def read_tasks(path: Path) -> dict[str, dict[str, Any]]:
    """Read the tasks of the benchmark's file (reference.jsonl, rag_taskAC.jsonl) by id.

    Raises:
        DataError: a line is broken, or a task occurs twice.
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
    """Make a task of every turn of a run, where the benchmark's own file is not at hand."""
    tasks = {}
    for record in records:
        place = turns[record.turn_id]
        hits = [Hit(passage, 0.0) for passage in place.turn.passages]
        tasks[record.turn_id] = {**make_task(record, place), "contexts": format_contexts(hits)}
    return tasks


def format_submission_lines(
    subtask: Subtask,
    tasks: Mapping[str, Mapping[str, Any]],
    records: Sequence[TurnRecord],
    folder: Path,
) -> Iterator[str]:
    """Yield a line for each task, in their order.

    retrieval (subtask A) has the ranking's first 10 passages and no answer; reference (B) the
    task's own passages and the answer; rag (C) the passages that the answer was given, and the
    answer.

    Args:
        subtask: the subtask.
        tasks: task id -> the task.
        records: the records of the run; turns that are not tasks are left out.
        folder: the folder of the run, for errors.

    Raises:
        DataError: the run lacks a task, which the checker refuses.
    """
    by_id = {record.turn_id: record for record in records}
    lacking = [task_id for task_id in tasks if task_id not in by_id]
    if lacking:
        raise DataError(
            f"the run lacks {len(lacking)} of {len(tasks)} tasks, for instance {lacking[0]!r}: run "
            "the whole part",
            path=folder,
        )
    for task_id, task in tasks.items():
        record = by_id[task_id]
        line = {name: task[name] for name in _FIELDS if name in task}
        if subtask == "reference":
            line["contexts"] = [_add_score(context) for context in task["contexts"][:LIMIT]]
        elif subtask == "retrieval":
            line["contexts"] = format_contexts(list_context_hits(record, "hits"))
        else:
            line["contexts"] = format_contexts(list_context_hits(record, "evidence"))
        if subtask != "retrieval":
            line["predictions"] = [{"text": record.answer.text}]
        yield format_json(line)


def _add_score(context: Mapping[str, Any]) -> dict[str, Any]:
    """Add a score, which the checker wants, to a reference passage that lacks one."""
    score = context.get("score")
    return {**context, "score": score if isinstance(score, int | float) else 1.0}


def count_other_evidence(
    tasks: Mapping[str, Mapping[str, Any]], records: Sequence[TurnRecord]
) -> int:
    """Count answers that were given other passages than the task's own, as subtask B wants."""
    count = 0
    for record in records:
        task = tasks.get(record.turn_id)
        if task is not None:
            own = {context.get("document_id") for context in task["contexts"]}
            if any(item.passage.id not in own for item in record.evidence.items):
                count += 1
    return count
