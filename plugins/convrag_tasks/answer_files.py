"""Files of answers: MTRAG's predictions, plain JSONL, or the datasets/ of a run."""

from __future__ import annotations

from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

from convrag import DataError, Hit, Passage
from convrag.sdk.jsonl import Line, read_lines_in
from convrag.sdk.utterances import get_last_utterance

_FORMS = (
    'MTRAG\'s {"task_id", "predictions": [{"text"}], "contexts"}, {"turn_id", "answer"}, or a run\'s '
    '{"_id", "text", "agent_response"}'
)


class PredictedAnswer(NamedTuple):
    """An answer, its rewritten query (empty if unknown), and the passages it was generated from (None if unknown)."""

    text: str
    query: str
    passages: list[Hit] | None


def read_answers(path: Path) -> tuple[dict[str, PredictedAnswer], dict[str, Line]]:
    """Read answers; the *.jsonl files of a folder are read together.

    Returns:
        Turn id -> answer, and turn id -> the line where the answer stands.

    Raises:
        DataError: a line is in none of the known forms, a turn occurs twice, or there is no answer.
    """
    answers: dict[str, PredictedAnswer] = {}
    where: dict[str, Line] = {}
    for line in read_lines_in(path, ".jsonl"):
        turn_id, answer = _parse(line)
        if first := where.get(turn_id):
            raise line.error(f"turn {turn_id!r} has an answer already, in {first.path}, line {first.number}")
        where[turn_id] = line._replace(text="")
        answers[turn_id] = answer
    if not answers:
        raise DataError("it holds no answer", path=path)
    return answers, where


def _parse(line: Line) -> tuple[str, PredictedAnswer]:
    row = line.json()
    if "predictions" in row:
        return _get_text(row, "task_id", line), PredictedAnswer(
            _read_prediction(row, line), "", _read_contexts(row, line)
        )
    if "answer" in row:
        return _get_text(row, "turn_id", line), PredictedAnswer(
            _get_text(row, "answer", line), "", _read_contexts(row, line)
        )
    if "agent_response" in row:
        query = get_last_utterance(_get_text(row, "text", line))
        return _get_text(row, "_id", line), PredictedAnswer(_get_text(row, "agent_response", line), query, None)
    raise line.error(f"this is no answer: a line is {_FORMS}")


def _read_prediction(row: dict[str, Any], line: Line) -> str:
    predictions = row["predictions"]
    if not isinstance(predictions, list) or not predictions or not isinstance(predictions[0], dict):
        raise line.error('"predictions" must be a list with an object in it')
    return _get_text(predictions[0], "text", line)


def _read_contexts(row: dict[str, Any], line: Line) -> list[Hit] | None:
    """The passages that an answer was generated from; where they have no scores, these fall in their order."""
    contexts = row.get("contexts")
    if contexts is None:
        return None
    if not isinstance(contexts, list) or not all(isinstance(context, dict) for context in contexts):
        raise line.error('"contexts" must be a list of objects')
    return [_read_hit(context, -float(place), line) for place, context in enumerate(contexts)]


def _read_hit(context: dict[str, Any], score: float, line: Line) -> Hit:
    name = "document_id" if "document_id" in context else "id"
    given = context.get("score", score)
    if isinstance(given, bool) or not isinstance(given, int | float) or not isfinite(given):
        raise line.error(f"the score of a context must be a number, not {given!r}")
    text, title, url = (context.get(field) or "" for field in ("text", "title", "url"))
    return Hit(Passage(_get_text(context, name, line), str(text), str(title), str(url)), float(given))


def _get_text(row: dict[str, Any], name: str, line: Line) -> str:
    if not isinstance(value := row.get(name), str):
        raise line.error(f"{name!r} must be there and be a string")
    return value
