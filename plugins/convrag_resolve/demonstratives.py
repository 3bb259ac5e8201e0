"""Demonstratives ("this", "that", "these", "those"), alone or before a noun; not "I think that", nor "this year"."""

from __future__ import annotations

from collections.abc import Iterator

from convrag_resolve.conversation import SaidSoFar
from convrag_resolve.entities import Entity, is_same, rate_agreement
from convrag_resolve.links import Link, join_names
from convrag_resolve.mentions import Mention, make_mention
from convrag_resolve.noun_phrases import NounPhrase
from convrag_resolve.places import rate_place
from convrag_resolve.reading import Reading
from convrag_resolve.vocabulary import PERSON_NOUNS, PLACE_NOUNS, TIME_NOUNS, UTTERANCE_NOUNS, split_words

_OPTION_NOUNS = split_words("one ones two three four both options option choices all")
_ORDER = frozenset(("before", "after", "since", "until"))
_OWN_NOUNS = split_words("term word phrase way case regard info information document text page")
_SAYS = split_words(
    "say says said know knew think thought read hear heard believe believes means found find understand"
    " remember hope assume guess see saw shows showed suggests claim claims claimed told learned noticed"
)
_PREDICATES = split_words(
    "true right correct possible good bad normal legal mean means why because happen happens work"
)
_MOST_OPTIONS = 4


def find_demonstratives(reading: Reading, said: SaidSoFar, focus: Entity | None = None) -> Iterator[Link]:
    """Link the demonstratives of a question to entities, options or dates of the conversation."""
    phrases = {phrase.first: phrase for phrase in reading.phrases}
    for place, token in enumerate(reading.tokens):
        if token.tag != "dem":
            continue
        link = None
        if (phrase := phrases.get(place)) is not None:
            if phrase.last - phrase.first > 1 and not (token.lower == "that" and _is_conjunction(reading, place)):
                link = _link_noun(reading, phrase, said, focus)
        elif _is_pronoun(reading, place) and not _has_own_statement(reading, place):
            link = _link_pronoun(reading, place, said, focus)
        if link is not None:
            yield link


def _is_conjunction(reading: Reading, place: int) -> bool:
    """Whether "that" opens a clause: "I read that cats sleep", "the film that critics like", "so that ice melts"."""
    before = reading.tokens[place - 1] if place else None
    if before is None or reading.tokens[place].first:
        return False
    if before.lower in ("so", "such", "now", "given", "true", "sure"):
        return True
    if before.tag in ("noun", "name", "adj"):
        return True
    after = reading.tokens[place + 1 :]
    if before.lower in _SAYS and len(after) > 3:
        return True
    return before.tag == "verb" and any(token.tag in ("verb", "aux") for token in after)


def _is_pronoun(reading: Reading, place: int) -> bool:
    token = reading.tokens[place]
    before = reading.tokens[place - 1] if place and not token.first else None
    after = reading.tokens[place + 1] if place + 1 < len(reading.tokens) else None
    at_end = after is None or after.tag in ("punct", "prep", "conj", "adv", "aux", "verb", "adj", "to")
    if not _is_asked(reading, place):
        return False  # "That is too bad."
    if not at_end:
        return after is not None and before is not None and before.tag == "aux"
    if before is None:
        return True
    if token.lower == "that" and before.tag in ("noun", "name", "adj") and not (after is None or after.tag == "punct"):
        return False
    if token.lower == "that" and before.tag == "verb":
        return after is None or after.tag in ("punct", "prep", "conj", "adv")
    return before.lower not in ("so", "such", "now")


def _is_asked(reading: Reading, place: int) -> bool:
    """Whether the sentence asks or demands: it ends in a question mark, or begins as a question or a demand does."""
    start = max((n for n in range(place + 1) if reading.tokens[n].first), default=0)
    for token in reading.tokens[place + 1 :]:
        if token.lower == "?":
            return True
        if token.first:
            break
    return start < place and reading.tokens[start].tag in ("wh", "aux", "verb", "conj", "prep", "adv")


def _has_own_statement(reading: Reading, place: int) -> bool:
    """Whether a sentence of the same message comes before: "Sharks are fish. Is that true?"."""
    return any(token.first for token in reading.tokens[4 : place + 1])


def _link_noun(reading: Reading, phrase: NounPhrase, said: SaidSoFar, focus: Entity | None) -> Link | None:
    """Link "that tower" to what has the same head or is one, else to the most salient entity that agrees."""
    tokens = reading.tokens
    demonstrative, head = tokens[phrase.first].lower, tokens[phrase.last - 1].lower
    start, end = tokens[phrase.first].start, tokens[phrase.last - 1].end
    written = reading.write(phrase)
    if head.removesuffix("s") in UTTERANCE_NOUNS or head in _OPTION_NOUNS or head in _OWN_NOUNS:
        return None  # of utterances, see `temporal`
    if head.removesuffix("s") in TIME_NOUNS:
        if demonstrative in ("this", "these") or not said.date or said.date_number < len(said.turns) - 2:
            return None
        return Link("time", written, said.date, said.date_turn, "the last date", start, end, f"{written} ({said.date})")
    mention = make_mention(reading.text, tokens, phrase)
    if focus is None and mention is not None and (named := find_named(mention, said)):
        if not len(named.mention.stems) > len(mention.stems) and not named.types & {head}:
            return Link("demonstrative", written, named.mention.text, named.turn_id, "the same noun", start, end)
        rule = "what it was said to be" if head in named.types else "the same noun"
        return Link("demonstrative", written, named.mention.text, named.turn_id, rule, start, end, named.mention.text)
    chosen = focus or _find_salient(demonstrative, head, reading, said)
    if chosen is None:
        return None
    rule = "what the question goes back to" if focus else "agreement and salience"
    name = chosen.mention.text
    return Link("demonstrative", written, name, chosen.turn_id, rule, start, end, f"{written} ({name})")


def find_named(mention: Mention, said: SaidSoFar) -> Entity | None:
    """The entity with the same head noun, or one that was said to be such ("Oslo is a city")."""
    same = [entity for entity in said.entities if is_same(mention, entity.mention)]
    kinds = [entity for entity in said.entities if mention.head in entity.types and len(mention.stems) == 1]
    return max(same or kinds, key=lambda entity: entity.salience, default=None)


def _find_salient(demonstrative: str, head: str, reading: Reading, said: SaidSoFar) -> Entity | None:
    own = [mention for _, mention in reading.list_mentions()]

    def rate(entity: Entity) -> float:
        if any(is_same(mention, entity.mention) for mention in own):
            return 0.0
        if head.rstrip("s") in PERSON_NOUNS:
            return 1.0 if entity.mention.person else (0.3 if entity.mention.person is None else 0.0)
        if head in PLACE_NOUNS:
            return rate_place(entity)
        if demonstrative in ("these", "those"):  # "these treatments": any topic may have them
            return 1.0 if entity.mention.plural is not False else 0.5
        return 0.6 if entity.mention.plural else 1.0

    ranked = said.rank_entities(rate)
    return ranked[0][1] if ranked else None


def _link_pronoun(reading: Reading, place: int, said: SaidSoFar, focus: Entity | None) -> Link | None:
    token = reading.tokens[place]
    before = reading.tokens[place - 1].lower if place else ""
    after = [each.lower for each in reading.tokens[place + 1 : place + 3]]
    if token.lower == "that" and before in _ORDER and said.date and said.date_number == len(said.turns) - 1:
        return Link("time", token.text, said.date, said.date_turn, "the last date", token.start, token.end, said.date)
    if token.lower in ("these", "those") and focus is None and _has_fresh_options(said):
        name = join_names(said.options)
        return Link("option", token.text, name, said.options_turn, "the listed options", token.start, token.end, name)
    plural = "they" if token.lower in ("these", "those") else "it"
    own = [mention for _, mention in reading.list_mentions()]
    ranked = said.rank_entities(
        lambda entity: (
            0.0
            if entity.mention.person or any(is_same(mention, entity.mention) for mention in own)
            else rate_agreement(plural, entity.mention)
        )
    )
    chosen = focus or (ranked[0][1] if ranked else None)
    if chosen is None:
        return None
    name = chosen.mention.text
    near = {*after, before, reading.tokens[0].lower}
    is_situation = bool(near & _PREDICATES) or before in ("do", "did", "doing")
    end, phrase = token.end, token.text
    if after and after[0] == "'s" and reading.tokens[place + 1].start == token.end:
        return Link(
            "demonstrative",
            phrase,
            name,
            chosen.turn_id,
            "salience",
            token.start,
            reading.tokens[place + 1].end,
            f"{name} is",
        )
    written = f"{token.text} ({name})" if is_situation else name
    rule = "salience: a situation" if is_situation else "agreement and salience"
    return Link("demonstrative", phrase, name, chosen.turn_id, rule, token.start, end, written)


def _has_fresh_options(said: SaidSoFar) -> bool:
    return 1 < len(said.options) <= _MOST_OPTIONS and said.options_number == len(said.turns) - 1
