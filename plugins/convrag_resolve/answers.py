"""What an answer tells of the things it names: what it gives to the question, who is "he", what is "the city"."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from convrag_resolve.entities import Entity, is_same
from convrag_resolve.mentions import Mention, make_mention
from convrag_resolve.reading import Reading
from convrag_resolve.vocabulary import ARTICLES, BE, DO, FEMALE, MALE

FindEntity = Callable[[Mention], Entity | None]


def find_given(asked: Reading, answered: Reading) -> Mention | None:
    """The name that an answer gives to "who ...?", "which city ...?" or "what is the capital ...?"; None if none."""
    if not asked.tokens or asked.tokens[0].lower not in ("who", "which", "what", "where"):
        return None
    known = [mention for _, mention in asked.list_mentions()]
    relational = any(phrase.role == "complement" and phrase.first < 5 for phrase in asked.phrases)
    if any(mention.role == "topic" and not mention.asked for mention in known) and not relational:
        return None  # "what is dark matter?"
    is_object = len(asked.tokens) > 1 and asked.tokens[1].lower in DO
    asks_for_one = is_object or relational or any(mention.asked for mention in known)
    if asked.tokens[0].lower == "what" and not asks_for_one:
        return None
    for _, mention in answered.list_mentions():
        if mention.sentence > 0:
            return None
        if mention.text[0].isupper() and not any(is_same(mention, other) for other in known):
            return mention
    return None


def note_persons(find_entity: FindEntity, asked: Reading, answered: Reading) -> None:
    """Who "he" and "she" in an answer are, and who answers "who"."""
    words = {token.lower for token in answered.tokens}
    male, female = bool(words & MALE), bool(words & FEMALE)
    asks_who = bool(asked.tokens) and asked.tokens[0].lower in ("who", "whom")
    known = [mention for _, mention in asked.list_mentions()]
    for _, mention in answered.list_mentions():
        entity = find_entity(mention)
        if entity is None or entity.mention.person is not None or not mention.name or mention.sentence > 1:
            continue
        is_new = not any(is_same(mention, other) for other in known)
        if male != female or (asks_who and is_new):
            set_person(entity, female if male != female else None)
        return


def note_types(find_entity: FindEntity, answered: Reading) -> None:
    """What an answer says its entities are: "Oslo is the capital", "The Office, a series"."""
    for one, other in zip(answered.phrases, answered.phrases[1:], strict=False):
        between = [token.lower for token in answered.tokens[one.last : other.first]]
        starts = answered.tokens[other.first].lower
        if not ((between == [","] or (len(between) == 1 and between[0] in BE)) and starts in ARTICLES):
            continue
        mention = make_mention(answered.text, answered.tokens, one)
        kind = make_mention(answered.text, answered.tokens, other)
        if mention and kind and (entity := find_entity(mention)):
            entity.types.add(kind.head)


def set_person(entity: Entity, female: bool | None) -> None:
    """Note that an entity is a person; `female` is None where that is not known."""
    entity.mention = replace(entity.mention, person=True, female=female)
