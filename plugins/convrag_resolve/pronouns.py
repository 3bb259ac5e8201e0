"""Personal pronouns: who or what of the conversation they stand for."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from convrag_resolve.answers import set_person
from convrag_resolve.conversation import SaidSoFar
from convrag_resolve.entities import Entity, is_same, rate_agreement
from convrag_resolve.expletives import is_action, is_expletive
from convrag_resolve.links import Link, join_names, write_plural, write_possessive
from convrag_resolve.mentions import Mention
from convrag_resolve.reading import Reading
from convrag_resolve.vocabulary import (
    CLAUSE_WORDS,
    COMPARISON,
    FEMALE,
    MALE,
    PLURAL,
    POSSESSIVES,
)

LEAST_AGREEMENT = 0.05
"""A pronoun is not linked to an entity that agrees with it less."""

_LEFT_ALONE = frozenset(("itself", "themselves", "himself", "herself"))
_SHORT_FORMS = {"'s": " is", "'re": " are", "'ve": " have", "'ll": " will", "'d": " would"}


def find_pronouns(reading: Reading, said: SaidSoFar, focus: Entity | None = None) -> Iterator[Link]:
    """Link the pronouns of a question to entities of the conversation; those of its own words stay.

    Args:
        reading: the question.
        said: the conversation before it.
        focus: what the question itself goes back to ("going back to Oslo, how cold is it?").
    """
    written: dict[int, str] = {}
    for place, token in enumerate(reading.tokens):
        if token.tag not in ("pron", "poss") or token.lower in _LEFT_ALONE:
            continue
        if token.lower == "it" and (is_expletive(reading, place) or is_action(reading, place)):
            continue
        if _has_own_antecedent(reading, place):
            continue
        if (link := _link(reading, place, said, focus, written)) is not None:
            yield link


def _has_own_antecedent(reading: Reading, place: int) -> bool:
    """Whether a pronoun refers to an earlier phrase of the same question.

    The phrase is in an earlier clause or sentence; a possessive's may be the subject of its own ("does Ohio tax its
    farmers"), since a pronoun and its antecedent are not arguments of one verb (Chomsky's principle B).
    """
    token = reading.tokens[place]
    for phrase, mention in reversed(list(reading.list_mentions())):
        least = 0.3 if token.lower in POSSESSIVES and mention.name else 0.6
        if phrase.last > place or rate_agreement(token.lower, mention) < least or phrase.role == "complement":
            continue
        if reading.tokens[phrase.first].tag == "poss":
            continue
        between = reading.tokens[phrase.last : place]
        bounded = any(
            each.first
            or each.tag == "wh"
            or each.lower in CLAUSE_WORDS
            or each.lower in (",", "that", "then", "so")
            or (each.tag == "conj" and following.tag in ("wh", "aux", "verb", "pron", "to"))
            for each, following in pairwise([*between, token])
        ) or (token.first and place > 0)
        has_verb = any(each.tag == "verb" for each in between)
        if bounded or (token.lower in POSSESSIVES and mention.name and not phrase.asked):
            return True
        if token.lower in POSSESSIVES and has_verb and phrase.role == "subject" and not phrase.asked:
            return True
    return False


def _link(reading: Reading, place: int, said: SaidSoFar, focus: Entity | None, written: dict[int, str]) -> Link | None:
    token = reading.tokens[place]
    own = [mention for _, mention in reading.list_mentions()]

    def rate(entity: Entity) -> float:
        if written.get(id(entity), _find_class(token.lower)) != _find_class(token.lower):
            return 0.0  # "he" and "it" are two
        if any(is_same(mention, entity.mention) for mention in own):
            return 0.0
        agreement = rate_agreement(token.lower, entity.mention)
        least = LEAST_AGREEMENT if entity.asked_about else 2 * LEAST_AGREEMENT
        return (agreement if entity.asked_about else 0.7 * agreement) if agreement > least else 0.0

    rule = "agreement and salience"
    if focus is not None and rate_agreement(token.lower, focus.mention) >= 0.3:
        chosen, rule = focus, "what the question goes back to"
    else:
        ranked = said.rank_entities(rate)
        if token.lower in PLURAL and (pair := _find_pair(said, ranked)):
            name, turn_id = pair
            return _write(reading, place, name, turn_id, "two that were compared", plural=True)
        if not ranked:
            return None
        chosen = ranked[0][1]
    if token.lower in MALE | FEMALE and chosen.mention.person is None:
        set_person(chosen, token.lower in FEMALE)
    name = write_name(chosen.mention, plural=token.lower in PLURAL)
    if id(chosen) in written:
        return Link("pronoun", token.text, name, chosen.turn_id, rule, token.start, token.end)
    written[id(chosen)] = _find_class(token.lower)
    return _write(reading, place, name, chosen.turn_id, rule, plural=token.lower in PLURAL)


def _find_class(pronoun: str) -> str:
    """The pronouns that may stand for one thing within a question have one class."""
    return next((name for name, words in (("he", MALE), ("she", FEMALE), ("they", PLURAL)) if pronoun in words), "it")


def write_name(mention: Mention, *, plural: bool = False) -> str:
    """A mention as it stands in a question: "they", of "a virtual machine", is "virtual machines"."""
    if plural and mention.text.startswith(("a ", "an ")) and mention.plural is not True:
        return write_plural(mention.text.split(" ", 1)[1])
    return mention.text


def _find_pair(said: SaidSoFar, ranked: list[tuple[float, Entity]]) -> tuple[str, str] | None:
    """Two things that the last question compared ("is A the same as B?"), unless something plural is at hand."""
    if not said.turns or (ranked and ranked[0][1].mention.plural):
        return None
    last = said.reader(said.turns[-1].standalone)
    if not any(token.lower in COMPARISON for token in last.tokens):
        return None
    named = [mention for _, mention in last.list_mentions() if mention.role != "complement" and not mention.asked]
    named = [mention for mention in named if mention.head not in COMPARISON]
    return (join_names([mention.text for mention in named]), said.turns[-1].id) if len(named) == 2 else None


def _write(reading: Reading, place: int, name: str, turn_id: str, rule: str, *, plural: bool) -> Link:
    token = reading.tokens[place]
    after = reading.tokens[place + 1] if place + 1 < len(reading.tokens) else None
    end, phrase, written = token.end, token.text, name
    if token.tag == "poss" or token.lower in ("hers", "theirs") or (token.lower == "his" and token.tag == "pron"):
        written = write_possessive(name)
    elif after is not None and after.lower in _SHORT_FORMS and after.start == token.end:
        end, phrase = after.end, reading.text[token.start : after.end]
        if _is_possessive_slip(reading, place):
            written = write_possessive(name)
        else:
            written = name + (" are" if plural and after.lower == "'s" else _SHORT_FORMS[after.lower])
    return Link("pronoun", phrase, name, turn_id, rule, token.start, end, written)


def _is_possessive_slip(reading: Reading, place: int) -> bool:
    """Whether "it's" was typed for "its": after a verb, and before a noun ("describe it's growth")."""
    before = reading.tokens[place - 1] if place else None
    after = reading.tokens[place + 2 : place + 3]
    return before is not None and before.tag in ("verb", "prep") and bool(after) and after[0].tag in ("noun", "adj")
