"""References to a turn or a time: "my first question", "you mentioned X", "going back to X", "since then"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from convrag_resolve.conversation import SaidSoFar, SaidTurn, stem_content
from convrag_resolve.entities import Entity
from convrag_resolve.links import Link
from convrag_resolve.mentions import Mention
from convrag_resolve.noun_phrases import NounPhrase
from convrag_resolve.ordinals import ORDINALS
from convrag_resolve.reading import Reading
from convrag_resolve.vocabulary import STATEMENT_NOUNS, UTTERANCE_NOUNS

_PLACES = {**ORDINALS, "original": 0, "initial": 0, "1st": 0, "2nd": 1}
_UTTERANCE = rf"(?:{'|'.join(sorted(UTTERANCE_NOUNS))})"
_TURN = re.compile(
    rf"\b(?:my|your|the|that|this)\s+(?:very\s+)?(?:({'|'.join(_PLACES)}|last|previous|earlier|prior)"
    rf"\s+({_UTTERANCE})|({_UTTERANCE}))(?=\W|$)(?!\s+(?:of|to|for|about|is it|mark)\b)",
    re.IGNORECASE,
)
_THING = re.compile(
    r"\bthe\s+(first|last|second)\s+(?:thing|topic|question)\s+(?:that\s+)?(?:i|we)\s+(?:asked|talked|said|discussed)(?:\s+about)?",
    re.IGNORECASE,
)
_MENTIONED = re.compile(
    r"\b(?:(?:as|like|what|that|which)\s+)?(?:you|we|i)(?:['’](?:d|ve)|\s+have|\s+had)?\s+(?:just\s+|already\s+|also\s+|earlier\s+|previously\s+)?"
    r"(?:mentioned|said|talked\s+about|discussed|told\s+me(?:\s+about)?|asked(?:\s+about)?|spoke\s+(?:of|about)|listed|recommended|suggested|described|wrote)\b"
    r"(?:\s+that)?",
    re.IGNORECASE,
)
_BACK = re.compile(
    r"\b(?:going|coming|get(?:ting)?|go|come|return(?:ing)?|turning|switching|let['’]?s\s+(?:go|get|return))\s*(?:back\s+)?to\b|\bback\s+to\b|\bas\s+for\b|\bspeaking\s+of\b",
    re.IGNORECASE,
)
_THEN = re.compile(r"\b(since|by|until|before|back|from|after)\s+then\b|\b(?:at|during)\s+that\s+time\b", re.IGNORECASE)
_LONGEST = 160


@dataclass(frozen=True, slots=True)
class Focus:
    """What a question goes back to, and the link that says so."""

    entity: Entity
    link: Link


def find_focus(reading: Reading, said: SaidSoFar) -> Focus | None:
    """Find what a question goes back to by naming it: "going back to Oslo, ...", "the fjord you mentioned, ..."."""
    for pattern, rule in ((_BACK, "goes back to"), (_MENTIONED, "was mentioned")):
        if (match := pattern.search(reading.text)) is None:
            continue
        for phrase, mention in _order_phrases(reading, match):
            entity = said.find_entity(mention)
            number = said.find_turn(mention.stems) if entity is None else None
            if entity is None and number is None:
                continue
            start, end = reading.tokens[phrase.first].start, reading.tokens[phrase.last - 1].end
            turn_id = entity.turn_id if entity else said.turns[number or 0].id
            name = entity.mention.text if entity else mention.text
            fuller = name if entity and len(entity.mention.stems) > len(mention.stems) else None
            found = entity or Entity(mention, turn_id, number or 0)
            return Focus(
                found, Link("turn", reading.text[match.start() : end], name, turn_id, rule, start, end, fuller)
            )
    return None


def _order_phrases(reading: Reading, match: re.Match[str]) -> list[tuple[NounPhrase, Mention]]:
    """The phrases of the question, those right behind the match first, then those right before it."""
    mentions = list(reading.list_mentions())
    behind = [each for each in mentions if reading.tokens[each[0].first].start >= match.end()]
    before = [each for each in mentions if reading.tokens[each[0].last - 1].end <= match.start()]
    near = [each for each in behind if reading.tokens[each[0].first].start - match.end() < 12]
    return near[:1] + before[-1:]


def find_turns(reading: Reading, said: SaidSoFar) -> Iterator[Link]:
    """Link "my first question", "your last answer" and "as you said" to turns, and "since then" to a date."""
    text = reading.text
    for match in _TURN.finditer(text):
        unowned = match[0].lower().startswith(("the", "that", "this"))
        if match[3] and (match[0].lower().startswith("the") or not unowned or match[3].lower() in STATEMENT_NOUNS):
            continue
        relative = (match[1] or "").lower() in ("", "last", "previous", "prior", "earlier")
        if relative and unowned and len(text.split()) > 25:
            continue
        if turn := _pick_turn((match[1] or "last").lower(), said):
            yield _link_turn(match, turn, "the turn in that place")
    for match in _THING.finditer(text):
        if turn := _pick_turn(match[1].lower(), said):
            yield Link(
                "turn", match[0], turn.standalone, turn.id, "the turn in that place", *match.span(), _quote(turn)
            )
    for match in _THEN.finditer(text):
        if said.date:
            before = f"{match[1].lower()} " if match[1] and match[1].lower() != "back" else "in "
            yield Link("time", match[0], said.date, said.date_turn, "the last date", *match.span(), before + said.date)


def find_unnamed(reading: Reading, said: SaidSoFar) -> Link | None:
    """Link "as you said earlier" to the turn that has most of the question's own words, else to the last one."""
    if not said.turns or (match := _MENTIONED.search(reading.text)) is None:
        return None
    number = said.find_turn(stem_content(reading.text[: match.start()] + reading.text[match.end() :]))
    turn = said.turns[-1 if number is None else number]
    return Link("turn", match[0], turn.standalone, turn.id, "the turn with the same words", *match.span())


def _pick_turn(word: str, said: SaidSoFar) -> SaidTurn | None:
    if word in _PLACES and not said.is_whole:
        return None  # the first turn that the memory shows is not the conversation's
    place = _PLACES.get(word, len(said.turns) - 1)
    return said.turns[place] if 0 <= place < len(said.turns) else None


def _link_turn(match: re.Match[str], turn: SaidTurn, rule: str) -> Link:
    return Link("turn", match[0], turn.standalone, turn.id, rule, *match.span(), f"{match[0]} ({_quote(turn)})")


def _quote(turn: SaidTurn) -> str:
    """A turn's question, shortened."""
    text = " ".join(turn.standalone.split())
    return text if len(text) <= _LONGEST else text[:_LONGEST].rsplit(" ", 1)[0] + " ..."
