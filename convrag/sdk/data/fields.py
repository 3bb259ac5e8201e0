"""The fields of passages, made of what a data set has: front matter, columns, other keys.

A field has a name of small letters, digits and underscores ("Last updated" -> "last_updated"), and
a value: a text, a number, a truth value, or a list of texts. A date is a text, "2023-05-01".
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from datetime import date, datetime
from math import isfinite
from typing import Any

from convrag.api.filters import format_number
from convrag.api.passages import FieldValue

__all__ = [
    "FieldValue",
    "add_fields",
    "make_fields",
    "normalise_name",
    "parse_date",
    "parse_number",
]

LONGEST_NAME = 60
"""Characters of a field's name; a longer one is not a field."""

LONGEST_VALUE = 200
"""Characters of a value; a longer text is not a field, since nobody filters by it."""

MOST_VALUES = 100
"""Texts of a list that are kept, the first ones."""

MOST_FIELDS = 50
"""Fields of a passage that are kept, the first ones."""

_LARGEST = 10**18
"""The size from which numbers are texts: their last digits would be lost."""

_NUMBER = re.compile(r"-?[0-9]{1,18}(?:\.[0-9]{1,18})?")
_DATE = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})(?:[T ][0-9]{2}:[0-9]{2}\S*(?: ?\S+)?)?")


def make_fields(values: Mapping[str, Any]) -> dict[str, FieldValue]:
    """Make the fields of a passage or a document; what is no field is left out.

    * A text that is written as a number or as `true` or `false` counts as one, since a table has
      texts alone: "2023" is 2023. "007" and "1.10" stay texts.
    * Of a time, the day is kept: "2023-05-01T12:00:00Z" is "2023-05-01".
    * Of a list, the texts, numbers and truth values are kept, as texts.
    * Mappings, nulls, texts of more than 200 characters and empty ones are left out.

    Args:
        values: name -> value, as a file or a library gives it.

    Example:
        >>> make_fields({"Product": "kettle", "year": "2023", "tags": ["tea", 7], "notes": None})
        {'product': 'kettle', 'year': 2023, 'tags': ['tea', '7']}
    """
    fields: dict[str, FieldValue] = {}
    for given, value in values.items():
        name = normalise_name(str(given))
        field = _make_value(value)
        if name and len(name) <= LONGEST_NAME and field is not None:
            fields.setdefault(name, field)
        if len(fields) == MOST_FIELDS:
            break
    return fields


def add_fields(metadata: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Add the fields that values make to the metadata of a passage or a document.

    Fields that the metadata have already stay. Without any field, the metadata stay as they are, so
    that a corpus without fields has the fingerprint that it always had.

    Example:
        >>> add_fields({"source": 1}, {"Year": 2023})
        {'source': 1, 'fields': {'year': 2023}}
    """
    known = metadata.get("fields")
    own = known if isinstance(known, Mapping) else {}
    fields = {**make_fields(values), **make_fields(own)}
    return {**metadata, "fields": fields} if fields else dict(metadata)


def normalise_name(name: str) -> str:
    """Write the name of a field in small letters, digits and underscores.

    Example:
        >>> normalise_name("Last updated"), normalise_name("Größe (cm)")
        ('last_updated', 'größe_cm')
    """
    text = unicodedata.normalize("NFC", name).casefold()
    return re.sub(r"[\W_]+", "_", text).strip("_")


def parse_number(text: str) -> int | float | None:
    """Parse a text that is written as the language of filters writes a number; else None.

    Example:
        >>> parse_number("2023"), parse_number("2.5"), parse_number("007"), parse_number("1.10")
        (2023, 2.5, None, None)
    """
    if not _NUMBER.fullmatch(text):
        return None
    number = float(text) if "." in text else int(text)
    return number if format_number(number) == text else None


def parse_date(text: str) -> str | None:
    """Return the day of a date or a time in ISO's form; None for any other text.

    Example:
        >>> parse_date("2023-05-01 12:30"), parse_date("2023-05-41")
        ('2023-05-01', None)
    """
    found = _DATE.fullmatch(text)
    if found is None:
        return None
    try:
        return date.fromisoformat(found[1]).isoformat()
    except ValueError:
        return None


def _make_value(value: Any) -> FieldValue | None:
    """Make the value of a field; None where it is not one."""
    if isinstance(value, list | tuple):
        texts = [_write(item) for item in value[:MOST_VALUES]]
        kept = [text for text in texts if text]
        return kept or None
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return value if isfinite(value) and abs(value) < _LARGEST else None
    text = _write(value)
    if text in ("true", "false"):
        return text == "true"
    number = parse_number(text)
    return number if number is not None else text or None


def _write(value: Any) -> str:
    """Write a single value as a text; empty where it is no field."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        is_kept = isfinite(value) and abs(value) < _LARGEST
        return format_number(value) if is_kept else ""
    if isinstance(value, datetime | date):
        return value.isoformat()[:10]
    if not isinstance(value, str) or len(value) > 10 * LONGEST_VALUE:
        return ""
    text = " ".join(value.split())
    if len(text) > LONGEST_VALUE:
        return ""
    return parse_date(text) or text
