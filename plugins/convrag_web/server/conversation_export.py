"""A conversation as a file: Markdown to read, JSON with the whole records."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from starlette.responses import Response

from convrag import TurnRecord
from convrag.sdk.markdown import format_line, format_text
from convrag_web.server.json_reply import JsonReply
from convrag_web.server.url_citations import find_url

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


def format_export(conversation: Mapping[str, Any], records: Sequence[TurnRecord], format: str) -> Response:
    """Format a conversation as a download.

    Args:
        conversation: its id, title and so on.
        records: of its turns.
        format: "json" or "markdown".
    """
    name = make_file_name(conversation["id"], "json" if format == "json" else "md")
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    if format == "json":
        whole = {**conversation, "records": [record.to_dict() for record in records]}
        return JsonReply(whole, headers=headers)
    text = format_markdown(conversation["title"] or conversation["id"], records)
    return Response(text.encode("utf-8", "replace"), media_type="text/markdown; charset=utf-8", headers=headers)


def make_file_name(id: str, ending: str) -> str:
    """A name for the file of a conversation, of letters, digits, dots, hyphens and underscores alone."""
    return f"{_UNSAFE.sub('_', id)[:80].strip('._') or 'conversation'}.{ending}"


def format_markdown(title: str, records: Sequence[TurnRecord]) -> str:
    """A conversation as Markdown: questions as headings, answers, and what they cite with its address."""
    blocks = [f"# {format_line(title)}"]
    for record in records:
        answer = format_text(record.answer.text).strip() or "(no answer)"
        blocks += [f"## {format_line(record.original_query)}", answer, "\n".join(_list_sources(record))]
    return "\n\n".join(filter(None, blocks)) + "\n"


def _list_sources(record: TurnRecord) -> Iterator[str]:
    for item in record.evidence.items:
        if item.passage.id in record.answer.citations:
            title = format_line(item.passage.title or item.passage.id)
            yield f"- \\[{item.number}\\] {title}, {format_line(find_url(item.passage))}"
