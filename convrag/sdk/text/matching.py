"""How much of what a question asks the sentences of passages say, by words in common."""

import re
from collections.abc import Iterable, Mapping, Set
from typing import NamedTuple

from convrag.sdk.search.frequencies import DocumentFrequencies, add_weights
from convrag.sdk.text.analysis import (
    STOP_WORDS,
    TALK,
    UNSPACED,
    find_content_words,
    find_stems,
    split_compounds,
    split_words,
    tell_asked_language,
    tell_language,
)
from convrag.sdk.text.clarification import refers_back
from convrag.sdk.text.forms import Form, has_form, leave_out_quantity, tell_definition, tell_form
from convrag.sdk.text.sentences import BULLET
from convrag.sdk.text.statements import classify_sentences, ends_in_question

CONTEXT_WEIGHT = 0.5
"""Of a word that stands only in the sentence before, or that only the rewrite of a question has."""

WITHOUT_FORM = 0.75
"""What is left of the share of a sentence that has not the form that the question asks for, see
`has_form`.
"""

_POINTS = re.compile(
    r"\W*(?:for (?:more|further|full)\b[^.]{0,60}, ?)?(?:please )?(?:(?:see|refer to|consult|siehe) |参[见阅])",
    re.IGNORECASE,
)
"""The beginning of a sentence that says where something is said, and not what."""

_ADDRESS = re.compile(r"(?<=\])\([^()\s]*\)|https?://\S+")
_ITEM = re.compile(rf"{BULLET}\s")

OWN = 0.25
"""What the words of a sentence itself count beside the same words in its context."""

LONG, LENGTH = 100, 0.0005
"""Characters of a sentence, and what each more costs of its rate."""


_STOP_WORDS = STOP_WORDS | TALK
"""Also words with which people talk, and that no passage need have."""


_BREAK = re.compile(
    r"(?:(?<=[?？])|[,;]?)\s+and\s+(?:also\s+)?(?=(?:who|what|when|where|which|why|how|is|are|was|were|do|does|did|can"
    r"|could|should|will)\b)|(?<=[?？])\s*",
    re.IGNORECASE,
)


class Asked(NamedTuple):
    """What a question asks.

    Args:
        weights: stem -> weight of its words.
        own: the stems that decide whether it is answered; the others are context.
        form: what a sentence that answers says, see `Form`.
    """

    weights: Mapping[str, float]
    own: Set[str]
    form: Form = ""

    @property
    def own_weights(self) -> Mapping[str, float]:
        """The weights of the stems that decide."""
        return {stem: weight for stem, weight in self.weights.items() if stem in self.own}

    @classmethod
    def of(cls, weights: Mapping[str, float]) -> "Asked":
        """All of these words."""
        return cls(weights, weights.keys())


class MatchedSentence(NamedTuple):
    """A sentence that states something, with the shares of the question's weight, 0 to 1, that it
    covers.

    Args:
        start: in the passage's text, in characters.
        end: the character after its last one.
        own: the share of its own words, and of those of a question just above it; half of that
            where it says something else of a thing than what it is, which was asked.
        share: the same with those of the title, of a question that it answers, and in part of the
            sentence before.
        sure: the share of the weight of the question's own words, counted in the same way.
        stems: of the question's words, those that count in `share`.
    """

    start: int
    end: int
    own: float
    share: float
    sure: float
    stems: frozenset[str]

    @property
    def rate(self) -> float:
        """By what sentences are ranked: what they say themselves counts more, and a long one says
        it less plainly.
        """
        return self.share + OWN * self.own - LENGTH * max(0, self.end - self.start - LONG)

    def halve(self) -> "MatchedSentence":
        """The same sentence, with half of what it covers."""
        return self._replace(own=self.own / 2, share=self.share / 2)


def read_question(
    question: str,
    standalone: str,
    frequencies: DocumentFrequencies,
    *,
    before: str = "",
    trusted: bool = False,
) -> Asked:
    """Read what a question asks about: its own words, and with half of their weight those that its
    rewrite adds.

    Rules that rewrite add words that the question may mean: all of them count half as much as its
    own do, at most, and its own decide whether it is answered, if it has any. A model adds what is
    meant (`trusted`), and so do rules to a word that refers back ("What is it good for?"). A
    misspelt word is the one that the corpus has.

    Args:
        question: as it was asked.
        standalone: its rewrite; may be empty.
        frequencies: tell rare words from common ones.
        before: the last question, which "And abroad?" asks again of something else.
        trusted: whether a model rewrote it.
    """
    plain = leave_out_quantity(question)
    language = tell_asked_language(question, frequencies.counts)
    left_out = _STOP_WORDS if language == "english" else STOP_WORDS
    stems = find_stems(question, language=language)
    own = _join_pieces(find_stems(plain, left_out, language) or stems, frequencies)
    form = tell_form(question, before)
    other = form == "definition" and not tell_form(
        question
    )  # "And an income?" behind "What is an expense?"
    added = frozenset[str]() if other else find_stems(standalone, left_out, language) - stems - own
    weights = frequencies.weigh_question(own | added)
    asked, context = (add_weights(stems, weights) for stems in (own, added))
    meant = trusted or (len(own) < 2 and refers_back(question))
    kept = (
        1.0 if meant else CONTEXT_WEIGHT * (min(1.0, asked / context) if asked and context else 1.0)
    )
    halved = {stem: weight * (1 if stem in own else kept) for stem, weight in weights.items()}
    return Asked(halved, own | added if trusted else own, form)


def split_question(text: str) -> list[str]:
    """Split a question into its parts; a part that refers to another is followed by the first."""
    parts = [part.strip() for part in _BREAK.split(text) if part and part.strip()]
    if len(parts) < 2 or not all(
        find_content_words(part) or (place and refers_back(part))
        for place, part in enumerate(parts)
    ):
        return [text]
    return [
        parts[0],
        *(f"{part} ({parts[0]})" if refers_back(part) else part for part in parts[1:]),
    ]


def find_added(question: str, standalone: str) -> str:
    """Find the words that a rewrite adds to a question: each of its parts is meant with them."""
    own = question.split()
    return " ".join(word for word in standalone.split() if word not in own)


def _join_pieces(stems: Iterable[str], frequencies: DocumentFrequencies) -> set[str]:
    """The words that the corpus has for these; of a compound ("crates.io") that it has, not the
    parts.

    Of scripts without spaces, a piece across two words ("茶用" of "绿茶用") is the character that no
    known piece has.
    """
    words = {frequencies.find_known(stem) for stem in stems}
    words -= {
        part for word in words & frequencies.counts.keys() for part in find_stems(word) - {word}
    }
    pieces = {word for word in words if len(word) == 2 and word[0] >= UNSPACED}
    known = {piece for piece in pieces if piece in frequencies.counts}
    ends, starts = ({piece[place] for piece in known} for place in (1, 0))
    across = {piece for piece in pieces - known if piece[0] in ends or piece[1] in starts}
    return words - across | set("".join(across)) - ends - starts


def match_sentences(
    asked: Asked, text: str, title: str = "", context: float = CONTEXT_WEIGHT, least_words: int = 3
) -> list[MatchedSentence]:
    """Match the sentences of a passage that state something with a question, in order.

    A sentence goes on with what its title names, and answers the question above it (an FAQ's):
    their words count as its own. Those of the statement before it count in part; for an item of a
    list, those of the line above the list.

    Args:
        asked: what the question asks.
        text: of the passage.
        title: of the passage; its path of headings, maybe.
        context: weight of the words of the statement before.
        least_words: the fewest words of a sentence.
    """
    weights = asked.weights
    total, own = sum(weights.values()), asked.own_weights
    whole = (
        sum(own.values()) or 2 * total
    )  # without words of its own, a question is matched by half
    language = tell_language(f"{title}\n{text}")
    above = titled = find_matching_stems(title, weights, language)
    before = lead = frozenset[str]()
    answered = titled if ends_in_question(title) else before
    found: list[MatchedSentence] = []
    for start, end, kind in classify_sentences(text) if total else ():
        sentence = text[start:end]
        told = _ADDRESS.sub(" ", sentence)
        if sentence.startswith("#") and not find_matching_stems(
            sentence.partition("\n")[0], weights, language
        ):
            told = ""  # code below a heading that says nothing of what is asked
        stems = find_matching_stems(told, weights, language)
        listed = _ITEM.match(sentence) is not None
        before = lead if listed and lead else before
        lead = stems if sentence.endswith(":") else lead if listed else frozenset()
        if kind == "question":
            answered = above = titled | stems
            before = frozenset()
        elif kind == "other":
            before = stems
        elif (
            sentence not in (title, *title.split(" > "))
            and len(split_words(sentence)) >= least_words
        ):
            known = stems | above
            kept = 1.0 if has_form(sentence, asked.form) else WITHOUT_FORM
            kept *= 0.5 if _POINTS.match(sentence) else 1.0
            share, sure = (
                kept
                * (add_weights(known, counted) + context * add_weights(before - known, counted))
                for counted in (weights, own or weights)
            )
            said = add_weights(stems | answered, weights) / total
            said *= (
                tell_definition(told, asked.own, language) if asked.form == "definition" else 1.0
            )
            found.append(
                MatchedSentence(start, end, said, share / total, sure / whole, known | before)
            )
            before, answered = stems, frozenset()
    return found


def find_matching_stems(
    text: str, weights: Mapping[str, float], language: str = ""
) -> frozenset[str]:
    """Find the stems of a question that a text has, also as a part of a compound, or with a part of
    one of theirs.

    Args:
        text: of a sentence or a passage.
        weights: the stems are its keys.
        language: of the text; without one, it is told by the text.
    """
    language = language or tell_language(text)
    has = find_stems(text, language=language) | find_stems(split_compounds(text), language=language)
    ends = tuple(stem for stem in has if len(stem) >= _PART) if language in _COMPOUNDING else ()
    has |= {stem for stem in weights if len(stem) == 1 and stem >= UNSPACED and stem in text}
    return frozenset(
        stem
        for stem in weights
        if stem in has or (len(stem) > _PART and stem.startswith(ends)) or stem.endswith(ends)
    )


_COMPOUNDING = ("danish", "dutch", "finnish", "german", "hungarian", "norwegian", "swedish")
"""Languages that write compounds as one word."""
_PART = 5
"""The fewest letters by which a part of a compound is known: "Urlaub" in "Urlaubstage"."""
