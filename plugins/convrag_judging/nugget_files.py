"""Files of nuggets and of their labels: those of this package, and those that castorini's nuggetizer writes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from convrag import DataError
from convrag_judging.answers import split_words
from convrag_judging.judgement_files import JudgementLine, name_annotators, read_judgement_lines
from convrag_judging.nugget_scores import parse_assignment, parse_importance


@dataclass(frozen=True)
class NuggetSet:
    """The nuggets of a turn. `importance` has a label for each, or is empty where they have none."""

    texts: tuple[str, ...]
    importance: tuple[str, ...] = ()


@dataclass(frozen=True)
class NuggetLabels:
    """An assessor's labels for the answer of a turn; the nuggets' `texts` and the answer's `words` are optional."""

    assessor: str
    importance: tuple[str, ...]
    assignment: tuple[str, ...]
    texts: tuple[str, ...] = ()
    words: int | None = None


def read_nuggets(path: Path) -> Mapping[str, NuggetSet]:
    """Turn id -> its nuggets. Raises DataError, naming the line.

    A line is {"turn_id": "...", "nuggets": [...]}; a nugget is {"text": "...", "importance": "vital"} or its text. The
    id may be called qid, as the nuggetizer does.
    """
    found: dict[str, NuggetSet] = {}
    for line in read_judgement_lines(path):
        if line.turn_id in found:
            raise line.error(f"{line.turn_id!r} has its nuggets already")
        nuggets = list(_read_nugget_rows(line))
        labels = [label for _, label, _ in nuggets]
        if any(labels) and not all(labels):
            raise line.error("either each nugget has an importance, or none")
        if unknown := [label for label in labels if label and parse_importance(label) is None]:
            raise line.error(f"an importance is vital or okay, not {unknown[0]!r}")
        texts = tuple(text for text, _, _ in nuggets)
        if not all(text.strip() for text in texts):
            raise line.error("a nugget has no text")
        found[line.turn_id] = NuggetSet(texts, tuple(labels) if any(labels) else ())
    return found


def read_nugget_labels(paths: Sequence[Path]) -> Mapping[str, Sequence[NuggetLabels]]:
    """Turn id -> the labels of each assessor. Raises DataError, naming the line.

    A line is {"turn_id": "...", "importance": [...], "assignment": [...]}, or has "nuggets" that are {"text": "...",
    "importance": "vital", "assignment": "support"} each. An "assessor" tells several in one file apart; otherwise each
    file is one.
    """
    found: dict[str, dict[str, NuggetLabels]] = {}
    for path, name in zip(paths, name_annotators(paths), strict=True):
        has_label = False
        for line in read_judgement_lines(path):
            labels = _read_labels(line, name)
            by_assessor = found.setdefault(line.turn_id, {})
            if labels.assessor in by_assessor:
                raise line.error(
                    f"{line.turn_id!r} was judged by {labels.assessor!r} already: a file holds one answer to each "
                    'question; lines of several assessors need an "assessor" each'
                )
            by_assessor[labels.assessor] = labels
            has_label = has_label or any(map(parse_assignment, labels.assignment))
        if not has_label:
            raise DataError("no line has an assignment that is support, partial or none", path=path)
    return {turn_id: tuple(by_assessor.values()) for turn_id, by_assessor in found.items()}


def _read_labels(line: JudgementLine, name: str) -> NuggetLabels:
    assessor = line.get_text("assessor") or name
    if "nuggets" in line.data:
        nuggets = list(_read_nugget_rows(line))
        texts, importance, assignment = zip(*nuggets, strict=True) if nuggets else ((), (), ())
        return NuggetLabels(assessor, importance, assignment, texts, _read_length(line))
    importance, assignment = tuple(line.get_texts("importance")), tuple(line.get_texts("assignment"))
    return NuggetLabels(assessor, importance, assignment, words=_read_length(line))


def _read_nugget_rows(line: JudgementLine) -> Iterator[tuple[str, str, str]]:
    """Text, importance and assignment of each nugget; empty strings for what a nugget lacks."""
    nuggets = line.data.get("nuggets")
    if not isinstance(nuggets, list):
        raise line.error("'nuggets' must be a list")
    for nugget in nuggets:
        fields = {"text": nugget} if isinstance(nugget, str) else nugget
        if not isinstance(fields, dict):
            raise line.error(f"a nugget is an object or a string, not {nugget!r}")
        values = [fields.get(name) or "" for name in ("text", "importance", "assignment")]
        if not all(isinstance(value, str) for value in values):
            raise line.error("text, importance and assignment of a nugget must be strings")
        yield values[0], values[1], values[2]


def _read_length(line: JudgementLine) -> int | None:
    """The length in words of the answer that was judged, where the line has it."""
    length = next((line.data[name] for name in ("words", "response_length") if name in line.data), None)
    if isinstance(length, int) and not isinstance(length, bool):
        return length
    text = line.get_text("answer_text")
    return len(split_words(text)) if text else None
