"""Words with their places in an utterance, and the phrases that they form, by rules for English."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from convrag.sdk.sentences import split_sentences
from convrag.sdk.stemming import stem_words
from convrag.sdk.stop_words import is_stop_word

LONGEST_PHRASE = 4
"""Words of a phrase; a longer row of content words is more than a name or a noun phrase."""

LONGEST_SENTENCE = 500
"""Characters of a sentence that are read; a longer one is a text without marks."""

_TOKEN = re.compile(r"[^\W_]+(?:[-'’.&+#][^\W_]+)*[+#]*|[,;:.?!()]")
# Words that stand beside a noun phrase, and are no part of it.
_BESIDE = frozenset(
    """
    better worse best worst cheaper harder easier larger bigger smaller older younger faster slower warmer stronger
    good bad called compare compared comparing comparison contrast difference differences differ differs distinguish
    buy choose do does did work works visit prefer recommend use versus vs instead two both
    """.split()  # noqa: SIM905
)
_NO_NAMES = frozenset(
    """
    january february march april may june july august september october november december monday tuesday wednesday
    thursday friday saturday sunday english
    """.split()  # noqa: SIM905
)
# Words that a noun phrase may follow.
_LEADING = frozenset(
    """
    a an the in on at by with of to from my your our their his her its
    """.split()  # noqa: SIM905
)
# Prepositions of place or time.
_PLACE_WORDS = frozenset(
    """
    in at on from near by of during since until after before
    """.split()  # noqa: SIM905
)


class Token(NamedTuple):
    """A word or a mark of punctuation, and its place in the text."""

    text: str
    start: int
    end: int

    @property
    def lower(self) -> str:
        """The word in lower case, with a straight apostrophe."""
        return self.text.lower().replace("’", "'")

    @property
    def is_mark(self) -> bool:
        """Whether it is punctuation."""
        return not self.text[0].isalnum()

    @property
    def is_capitalised(self) -> bool:
        """Whether it begins with a capital."""
        return self.text[0].isupper()

    @property
    def is_content(self) -> bool:
        """Whether it may be a part of a noun phrase."""
        name = self.lower.removesuffix("'s")
        return not self.is_mark and len(name) > 1 and not is_stop_word(name) and name not in _BESIDE


def split_tokens(text: str) -> list[Token]:
    """The words and marks of a text, in order."""
    return [Token(match[0], match.start(), match.end()) for match in _TOKEN.finditer(text)]


def stem_phrase(text: str) -> frozenset[str]:
    """The stems of a phrase's content words."""
    words = [token.lower.removesuffix("'s") for token in split_tokens(text) if token.is_content]
    return frozenset(stem_words(words))


def read_phrase_before(tokens: Sequence[Token], end: int) -> str:
    """The noun phrase that ends before tokens[end]: content words, or the name that they end with."""
    start = end
    while start > 0 and tokens[start - 1].is_content and end - start < LONGEST_PHRASE:
        start -= 1
    if start < end and tokens[end - 1].is_capitalised:
        start = next(place for place in range(start, end) if all(each.is_capitalised for each in tokens[place:end]))
    return _join(tokens[start:end])


def read_phrase_after(tokens: Sequence[Token], start: int) -> str:
    """The noun phrase that begins at tokens[start], or after an article or preposition there."""
    while start < len(tokens) and tokens[start].lower in _LEADING:
        start += 1
    end = start
    while end < len(tokens) and tokens[end].is_content and end - start < LONGEST_PHRASE:
        end += 1
    if start < end and tokens[start].is_capitalised:
        while end > start + 1 and tokens[end - 1].lower.endswith(("ed", "ing")):
            end -= 1
    return _join(tokens[start:end])


def find_names(sentence: str, *, places: bool = True) -> list[str]:
    """The names in a sentence, in order: rows of capitalised words, "of Aragon" and numbers of kings included.

    A first word of the sentence alone is one where it is a content word: no list of names says more.

    Args:
        sentence: one sentence.
        places: keep names that a preposition of place or time stands before ("at Oxford").
    """
    tokens = split_tokens(sentence)
    names = []
    place = 0
    while place < len(tokens):
        if not _begins_name(tokens[place]):
            place += 1
            continue
        end = place + 1
        while end < len(tokens) and (
            _begins_name(tokens[end]) or (tokens[end].lower == "of" and _begins_name_at(tokens, end + 1))
        ):
            end += 1
        before = tokens[place - 1].lower if place else ""
        if places or before not in _PLACE_WORDS:
            names.append(_join(tokens[place:end]))
        place = end
    return merge_names(names)


def _begins_name(token: Token) -> bool:
    return token.is_capitalised and token.is_content and token.lower not in _NO_NAMES


def _begins_name_at(tokens: Sequence[Token], place: int) -> bool:
    return place < len(tokens) and _begins_name(tokens[place])


def merge_names(names: Iterable[str]) -> list[str]:
    """The different names, the longest form of each ("Alexander Fleming" for "Fleming", too)."""
    kept: list[str] = []
    for name in names:
        stems = stem_phrase(name)
        same = next((each for each in kept if stem_phrase(each) <= stems or stems <= stem_phrase(each)), None)
        if same is None:
            kept.append(name)
        elif len(name) > len(same):
            kept[kept.index(same)] = name
    return kept


def first_sentence(text: str) -> str:
    """The first sentence with at least three words, or else the first one, as far as LONGEST_SENTENCE characters."""
    sentences = split_sentences(text)
    first = next((each for each in sentences if len(each.split()) > 2), sentences[0] if sentences else "")
    return first[:LONGEST_SENTENCE]


def find_phrases(tokens: Sequence[Token]) -> list[str]:
    """The rows of content words, in order, each at most LONGEST_PHRASE words long."""
    found = []
    place = 0
    while place < len(tokens):
        end = place
        while end < len(tokens) and tokens[end].is_content and end - place < LONGEST_PHRASE:
            end += 1
        if end > place:
            found.append(_join(tokens[place:end]))
        place = max(end, place + 1)
    return found


def _join(tokens: Sequence[Token]) -> str:
    return " ".join(token.text for token in tokens).removesuffix("'s").removesuffix("’s")
