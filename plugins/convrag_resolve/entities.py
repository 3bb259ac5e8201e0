"""What was spoken of: the entity that several mentions name, and which pronouns agree with it."""

from __future__ import annotations

from dataclasses import dataclass, field

from convrag_resolve.mentions import Mention
from convrag_resolve.vocabulary import FEMALE, MALE, PLURAL


@dataclass(slots=True)
class Entity:
    """What mentions with the same or shortened words stand for, and how present it is in the conversation."""

    mention: Mention
    turn_id: str
    number: int
    salience: float = 0.0
    asked_about: bool = False
    types: set[str] = field(default_factory=set)

    def add(self, mention: Mention, turn_id: str, number: int) -> None:
        """Take up another mention: the fullest words are kept, and what each tells of number and person."""
        old = self.mention
        fuller = mention if len(mention.stems) > len(old.stems) else old
        plural = old.plural if old.plural == mention.plural else None
        self.mention = Mention(
            fuller.text,
            fuller.stems,
            fuller.head,
            fuller.role,
            fuller.sentence,
            plural,
            old.person if old.person is not None else mention.person,
            old.female if old.female is not None else mention.female,
            old.place or mention.place,
            old.name or mention.name,
            old.definite or mention.definite,
            old.asked and mention.asked,
            fuller.name_only,
        )
        self.turn_id, self.number = turn_id, number


def rate_agreement(pronoun: str, mention: Mention) -> float:
    """How well a pronoun agrees with a mention in number and person, from 0 to 1."""
    if pronoun in MALE or pronoun in FEMALE:
        if mention.person is False or mention.plural:
            return 0.0
        if mention.female is not None and mention.female != (pronoun in FEMALE):
            return 0.0
        return 1.0 if mention.person else (0.6 if mention.name and len(mention.stems) > 1 else 0.3)
    if pronoun in PLURAL:
        if mention.plural:
            return 1.0
        if mention.plural is None:
            return 0.8
        is_generic = mention.text.startswith(("a ", "an "))  # "does a beagle bark?": "how old do they get?"
        return 0.05 if mention.person and not is_generic else (0.6 if is_generic else 0.3)
    if mention.person:
        return 0.02
    if mention.person is None and mention.name and len(mention.stems) > 1:
        return 0.7 if mention.plural is not True else 0.1
    return 0.1 if mention.plural else (0.8 if mention.plural is None else 1.0)


def is_same(mention: Mention, other: Mention) -> bool:
    """Whether a mention is of what was named before: the same words, or a shortened name ("the tower", "Einstein")."""
    mine, theirs = set(mention.stems), set(other.stems)
    if mine == theirs:
        return True
    short, full = (mention, other) if len(mine) < len(theirs) else (other, mention)
    if not set(short.stems) < set(full.stems):
        return False
    if short.name and full.name_only:
        return short.stems[-1] == full.stems[-1] or short.stems[0] == full.stems[0]
    is_later = short is mention and len(mention.stems) == 1 and (other.definite or other.name)
    return is_later and short.definite and short.stems[-1] == full.stems[-1]
