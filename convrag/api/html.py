"""HTML for notebooks: small tables of texts, each of which is shown as it is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from convrag.api.printable import make_printable

_LONGEST = 2000  # characters of a text
# JupyterLab aligns all cells right. Colours are the page's own, or let it shine through: it may be light or dark.
_NAME = 'style="text-align:left;vertical-align:top"'
_NUMBER = 'style="text-align:right;vertical-align:top;white-space:nowrap"'
_MARK = 'style="background:rgba(255,191,0,0.4);color:inherit"'


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
            parts += [format_text(text[place:first]), f"<mark {_MARK}>{format_text(text[first:last])}</mark>"]
            place = last
    return Html("".join(parts) + format_text(text[place:], _LONGEST - place))


def format_table(head: Sequence[object], rows: Iterable[Sequence[object]], *, names: int | None = None) -> Html:
    """Format a table of texts, with a head unless that is empty.

    Args:
        head: the names of the columns.
        rows: of cells.
        names: how many of the first columns have texts, which are aligned left; the others have numbers. None: all.
    """
    top = f"<thead>{_format_row('th', head, names)}</thead>" if head else ""
    return Html(f"<table>{top}<tbody>{''.join(_format_row('td', row, names) for row in rows)}</tbody></table>")


def _format_row(tag: str, cells: Sequence[object], names: int | None) -> str:
    styles = (_NAME if names is None or column < names else _NUMBER for column in range(len(cells)))
    row = (f"<{tag} {style}>{format_text(cell)}</{tag}>" for style, cell in zip(styles, cells, strict=True))
    return f"<tr>{''.join(row)}</tr>"


def format_bold(text: object) -> Html:
    """Escape a text as `format_text` does, in bold."""
    return Html(f"<b>{format_text(text)}</b>")


def format_details(summary: object, content: str) -> Html:
    """Format a part that is opened by a click; `content` is HTML."""
    return Html(f"<details><summary>{format_text(summary)}</summary>{content}</details>")
