"""Downloads of whole conversations."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from starlette.responses import Response

from convrag import TurnRecord
from convrag.sdk.data.transcript import format_transcript
from convrag_web.server.json_reply import JsonReply, JsonText, format_with_records


def format_export(
    conversation: Mapping[str, Any], records: Sequence[TurnRecord], format: str
) -> Response:
    """Format a conversation as a download.

    Args:
        conversation: its description, see `ConversationInfo`.
        records: the records of its turns.
        format: "json" or "markdown".
    """
    suffix = "json" if format == "json" else "md"
    disposition = f'attachment; filename="{_name_file(conversation["id"])}.{suffix}"'
    headers = {"Content-Disposition": disposition}
    if format == "json":
        return JsonReply(JsonText(format_with_records(conversation, records)), headers=headers)
    text = format_transcript(conversation["title"] or conversation["id"], records)
    return Response(
        text.encode("utf-8", "replace"), media_type="text/markdown; charset=utf-8", headers=headers
    )


def _name_file(id: str) -> str:
    """Turn a conversation's id, which can be any text, into the name of a file."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "_", id)[:80]
    return name.strip("._") or "conversation"
