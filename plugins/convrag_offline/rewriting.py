"""Task "rewrite" without a language model: the question and words of the history.

Number of words: a standalone search question names about three things, so a question with fewer
than three content words is filled up to three. A reference back (it, they, that) counts as two
missing words at least: a name and an attribute. But a reference that follows two content words of
its own question most probably refers to these, and needs none. So a standalone question, as at a
change of topic, stays as it is. Where the question itself is searched for next to its rewrite, with
a weight w, each of its words counts 1 + w and an added one counts 1. Wrong words err in all
directions, so their noise grows with the square root of their number: (1 + w) squared times as many
words disturb the question no more, and more of the right ones are among them.

Choice of words: the words that the conversation is about. Such a word was mentioned twice, by
either side: in a question and in its answer, or in two exchanges. A sentence that is repeated
literally counts once, since an assistant that quotes the same passage again confirms nothing. An
exchange without an answer cannot repeat its question's words, so one mention there is enough. A
mention weighs half of one in the next exchange; but the words of the first question, which
introduces the topic, never weigh less than a mention in the last one. Rare words of the corpus
weigh more (idf); words that no passage has are left out, since they find nothing. The added words
are in the order of their mentions.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from convrag.sdk.search.frequencies import DocumentFrequencies
from convrag.sdk.text.analysis import ANAPHORS, find_content_words, find_words, is_content_word
from convrag.sdk.text.sentences import remove_citations, split_roughly

ENOUGH = 3
"""Content words of a standalone question."""

REFERENCE = 2
"""Missing words for a reference back.

After as many content words in its own question, a reference is taken to refer to these.
"""

DECAY = 0.5
"""Weight of a mention, relative to one in the next exchange."""

History = Sequence[Mapping[str, str]]
"""Exchanges, oldest first, each with `user` and `assistant`."""


@dataclass
class _Candidate:
    """A content word of the history.

    Args:
        text: the word in its latest form.
        position: of that form: the exchange (from the last one, 0, backward), the speaker, and the
            word.
        weight: of all its mentions.
        mentions: how many there are.
    """

    text: str
    position: tuple[int, int, int]
    weight: float = 0.0
    mentions: int = 0


def rewrite(
    question: str, history: History, frequencies: DocumentFrequencies, question_weight: float = 0.0
) -> str:
    """Return the question on one line, followed by the words that it lacks.

    Args:
        question: the question that shall stand alone.
        history: the exchanges with the words, oldest first.
        frequencies: tell rare words from common ones.
        question_weight: the weight of the question itself if it is searched for next to the
            rewrite; 0 where it is not.
    """
    missing = find_missing_words(question, history, frequencies, question_weight)
    return " ".join([*question.split(), *missing])


def find_missing_words(
    question: str, history: History, frequencies: DocumentFrequencies, question_weight: float = 0.0
) -> list[str]:
    """Find the words of the history that the question lacks, in their latest form."""
    number = round(_count_missing_words(question) * (1 + question_weight) ** 2)
    if not number:
        return []
    own = {word.stem for word in find_words(question)}
    candidates = _find_candidates(history)
    scores = {}
    for stem, candidate in candidates.items():
        score = candidate.weight * frequencies.idf(stem)
        if stem not in own and candidate.mentions > 1 and score > 0:
            scores[stem] = score
    best = sorted(scores, key=lambda stem: (-scores[stem], stem))[:number]
    in_order = sorted(best, key=lambda stem: candidates[stem].position)
    return [candidates[stem].text for stem in in_order]


def _count_missing_words(question: str) -> int:
    """Count the content words that the question lacks."""
    own: set[str] = set()
    refers_back = False
    for word in find_words(question):
        if word.text.lower().replace("’", "'") in ANAPHORS:
            refers_back = refers_back or len(own) < REFERENCE
        elif is_content_word(word.text):
            own.add(word.stem)
    return max(ENOUGH - len(own), REFERENCE if refers_back else 0)


def _find_candidates(history: History) -> dict[str, _Candidate]:
    """Find the content words of the history: stem -> latest form, position and weight."""
    found: dict[str, _Candidate] = {}
    known_sentences: set[str] = set()
    for age, exchange in enumerate(reversed(history)):
        for part, speaker in enumerate(("user", "assistant")):
            words = _find_new_words(exchange.get(speaker) or "", known_sentences)
            for position, (stem, text) in enumerate(words.items()):
                candidate = found.setdefault(stem, _Candidate(text, (-age, part, position)))
                candidate.weight += DECAY**age
                candidate.mentions += 1 if exchange.get("assistant") else 2
    first_question = history[0].get("user") if history else ""
    for word in find_content_words(first_question or ""):
        topic = found.get(word.stem)
        if topic:
            topic.weight = max(topic.weight, 1.0)
    return found


def _find_new_words(text: str, known_sentences: set[str]) -> dict[str, str]:
    """Find the content words in sentences that are not known yet: stem -> first form.

    The sentences join the known ones.
    """
    sentences = [part.strip() for part in split_roughly(remove_citations(text))]
    new = [sentence for sentence in dict.fromkeys(sentences) if sentence not in known_sentences]
    known_sentences.update(new)
    first: dict[str, str] = {}
    for word in find_content_words("\n".join(new)):
        first.setdefault(word.stem, word.text)
    return first
