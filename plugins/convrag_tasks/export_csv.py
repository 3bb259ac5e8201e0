"""A run as CSV: a row for each turn, a column for each label and each measure."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence

from convrag import TurnRecord

_FIRST = ("turn_id", "conversation_id", "domain", "turn", "question", "rewritten_query", "answer")
_LINE_END = "\r\n"
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
    yield _format_csv_line([*_FIRST, *labels, *_LAST, *measures], escape_formulas)
    for record in records:
        values = scores.get(record.turn_id, {})
        label_values = [_format_label(record.labels.get(name, "")) for name in labels]
        yield _format_csv_line(
            [
                *_list_first_fields(record),
                *label_values,
                *_list_last_fields(record),
                *(values.get(name, "") for name in measures),
            ],
            escape_formulas,
        )


def _list_first_fields(record: TurnRecord) -> list[object]:
    position = [record.turn_id, record.conversation_id, record.domain, record.number]
    return [*position, record.original_query, record.rewritten_query, record.answer.text]


def _list_last_fields(record: TurnRecord) -> list[object]:
    hits = " ".join(hit.passage.id for hit in record.hits)
    return [" ".join(record.answer.citations), hits, record.error]


def _format_label(value: object) -> object:
    return "+".join(map(str, value)) if isinstance(value, list | tuple) else value


def _format_csv_line(fields: Sequence[object], escape_formulas: bool) -> str:
    text = io.StringIO()
    safe = [_escape_formula(field) if escape_formulas else field for field in fields]
    csv.writer(text, lineterminator=_LINE_END).writerow(safe)  # before 3.13, only its characters are quoted
    return text.getvalue()


def _escape_formula(field: object) -> object:
    """A text that begins as a formula does, after an apostrophe, as OWASP advises against CSV injection."""
    return f"'{field}" if isinstance(field, str) and field.startswith(_FORMULA) else field
