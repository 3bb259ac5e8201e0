"""A run as CSV: a row for each turn, a column for each label and each measure."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence

from convrag import TurnRecord

_COLUMNS = ("turn_id", "conversation_id", "domain", "turn", "question", "rewritten_query", "answer")
_LAST = ("citations", "passages", "error")


def csv_lines(records: Sequence[TurnRecord], scores: Mapping[str, Mapping[str, float]]) -> Iterator[str]:
    """The lines of the file, a heading first; a value that a turn does not have is an empty field.

    Ids of citations and passages are joined with spaces; line breaks within a field are quoted, as RFC 4180 has them.
    """
    labels = list(dict.fromkeys(name for record in records for name in record.labels))
    measures = list(dict.fromkeys(name for values in scores.values() for name in values))
    yield _line([*_COLUMNS, *labels, *_LAST, *measures])
    for record in records:
        values = scores.get(record.turn_id, {})
        given = [_shown(record.labels.get(name, "")) for name in labels]
        yield _line([*_own(record), *given, *_rest(record), *(values.get(name, "") for name in measures)])


def _own(record: TurnRecord) -> list[object]:
    place = [record.turn_id, record.conversation_id, record.domain, record.number]
    return [*place, record.original_query, record.rewritten_query, record.answer.text]


def _rest(record: TurnRecord) -> list[object]:
    hits = " ".join(hit.passage.id for hit in record.hits)
    return [" ".join(record.answer.citations), hits, record.error]


def _shown(value: object) -> object:
    return "+".join(map(str, value)) if isinstance(value, list | tuple) else value


def _line(fields: Sequence[object]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(fields)
    return text.getvalue()
