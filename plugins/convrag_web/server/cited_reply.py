"""An answer with the citations that OpenAI's clients get: counted from 1, with addresses."""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any
from urllib.parse import quote

from convrag import Passage, TurnRecord
from convrag.sdk.data.transcript import list_sources, name_passage
from convrag.sdk.output.printable import escape_markdown
from convrag.sdk.text.analysis import take_words
from convrag.sdk.text.citations import find_citations, strip_gap
from convrag_web.server.long_texts import LONG, cut_text
from convrag_web.server.open_end import OpenEnd
from convrag_web.server.source_links import is_web_address

_LIST_HEADING = "\n\n**Sources**\n\n"
LIST_START = f"{_LIST_HEADING}1. ["
"""The beginning of the list of sources after an answer."""

_FIRST_WORDS = 25
"""The number of words of a passage in the list of sources."""

_MOST_REPEATED = 1000
"""The number of annotations of marks that cite a source again; further ones have none."""

_LONGEST_TITLE = 200
"""The characters of a source's title."""

MakeLink = Callable[[str, str], str]
"""Makes the address of a passage's page from the name of its corpus and its id."""


class CitedReply:
    """An answer in pieces or at once; its citations count from 1, by their first mention.

    Args:
        link: makes the addresses of passages; None for a reply that cites nothing, and goes out as
            it is.
        earlier: the earlier turns of the conversation, whose passages may be cited.
        listed: whether a list of the sources follows the answer.
    """

    def __init__(
        self,
        link: MakeLink | None = None,
        earlier: Sequence[TurnRecord] = (),
        listed: bool = False,
    ) -> None:
        self.annotations: list[dict[str, Any]] = []
        """An annotation for each source and mark: first mentions by number, then the others."""
        self._link = link
        self._earlier = earlier
        self._listed = listed
        self._parts: list[str] = []
        self._length = 0
        self._open_end = OpenEnd()
        self._citable: Collection[int] | None = None
        self._numbers: dict[int, int] = {}
        self._first_mentions: dict[int, dict[str, int]] = {}
        self._repeated: list[tuple[int, dict[str, int]]] = []

    @property
    def is_long(self) -> bool:
        """Whether the reply is longer than what is worked on at a time."""
        return self._length > LONG

    @property
    def text(self) -> str:
        """The reply until now, as far as it was sent."""
        self._parts = ["".join(self._parts)]
        return self._parts[0]

    def note_evidence(self, record: TurnRecord) -> None:
        """Note what may be cited, before the answer; other numbers are left out of marks."""
        citable = {item.number for item in record.evidence.items}
        if self._earlier:
            shown = {
                item.passage.id for turn in (*self._earlier, record) for item in turn.evidence.items
            }
            citable |= set(range(1, len(shown) + 1))
        self._citable = citable

    def add(self, piece: str, *, last: bool = False) -> str:
        """Add a piece of the answer, and return what can be sent.

        The beginning of a mark, or of code, is held back until the rest has come.
        """
        first = len(self._parts)
        for part in cut_text(piece):
            self._append(part if self._link is None else self._open_end.add(part))
        if last:
            self._append(self._open_end.finish())
        return "".join(self._parts[first:])

    def end(self, record: TurnRecord, answer: str = "") -> str:
        """Add the last piece, and return what can be sent: the rest, and the list of sources.

        Args:
            record: the record of the turn.
            answer: the last piece.
        """
        if self._citable is None:
            self.note_evidence(record)
        rest = self.add(answer, last=True)
        sources = self._find_sources(record)
        described = self._annotate(sources, record.domain)
        if not self._listed or not described:
            return rest
        lines = [
            _format_source(number, described[number], sources[number].text) for number in described
        ]
        source_list = _LIST_HEADING + "\n".join(lines)
        self._append_part(source_list)
        return rest + source_list

    def _append(self, text: str) -> None:
        """Append a text whose marks and code are complete, with other numbers in its marks."""
        if self._link is None:
            self._append_part(text)
            return
        place = 0
        for mark in find_citations(text):
            before = text[place : mark.start]
            place = mark.end
            numbers = self._renumber(mark.numbers)
            if numbers:
                self._append_part(before)
                self._append_mark(numbers)
            else:
                self._append_part(strip_gap(before))
        self._append_part(text[place:])

    def _append_part(self, text: str) -> None:
        if text:
            self._parts.append(text)
            self._length += len(text)

    def _renumber(self, numbers: Iterable[int]) -> list[int]:
        """Return a mark's numbers as the client sees them, without those of no evidence."""
        known = dict.fromkeys(numbers)
        if self._citable is not None:
            known = {number: None for number in known if number in self._citable}
        return [self._numbers.setdefault(number, len(self._numbers) + 1) for number in known]

    def _append_mark(self, numbers: Sequence[int]) -> None:
        start = self._length
        self._append_part(f"[{', '.join(map(str, numbers))}]")
        place = {"start_index": start, "end_index": self._length}
        for number in numbers:
            if number not in self._first_mentions:
                self._first_mentions[number] = place
            elif len(self._repeated) < _MOST_REPEATED:
                self._repeated.append((number, place))

    def _find_sources(self, record: TurnRecord) -> dict[int, Passage]:
        """Return number -> passage, of those that the answer mentions."""
        sources = {}
        for source in list_sources((*self._earlier, record)):
            number = self._numbers.get(source.number)
            if number is not None:
                sources[number] = source.passage
        return sources

    def _annotate(self, sources: dict[int, Passage], domain: str) -> dict[int, dict[str, Any]]:
        """Make the annotations, and return number -> description of each mentioned source."""
        described = {
            number: self._describe(sources[number], domain)
            for number in sorted(self._first_mentions)
            if number in sources
        }
        first = [(number, self._first_mentions[number]) for number in described]
        repeated = [(number, place) for number, place in self._repeated if number in described]
        self.annotations = [described[number] | place for number, place in [*first, *repeated]]
        return described

    def _describe(self, passage: Passage, domain: str) -> dict[str, Any]:
        urn = f"urn:convrag:passage:{quote(passage.id, safe='', errors='replace')}"
        url = self._link(domain, passage.id) if self._link else urn
        described = {"title": name_passage(passage)[:_LONGEST_TITLE], "url": url, "urn": urn}
        if is_web_address(passage.url):
            described["source_url"] = passage.url
        return described


def _format_source(number: int, described: dict[str, Any], text: str) -> str:
    """Format a line of the list of sources, with the first words of the passage."""
    title = escape_markdown(described["title"])
    text = " ".join(text.split())
    excerpt = take_words(text, _FIRST_WORDS)
    if excerpt != text:
        excerpt += " ..."
    return f"{number}. [{title}]({described['url']}): {escape_markdown(excerpt)}"
