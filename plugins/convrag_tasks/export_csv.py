"""A run as CSV: a row for each turn, a column for each label and each measure."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence

from convrag import TurnRecord

_FIRST = ("turn_id", "conversation_id", "domain", "turn", "question", "rewritten_query", "answer")
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
_LAST = ("citations", "passages", "error")


def format_csv_lines(
    records: Sequence[TurnRecord], scores: Mapping[str, Mapping[str, float]], *, escape_formulas: bool = False
) -> Iterator[str]:
    """The lines of the file as RFC 4180 has them, with their line ends; the heading first.

    A value that a turn does not have is an empty field. Ids of citations and passages are joined with spaces. A field
    with a line break is quoted.

    Args:
        records: of the run.
        scores: turn id -> measure -> value.
        escape_formulas: write an apostrophe before texts that spreadsheets would compute.
    """
    labels = list(dict.fromkeys(name for record in records for name in record.labels))
    measures = list(dict.fromkeys(name for values in scores.values() for name in values))
    rows: list[list[object]] = [[*_FIRST, *labels, *_LAST, *measures]]
    rows += [
        _make_row(record, labels, [scores.get(record.turn_id, {}).get(name, "") for name in measures])
        for record in records
    ]
    for row in rows:
        text = io.StringIO()
        safe = map(_escape_formula, row) if escape_formulas else row
        csv.writer(text, lineterminator="\r\n").writerow(safe)  # before 3.13, only its characters are quoted
        yield text.getvalue()


def _make_row(record: TurnRecord, labels: Sequence[str], values: Sequence[object]) -> list[object]:
    position = [record.turn_id, record.conversation_id, record.domain, record.number]
    texts = [record.original_query, record.rewritten_query, record.answer.text]
    hits = " ".join(hit.passage.id for hit in record.hits)
    last = [" ".join(record.answer.citations), hits, record.error]
    return [*position, *texts, *(join_label(record.labels.get(name, "")) for name in labels), *last, *values]


def join_label(value: object) -> object:
    """A label as one value: several, such as question types, with plus signs."""
    return "+".join(map(str, value)) if isinstance(value, list | tuple) else value


def _escape_formula(field: object) -> object:
    """A text that begins as a formula does, after an apostrophe, as OWASP advises against CSV injection."""
    return f"'{field}" if isinstance(field, str) and field.startswith(_FORMULA) else field
