"""Names and numbers of a conversation: which there are, which matter most, and whether a text has them."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from heapq import nsmallest

from convrag import Turn
from convrag.sdk.sentences import remove_citations
from convrag.sdk.words import is_stop_word

_TOKEN = re.compile(r"[$€£¥]?\d+(?:[.,:/-]\d+)*(?:\s?%)?|[^\W\d_]\w*(?:['’&.-]\w+)*")
_SENTENCE_END = re.compile(r"(?:^|[.!?:;\n\"“(•*–-]\s*|\n\s*\d+[.)]\s*)$")
_LIST_MARK = re.compile(r"^\s*\d{1,3}[.)]\s", re.MULTILINE)
_JOINING = frozenset(("of", "de", "la", "van", "von", "der", "den", "di", "du"))
"""Words in lower case that may stand inside a name."""


@dataclass
class Fact:
    """A name or a number: as it was first said, whether a user said it, and in how many utterances it stands."""

    text: str
    first: int
    last: int
    asked: bool = False
    mentions: int = 0


class Facts:
    """The names and numbers of turns that are added, oldest first."""

    def __init__(self) -> None:
        self._facts: dict[str, Fact] = {}
        self._turns = 0

    def add(self, turn: Turn) -> None:
        """Add those of the next turn."""
        for text, asked in ((turn.question, True), (turn.answer, False)):
            found: dict[str, str] = {}
            for each in list_facts(text):
                found.setdefault(_normalise(each), each)
            for key, each in found.items():
                fact = self._facts.setdefault(key, Fact(each, self._turns, self._turns))
                fact.asked |= asked
                fact.mentions += 1
                fact.last = self._turns
        self._turns += 1

    def choose(self, n: int) -> list[str]:
        """The n that matter most, in the order in which they were first said.

        A user's come first, then those in most utterances, then the newest.
        """
        ranked = nsmallest(n, self._facts.values(), key=lambda fact: (-fact.asked, -fact.mentions, -fact.last))
        return [fact.text for fact in sorted(ranked, key=lambda fact: fact.first)]


def list_missing(facts: Iterable[str], text: str) -> list[str]:
    """The facts that a text does not have, whatever the case and however thousands are written."""
    within = _normalise(text)
    return [fact for fact in facts if not _has(within, _normalise(fact))]


@lru_cache(maxsize=4096)
def list_facts(text: str) -> tuple[str, ...]:
    """The names and numbers of a text, in order and with repetitions.

    A name is a row of words with capitals. A word with a capital that begins a sentence is one only where another name
    follows it, or where it has another capital, a digit or a dot in it. A number has at least two digits, a currency or
    a percent sign. Citations and the numbers of lists are left out.
    """
    return tuple(_find_facts(_LIST_MARK.sub("\n", remove_citations(text))))


def _find_facts(text: str) -> Iterator[str]:
    row: list[re.Match[str]] = []
    for match in _TOKEN.finditer(text):
        follows = bool(row) and text[row[-1].end() : match.start()] == " "
        if match[0][0].isalpha() and _is_name_part(match[0], after=row if follows else []):
            if not follows:
                yield from _close(row, text)
                row = []
            row.append(match)
            continue
        yield from _close(row, text)
        row = []
        if _is_number(match[0]):
            yield match[0]
    yield from _close(row, text)


def _is_name_part(word: str, after: list[re.Match[str]]) -> bool:
    if any(map(str.isupper, word)):
        return not is_stop_word(word) or (len(word) > 1 and word.isupper())
    return bool(after) and word in _JOINING


def _close(row: list[re.Match[str]], text: str) -> Iterator[str]:
    """The name that a row of words is; none for the first word of a sentence alone."""
    while row and row[-1][0] in _JOINING:
        row = row[:-1]
    if not row:
        return
    start = row[0].start()
    if len(row) == 1 and not _is_marked(row[0][0]) and _SENTENCE_END.search(text[max(start - 8, 0) : start]):
        return
    yield text[start : row[-1].end()].replace("’s", "").removesuffix("'s")


def _is_marked(word: str) -> bool:
    """Whether a word has a capital, a digit or a dot behind its first letter."""
    return any(each.isupper() or each.isdigit() or each == "." for each in word[1:])


def _is_number(token: str) -> bool:
    return sum(map(str.isdigit, token)) > 1 or (any(map(str.isdigit, token)) and not token.isalnum())


def _normalise(text: str) -> str:
    """A text in lower case, without the commas of thousands and the space before a percent sign."""
    plain = " ".join(text.casefold().replace("’", "'").split())
    return re.sub(r"(?<=\d),(?=\d{3})|(?<=\d) (?=%)", "", plain)


def _has(text: str, fact: str) -> bool:
    """Whether a text has a fact as whole words, or a number that is no part of a longer one."""
    return re.search(rf"(?<!\w)(?<!\d[.,]){re.escape(fact)}(?!\w)(?![.,]\d)", text) is not None
