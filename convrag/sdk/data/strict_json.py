"""Strict JSON, without NaN and infinities."""

from convrag.store.json_text import format_json as format_json, parse_json as parse_json
