"""An answer with the citations that OpenAI's clients get: counted from 1, with addresses."""

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any
from urllib.parse import quote

from convrag import Passage, TurnRecord
from convrag.sdk.data.transcript import list_sources, name_passage
from convrag.sdk.output.printable import escape_markdown
from convrag.sdk.text.analysis import take_words
from convrag.sdk.text.citations import find_citations
from convrag_web.server.source_links import is_web_address

_CODE_OR_OPEN = re.compile(
    # Code, which has no citations
    r"```.*?```|`[^`\n]+`|``(?=[^`])"
    # What is not complete at the end: code, a mark, the space before a mark
    r"|(?P<open>```.*\Z|`+[^`\n]*\Z|[^\S\n]*(?:\[[\s\d,;]*)?\Z)",
    re.DOTALL,
)

_LIST_HEADING = "\n\n**Sources**\n\n"
LIST_START = f"{_LIST_HEADING}1. ["
"""The beginning of the list of sources after an answer."""

_FIRST_WORDS = 25
"""The number of words of a passage in the list of sources."""

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
        self.text = ""
        self.annotations: list[dict[str, Any]] = []
        """An annotation for each source and mark: first mentions by number, then the others."""
        self._link = link
        self._earlier = earlier
        self._listed = listed
        self._held_back = ""
        self._citable: Collection[int] | None = None
        self._numbers: dict[int, int] = {}
        self._mentions: list[tuple[int, dict[str, int]]] = []

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
        if self._link is None:
            self.text += piece
            return piece
        self._held_back += piece
        end = len(self._held_back) if last else _find_open_end(self._held_back)
        complete = self._held_back[:end]
        self._held_back = self._held_back[end:]
        sent = len(self.text)
        place = 0
        for mark in find_citations(complete):
            self.text += complete[place : mark.start]
            place = mark.end
            numbers = self._renumber(mark.numbers)
            if numbers:
                self._add_mark(numbers)
            else:
                self.text = self.text[:sent] + self.text[sent:].rstrip(" \t")
        self.text += complete[place:]
        return self.text[sent:]

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
        self.text += source_list
        return rest + source_list

    def _renumber(self, numbers: Iterable[int]) -> list[int]:
        """Return a mark's numbers as the client sees them, without those of no evidence."""
        known = dict.fromkeys(numbers)
        if self._citable is not None:
            known = {number: None for number in known if number in self._citable}
        return [self._numbers.setdefault(number, len(self._numbers) + 1) for number in known]

    def _add_mark(self, numbers: Sequence[int]) -> None:
        start = len(self.text)
        self.text += f"[{', '.join(map(str, numbers))}]"
        place = {"start_index": start, "end_index": len(self.text)}
        self._mentions += [(number, place) for number in numbers]

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
        first: list[tuple[int, dict[str, int]]] = []
        others: list[tuple[int, dict[str, int]]] = []
        described: dict[int, dict[str, Any]] = {}
        for number, place in self._mentions:
            if number not in sources:
                continue
            if number in described:
                others.append((number, place))
            else:
                first.append((number, place))
                described[number] = self._describe(sources[number], domain)
        self.annotations = [described[number] | place for number, place in [*first, *others]]
        return dict(sorted(described.items()))

    def _describe(self, passage: Passage, domain: str) -> dict[str, Any]:
        urn = f"urn:convrag:passage:{quote(passage.id, safe='', errors='replace')}"
        url = self._link(domain, passage.id) if self._link else urn
        described = {"title": name_passage(passage), "url": url, "urn": urn}
        if is_web_address(passage.url):
            described["source_url"] = passage.url
        return described


def _find_open_end(text: str) -> int:
    """Return where code or a mark begins at the end of a text that is not complete yet."""
    for match in _CODE_OR_OPEN.finditer(text):
        if match["open"] is not None:
            return match.start()
    return len(text)


def _format_source(number: int, described: dict[str, Any], text: str) -> str:
    """Format a line of the list of sources, with the first words of the passage."""
    title = escape_markdown(described["title"])
    text = " ".join(text.split())
    excerpt = take_words(text, _FIRST_WORDS)
    if excerpt != text:
        excerpt += " ..."
    return f"{number}. [{title}]({described['url']}): {escape_markdown(excerpt)}"
