"""The front matter of Markdown: fields about the document before its text.

It is YAML between two lines of `---` (Jekyll, Hugo, MkDocs, Docusaurus), or TOML between two lines
of `+++` (Hugo, Zola). Parsers of YAML and TOML read it. Where they refuse it (`title: Boats: a
guide` is no YAML), its lines are read one by one, as `name: value`.
"""

import re
import tomllib
from collections.abc import Mapping
from typing import Any

import yaml

from convrag.sdk.data.bounded_yaml import parse_yaml

_LONGEST = 100_000
"""Characters of a front matter."""

_MOST_PARSED = 10_000
"""Characters that a parser is given, since it takes seconds for more; then lines are read."""

_YAML_BLOCK = re.compile(
    rf"---[ \t]*\n(.{{0,{_LONGEST}}}?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE
)
_TOML_BLOCK = re.compile(
    rf"\+\+\+[ \t]*\n(.{{0,{_LONGEST}}}?)^\+\+\+[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE
)
_FIELD = re.compile(r"([A-Za-z][\w.-]*)[ \t]*([:=])(?:[ \t]+(.*)|)$")
"""A line `name: value`, or `name = value`."""

_NULLS = {"", "~", "null", "none"}
_LONGEST_VALUE = 2_000
"""Characters of a value that is shown, and words of a list."""

Fields = dict[str, Any]


def split_front_matter(text: str) -> tuple[Fields, str]:
    """Split a file into the fields of its front matter and its text; no fields where it has none.

    A thematic break is written as YAML's lines are, with blank lines around it. So a block with a
    blank line at its beginning or its end is front matter only if it has a title.
    """
    toml = _TOML_BLOCK.match(text)
    if toml is not None:
        fields = _parse_toml(toml[1])
        return (fields, text[toml.end() :]) if fields else ({}, text)
    found = _YAML_BLOCK.match(text)
    if found is None:
        return {}, text
    fields = _parse_yaml(found[1])
    is_front_matter = "title" in fields or (fields and not _is_between_blank_lines(found[1]))
    return (fields, text[found.end() :]) if is_front_matter else ({}, text)


def get_line(fields: Mapping[str, Any], name: str) -> str:
    """Return a field in one line of bounded length; empty where it is missing, or a mapping.

    The texts of a list stand between commas.
    """
    value = fields.get(name)
    items = value if isinstance(value, list) else [value]
    texts = [_format_value(item) for item in items[:_LONGEST_VALUE]]
    line = ", ".join(text for text in texts if text)
    if len(line) <= _LONGEST_VALUE:
        return line
    return f"{line[: _LONGEST_VALUE - 1].rstrip()}…"


def _format_value(value: object) -> str:
    if value is None or isinstance(value, bool | dict | list):
        return ""
    return " ".join(str(value)[: 10 * _LONGEST_VALUE].split())


def _is_between_blank_lines(block: str) -> bool:
    """Whether a block begins or ends with a blank line."""
    lines = block.splitlines()
    return not lines[0].strip() or not lines[-1].strip()


def _parse_yaml(block: str) -> Fields:
    """Parse YAML; no fields where it has none, or is not a mapping."""
    if len(block) > _MOST_PARSED:
        return _parse_lines(block, ":")
    try:
        fields = parse_yaml(block)
    except (yaml.YAMLError, ValueError, RecursionError):
        return _parse_lines(block, ":")
    return fields if isinstance(fields, dict) else {}


def _parse_toml(block: str) -> Fields:
    """Parse TOML; no fields where it has none."""
    if len(block) > _MOST_PARSED:
        return _parse_lines(block, "=")
    try:
        return tomllib.loads(block)
    except (tomllib.TOMLDecodeError, ValueError, RecursionError):
        return _parse_lines(block, "=")


def _parse_lines(block: str, sign: str) -> Fields:
    """Read the lines `name: value` of a block that its parser refuses.

    Lines that continue a value, items of lists and comments are passed over. A block with other
    lines, or without a title, has no fields: it is a text between two rules.
    """
    fields: Fields = {}
    for line in block.splitlines():
        field = _FIELD.match(line)
        if field and field[2] == sign:
            fields.setdefault(field[1], _read_value(field[3] or ""))
        elif not _continues(line):
            return {}
    return fields if "title" in fields else {}


def _continues(line: str) -> bool:
    """Whether a line can be part of the field above it, or of none."""
    return not line.strip() or line.startswith((" ", "\t", "-", "#", "[", "]", "{", "}", '"', "'"))


def _read_value(text: str) -> str | None:
    """Read a value of one line: without quotation marks; None for null, lists and aliases."""
    value = text.strip()
    if value.lower() in _NULLS or value.startswith(("*", "&", "!", "[", "{", "|", ">")):
        return None
    is_quoted = len(value) > 1 and value[0] in "\"'" and value[-1] == value[0]
    return value[1:-1] if is_quoted else value
