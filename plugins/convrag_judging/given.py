"""Nuggets and their labels in files: ours, and those that castorini's nuggetizer writes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from convrag import DataError
from convrag_judging.labels import assignment_of, importance_of
from convrag_judging.rows import Row, read_rows
from convrag_judging.words import answer_words


@dataclass(frozen=True)
class GivenNuggets:
    """The nuggets of a turn. `importance` is a label for each, or empty where they have none."""

    texts: tuple[str, ...]
    importance: tuple[str, ...] = ()


@dataclass(frozen=True)
class GivenLabels:
    """What one assessor said of the answer in a turn; `texts` and `words` only where the file has them."""

    assessor: str
    importance: tuple[str, ...]
    assignment: tuple[str, ...]
    texts: tuple[str, ...] = ()
    words: int | None = None


def read_nuggets(path: Path) -> Mapping[str, GivenNuggets]:
    """Turn id -> its nuggets. Raises DataError, naming the line.

    A line is {"turn_id": "...", "nuggets": [...]}; a nugget is {"text": "...", "importance": "vital"} or its text. The
    id may be called qid, as the nuggetizer does.
    """
    found: dict[str, GivenNuggets] = {}
    for row in read_rows(path):
        if row.turn_id in found:
            raise row.error(f"{row.turn_id!r} has its nuggets already")
        nuggets = list(_nuggets(row))
        labels = [label for _, label, _ in nuggets]
        if any(labels) and not all(labels):
            raise row.error("either each nugget has an importance, or none")
        if unknown := [label for label in labels if label and importance_of(label) is None]:
            raise row.error(f"an importance is vital or okay, not {unknown[0]!r}")
        texts = tuple(text for text, _, _ in nuggets)
        if not all(text.strip() for text in texts):
            raise row.error("a nugget has no text")
        found[row.turn_id] = GivenNuggets(texts, tuple(labels) if any(labels) else ())
    return found


def read_labels(paths: Sequence[Path]) -> Mapping[str, Sequence[GivenLabels]]:
    """Turn id -> what each assessor said. Raises DataError, naming the line.

    A line is {"turn_id": "...", "importance": [...], "assignment": [...]}, or has "nuggets" that are {"text": "...",
    "importance": "vital", "assignment": "support"} each. An "assessor" tells several in one file apart; otherwise each
    file is one.
    """
    found: dict[str, dict[str, GivenLabels]] = {}
    for path, name in zip(paths, names_of(paths), strict=True):
        readable = False
        for row in read_rows(path):
            labels = _labels(row, name)
            said = found.setdefault(row.turn_id, {})
            if labels.assessor in said:
                raise row.error(
                    f"{row.turn_id!r} was judged by {labels.assessor!r} already: a file holds one answer to each "
                    'question; lines of several assessors need an "assessor" each'
                )
            said[labels.assessor] = labels
            readable = readable or any(map(assignment_of, labels.assignment))
        if not readable:
            raise DataError("no line has an assignment that is support, partial or none", path=path)
    return {turn_id: tuple(said.values()) for turn_id, said in found.items()}


def names_of(paths: Sequence[Path]) -> list[str]:
    """What to call the assessor of each file: its name without ending, or its whole path where that is no name."""
    stems = [path.stem for path in paths]
    return [stem if stems.count(stem) == 1 else str(path) for stem, path in zip(stems, paths, strict=True)]


def _labels(row: Row, name: str) -> GivenLabels:
    assessor = row.text("assessor") or name
    if "nuggets" in row.data:
        nuggets = list(_nuggets(row))
        texts, importance, assignment = zip(*nuggets, strict=True) if nuggets else ((), (), ())
        return GivenLabels(assessor, importance, assignment, texts, _words(row))
    lists = (tuple(row.texts("importance")), tuple(row.texts("assignment")))
    return GivenLabels(assessor, *lists, words=_words(row))


def _nuggets(row: Row) -> Iterator[tuple[str, str, str]]:
    """Text, importance and assignment of each nugget; empty where it has none."""
    nuggets = row.data.get("nuggets")
    if not isinstance(nuggets, list):
        raise row.error("'nuggets' must be a list")
    for nugget in nuggets:
        fields = {"text": nugget} if isinstance(nugget, str) else nugget
        if not isinstance(fields, dict):
            raise row.error(f"a nugget is an object or a string, not {nugget!r}")
        values = [fields.get(name) or "" for name in ("text", "importance", "assignment")]
        if not all(isinstance(value, str) for value in values):
            raise row.error("text, importance and assignment of a nugget must be strings")
        yield values[0], values[1], values[2]


def _words(row: Row) -> int | None:
    """The length of the answer that was judged, where the line says it."""
    length = next((row.data[name] for name in ("words", "response_length") if name in row.data), None)
    if isinstance(length, int) and not isinstance(length, bool):
        return length
    text = row.text("answer_text")
    return len(answer_words(text)) if text else None
