"""Passages as documents of an index."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

from convrag import Passage
from convrag_elasticsearch.filters import FIELDS, build_fields, mapping_of_fields

CONTENT = "content"
"""The field with title and text, which is searched."""

SOURCE_FIELDS = ["id", CONTENT, "title", "url", "metadata", "text_start"]
"""The fields that a search returns; a passage is built from them."""

VECTOR_FIELDS = ["vector", "tokens", FIELDS]
"""The fields that are searched and never returned; `_source` excludes them."""

_MAX_ID_BYTES = 512
"""The longest id of a document that Elasticsearch takes."""


def build_document(passage: Passage) -> dict[str, Any]:
    """Build the document of a passage. Its text is kept once, as a part of the content."""
    document = {
        "id": passage.id,
        CONTENT: passage.content,
        "title": passage.title,
        "url": passage.url,
        "text_start": len(passage.content) - len(passage.text),
    }
    if passage.metadata:
        document["metadata"] = dict(passage.metadata)
    return document | build_fields(passage)


def build_passage(source: Mapping[str, Any]) -> Passage:
    """Build the passage that a document was built from."""
    return Passage(
        id=source["id"],
        text=source[CONTENT][source["text_start"] :],
        title=source["title"],
        url=source["url"],
        metadata=source.get("metadata", {}),
    )


def build_document_id(passage_id: str) -> str:
    """Build a document's id: its passage's id, or a hash of one that is too long."""
    data = passage_id.encode()
    if len(data) <= _MAX_ID_BYTES:
        return passage_id
    return f"blake2b-{blake2b(data, digest_size=32).hexdigest()}"


def base_mapping_properties() -> dict[str, Any]:
    """Return the fields of the mapping that every index has."""
    unsearched = {"type": "keyword", "index": False, "doc_values": False}
    return {
        "id": {"type": "keyword"},  # breaks ties between equal scores
        CONTENT: {"type": "text", "index": False},
        "title": unsearched,
        "url": unsearched,
        "text_start": {"type": "integer", "index": False, "doc_values": False},
        "metadata": {"type": "object", "enabled": False},
        FIELDS: mapping_of_fields(),
    }
