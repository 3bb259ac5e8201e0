"""HTML for notebooks: small tables of texts, each of which is shown as it is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from convrag.api.printable import make_printable

_LONGEST = 2000  # characters of a text


def format_text(text: object, longest: int = _LONGEST) -> str:
    """Escape a text for HTML: no markup, no control characters, cut at `longest` characters; Html stays as it is."""
    if isinstance(text, Html):
        return text
    shown = make_printable(str(text))
    return escape(shown if len(shown) <= longest else f"{shown[:longest]}…").replace("\n", "<br>")


class Html(str):
    """A text that is HTML already."""


def format_marked(text: str, spans: Iterable[tuple[int, int]]) -> Html:
    """Escape a text as `format_text` does, with the spans (start, end) in it marked; they come in order."""
    parts, place = [], 0
    for start, end in spans:
        first, last = max(start, place), min(end, len(text), _LONGEST)
        if first < last:
            parts += [format_text(text[place:first]), f"<mark>{format_text(text[first:last])}</mark>"]
            place = last
    return Html("".join(parts) + format_text(text[place:], _LONGEST - place))


def format_table(head: Sequence[object], rows: Iterable[Sequence[object]]) -> str:
    """Format a table of texts, with a head unless that is empty."""
    top = f"<thead><tr>{''.join(f'<th>{format_text(cell)}</th>' for cell in head)}</tr></thead>" if head else ""
    body = "".join(f"<tr>{''.join(f'<td>{format_text(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table>{top}<tbody>{body}</tbody></table>"


def format_details(summary: object, content: str) -> str:
    """Format a part that is opened by a click; `content` is HTML."""
    return f"<details><summary>{format_text(summary)}</summary>{content}</details>"
