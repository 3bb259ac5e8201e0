"""Tasks "answer" and "rewrite" without a language model.

An answer quotes the one or two sentences of the evidence that match the question best
(`convrag.sdk.text.matching`). A word weighs more if fewer passages of the corpus have it (idf). A
question that refers back is matched together with the words of its rewrite. Where the evidence is a
hint to a passage of an earlier message, that passage is read there.

A rewrite adds to a question the words that it lacks. How many: a standalone search question names
about three things, so a question with fewer than three content words is filled up to three. A
reference back (it, they, that) stands for two words at least: a name and what goes with it. But a
reference that follows two content words of its own question most probably refers to those, and
needs none. So a standalone question, as at a change of topic, stays as it is. Where the question
itself is searched for beside its rewrite, with a weight w, each of its words counts 1 + w and an
added one counts 1. Wrong words err in all directions, so their noise grows with the square root of
their number: (1 + w) squared times as many words disturb the question no more, and more of the
right ones are among them.

Which words: those that the conversation is about. A word is one of them if it was said twice, by
whomever: in a question and in its answer, or in two exchanges. A sentence that is repeated
literally counts once, since an assistant that quotes the same passage again confirms nothing. An
exchange without an answer cannot repeat its question's words, so these count at once. A mention
weighs half of one in the next exchange; but what the first question names, since the conversation
is about it, never weighs less than a mention in the last one. Rare words of the corpus weigh more
(idf); words that no passage has are left out, since they find nothing. The added words stand in the
order in which they were said.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from convrag.sdk.search.frequencies import DocumentFrequencies
from convrag.sdk.text.analysis import ANAPHORS, find_content_words, find_words, is_content_word
from convrag.sdk.text.matching import find_added, match_sentences, read_question, split_question
from convrag.sdk.text.quoting import choose_sentences, clean_quote, name_subject, rank_sentences
from convrag.sdk.text.sentences import remove_citations

ENOUGH = 3
"""Content words of a standalone question."""

REFERENCE = 2
"""Words that a reference back stands for; after as many content words in its own question, it
refers to those.
"""

DECAY = 0.5
"""Weight of a mention against one in the next exchange."""

History = Sequence[Mapping[str, str]]
"""Exchanges, oldest first, each with `user` and `assistant`."""

Passages = Sequence[Mapping[str, Any]]
"""Passages with `number`, `text` and `title`, or hints at them."""

_SENTENCE_END = re.compile(
    r"(?<=[.!?])\s+|\n+"
)  # rough, but fast, and enough to recognise repeated sentences


@dataclass
class _Candidate:
    text: str
    position: tuple[int, int, int]
    weight: float = 0.0
    mentions: int = 0


def rewrite(
    question: str, history: History, frequencies: DocumentFrequencies, question_weight: float = 0.0
) -> str:
    """The question on one line, followed by the words that it lacks.

    Args:
        question: what shall stand alone.
        history: where the words are taken from, oldest exchange first.
        frequencies: tell rare words from common ones.
        question_weight: with which the question is searched for beside the rewrite; 0 where it is
            not.
    """
    return " ".join(
        [*question.split(), *find_missing_words(question, history, frequencies, question_weight)]
    )


def find_missing_words(
    question: str, history: History, frequencies: DocumentFrequencies, question_weight: float = 0.0
) -> list[str]:
    """Words of the history, in their latest form there, that the question needs to stand alone;
    maybe none.
    """
    if not (number := round(_count_missing_words(question) * (1 + question_weight) ** 2)):
        return []
    own = {word.stem for word in find_words(question)}
    candidates = _find_candidates(history)
    scores = {
        stem: candidate.weight * frequencies.idf(stem)
        for stem, candidate in candidates.items()
        if stem not in own and candidate.mentions > 1
    }
    best = sorted(
        (stem for stem in scores if scores[stem] > 0), key=lambda stem: (-scores[stem], stem)
    )[:number]
    return [
        candidates[stem].text for stem in sorted(best, key=lambda stem: candidates[stem].position)
    ]


def _count_missing_words(question: str) -> int:
    """How many content words the question lacks."""
    own: set[str] = set()
    refers_back = False
    for word in find_words(question):
        if word.text.lower().replace("’", "'") in ANAPHORS:
            refers_back = refers_back or len(own) < REFERENCE
        elif is_content_word(word.text):
            own.add(word.stem)
    return max(ENOUGH - len(own), REFERENCE if refers_back else 0)


def _find_candidates(history: History) -> dict[str, _Candidate]:
    """The content words of the history by stem: their latest form and position, and the weight of
    their mentions.
    """
    found: dict[str, _Candidate] = {}
    known_sentences: set[str] = set()
    for age, exchange in enumerate(reversed(history)):
        for part, speaker in enumerate(("user", "assistant")):
            words = _find_new_words(exchange.get(speaker) or "", known_sentences)
            for position, (stem, text) in enumerate(words.items()):
                candidate = found.setdefault(stem, _Candidate(text, (-age, part, position)))
                candidate.weight += DECAY**age
                candidate.mentions += 1 if exchange.get("assistant") else 2
    for word in find_content_words(history[0].get("user") or "") if history else ():
        if topic := found.get(word.stem):
            topic.weight = max(topic.weight, 1.0)
    return found


def _find_new_words(text: str, known_sentences: set[str]) -> dict[str, str]:
    """Stem -> first form of the content words in sentences that are not known yet; adds these to
    the known ones.
    """
    sentences = [part.strip() for part in _SENTENCE_END.split(remove_citations(text))]
    new = [sentence for sentence in dict.fromkeys(sentences) if sentence not in known_sentences]
    known_sentences.update(new)
    first: dict[str, str] = {}
    for word in find_content_words("\n".join(new)):
        first.setdefault(word.stem, word.text)
    return first


NOT_FOUND = "I could not find this in the passages."
"""The answer where no sentence matches."""

MIN_SHARE = 0.5
"""The least share of the question's weight that a sentence must cover; with less, it answers
another question.
"""

_NUMBER = re.compile(r"\[(?:Doc_)?(\d+)\]")


def answer(
    question: str,
    history: History,
    evidence: Passages,
    frequencies: DocumentFrequencies,
    earlier_evidence: Passages = (),
    standalone: str = "",
    least: float = MIN_SHARE,
) -> str:
    """The sentences that say most of what is asked, best first, each with its citation; or
    NOT_FOUND.

    Args:
        question: what to answer.
        history: the earlier exchanges, oldest first.
        evidence: passages with `number` and `text`, or a hint: `hint`, and a text that names a
            number ("[3]").
        frequencies: tell rare words from common ones.
        earlier_evidence: the passages that stand in the earlier messages, at which hints point.
        standalone: the rewritten question; without it, the words of the history are added that the
            question lacks.
        least: the share of the question's weight that a sentence must cover.
    """
    meant = standalone or " ".join([question, *find_missing_words(question, history, frequencies)])
    named = (
        (str(item["number"]), item.get("title") or "", item)
        for item in _follow_hints(evidence, earlier_evidence)
    )
    passages = {number: (title, item["text"].removeprefix(title)) for number, title, item in named}
    texts = {number: "\n".join(passage) for number, passage in passages.items()}
    parts, added = split_question(question), find_added(question, meant)
    before = history[-1]["user"] if history else ""
    quotes: dict[str, str] = {}
    for part in parts:
        asked = read_question(part, added, frequencies, before=before, trusted=not standalone)
        matches = {n: match_sentences(asked, text, title) for n, (title, text) in passages.items()}
        chosen = choose_sentences(rank_sentences(matches, texts), asked)[
            : 2 if len(parts) == 1 else 1
        ]
        enough = least if len(parts) == 1 else max(least, MIN_SHARE)
        for n, match in chosen:
            title, text = passages[n]
            if match.share >= enough:
                quotes[
                    name_subject(
                        clean_quote(text[match.start : match.end]), title, text[: match.start]
                    )
                ] = n
    return " ".join(f"{text} [{number}]" for text, number in quotes.items()) or NOT_FOUND


def _follow_hints(evidence: Passages, earlier_evidence: Passages) -> list[Mapping[str, Any]]:
    """The evidence with the passages at which its hints point; a hint at nothing is left out."""
    full = {str(item["number"]): item for item in earlier_evidence if not item.get("hint")}
    found = []
    for item in evidence:
        named = _NUMBER.search(item["text"]) if item.get("hint") else None
        if not item.get("hint"):
            found.append(item)
        elif named and named[1] in full:
            found.append(full[named[1]])
    return found
