"""A conversation as Markdown, and the numbered passages of its answers. task=chat and task=serve
show them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote

from convrag.api.passages import Passage
from convrag.api.records import TurnRecord
from convrag.sdk.output.printable import format_line, format_text
from convrag.sdk.search.queries import summarise_queries


@dataclass(frozen=True)
class Source:
    """A passage that an answer could cite.

    Args:
        number: by which it is cited, as [number].
        passage: the passage.
        cited: whether the answer cites it.
    """

    number: int
    passage: Passage
    cited: bool


def list_sources(records: Sequence[TurnRecord]) -> list[Source]:
    """List the passages of the last turn, and what it cites of earlier turns, in the order of their
    numbers.

    Args:
        records: the turns of a conversation, up to the one that is asked for.
    """
    if not records:
        return []
    last = records[-1]
    passages = {
        item.passage.id: item.passage for record in records for item in record.evidence.items
    }
    numbers = {item.passage.id: item.number for item in last.evidence.items}
    numbers = dict(last.trace.get("generator", {}).get("numbers") or numbers)
    found = [
        Source(number, passages[passage_id], passage_id in last.answer.citations)
        for passage_id, number in numbers.items()
        if passage_id in passages
    ]
    return sorted(found, key=lambda source: source.number)


def find_source(records: Sequence[TurnRecord], number: int) -> tuple[int, Source] | None:
    """Find the passage with a number, in the newest turn that has one; None where no turn has.

    Returns:
        The place of the turn among the records, and the source.
    """
    for place in range(len(records), 0, -1):
        for source in list_sources(records[:place]):
            if source.number == number:
                return place - 1, source
    return None


def name_passage(passage: Passage) -> str:
    """Return the place of a passage in its document, else its title, else its first words."""
    if passage.place or passage.title:
        return passage.place or passage.title
    words = passage.text.split(maxsplit=10)
    return " ".join(words[:10]) + (" ..." if len(words) > 10 else "")


def describe_passage(passage: Passage) -> str:
    """Describe a passage in a line: its name, and its URL; its id where it has no URL and no place
    in a document.
    """
    return " - ".join(
        filter(None, [name_passage(passage), passage.url or ("" if passage.place else passage.id)])
    )


_LONGEST_NAME = 200  # characters


def format_transcript(title: str, records: Sequence[TurnRecord]) -> str:
    """Format a conversation: questions as headings, answers, and the sources of each with their
    places or addresses.

    The sources that an answer cites stand first; the others that it was generated from follow in a
    line.

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
    if all(query.text == record.original_query for query in record.queries):
        return ""
    return f"*Searched for: {_escape(format_line(summarise_queries(record.queries)))}*"


def _format_source(source: Source) -> str:
    passage = source.passage
    return f"\\[{source.number}\\] {_format_link(passage)} ({_escape(format_line(passage.id))})"


def _format_uncited(sources: Sequence[Source]) -> str:
    if not sources:
        return ""
    listed = "; ".join(
        f"\\[{source.number}\\] {_format_link(source.passage)}" for source in sources
    )
    return f"Not cited: {listed}"


def _format_link(passage: Passage) -> str:
    """Its name, as a link where the passage has an address of the web; any other address stands
    behind it.
    """
    name = _escape(format_line(name_passage(passage))[:_LONGEST_NAME])
    if passage.url.lower().startswith(("http://", "https://")):
        address = quote(passage.url, safe=":/?#[]@!$&()*+,;=%~-._", errors="replace")
        return f"[{name}](<{address}>)"
    return f"{name} ({_escape(format_line(passage.url))})" if passage.url else name


def _escape(text: str) -> str:
    """A line with a backslash before each character that Markdown would read."""
    return "".join(f"\\{each}" if each in "\\`*_[]" else each for each in text)
