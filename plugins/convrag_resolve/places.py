"""The word "there": which place it stands for; not in "there is" and "are there"."""

from __future__ import annotations

from collections.abc import Iterator

from convrag_resolve.conversation import SaidSoFar
from convrag_resolve.entities import Entity
from convrag_resolve.links import Link
from convrag_resolve.reading import Reading
from convrag_resolve.vocabulary import ARTICLES, BE, LOCATIVE, PLACE_NOUNS


def find_places(reading: Reading, said: SaidSoFar, focus: Entity | None = None) -> Iterator[Link]:
    """Link "there" to a place, where it is not "there is" or "is there"."""
    for place, token in enumerate(reading.tokens):
        if token.lower != "there":
            continue
        before = reading.tokens[place - 1].lower if place else ""
        after = reading.tokens[place + 1].lower if place + 1 < len(reading.tokens) else ""
        if after in BE or after in ("'s", "'re", "exist", "exists") or before in BE or before in ("over", "out"):
            continue
        ranked = said.rank_entities(rate_place)
        chosen = focus if focus is not None else (ranked[0][1] if ranked else None)
        if chosen is None:
            continue
        name = chosen.mention.text
        preposition = (
            ""
            if before in LOCATIVE
            else ("to " if before in ("get", "go", "travel", "fly", "drive", "going") else "in ")
        )
        yield Link(
            "place", token.text, name, chosen.turn_id, "the last place", token.start, token.end, preposition + name
        )


def rate_place(entity: Entity) -> float:
    """How likely an entity is a place, from 0 to 1."""
    mention = entity.mention
    if mention.place or entity.types & (PLACE_NOUNS | {"capital"}):
        return 1.0
    if mention.person or mention.plural:
        return 0.0
    return 0.3 if mention.name else (0.15 if mention.text.split()[0] not in ARTICLES else 0.05)
