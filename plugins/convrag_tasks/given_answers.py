"""Answers by turn, from the files that others and we write."""

from __future__ import annotations

from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

from convrag import DataError, Hit, Passage
from convrag.sdk.jsonl import Line, read_lines_in
from convrag.sdk.utterances import last_utterance

FORMS = (
    'MTRAG\'s {"task_id", "predictions": [{"text"}], "contexts"}, {"turn_id", "answer"}, or a run\'s '
    '{"_id", "text", "agent_response"}'
)


class GivenAnswer(NamedTuple):
    """An answer, the rewritten query where the file has one, and the passages that it was given (None: unknown)."""

    text: str
    query: str
    passages: list[Hit] | None


def read_answers(path: Path) -> tuple[dict[str, GivenAnswer], dict[str, Line]]:
    """Turn id -> its answer, and the line where it stands; a folder's *.jsonl files are read together.

    Raises DataError for a line that is none of the known forms, a turn that occurs twice, or a file without any.
    """
    answers: dict[str, GivenAnswer] = {}
    places: dict[str, Line] = {}
    for line in read_lines_in(path, ".jsonl"):
        turn_id, answer = _parsed(line)
        if first := places.get(turn_id):
            raise line.error(f"turn {turn_id!r} has an answer already, in {first.path}, line {first.number}")
        places[turn_id] = line._replace(text="")
        answers[turn_id] = answer
    if not answers:
        raise DataError("it holds no answer", path=path)
    return answers, places


def _parsed(line: Line) -> tuple[str, GivenAnswer]:
    row = line.json()
    if "predictions" in row:
        return _text(row, "task_id", line), GivenAnswer(_prediction(row, line), "", _contexts(row, line))
    if "answer" in row:
        return _text(row, "turn_id", line), GivenAnswer(_text(row, "answer", line), "", _contexts(row, line))
    if "agent_response" in row:
        query = last_utterance(_text(row, "text", line))
        return _text(row, "_id", line), GivenAnswer(_text(row, "agent_response", line), query, None)
    raise line.error(f"this is no answer: a line is {FORMS}")


def _prediction(row: dict[str, Any], line: Line) -> str:
    predictions = row["predictions"]
    if not isinstance(predictions, list) or not predictions or not isinstance(predictions[0], dict):
        raise line.error('"predictions" must be a list with an object in it')
    return _text(predictions[0], "text", line)


def _contexts(row: dict[str, Any], line: Line) -> list[Hit] | None:
    """The passages that an answer was given; without scores, in their order."""
    contexts = row.get("contexts")
    if contexts is None:
        return None
    if not isinstance(contexts, list) or not all(isinstance(context, dict) for context in contexts):
        raise line.error('"contexts" must be a list of objects')
    return [_hit(context, -float(place), line) for place, context in enumerate(contexts)]


def _hit(context: dict[str, Any], score: float, line: Line) -> Hit:
    name = "document_id" if "document_id" in context else "id"
    given = context.get("score", score)
    if isinstance(given, bool) or not isinstance(given, int | float) or not isfinite(given):
        raise line.error(f"the score of a context must be a number, not {given!r}")
    text, title, url = (context.get(field) or "" for field in ("text", "title", "url"))
    return Hit(Passage(_text(context, name, line), str(text), str(title), str(url)), float(given))


def _text(row: dict[str, Any], name: str, line: Line) -> str:
    if not isinstance(value := row.get(name), str):
        raise line.error(f"{name!r} must be there and be a string")
    return value
