"""JSON without NaN and infinities, which are no JSON."""

from convrag.store.json_text import format_json, make_decoder, parse_json
