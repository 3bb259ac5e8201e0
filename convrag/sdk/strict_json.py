"""JSON without NaN and infinities, which are no JSON."""

from convrag.store.strict_json import format_json, make_decoder, parse_json

__all__ = ["format_json", "make_decoder", "parse_json"]
