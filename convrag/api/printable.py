"""Text for terminals, logs and notebooks: what could move the cursor, hide or reorder text is made visible.

Data sets, replies and plugins of others may hold any character. A terminal obeys some of them: escape sequences write
to the clipboard or paint over what was said, a lone carriage return overwrites a line, and bidirectional controls show
code in another order than it has. A notebook shows HTML: tables of texts, a rewrite, evidence, the record of a turn;
none of their classes is imported here, for they import this.
"""

import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import Any, TextIO

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""C0 without newline and tab, DEL, C1, bidirectional embeddings, overrides and isolates, half surrogate pairs."""

_PICTURES = {**{chr(code): chr(0x2400 + code) for code in range(0x20)}, "\x7f": "\u2421"}
"""C0 control -> the picture that Unicode has for it: an escape is shown as one character, "\u241b"."""


def make_printable(text: str) -> str:
    """Return a text with each control character replaced by one that shows it; newlines and tabs stay.

    A carriage return becomes a newline, with the newline that follows it if there is one. Every other character stays,
    so that text in any script is shown as it is.
    """
    return _CONTROL.sub(_show, text.replace("\r\n", "\n").replace("\r", "\n"))


def _show(found: re.Match[str]) -> str:
    return _PICTURES.get(found[0], "\ufffd")


class PrintableStream:
    """A text stream that replaces control characters; everything else is the stream's own.

    Args:
        unguarded: the stream that is written to.
    """

    def __init__(self, unguarded: TextIO) -> None:
        self.unguarded = unguarded

    def write(self, text: str) -> int:
        """Write a text; return its length."""
        self.unguarded.write(make_printable(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write texts one after the other."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.unguarded, name)


def make_streams_printable() -> None:
    """Put the filter before this process's standard output and standard error, once.

    Where the terminal has no form for a character, as in LANG=C, standard output then shows a question mark.
    """
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None or isinstance(stream, PrintableStream):
            continue
        if getattr(stream, "errors", "") == "strict" and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
        setattr(sys, name, PrintableStream(stream))


SHOWN = 10
"""The number of passages and of queries that are shown at once."""

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


def format_rewrite_html(rewrite: Any) -> str:
    """Format a rewrite: its queries, why it fell back, and how they were made."""
    about = format_table((), [("Fell back", rewrite.fallback)]) if rewrite.fallback else ""
    first, others = rewrite.queries[:SHOWN], rewrite.queries[SHOWN:]
    more = (
        format_details(f"{len(others)} more {'query' if len(others) == 1 else 'queries'}", format_queries(others))
        if others
        else ""
    )
    return f"<div>{format_queries(first)}{more}{about}{_format_trace(rewrite.trace)}</div>"


def format_queries(queries: Iterable[Any]) -> Html:
    """Format queries as a table: the text, which search it is for, which rewriter made it, and the weight."""
    rows = [(query.text, query.search, query.source, f"{query.weight:.3g}") for query in queries]
    return format_table(("Query", "Search", "Rewriter", "Weight"), rows, names=3)


def format_evidence_html(evidence: Any) -> str:
    """Format evidence: its passages as the model sees them, and what was left out."""
    items = evidence.items
    more = f", the first {SHOWN}" if len(items) > SHOWN else ""
    passages = format_passages(evidence) if items else ""
    title = f"{len(items)} passage{'s' * (len(items) != 1)}{more}"
    return f"<div><p>{title}</p>{passages}{_format_trace(evidence.trace)}</div>"


def format_passages(evidence: Any, answer: Any = None, relevant: Collection[str] = ()) -> Html:
    """Format the first passages of the evidence as a table; what the answer rests on is marked (`Answer.support`).

    Args:
        evidence: the passages.
        answer: which cites some of them; None where there is none.
        relevant: ids of passages that are judged relevant.
    """
    rows = [
        (
            f"[{item.number}]",
            item.passage.name,
            ", ".join(_list_labels(item, answer, relevant)),
            format_marked(item.text, _find_shown_spans(answer, item)),
        )
        for item in evidence.items[:SHOWN]
    ]
    return format_table(("", "Passage", "", "Text"), rows)


def format_record_html(record: Any) -> str:
    """Format a record: question, answer, queries, the passages that the model saw, and what went wrong.

    What the answer rests on is marked in the passages, where the generator says so (`Answer.support`).
    """
    about = [("Question", record.original_query), ("Answer", record.answer.text or "(no answer)")]
    about += [("Query", record.rewritten_query)] if record.queries else []
    about += [(f"{stage} fell back", reason) for stage, reason in record.fallbacks.items()]
    about += [("Error", record.error)] if record.error else []
    count = len(record.evidence.items)
    more = f" (the first {SHOWN})" if count > SHOWN else ""
    title = f"{count} passage{'s' * (count != 1)} of {len(record.hits)} retrieved{more}"
    relevant = {passage_id for passage_id, grade in record.gold.items() if grade > 0}
    passages = format_details(title, format_passages(record.evidence, record.answer, relevant)) if count else ""
    more_than_one = len(record.queries) > 1
    queries = format_details(f"{len(record.queries)} queries", format_queries(record.queries)) if more_than_one else ""
    times = ", ".join(f"{stage} {seconds:.3f} s" for stage, seconds in record.timings.items())
    return f"<div>{format_table((), about)}{queries}{passages}<small>{format_text(times)}</small></div>"


def _list_labels(item: Any, answer: Any, relevant: Collection[str]) -> Iterator[str]:
    if item.passage.id in relevant:
        yield "relevant"
    if answer and item.passage.id in answer.citations:
        yield "cited"
    if item.hint:
        yield "hint"


def _format_trace(trace: Mapping[str, Any]) -> str:
    return format_details("Trace", format_table((), list(trace.items()))) if trace else ""


def _find_shown_spans(answer: Any, item: Any) -> list[tuple[int, int]]:
    """Find what the answer rests on in a passage as it was shown: in its whole text, maybe behind its title."""
    before = item.text.find(item.passage.text)
    if answer is None or before < 0:
        return []
    return [(before + start, before + end) for start, end in answer.find_spans(item.passage.id)]
