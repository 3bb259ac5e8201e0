"""The fields of a document that follow from its file: its kind, its folders, and its date."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Any

from convrag import Document
from convrag.sdk.data.fields import add_fields
from convrag_documents.catalog import ReadFile


def describe_file(read: ReadFile, *, dated: bool) -> dict[str, Any]:
    """Describe a file as fields.

    "policies/hr/leave.md" has the kind "md", and the folders "policies" and "policies/hr". A file
    without a suffix has the kind "text".

    Args:
        read: the file.
        dated: whether it has the day of its last change, in UTC, as `date`.
    """
    path = PurePosixPath(read.file.id)
    kind = path.suffix.lower().removeprefix(".")
    fields: dict[str, Any] = {"kind": kind or "text"}
    folders = [str(folder) for folder in reversed(path.parents) if folder.name]
    if folders:
        fields["folder"] = folders
    if dated:
        seconds = read.modified / 1e9
        fields["date"] = datetime.fromtimestamp(seconds, UTC).date().isoformat()
    return fields


def add_file_fields(document: Document, read: ReadFile, *, dated: bool) -> Document:
    """Add the fields of its file to a document; its own, such as its front matter's, stay."""
    fields = describe_file(read, dated=dated)
    return replace(document, metadata=add_fields(document.metadata, fields))
