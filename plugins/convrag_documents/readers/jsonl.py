"""JSONL: each line is a document."""

from collections.abc import Iterator
from typing import Any

from convrag import Document
from convrag.sdk.strict_json import parse_json
from convrag_documents.readers.text import decode
from convrag_documents.unreadable import Unreadable

_TEXT = ("text", "content", "contents", "body", "passage")
_TITLE = ("title", "name", "heading")
_URL = ("url", "link", "source_url")


def read_jsonl(content: bytes) -> Iterator[Document]:
    """Read one document a line, named by the number of its line.

    An object has its text under `text` (or content, contents, body, passage), and may have a title and a url. Without
    one of these, all its texts and numbers are: "question: ...", a line each.
    """
    failed = []
    for number, line in enumerate(decode(content).split("\n"), 1):
        if not line.strip():
            continue
        try:
            yield _make_document(str(number), parse_json(line))
        except ValueError as error:
            failed.append(f"line {number}: this is not JSON: {error}")
    if failed:
        more = f" (and {len(failed) - 1} more like it)" if len(failed) > 1 else ""
        raise Unreadable(f"{failed[0]}{more}")


def _make_document(part: str, row: Any) -> Document:
    if not isinstance(row, dict):
        return Document(part, row if isinstance(row, str) else "")
    title, url = _find_text(row, _TITLE), _find_text(row, _URL)
    if text := _find_text(row, _TEXT):
        return Document(part, text, title=title, url=url)
    fields = {name: value for name, value in row.items() if isinstance(value, str | int | float) and str(value).strip()}
    return Document(part, "\n".join(f"{name}: {value}" for name, value in fields.items()), title=title, url=url)


def _find_text(row: dict[str, Any], names: tuple[str, ...]) -> str:
    return next((value for name in names if isinstance(value := row.get(name), str) and value.strip()), "")
