"""JSON and JSONL: the documents that an array or the lines of a file have."""

from collections.abc import Iterator, Sequence
from typing import Any

from convrag import Document
from convrag.sdk.data.fields import add_fields
from convrag.sdk.data.strict_json import parse_json
from convrag.sdk.text.encodings import decode
from convrag.sdk.text.unreadable import Unreadable
from convrag_documents.readers.tables import format_named_rows

_TEXT_NAMES = ("text", "content", "contents", "body", "passage")
_TITLE_NAMES = ("title", "name", "heading")
_URL_NAMES = ("url", "link", "source_url")
_SHOWN_NAMES = {*_TEXT_NAMES, *_TITLE_NAMES, *_URL_NAMES, "id", "_id"}
"""Names that are not fields of a document."""

_COLUMN_NAMES = ("columns", "header", "headers", "fields")
"""Names under which an object has the names of the columns of its rows."""

_LONGEST_NAME = 100
"""Characters of a field's name that are written before each of its values, the last ones."""

_LONG_ARRAY = 100
"""An array of more texts and numbers is one line, which has the field's name once."""


def read_jsonl(content: bytes) -> Iterator[Document]:
    """Read one document from each line, named by the number of its line.

    An object has its text under `text` (or content, contents, body, passage), and may have a title
    and a url. The text of any other object is all its texts and numbers, a line each:
    "question: ...". Lines that are arrays are the rows of a table; the first one may have the names
    of its columns.
    """
    problems = []
    first_row: list[Any] | None = None
    for number, line in enumerate(decode(content).split("\n"), 1):
        if not line.strip():
            continue
        try:
            value = parse_json(line)
        except ValueError as error:
            problems.append(f"line {number}: this is not JSON: {error}")
            continue
        if not isinstance(value, list):
            yield _make_document(str(number), value)
        elif first_row is None:
            first_row = value
            yield Document(str(number), _format_first_row(value))
        else:
            yield Document(str(number), _format_rows([first_row, value]).rpartition("\n")[2])
    if len(problems) > 1:
        raise Unreadable(f"{problems[0]} (and {len(problems) - 1} more like it)")
    if problems:
        raise Unreadable(problems[0])


def read_json(content: bytes) -> Iterator[Document]:
    """Read the items of an array as the lines of JSONL; anything else is one document.

    An array of arrays is one document, too: a table.
    """
    try:
        data = parse_json(decode(content))
    except ValueError as error:
        raise Unreadable(f"this is not JSON: {error}") from error
    if isinstance(data, list) and not _is_table(data):
        for number, row in enumerate(data, 1):
            yield _make_document(str(number), row)
    else:
        yield _make_document("", data)


def _make_document(part: str, value: Any) -> Document:
    if not isinstance(value, dict):
        return Document(part, "\n".join(_list_fields(value)))
    text = _find_text(value, _TEXT_NAMES) or "\n".join(_list_fields(value))
    others = {name: each for name, each in value.items() if name not in _SHOWN_NAMES}
    return Document(
        part,
        text,
        title=_find_text(value, _TITLE_NAMES),
        url=_find_text(value, _URL_NAMES),
        metadata=add_fields({}, others),
    )


def _list_fields(value: Any, name: str = "") -> Iterator[str]:
    """Yield the texts and numbers in a value, a line each: "office.city: Ulm".

    Arrays of arrays are tables, whose rows are lines.
    """
    if isinstance(value, dict):
        columns = _find_columns(value)
        for key, each in value.items():
            inner_name = _shorten(f"{name}.{key}" if name else key)
            if columns and _is_table(each):
                yield from _format_rows([columns, *each]).split("\n")
            elif each is not columns:
                yield from _list_fields(each, inner_name)
    elif _is_table(value):
        yield from _format_rows(value).split("\n")
    elif isinstance(value, list):
        if len(value) > _LONG_ARRAY and not any(isinstance(each, dict | list) for each in value):
            text = ", ".join(filter(str.strip, map(_format_value, value)))
            value = [text]
        for each in value:
            yield from _list_fields(each, name)
    else:
        text = _format_value(value)
        if text.strip():
            yield f"{name}: {text}" if name else text


def _format_value(value: Any) -> str:
    """Write a text or a number; null is empty."""
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _shorten(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"…{name[1 - _LONGEST_NAME :]}"


def _is_table(value: Any) -> bool:
    """Whether a value is an array of arrays."""
    return isinstance(value, list) and bool(value) and all(isinstance(row, list) for row in value)


def _find_columns(value: dict[str, Any]) -> list[Any] | None:
    """Return the names of the columns that an object has next to its rows; None where it has none.

    {"columns": ["town", "ferries"], "data": [["Hull", 12]]}
    """
    has_rows = any(_is_table(each) for each in value.values())
    for name in _COLUMN_NAMES:
        columns = value.get(name)
        if has_rows and isinstance(columns, list) and all(isinstance(one, str) for one in columns):
            return columns
    return None


def _format_rows(rows: Sequence[Sequence[Any]]) -> str:
    """Write the rows of a table, a line for each; the first one may have the columns' names."""
    return "\n".join(format_named_rows([_format_cell(cell) for cell in row] for row in rows))


def _format_first_row(row: Sequence[Any]) -> str:
    """Write a row that has no row above it; empty where it has the names of columns."""
    placeholders = ["1"] * len(row)
    lines = list(format_named_rows([[_format_cell(cell) for cell in row], placeholders]))
    return lines[0] if len(lines) > 1 else ""


def _format_cell(value: Any) -> str:
    return "; ".join(_list_fields(value))


def _find_text(row: dict[str, Any], names: tuple[str, ...]) -> str:
    """Return the text of the first of these fields that has one; empty where none has."""
    for name in names:
        value = row.get(name)
        if isinstance(value, str) and value.strip():
            return value
    return ""
