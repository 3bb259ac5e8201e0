"""A conversation as a file: Markdown to read, JSON with the whole records."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from starlette.responses import Response

from convrag import TurnRecord
from convrag.sdk.transcript import format_transcript
from convrag_web.server.json_reply import JsonReply

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
    text = format_transcript(conversation["title"] or conversation["id"], records)
    return Response(text.encode("utf-8", "replace"), media_type="text/markdown; charset=utf-8", headers=headers)


def make_file_name(id: str, ending: str) -> str:
    """A name for the file of a conversation, of letters, digits, dots, hyphens and underscores alone."""
    return f"{_UNSAFE.sub('_', id)[:80].strip('._') or 'conversation'}.{ending}"
