"""A conversation as Markdown, and the numbered passages of its answers, as chat and server show."""

from collections.abc import Sequence, Set
from dataclasses import dataclass
from urllib.parse import quote

from convrag.api.passages import Passage
from convrag.api.records import TurnRecord
from convrag.sdk.output.printable import escape_markdown, format_line, format_text
from convrag.sdk.search.queries import summarise_queries
from convrag.sdk.text.analysis import take_words


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
    """List the passages of the last turn, and those of earlier turns that it cites, by number.

    Args:
        records: the turns of a conversation, up to the one whose sources are listed.
    """
    if not records:
        return []
    last = records[-1]
    passages = _find_passages(records, set(last.citation_numbers))
    sources = []
    for passage_id, number in last.citation_numbers.items():
        if passage_id in passages:
            is_cited = passage_id in last.answer.citations
            sources.append(Source(number, passages[passage_id], is_cited))
    return sorted(sources, key=lambda source: source.number)


def _find_passages(records: Sequence[TurnRecord], ids: Set[str]) -> dict[str, Passage]:
    """Find passages in the newest turns that show them; older turns are read only for the rest."""
    passages: dict[str, Passage] = {}
    for record in reversed(records):
        for item in record.evidence.items:
            if item.passage.id in ids:
                passages.setdefault(item.passage.id, item.passage)
        if len(passages) == len(ids):
            break
    return passages


def find_source(records: Sequence[TurnRecord], number: int) -> tuple[int, Source] | None:
    """Find the passage with a number in the newest turn that has one; None where none has.

    Returns:
        The place of the turn among the records, and the source.
    """
    for place in range(len(records), 0, -1):
        for source in list_sources(records[:place]):
            if source.number == number:
                return place - 1, source
    return None


_WORDS_OF_NAME = 10
"""Words of a passage that are its name where it has no other."""


def name_passage(passage: Passage) -> str:
    """Return the place of a passage in its document, else its title, else its first words.

    It is one line.
    """
    name = " ".join((passage.place or passage.title).split())
    if name:
        return name
    text = " ".join(passage.text.split())
    first_words = take_words(text, _WORDS_OF_NAME)
    return text if first_words == text else f"{first_words} ..."


def describe_passage(passage: Passage) -> str:
    """Describe a passage in a line: its name and its URL.

    A passage without a URL and without a place in a document has its id instead.
    """
    name = name_passage(passage)
    address = passage.url
    if not address and not passage.place:
        address = passage.id
    return " - ".join(part for part in (name, " ".join(address.split())) if part)


_LONGEST_NAME = 200  # characters


def format_transcript(title: str, records: Sequence[TurnRecord]) -> str:
    """Format a conversation: questions as headings, answers, and the sources of each.

    The sources that an answer cites come first; the others that it was generated from follow in one
    line.

    Args:
        title: of the conversation.
        records: its turns.
    """
    blocks = [f"# {format_line(title)}"]
    for number, record in enumerate(records, start=1):
        sources = list_sources(records[:number])
        cited = [source for source in sources if source.cited]
        uncited = [source for source in sources if not source.cited]
        blocks += [
            f"## {format_line(record.original_query)}",
            _format_queries(record),
            format_text(record.answer.text).strip() or "(no answer)",
            "\n".join(f"- {_format_source(source)}" for source in cited),
            _format_uncited(uncited),
        ]
    return "\n\n".join(block for block in blocks if block) + "\n"


def _format_queries(record: TurnRecord) -> str:
    if all(query.text == record.original_query for query in record.queries):
        return ""
    return f"*Searched for: {escape_markdown(summarise_queries(record.queries))}*"


def _format_source(source: Source) -> str:
    passage = source.passage
    return f"\\[{source.number}\\] {_format_link(passage)} ({escape_markdown(passage.id)})"


def _format_uncited(sources: Sequence[Source]) -> str:
    if not sources:
        return ""
    listed = "; ".join(
        f"\\[{source.number}\\] {_format_link(source.passage)}" for source in sources
    )
    return f"Not cited: {listed}"


def _format_link(passage: Passage) -> str:
    """Format the name of a passage, as a link if it has an address of the web.

    Any other address follows the name.
    """
    name = escape_markdown(format_line(name_passage(passage))[:_LONGEST_NAME])
    if passage.url.lower().startswith(("http://", "https://")):
        address = quote(passage.url, safe=":/?#[]@!$&()*+,;=%~-._", errors="replace")
        return f"[{name}](<{address}>)"
    if passage.url:
        return f"{name} ({escape_markdown(passage.url)})"
    return name
