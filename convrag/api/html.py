"""HTML for notebooks: small tables of texts, each shown as it is; a rewrite, evidence, and the record of a turn.

It imports none of the classes that it shows, for they import it.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import Any

from convrag.api.printable import make_printable

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
