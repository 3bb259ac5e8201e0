"""The citations of a reply: counted from 1, annotated with addresses that open, and listed behind
the answer.
"""

import hmac
import re
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode, urlsplit

from convrag import Passage, TurnRecord
from convrag.sdk.data.transcript import list_sources, name_passage
from convrag.sdk.text.citations import find_citations

# Code, in which there are no citations; and what is not complete at the end: code, a mark, the
# space before one.
_UNFINISHED = re.compile(
    r"```.*?```|`[^`\n]+`|``(?=[^`])|(?P<open>```.*\Z|`+[^`\n]*\Z|[^\S\n]*(?:\[[\s\d,;]*)?\Z)",
    re.DOTALL,
)
LIST = "\n\n**Sources**\n\n1. ["
"""How the list of sources begins behind an answer."""

_FIRST_WORDS = 25


class CitedReply:
    """An answer as a client gets it, in pieces or at once: its citations count from 1, by their first mention.

    Args:
        link: makes the address under which a passage opens, from the name of its corpus and its id;
            None for a reply that cites nothing, and goes out as it is.
        earlier: the turns of the conversation before this one, whose passages may be cited.
        listed: whether a list of the sources follows the answer.
    """

    def __init__(
        self,
        link: Callable[[str, str], str] | None = None,
        earlier: Sequence[TurnRecord] = (),
        listed: bool = False,
    ) -> None:
        self.text = ""
        self.annotations: list[dict[str, Any]] = []
        """One for each source and mark: those of first mentions, in the order of their numbers,
        then the others.
        """
        self._link = link
        self._earlier = earlier
        self._listed = listed
        self._held = ""
        self._known: Collection[int] | None = None
        self._numbers: dict[int, int] = {}
        self._marks: list[tuple[int, dict[str, int]]] = []

    def note_evidence(self, record: TurnRecord) -> None:
        """Note what may be cited, before the answer: marks of other numbers are left out."""
        shown = {
            item.passage.id for each in (*self._earlier, record) for item in each.evidence.items
        }
        numbers = range(1, len(shown) + 1) if self._earlier else ()
        self._known = {*numbers, *(item.number for item in record.evidence.items)}

    def add(self, piece: str, *, last: bool = False) -> str:
        """Add a piece of the answer, and return what can be sent: the beginning of a mark, or of
        code, is held back.
        """
        if self._link is None:
            self.text += piece
            return piece
        self._held += piece
        unfinished = (
            match.start() for match in _UNFINISHED.finditer(self._held) if match["open"] is not None
        )
        end = len(self._held) if last else next(unfinished)
        part, self._held = self._held[:end], self._held[end:]
        before, place = len(self.text), 0
        for mark in find_citations(part):
            self.text += part[place : mark.start]
            place = mark.end
            known = [
                number for number in mark.numbers if self._known is None or number in self._known
            ]
            numbers = [
                self._numbers.setdefault(number, len(self._numbers) + 1)
                for number in dict.fromkeys(known)
            ]
            if not numbers:
                self.text = self.text[:before] + self.text[before:].rstrip(" \t")
                continue
            start = len(self.text)
            self.text += f"[{', '.join(map(str, numbers))}]"
            place_of_mark = {"start_index": start, "end_index": len(self.text)}
            self._marks += [(number, place_of_mark) for number in numbers]
        self.text += part[place:]
        return self.text[before:]

    def end(self, record: TurnRecord, answer: str = "") -> str:
        """Add the last piece, and return what can be sent: all that was held back, and the list of
        sources.

        Args:
            record: of the turn.
            answer: the last piece.
        """
        if self._known is None:
            self.note_evidence(record)
        rest = self.add(answer, last=True)
        sources = {
            self._numbers.get(each.number): each.passage
            for each in list_sources((*self._earlier, record))
        }
        cited = [(number, place) for number, place in self._marks if number in sources]
        first = dict(reversed(cited))
        described = {
            number: self._describe(sources[number], record.domain) for number in sorted(first)
        }
        cited.sort(key=lambda mark: mark[1] is not first[mark[0]])
        self.annotations = [described[number] | place for number, place in cited]
        if not self._listed or not first:
            return rest
        lines = [
            _format_source(number, described[number], sources[number].text) for number in described
        ]
        listed = LIST.removesuffix("1. [") + "\n".join(lines)
        self.text += listed
        return rest + listed

    def _describe(self, passage: Passage, domain: str) -> dict[str, Any]:
        urn = f"urn:convrag:passage:{quote(passage.id, safe='', errors='replace')}"
        url = self._link(domain, passage.id) if self._link else urn
        described = {"title": name_passage(passage), "url": url, "urn": urn}
        return described | ({"source_url": passage.url} if is_web_address(passage.url) else {})


def _format_source(number: int, described: dict[str, Any], text: str) -> str:
    title = re.sub(r"([\\\[\]])", r"\\\1", described["title"])
    words = text.split(maxsplit=_FIRST_WORDS)
    ending = " ..." if len(words) > _FIRST_WORDS else ""
    return f"{number}. [{title}]({described['url']}): {' '.join(words[:_FIRST_WORDS])}{ending}"


def is_web_address(url: str) -> bool:
    """Whether a browser opens an address safely: `javascript:...`, as a link, harms the client."""
    with suppress(ValueError):  # "http://[broken"
        return url.lower().startswith(("http://", "https://")) and bool(urlsplit(url).netloc)
    return False


class SourceLinks(NamedTuple):
    """Addresses of the server's pages of passages. Where it has a token, a signature stands in for it.

    Args:
        token: of the server; empty for none.
        public_url: where browsers reach the server; empty for the address that a request came to.
    """

    token: str
    public_url: str

    def make(self, address: str, model: str, domain: str, passage: str) -> str:
        """Make the address of a passage's page.

        Args:
            address: that the request came to.
            model: name of the model that has found it.
            domain: its corpus.
            passage: its id.
        """
        named = {"model": model, "domain": domain, "passage": passage.encode("utf-8", "replace")}
        key = self.sign(model, domain, passage)
        query = urlencode(named | ({"key": key} if key else {}))
        return f"{(self.public_url or address).rstrip('/')}/source?{query}#passage"

    def sign(self, *names: str) -> str:
        """Sign a model, a domain and a passage; empty where the server has no token."""
        message = "\n".join(quote(name, errors="replace") for name in names).encode()
        return (
            hmac.new(self.token.encode(), message, "sha256").hexdigest()[:32] if self.token else ""
        )
