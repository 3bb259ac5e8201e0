"""The noun phrases of a text by rules: names, determiner and noun, quoted and numbered terms, also in lower case.

`What is the population of oslo?` has "the population", whose complement is "oslo": the question is about Oslo.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from convrag_resolve.tags import OPEN, Token
from convrag_resolve.vocabulary import ADVERBS, BE, CLAUSE_WORDS, PREDICATE_ENDINGS, RELATIONAL_NOUNS

Role = Literal["topic", "subject", "object", "oblique", "complement"]


@dataclass(frozen=True, slots=True)
class NounPhrase:
    """The tokens `first` to `last` (exclusive); the noun `last - 1` or the one before a number is its head.

    `role` is its place in the sentence: "topic" of "tell me about X" and "what is X", "complement" of another noun
    ("the population of X"). `sentence` counts from 0. `asked` says that it is itself asked for ("which city").
    `prepositional` is the preposition before it, empty without one.
    """

    first: int
    last: int
    role: Role
    sentence: int = 0
    asked: bool = False
    prepositional: str = ""


def find_noun_phrases(tokens: Sequence[Token]) -> list[NounPhrase]:
    """Find the noun phrases in order; none of them overlap."""
    phrases: list[NounPhrase] = []
    sentence, place, verb_seen = 0, 0, False
    opened_by = ""
    while place < len(tokens):
        token = tokens[place]
        if token.first and place:
            sentence, verb_seen, opened_by = sentence + 1, False, ""
        if token.tag == "wh" or token.lower in CLAUSE_WORDS:
            opened_by, verb_seen = token.lower, False
        elif token.tag == "conj":
            verb_seen = False if token.lower not in ("and", "or") else verb_seen
        elif token.tag == "verb":
            verb_seen = True
        last = _find_end(tokens, place)
        if last is None or _is_predicate(tokens, place, last, phrases):
            place = last or place + 1
            continue
        role, preposition = _find_role(tokens, place, verb_seen, opened_by, phrases)
        asked = (
            place > 0 and tokens[place - 1].tag == "wh" and tokens[place - 1].lower in ("what", "which", "whose", "how")
        )
        phrases.append(NounPhrase(place, last, role, sentence, asked, preposition))
        place = last
    return _promote_complements(tokens, phrases)


def _find_end(tokens: Sequence[Token], first: int) -> int | None:
    """Where the noun phrase that begins here ends (exclusive); None where none begins."""
    place = first
    while (
        place < len(tokens)
        and tokens[place].tag in ("det", "poss", "dem")
        and not (place > first and tokens[place].first)
    ):
        place += 1
    last = None
    inner = place
    while inner < len(tokens):
        token = tokens[inner]
        if inner > first and token.first:
            break
        if token.tag in OPEN:
            if token.tag in ("noun", "name") or (token.tag == "num" and last == inner and token.text[0].isdigit()):
                last = inner + 1
            inner += 1
        elif joined := _join_name(tokens, inner, last):
            inner = joined
        else:
            break
    return last


def _is_predicate(tokens: Sequence[Token], first: int, last: int, phrases: Sequence[NounPhrase]) -> bool:
    """Whether a single word after "is" is an adjective that no list has: "is it fattening", "if I am allergic"."""
    before = tokens[first - 1] if first else None
    if last - first > 1 or tokens[first].tag != "noun" or before is None:
        return False
    has_subject = bool(phrases) and phrases[-1].last == first - 1 and before.lower in BE
    is_singular = not tokens[first].lower.endswith("s")
    return (before.tag in ("aux", "pron", "adv") and tokens[first].lower.endswith(PREDICATE_ENDINGS)) or (
        has_subject and is_singular
    )


def _join_name(tokens: Sequence[Token], place: int, last: int | None) -> int:
    """Where a name goes on behind "of", "of the" or "&" ("Bank of England"); 0 where it does not."""
    if last != place or tokens[place - 1].tag != "name" or tokens[place].lower not in ("of", "&"):
        return 0
    after = place + 1
    if after < len(tokens) and tokens[after].lower == "the":
        after += 1
    return after if after < len(tokens) and tokens[after].tag == "name" else 0


def _find_role(
    tokens: Sequence[Token], place: int, verb_seen: bool, opened_by: str, phrases: Sequence[NounPhrase]
) -> tuple[Role, str]:
    """The role of the phrase that begins at a place, and the preposition before it."""
    before = tokens[place - 1] if place and not tokens[place].first else None
    if before is None:
        return "subject", ""
    if before.tag == "'s" and phrases:
        return "complement", ""
    if before.tag in ("prep", "to"):
        if before.lower == "about":
            return "topic", "about"
        attached = bool(phrases) and phrases[-1].last == place - 1
        return ("complement" if before.lower == "of" and attached else "oblique"), before.lower
    if before.lower == "like" or before.lower in ("called", "named"):
        return "topic", ""
    if opened_by in ("what", "who") and before.lower in BE and not verb_seen:
        return "topic", ""
    return ("object" if verb_seen else "subject"), ""


def _promote_complements(tokens: Sequence[Token], phrases: list[NounPhrase]) -> list[NounPhrase]:
    """Give the complement of a relational noun ("the history of toilets") the role of the noun, which gets its own."""
    for index, phrase in enumerate(phrases[1:], 1):
        owner = phrases[index - 1]
        if phrase.role != "complement":
            continue
        if tokens[phrase.first - 1].tag == "'s":  # the owner has its role already
            phrases[index] = replace(phrase, asked=False)
        elif tokens[owner.last - 1].lower in RELATIONAL_NOUNS:
            phrases[index] = replace(phrase, role=owner.role)
            phrases[index - 1] = replace(owner, role="complement")
    return phrases


def list_content(tokens: Sequence[Token], phrase: NounPhrase) -> Iterator[Token]:
    """The words of a noun phrase without determiners and possessive endings."""
    for token in tokens[phrase.first : phrase.last]:
        if token.tag in OPEN and token.lower not in ADVERBS:
            yield token
