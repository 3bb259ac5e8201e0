"""Files of nuggets and of their labels, a JSON object a line."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import AliasChoices, Field

from convrag import DataError
from convrag.sdk.data.jsonl import Line
from convrag.sdk.text.analysis import count_words
from convrag.sdk.text.citations import strip_citations
from convrag_judging.judgement_lines import TurnId, name_annotators, parse_lines
from convrag_judging.nugget_labels import (
    NuggetLabels,
    NuggetSet,
    parse_assignment,
    parse_importance,
)


@dataclass(frozen=True)
class _NuggetRow:
    text: str | None = None
    importance: str | None = None
    assignment: str | None = None


@dataclass(frozen=True)
class _NuggetLine:
    turn_id: TurnId
    nuggets: list[str | _NuggetRow]


@dataclass(frozen=True)
class _LabelLine:
    turn_id: TurnId
    nuggets: list[str | _NuggetRow] | None = None
    importance: list[str] | None = None
    assignment: list[str] | None = None
    assessor: str | None = None
    words: Annotated[
        int | None, Field(validation_alias=AliasChoices("words", "response_length"))
    ] = None
    answer_text: str | None = None


def read_nuggets(path: Path) -> Mapping[str, NuggetSet]:
    """Read turn id -> its nuggets.

    A line is {"turn_id": "...", "nuggets": [...]}; a nugget is {"text": "...", "importance":
    "vital"} or its text. The id may be called qid, as the nuggetizer does.

    Raises:
        DataError: a line is broken, which is named.
    """
    found: dict[str, NuggetSet] = {}
    for line, row in parse_lines(path, _NuggetLine, "a line of nuggets"):
        turn_id = str(row.turn_id)
        if turn_id in found:
            raise line.error(f"{turn_id!r} has its nuggets already")
        nuggets = [_to_row(nugget) for nugget in row.nuggets]
        texts = tuple(nugget.text or "" for nugget in nuggets)
        importance = tuple(nugget.importance or "" for nugget in nuggets)
        if not any(importance):
            importance = ()
        if not all(map(parse_importance, importance)):
            raise line.error(
                "the importance of a nugget is vital or okay; either each nugget has one, or none"
            )
        if not all(text.strip() for text in texts):
            raise line.error("a nugget has no text")
        found[turn_id] = NuggetSet(texts, importance)
    return found


def read_nugget_labels(paths: Sequence[Path]) -> Mapping[str, Sequence[NuggetLabels]]:
    """Read turn id -> the labels of each assessor.

    A line is {"turn_id": "...", "importance": [...], "assignment": [...]}, or has "nuggets" that
    are {"text": "...", "importance": "vital", "assignment": "support"} each. An "assessor" tells
    several in one file apart; otherwise each file is one.

    Raises:
        DataError: a line is broken, which is named, or a file has no assignment.
    """
    found: dict[str, dict[str, NuggetLabels]] = {}
    for path, name in zip(paths, name_annotators(paths), strict=True):
        has_label = False
        for line, row in parse_lines(path, _LabelLine, "a line of labels"):
            turn_id = str(row.turn_id)
            labels = _read_labels(row, line, row.assessor or name)
            by_assessor = found.setdefault(turn_id, {})
            if labels.assessor in by_assessor:
                raise line.error(
                    f"{turn_id!r} was judged by {labels.assessor!r} already: a file holds one "
                    'answer to each question; lines of several assessors need an "assessor" each'
                )
            by_assessor[labels.assessor] = labels
            if any(map(parse_assignment, labels.assignment)):
                has_label = True
        if not has_label:
            raise DataError("no line has an assignment that is support, partial or none", path=path)
    return {turn_id: tuple(by_assessor.values()) for turn_id, by_assessor in found.items()}


def _read_labels(row: _LabelLine, line: Line, assessor: str) -> NuggetLabels:
    words = row.words
    if words is None and row.answer_text:
        words = count_words(strip_citations(row.answer_text))
    if row.nuggets is not None:
        nuggets = [_to_row(nugget) for nugget in row.nuggets]
        return NuggetLabels(
            assessor,
            importance=tuple(nugget.importance or "" for nugget in nuggets),
            assignment=tuple(nugget.assignment or "" for nugget in nuggets),
            texts=tuple(nugget.text or "" for nugget in nuggets),
            words=words,
        )
    if row.importance is None or row.assignment is None:
        raise line.error('there must be "nuggets", or lists of "importance" and "assignment"')
    return NuggetLabels(assessor, tuple(row.importance), tuple(row.assignment), words=words)


def _to_row(nugget: str | _NuggetRow) -> _NuggetRow:
    return _NuggetRow(nugget) if isinstance(nugget, str) else nugget
