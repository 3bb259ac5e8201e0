"""Task "rewrite" without a language model: add to a question the words that it lacks.

How many words: a search question that stands by itself names about three things (whom or what, which side of it, under
which condition). What is missing to three content words is filled up. A reference back (it, they, that) lacks two words
at least, whatever stands beside it: a name and what goes with it; but a reference that follows two content words of its
own question most probably means those. So a self-contained question, as at a change of topic, stays as it is. Where
the question itself is searched for beside its rewrite, with a weight w, each of its words counts 1 + w, an added one
1. Wrong words err in all directions, so that their noise grows with the root of their number: (1 + w) squared times as
many words disturb the question no more than before, and more of the right ones are among them.

Which words: those that the conversation is about. A word counts as such once it was said twice, by whomever: in a
question and in its answer, or in two exchanges; but a sentence that is repeated to the letter is heard once, since an
assistant that quotes the same passage again and again confirms nothing. Nobody can have repeated the question of an
exchange without an answer, so its words count at once. Each mention weighs half of one in the exchange after it, and
rare words of the corpus weigh more (idf); words that no passage has could find nothing. The added words stand in the
order in which they were said.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from convrag.sdk.sentences import without_citations
from convrag_offline.document_frequencies import Frequencies
from convrag_offline.tokens import ANAPHORS, carries_content, content_words, words

ENOUGH = 3
"""Content words of a question that stands by itself."""

FOR_REFERENCE = 2
"""Words that a reference back stands for; as many before it in its own question are what it refers to."""

DECAY = 0.5
"""Weight of a mention against one in the next exchange."""

Exchange = Mapping[str, str]

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")  # rough, but it serves to know a sentence again, and it is fast


@dataclass
class _Candidate:
    text: str
    place: tuple[int, int, int]
    weight: float = 0.0
    mentions: int = 0


def rewrite(question: str, history: Sequence[Exchange], frequencies: Frequencies, question_weight: float = 0.0) -> str:
    """The question on one line, and behind it the words that it lacks.

    Args:
        question: what is to stand alone.
        history: of it the words are taken, oldest exchange first.
        frequencies: tell rare words from common ones.
        question_weight: with which the question is searched for beside the rewrite; 0 where it is not.
    """
    return " ".join([*question.split(), *lacking_words(question, history, frequencies, question_weight)])


def lacking_words(
    question: str, history: Sequence[Exchange], frequencies: Frequencies, question_weight: float = 0.0
) -> list[str]:
    """Words of the history, as they stood there, that the question needs to stand by itself; maybe none."""
    if not (number := round(_lack(question) * (1 + question_weight) ** 2)):
        return []
    own = {word.stem for word in words(question)}
    found = _candidates(history)
    topics = {
        stem: candidate.weight * frequencies.idf(stem)
        for stem, candidate in found.items()
        if stem not in own and candidate.mentions > 1
    }
    best = sorted((stem for stem in topics if topics[stem] > 0), key=lambda stem: (-topics[stem], stem))[:number]
    return [found[stem].text for stem in sorted(best, key=lambda stem: found[stem].place)]


def _lack(question: str) -> int:
    """How many content words the question is short of."""
    own: set[str] = set()
    refers = False
    for word in words(question):
        if word.text.lower().replace("’", "'") in ANAPHORS:
            refers = refers or len(own) < FOR_REFERENCE
        elif carries_content(word.text):
            own.add(word.stem)
    return max(ENOUGH - len(own), FOR_REFERENCE if refers else 0)


def _candidates(history: Sequence[Exchange]) -> dict[str, _Candidate]:
    """The content words of the history by stem: their latest form and place, and what their mentions weigh."""
    found: dict[str, _Candidate] = {}
    heard: set[str] = set()
    for age, exchange in enumerate(reversed(history)):
        for part, speaker in enumerate(("user", "assistant")):
            for position, (stem, text) in enumerate(_news(exchange.get(speaker) or "", heard).items()):
                candidate = found.setdefault(stem, _Candidate(text, (-age, part, position)))
                candidate.weight += DECAY**age
                candidate.mentions += 1 if exchange.get("assistant") else 2
    return found


def _news(text: str, heard: set[str]) -> dict[str, str]:
    """Stem -> first form of the content words of those sentences that were not heard yet, which are now."""
    parts = [part.strip() for part in _SENTENCE_END.split(without_citations(text))]
    fresh = [part for part in dict.fromkeys(parts) if part not in heard]
    heard.update(fresh)
    first: dict[str, str] = {}
    for word in content_words("\n".join(fresh)):
        first.setdefault(word.stem, word.text)
    return first
