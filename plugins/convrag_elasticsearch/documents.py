"""A passage as the cluster keeps it, and back."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

from convrag import Passage

CONTENT = "content"
"""The field with title and text, which is searched."""

RETURNED = ["id", CONTENT, "title", "url", "metadata", "text_start"]
"""The fields from which a passage is made again."""

VECTORS = ["vector", "tokens"]
"""Fields that are searched and never read back; they stay out of what the cluster keeps of a document's source."""

_LONGEST_ID = 512  # bytes


def document(passage: Passage) -> dict[str, Any]:
    """The fields of a passage. Its text is kept once, as a part of the content."""
    fields = {
        "id": passage.id,
        CONTENT: passage.content,
        "title": passage.title,
        "url": passage.url,
        "text_start": len(passage.content) - len(passage.text),
    }
    return fields | ({"metadata": dict(passage.metadata)} if passage.metadata else {})


def passage_of(source: Mapping[str, Any]) -> Passage:
    """The passage that a document was made from."""
    return Passage(
        id=source["id"],
        text=source[CONTENT][source["text_start"] :],
        title=source["title"],
        url=source["url"],
        metadata=source.get("metadata", {}),
    )


def document_id(passage_id: str) -> str:
    """The id under which the cluster keeps a passage: its own, unless that is longer than the cluster allows."""
    data = passage_id.encode()
    return passage_id if len(data) <= _LONGEST_ID else f"blake2b-{blake2b(data, digest_size=32).hexdigest()}"


def base_properties() -> dict[str, Any]:
    """The mapping of the fields that every index has."""
    unsearched = {"type": "keyword", "index": False, "doc_values": False}
    return {
        "id": {"type": "keyword"},  # breaks ties between equal scores
        CONTENT: {"type": "text", "index": False},
        "title": unsearched,
        "url": unsearched,
        "text_start": {"type": "integer", "index": False, "doc_values": False},
        "metadata": {"type": "object", "enabled": False},
    }
