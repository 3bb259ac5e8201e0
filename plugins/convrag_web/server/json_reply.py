"""Strict JSON in replies: NaN becomes null, and half a surrogate pair U+FFFD.

The library formats a value in one call, during which no other thread runs. So a long text, and a
list of records, are formatted part by part.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from starlette.responses import Response

from convrag import TurnRecord
from convrag.sdk.data.strict_json import format_json
from convrag.sdk.llm.streaming import mend_surrogates
from convrag_web.server.long_texts import LONG, cut_text


def format_json_text(value: Any) -> str:
    """Format plain data as strict JSON, on one line."""
    return mend_surrogates(format_json(value))


def format_long_json(value: Any) -> str:
    """Format plain data like `format_json_text`, part by part: it may contain long texts."""
    return "".join(_list_parts(value))


def format_record(record: TurnRecord) -> str:
    """Format the record of a turn."""
    value = record.to_dict()
    return format_long_json(value) if is_long(record) else format_json_text(value)


def is_long(record: TurnRecord) -> bool:
    """Return whether a record has a long text."""
    texts = [record.original_query, record.answer.text]
    texts += [hit.passage.text for hit in record.hits]
    return any(len(text) > LONG for text in texts)


def format_with_records(fields: Mapping[str, Any], records: Sequence[TurnRecord]) -> str:
    """Format an object with further fields and, as `records`, the records of turns."""
    head = format_json_text({**fields, "records": []})
    formatted = [format_record(record) for record in records]
    return f"{head.removesuffix(']}')}{', '.join(formatted)}]}}"


def _list_parts(value: Any) -> Iterator[str]:
    """Yield the parts of a value's JSON."""
    if isinstance(value, str) and len(value) > LONG:
        mended = mend_surrogates(value)
        yield '"'
        for part in cut_text(mended):
            yield format_json(part)[1:-1]
        yield '"'
    elif type(value) is dict and all(isinstance(name, str) for name in value):
        separator = "{"
        for name, each in value.items():
            yield f"{separator}{format_json_text(name)}: "
            yield from _list_parts(each)
            separator = ", "
        yield "}" if value else "{}"
    elif type(value) is list:
        separator = "["
        for each in value:
            yield separator
            yield from _list_parts(each)
            separator = ", "
        yield "]" if value else "[]"
    else:
        yield format_json_text(value)


class JsonText(str):
    """Text that is JSON already."""


class JsonReply(Response):
    """A response whose body is strict JSON."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Format the body."""
        text = content if isinstance(content, JsonText) else format_json_text(content)
        return text.encode()
