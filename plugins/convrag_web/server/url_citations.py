"""The citations of an answer as OpenAI's annotations of type `url_citation`."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, urlsplit

from convrag import Passage, TurnRecord
from convrag.sdk.citations import find_citations


def list_annotations(text: str, record: TurnRecord) -> list[dict[str, Any]]:
    """List the annotations of an answer, in order: one for each passage that a mark such as `[1]` or `[1, 2]` cites.

    Args:
        text: the answer as the client gets it; the places of its marks are counted in characters, the end exclusive.
        record: of the turn.
    """
    passages = {item.number: item.passage for item in record.evidence.items}
    return [
        {"type": "url_citation", "url_citation": _describe(passages[number]) | {"start_index": start, "end_index": end}}
        for start, end, numbers in find_citations(text)
        for number in numbers
        if number in passages
    ]


def find_url(passage: Passage) -> str:
    """The address of a passage: its own, if a browser opens it safely, else a URN made of its id.

    `javascript:...`, which a client could take for a link, is none; `urn:convrag:passage:moon-1` is valid and stable.
    """
    try:
        scheme = urlsplit(passage.url).scheme.lower()
    except ValueError:
        scheme = ""
    if scheme in ("http", "https"):
        return passage.url
    return f"urn:convrag:passage:{quote(passage.id, safe='', errors='replace')}"


def _describe(passage: Passage) -> dict[str, Any]:
    return {"title": passage.name, "url": find_url(passage)}
