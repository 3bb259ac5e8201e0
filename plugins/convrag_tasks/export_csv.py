"""CSV: a row for each turn of a run, with its labels and scores."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence

from convrag import TurnRecord

_FIRST = ("turn_id", "conversation_id", "domain", "turn", "question", "rewritten_query", "answer")
_LAST = ("citations", "passages", "error")

_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")
"""Characters with which a spreadsheet takes a text for a formula."""


def format_csv_lines(
    records: Sequence[TurnRecord],
    scores: Mapping[str, Mapping[str, float]],
    *,
    escape_formulas: bool = False,
) -> Iterator[str]:
    """Yield the lines of the file as RFC 4180 has them, with their line ends; the heading first.

    A value that a turn does not have is an empty field. Ids of citations and passages are joined
    with spaces. A field with a line break is quoted.

    Args:
        records: the records of the run.
        scores: turn id -> measure -> value.
        escape_formulas: whether texts that a spreadsheet would compute have an apostrophe before
            them.
    """
    labels = list(dict.fromkeys(name for record in records for name in record.labels))
    measures = list(dict.fromkeys(name for values in scores.values() for name in values))
    heading: list[object] = [*_FIRST, *labels, *_LAST, *measures]
    if escape_formulas:
        heading = [_escape_formula(field) for field in heading]
    yield _format_line(heading)
    for record in records:
        values = scores.get(record.turn_id, {})
        row: list[object] = [
            record.turn_id,
            record.conversation_id,
            record.domain,
            record.number,
            record.original_query,
            record.rewritten_query,
            record.answer.text,
            *(_join_label(record.labels.get(name, "")) for name in labels),
            " ".join(record.answer.citations),
            " ".join(hit.passage.id for hit in record.hits),
            record.error,
            *(values.get(name, "") for name in measures),
        ]
        if escape_formulas:
            row = [_escape_formula(field) for field in row]
        yield _format_line(row)


def _escape_formula(field: object) -> object:
    """Put an apostrophe before a text that begins as a formula does; numbers stay as they are.

    OWASP advises this against "CSV injection".
    """
    if isinstance(field, str) and field.startswith(_FORMULA_STARTS):
        return f"'{field}"
    return field


def _format_line(row: Sequence[object]) -> str:
    text = io.StringIO()
    # before Python 3.13, only fields with the characters of the line end are quoted
    csv.writer(text, lineterminator="\r\n").writerow(row)
    return text.getvalue()


def _join_label(value: object) -> object:
    """Join several values of a label, such as question types, with plus signs."""
    return "+".join(map(str, value)) if isinstance(value, list | tuple) else value
