"""HTML for notebooks: small tables of texts, each of which is shown as it is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from convrag.api.printable import make_printable


def format_text(text: object, longest: int = 2000) -> str:
    """Escape a text for HTML: no markup, no control characters, cut at `longest` characters."""
    shown = make_printable(str(text))
    return escape(shown if len(shown) <= longest else f"{shown[:longest]}…").replace("\n", "<br>")


def format_table(head: Sequence[object], rows: Iterable[Sequence[object]]) -> str:
    """Format a table of texts, with a head unless that is empty."""
    top = f"<thead><tr>{''.join(f'<th>{format_text(cell)}</th>' for cell in head)}</tr></thead>" if head else ""
    body = "".join(f"<tr>{''.join(f'<td>{format_text(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table>{top}<tbody>{body}</tbody></table>"


def format_details(summary: object, content: str) -> str:
    """Format a part that is opened by a click; `content` is HTML."""
    return f"<details><summary>{format_text(summary)}</summary>{content}</details>"
