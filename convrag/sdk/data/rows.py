"""Rows of JSON files that others wrote, checked as they are read."""

from convrag.api.rows import RecordRow as RecordRow, make_plain as make_plain
