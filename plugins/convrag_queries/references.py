"""Words of a question that refer back to what was said, by rules for English."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

from convrag_queries.phrases import Token, split_tokens

Kind = Literal["singular", "plural", "person"]

_PEOPLE = frozenset(
    """
    he him his himself she her hers herself
    """.split()  # noqa: SIM905
)
_SINGULAR = frozenset(["it", "its", "itself"])
_PLURAL = frozenset(
    """
    they them their theirs these those both
    """.split()  # noqa: SIM905
)
_POSSESSIVES = frozenset(
    """
    its his her hers their theirs
    """.split()  # noqa: SIM905
)
_BEFORE_THAT = frozenset(
    """
    is was are does do did can could will would should about of for with than in to why
    """.split()  # noqa: SIM905
)
_EXISTENTIAL = frozenset(
    """
    is are was were any be been will has have
    """.split()  # noqa: SIM905
)
_MEASURES = frozenset(
    """
    long much many far often big high old tall good well way time
    """.split()  # noqa: SIM905
)
_ADJECTIVES = (
    "possible|necessary|better|best|worth|okay|ok|safe|easy|hard|difficult|important|good|bad|legal|illegal|required|"
    "common|normal|true|take|takes|cost|costs|like"
)
_EXPLETIVE = re.compile(
    rf"\bit(?:'s|’s)?\s+(?:is\s+|was\s+|be\s+)?(?:{_ADJECTIVES})\s+(?:to|that|if|whether)\b|\bit\s+(?:rain|snow)",
    re.IGNORECASE,
)


class Reference(NamedTuple):
    """The first word of a question that refers back: its place among the words, and what it can refer to."""

    place: int
    kind: Kind


def find_reference(question: str) -> Reference | None:
    """Find the first word that refers back: a pronoun, "the one", "there". None where there is none.

    "it" in "is it possible to", and a pronoun that means something in its own question, do not refer back.
    """
    tokens = split_tokens(question)
    expletive = bool(_EXPLETIVE.search(question))
    for place, token in enumerate(tokens):
        kind = _find_kind(tokens, place)
        if kind and not (expletive and token.lower == "it") and not _has_antecedent(tokens, place):
            return Reference(place, kind)
    return None


def _find_kind(tokens: Sequence[Token], place: int) -> Kind | None:
    word = tokens[place].lower.removesuffix("'s")
    following = tokens[place + 1].lower if place + 1 < len(tokens) else ""
    before = tokens[place - 1].lower if place else ""
    if word in _PEOPLE:
        return "person"
    if word in _PLURAL:
        return "plural"
    if word in ("that", "this") and following not in _MEASURES:
        ends = not following or following in ("?", ".", "!", ",", "one", "is", "was", "mean", "work")
        return "singular" if ends or before in ("", *_BEFORE_THAT) else None
    one = word == "one" and before in ("the", "that", "this")
    there = word == "there" and not {before, following} & _EXISTENTIAL
    return "singular" if word in _SINGULAR or one or there else None


def _has_antecedent(tokens: Sequence[Token], place: int) -> bool:
    """Whether the question itself names what the reference may mean, in an earlier clause or before "its"."""
    clauses = [end for end, token in enumerate(tokens[:place]) if token.text in (",", ";", ":") or token.lower == "and"]
    end = place if tokens[place].lower in _POSSESSIVES else clauses[-1] if clauses else 0
    return sum(token.is_content for token in tokens[:end]) >= 2


def insert_meaning(question: str, reference: Reference | None, phrase: str) -> str:
    """The question with a phrase in the place of the reference, or with it in brackets at the end."""
    if reference is None:
        stripped = question.rstrip(" ?.!")
        return f"{stripped} ({phrase}){question[len(stripped) :].strip()}"
    tokens = split_tokens(question)
    start, end = reference.place, reference.place + 1
    word, following = tokens[start].lower, tokens[end] if end < len(tokens) else None
    possessive = word in _POSSESSIVES and following is not None and following.is_content
    if word == "one":
        start -= 1
    elif word in ("that", "this", "these", "those") and following and following.lower in ("one", "ones"):
        end += 1
    meant = f"{phrase}'s" if possessive else phrase
    return f"{question[: tokens[start].start]}{meant}{question[tokens[end - 1].end :]}"
