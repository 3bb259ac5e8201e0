"""Patterns of the lines of Markdown."""

import re

HEADING = re.compile(r" {0,3}(#{1,6})(?=[ \t]|$)")
BLOCK = re.compile(
    r"[ \t]*(?:$|#{1,6}(?:\s|$)|[-*+](?:\s|$)|\d{1,9}[.)]\s|>|\||<|`{3}|~{3}|=+\s*$"
    r"|(?:[-*_][ \t]*){3,}$)"
)
"""A line that begins a block of its own, so that it does not continue the line above it."""
