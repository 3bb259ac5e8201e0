"""JSON and JSONL: the documents that an array or the lines of a file have."""

from collections.abc import Iterator
from typing import Any

from convrag import Document
from convrag.sdk.data.strict_json import parse_json
from convrag_documents.readers.encoding import decode
from convrag_documents.unreadable import Unreadable

_TEXT_NAMES = ("text", "content", "contents", "body", "passage")
_TITLE_NAMES = ("title", "name", "heading")
_URL_NAMES = ("url", "link", "source_url")


def read_jsonl(content: bytes) -> Iterator[Document]:
    """Read one document from each line, named by the number of its line.

    An object has its text under `text` (or content, contents, body, passage), and may have a title
    and a url. The text of any other object is all its texts and numbers, a line each:
    "question: ...".
    """
    problems = []
    for number, line in enumerate(decode(content).split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = parse_json(line)
        except ValueError as error:
            problems.append(f"line {number}: this is not JSON: {error}")
        else:
            yield _make_document(str(number), row)
    if len(problems) > 1:
        raise Unreadable(f"{problems[0]} (and {len(problems) - 1} more like it)")
    if problems:
        raise Unreadable(problems[0])


def read_json(content: bytes) -> Iterator[Document]:
    """Read the items of an array as the lines of JSONL; an object is one document."""
    try:
        data = parse_json(decode(content))
    except ValueError as error:
        raise Unreadable(f"this is not JSON: {error}") from error
    if isinstance(data, list):
        for number, row in enumerate(data, 1):
            yield _make_document(str(number), row)
    else:
        yield _make_document("", data)


def _make_document(part: str, row: Any) -> Document:
    if isinstance(row, str):
        return Document(part, row)
    if not isinstance(row, dict):
        return Document(part, "")
    text = _find_text(row, _TEXT_NAMES) or "\n".join(_list_fields(row))
    return Document(
        part, text, title=_find_text(row, _TITLE_NAMES), url=_find_text(row, _URL_NAMES)
    )


def _list_fields(value: Any, name: str = "") -> Iterator[str]:
    """Yield the texts and numbers in a value, a line each: "office.city: Ulm"."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield from _list_fields(each, f"{name}.{key}" if name else key)
    elif isinstance(value, list):
        for each in value:
            yield from _list_fields(each, name)
    elif isinstance(value, str | int | float) and str(value).strip():
        yield f"{name}: {value}"


def _find_text(row: dict[str, Any], names: tuple[str, ...]) -> str:
    """Return the text of the first of these fields that has one; empty where none has."""
    for name in names:
        value = row.get(name)
        if isinstance(value, str) and value.strip():
            return value
    return ""
