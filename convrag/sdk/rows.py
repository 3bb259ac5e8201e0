"""Rows of JSON files that others wrote, checked as they are read."""

from convrag.api.rows import RecordRow, make_plain
