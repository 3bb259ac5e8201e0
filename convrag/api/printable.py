"""Text for terminals, logs and notebooks, in which control characters are made visible.

Data sets, replies and plugins of others may contain any character. A terminal obeys some of them:
escape sequences write to the clipboard or paint over earlier text, a lone carriage return
overwrites a line, and bidirectional controls show code in another order than it has. A notebook
shows HTML: tables of texts, and the record of a turn (whose class imports this module, and not the
other way round).
"""

import re
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from html import escape
from typing import Any, TextIO

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""C0 without newline and tab, DEL, C1, bidirectional controls, and half surrogate pairs."""

_PICTURES = {**{chr(code): chr(0x2400 + code) for code in range(0x20)}, "\x7f": "\u2421"}
"""C0 control -> Unicode's picture of it: an escape is shown as one character, "\u241b"."""


def make_printable(text: str) -> str:
    """Replace the control characters of a text by visible ones; newlines and tabs stay.

    A carriage return becomes a newline, with the newline that follows it if there is one. Every
    other character stays, so that text in any script is shown as it is.
    """
    return _CONTROL.sub(_show, text.replace("\r\n", "\n").replace("\r", "\n"))


def _show(found: re.Match[str]) -> str:
    return _PICTURES.get(found[0], "\ufffd")


class PrintableStream:
    """A text stream that replaces control characters and otherwise acts as another stream.

    Args:
        unguarded: the other stream.
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
    """Make this process's standard output and standard error a PrintableStream, once.

    If the terminal cannot show a character, as in LANG=C, standard output shows a question mark.
    """
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None or isinstance(stream, PrintableStream):
            continue
        if getattr(stream, "errors", "") == "strict" and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
        setattr(sys, name, PrintableStream(stream))


_MOST_PASSAGES = 10
"""The number of passages in the table of a record."""

_LONGEST = 2000
"""The most characters of a text in a table."""

_LEFT = 'style="text-align:left;vertical-align:top"'
"""The style of a cell; JupyterLab aligns all cells right."""


class Html(str):
    """A text that is HTML already."""


def format_text(text: object, longest: int = _LONGEST) -> str:
    """Escape a text for HTML, without control characters and cut at `longest` characters.

    Html stays as it is.
    """
    if isinstance(text, Html):
        return text
    shown = make_printable(str(text))
    if len(shown) > longest:
        shown = f"{shown[:longest]}…"
    return escape(shown).replace("\n", "<br>")


def format_table(head: Sequence[object], rows: Iterable[Sequence[object]]) -> Html:
    """Format a table of texts, with a head unless that is empty."""
    lines = [("th", head)] if head else []
    lines += [("td", row) for row in rows]
    html = ""
    for tag, row in lines:
        cells = "".join(f"<{tag} {_LEFT}>{format_text(cell)}</{tag}>" for cell in row)
        html += f"<tr>{cells}</tr>"
    return Html(f"<table>{html}</table>")


def format_record_html(record: Any) -> str:
    """Format a record: question, answer, queries, the passages that the model saw, and problems.

    The parts of passages that the answer rests on are marked, if the generator names them
    (`Answer.support`).
    """
    about = [("Question", record.original_query), ("Answer", record.answer.text or "(no answer)")]
    about += [(f"{stage} fell back", reason) for stage, reason in record.fallbacks.items()]
    if record.error:
        about.append(("Error", record.error))
    about += [(stage, f"{seconds:.3f} s") for stage, seconds in record.timings.items()]
    relevant = {passage_id for passage_id, grade in record.gold.items() if grade > 0}
    numbers = record.citation_numbers
    passages = _format_passages(record.evidence.items, record.answer, relevant, numbers)
    summary = _count_passages(len(record.evidence.items))
    details = (
        f"<details><summary>{summary}; {len(record.hits)} retrieved</summary>{passages}</details>"
    )
    return f"<div>{format_table((), about)}{_format_queries(record.queries)}{details}</div>"


def _count_passages(number: int) -> str:
    noun = "passage" if number == 1 else "passages"
    if number > _MOST_PASSAGES:
        return f"{number} {noun}, the first {_MOST_PASSAGES}"
    return f"{number} {noun}"


def _format_queries(queries: Iterable[Any]) -> Html:
    """Format queries as a table: text, kind of search, rewriter and weight."""
    rows = [(query.text, query.search, query.source, f"{query.weight:.3g}") for query in queries]
    return format_table(("Query", "Search", "Rewriter", "Weight"), rows)


def _format_passages(
    items: Sequence[Any],
    answer: Any = None,
    relevant: Collection[str] = (),
    numbers: Mapping[str, int] | None = None,
) -> Html:
    """Format the first passages of the evidence as a table, with the answer's support marked."""
    rows = []
    for item in items[:_MOST_PASSAGES]:
        cited = answer is not None and item.passage.id in answer.citations
        labels = {"relevant": item.passage.id in relevant, "cited": cited, "hint": item.hint}
        label = ", ".join(label for label, holds in labels.items() if holds)
        number = (numbers or {}).get(item.passage.id, item.number)
        rows.append((f"[{number}]", item.passage.name, label, _format_marked(item, answer)))
    return format_table(("", "Passage", "", "Text"), rows)


def _format_marked(item: Any, answer: Any) -> Html:
    """Escape a passage as it was shown, with the answer's support marked.

    The support is known only if the whole text was shown, perhaps after the title.
    """
    text = item.text
    parts = ""
    place = 0
    before = text.find(item.passage.text)
    spans = answer.find_spans(item.passage.id) if answer and before >= 0 else ()
    for start, end in spans:
        first = max(before + start, place)
        last = min(before + end, len(text), _LONGEST)
        if first < last:
            parts += f"{format_text(text[place:first])}<mark>{format_text(text[first:last])}</mark>"
            place = last
    return Html(parts + format_text(text[place:], _LONGEST - place))
