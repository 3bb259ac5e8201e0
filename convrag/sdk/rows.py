"""Rows of JSON files that others wrote, checked as they are read."""

from __future__ import annotations

from convrag.api.plain_data import make_plain
from convrag.api.rows import RecordRow

__all__ = ["RecordRow", "make_plain"]
