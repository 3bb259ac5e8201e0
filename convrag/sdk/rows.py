"""Rows of JSON files that others wrote, checked as they are read."""

from convrag.api.plain_data import make_plain
from convrag.api.rows import RecordRow

__all__ = ["RecordRow", "make_plain"]
