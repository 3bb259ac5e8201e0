"""Known-item questions: a passage is asked for by its heading and by rare words of one sentence.

A person who has seen a passage searches for what stood out in it. Such a question needs no grammar
of any language, and it has one right passage by construction.
"""

from __future__ import annotations

from collections.abc import Set
from typing import NamedTuple

from convrag.sdk.search.frequencies import DocumentFrequencies
from convrag.sdk.text.analysis import find_content_words, find_stems
from convrag.sdk.text.sentences import split_sentences

TERMS = 3
"""Rare words of a known-item question."""


class KnownItem(NamedTuple):
    """A sentence to be found again, and its rarest words in the order of the sentence."""

    sentence: str
    terms: tuple[str, ...]

    def ask(self, heading: str = "") -> str:
        """Write the question: the heading, then the words."""
        return " ".join([*heading.split(), *self.terms])


def find_known_item(
    text: str, frequencies: DocumentFrequencies, known: Set[str] = frozenset()
) -> KnownItem | None:
    """Find the sentence of a text with the rarest words; None where no sentence has enough of them.

    Args:
        text: a passage.
        frequencies: tell rare words from common ones.
        known: stems that were asked for before, or that the heading has; they are not asked for.
    """
    best: KnownItem | None = None
    best_rarity = 0.0
    for sentence in split_sentences(text):
        rarities: dict[str, float] = {}
        words: dict[str, str] = {}
        for word in find_content_words(sentence):
            if word.text.isalpha() and word.stem not in known:
                words.setdefault(word.stem, word.text)
                rarities[word.stem] = frequencies.idf(word.stem)
        rarest = sorted(rarities, key=lambda stem: -rarities[stem])[:TERMS]
        rarity = sum(rarities[stem] for stem in rarest)
        if len(rarest) == TERMS and rarity > best_rarity:
            best_rarity = rarity
            best = KnownItem(sentence, tuple(words[stem] for stem in words if stem in rarest))
    return best


def get_heading(title: str) -> str:
    """Return the last heading of a title that is a path of headings: "Leave" of "Rules > Leave"."""
    return title.rpartition(" > ")[2].strip()


def find_known_stems(*texts: str) -> frozenset[str]:
    """Return the stems that texts name already."""
    return frozenset[str]().union(*map(find_stems, texts))
