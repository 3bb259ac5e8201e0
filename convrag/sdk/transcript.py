"""A conversation as Markdown: the questions, the answers, and what they cite. task=chat and task=serve write it."""

from collections.abc import Sequence
from urllib.parse import quote

from convrag.api.records import TurnRecord
from convrag.api.types import Passage
from convrag.sdk.markdown import format_line, format_text
from convrag.sdk.sources import Source, list_sources, name_passage

__all__ = ["format_transcript"]

_LONGEST_NAME = 200  # characters


def format_transcript(title: str, records: Sequence[TurnRecord]) -> str:
    """Format a conversation: questions as headings, answers, and the sources of each with their places or addresses.

    The sources that an answer cites stand first; the others that it was generated from follow in a line.

    Args:
        title: of the conversation.
        records: its turns.
    """
    blocks = [f"# {format_line(title)}"]
    for number, record in enumerate(records, start=1):
        sources = list_sources(records[:number])
        blocks += [
            f"## {format_line(record.original_query)}",
            _format_queries(record),
            format_text(record.answer.text).strip() or "(no answer)",
            "\n".join(f"- {_format_source(source)}" for source in sources if source.cited),
            _format_uncited([source for source in sources if not source.cited]),
        ]
    return "\n\n".join(filter(None, blocks)) + "\n"


def _format_queries(record: TurnRecord) -> str:
    texts = [query.text for query in record.queries if query.text != record.original_query]
    return f"*Searched for: {'; '.join(_escape(format_line(text)) for text in texts)}*" if texts else ""


def _format_source(source: Source) -> str:
    passage = source.passage
    return f"\\[{source.number}\\] {_format_link(passage)} ({_escape(format_line(passage.id))})"


def _format_uncited(sources: Sequence[Source]) -> str:
    if not sources:
        return ""
    listed = "; ".join(f"\\[{source.number}\\] {_format_link(source.passage)}" for source in sources)
    return f"Not cited: {listed}"


def _format_link(passage: Passage) -> str:
    """Its name, as a link where the passage has an address of the web; any other address stands behind it."""
    name = _escape(format_line(name_passage(passage))[:_LONGEST_NAME])
    if passage.url.lower().startswith(("http://", "https://")):
        address = quote(passage.url, safe=":/?#[]@!$&()*+,;=%~-._", errors="replace")
        return f"[{name}](<{address}>)"
    return f"{name} ({_escape(format_line(passage.url))})" if passage.url else name


def _escape(text: str) -> str:
    """A line with a backslash before each character that Markdown would read."""
    return "".join(f"\\{each}" if each in "\\`*_[]" else each for each in text)
