"""A text with its words, its noun phrases and what they name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from convrag_resolve.mentions import Mention, make_mention
from convrag_resolve.noun_phrases import NounPhrase, find_noun_phrases
from convrag_resolve.tags import Token, tag_words
from convrag_resolve.vocabulary import BE


@dataclass(frozen=True, slots=True)
class Reading:
    """A text with its words and noun phrases."""

    text: str
    tokens: Sequence[Token]
    phrases: Sequence[NounPhrase]

    def write(self, phrase: NounPhrase) -> str:
        """The phrase as it stands in the text."""
        return self.text[self.tokens[phrase.first].start : self.tokens[phrase.last - 1].end]

    def list_mentions(self) -> Iterator[tuple[NounPhrase, Mention]]:
        """The noun phrases that name something."""
        asks_who = bool(self.tokens) and self.tokens[0].lower in ("who", "whom", "whose")
        is_equation = asks_who and len(self.tokens) > 1 and self.tokens[1].lower in BE
        for phrase in self.phrases:
            whose = "who" if is_equation and phrase.role == "topic" else ""
            if mention := make_mention(self.text, self.tokens, phrase, whose=whose):
                yield phrase, mention


Reader = Callable[[str], Reading]
"""Reads a text: by rules, or with a spaCy pipeline."""


@lru_cache(maxsize=2048)
def read_text(text: str) -> Reading:
    """Read a text by rules; a text that was read lately is not read again."""
    tokens = tag_words(text)
    return Reading(text, tokens, find_noun_phrases(tokens))
