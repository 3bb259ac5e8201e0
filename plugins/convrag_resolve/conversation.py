"""What was said so far, for finding antecedents: each turn is read once.

The salience of an entity is a sum over the turns that named it, as in Lappin and Leass (1994, "An algorithm for
pronominal anaphora resolution"): a mention counts for being recent, more for being the subject or the topic than for
being an object or within a prepositional phrase, and all of it halves with each step of time, which is a turn here and
not a sentence. So what is named again keeps its place (the backward-looking centre of Grosz, Joshi and Weinstein 1995).
What only an answer names counts half, and halves with each of its sentences: users ask on about their own topic.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from convrag import Turn
from convrag.sdk.sentences import remove_citations
from convrag.sdk.stemming import stem_words
from convrag.sdk.stop_words import is_stop_word
from convrag_resolve.answers import find_given, note_persons, note_types
from convrag_resolve.entities import Entity, is_same
from convrag_resolve.lists import find_line_options, find_options
from convrag_resolve.mentions import Mention
from convrag_resolve.reading import Reader, Reading, read_text
from convrag_resolve.vocabulary import RELATIONAL_NOUNS

RECENCY, TOPIC, SUBJECT, OBJECT, OBLIQUE, COMPLEMENT = 100.0, 80.0, 80.0, 50.0, 40.0, 20.0
"""Weights of Lappin and Leass for a mention's recency and role; of another noun's complement, half of an oblique's."""

_WEIGHTS = {"topic": TOPIC, "subject": SUBJECT, "object": OBJECT, "oblique": OBLIQUE, "complement": COMPLEMENT}
ANSWERED = 0.5
"""What a mention in an answer weighs against one in a question."""

GIVEN = 1.5
"""What the name weighs that an answer gives to "what is the capital of Norway?": users go on with it."""

RELATIONAL = 0.4
"""What a mention of a relational noun weighs: after "the effects of tea", "it" is tea."""

LEAST = 2.0
"""An entity of less salience is forgotten: after some six turns."""

READ_CHARACTERS = 4_000
"""Of an answer: the rest of a longer one is not read for antecedents."""

READ_SENTENCES = 8

LISTED_TURNS = 3
"""For so many turns, a list with marks is what "the second one" picks from."""

MOST_TURNS = 50
"""Of the turns with a word, the newest that are kept for "you mentioned ..."."""

_DATE = re.compile(
    r"\b(?:(?:in|on|since|around|until) )?((?:(?:\d{1,2} )?(?:January|February|March|April|May|June|July|August|"
    r"September|October|November|December)(?: \d{1,2},?)? )?(?:1\d|20)\d\d(?:s\b)?"
    r"|the \d{1,2}(?:st|nd|rd|th) century)\b"
)
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class SaidTurn:
    """A turn that was read: its id, its question as it was asked, and with its references written out."""

    id: str
    asked: str
    standalone: str


@dataclass(slots=True)
class SaidSoFar:
    """The conversation before a question; `is_whole` says that the memory shows all of its turns.

    `options` are what was listed last, `options_turn` the id of that turn and `options_number` its number from 0.
    `options_offered` says that they had marks or that the question offered them, and `options_kinds` has the stems of
    that question. `date` is the last date, with its turn. `mentioned_in` has the numbers of the turns with each stem.
    """

    reader: Reader = read_text
    is_whole: bool = True
    turns: list[SaidTurn] = field(default_factory=list)
    entities: list[Entity] = field(default_factory=list)
    options: tuple[str, ...] = ()
    options_turn: str = ""
    options_number: int = -1
    options_offered: bool = False
    options_kinds: frozenset[str] = frozenset()
    date: str = ""
    date_turn: str = ""
    date_number: int = -1
    mentioned_in: dict[str, list[int]] = field(default_factory=dict)

    def add_turn(self, turn: Turn, standalone: str) -> None:
        """Read a turn; `standalone` is its question with the references written out."""
        number = len(self.turns)
        self.turns.append(SaidTurn(turn.id, turn.question, standalone))
        for entity in self.entities:
            entity.salience /= 2
        self.entities = [entity for entity in self.entities if entity.salience >= LEAST]
        answer = remove_citations(turn.answer)[:READ_CHARACTERS]
        asked, answered = self.reader(standalone), self.reader(answer)
        self._add_mentions(asked, turn.id, number, 1.0)
        self._add_mentions(answered, turn.id, number, ANSWERED, given=find_given(asked, answered))
        note_persons(self.find_entity, asked, answered)
        note_types(self.find_entity, answered)
        self._note_options(asked, answered, turn.id, number)
        dates = _DATE.findall(answer[:1000]) or _DATE.findall(standalone)
        if dates:
            self.date, self.date_turn, self.date_number = dates[0].strip(), turn.id, number
        for stem in dict.fromkeys(stem_content(f"{turn.question} {standalone} {answer}")):
            numbers = self.mentioned_in.setdefault(stem, [])
            numbers.append(number)
            del numbers[:-MOST_TURNS]

    def _note_options(self, asked: Reading, answered: Reading, turn_id: str, number: int) -> None:
        """Keep what the turn listed; "A and B" in passing does not displace a list of the last turns."""
        for reading in (answered, asked):
            options = find_options(reading.text, reading.tokens, reading.phrases)
            offered = bool(options) and (reading is asked or bool(find_line_options(reading.text)))
            is_fresh = bool(self.options) and number - self.options_number <= LISTED_TURNS
            if len(options) > 1 and not (is_fresh and len(options) == 2 < len(self.options) and not offered):
                self.options, self.options_turn, self.options_number = options, turn_id, number
                self.options_offered = offered
                self.options_kinds = frozenset(stem_content(asked.text))
                return

    def rank_entities(self, rate: Callable[[Entity], float]) -> list[tuple[float, Entity]]:
        """The entities by salience times their rating, the best first; without those rated 0."""
        rated = [(entity.salience * rate(entity), entity) for entity in self.entities]
        return sorted(((score, entity) for score, entity in rated if score > 0), key=lambda each: -each[0])

    def find_topic(self) -> Entity | None:
        """What the conversation is about now: the most salient entity that was not itself asked for."""
        ranked = self.rank_entities(
            lambda entity: (0.3 if entity.mention.asked else 1.0) * (1.0 if entity.asked_about else 0.4)
        )
        return ranked[0][1] if ranked else None

    def find_entity(self, mention: Mention) -> Entity | None:
        """The entity that a mention names; None if it is new."""
        same = [entity for entity in self.entities if is_same(mention, entity.mention)]
        return max(
            same, key=lambda entity: (set(entity.mention.stems) == set(mention.stems), entity.salience), default=None
        )

    def find_turn(self, stems: Sequence[str]) -> int | None:
        """The newest turn with the most of these stems; None if no turn has one."""
        counts: dict[int, int] = {}
        for stem in dict.fromkeys(stems):
            for number in self.mentioned_in.get(stem, ()):
                counts[number] = counts.get(number, 0) + 1
        return max(counts, key=lambda number: (counts[number], number), default=None)

    def _add_mentions(
        self, reading: Reading, turn_id: str, number: int, weight: float, given: Mention | None = None
    ) -> None:
        seen: list[Entity] = []
        for _, mention in reading.list_mentions():
            if mention.sentence >= READ_SENTENCES:
                break
            salience = (
                weight * (RECENCY + _WEIGHTS[mention.role]) * (RELATIONAL if mention.head in RELATIONAL_NOUNS else 1)
            )
            if weight < 1:
                salience *= GIVEN / ANSWERED if mention is given else 0.5**mention.sentence
            entity = self.find_entity(mention)
            if entity is None:
                entity = Entity(mention, turn_id, number)
                self.entities.append(entity)
            else:
                entity.add(mention, turn_id, number)
            if entity not in seen:  # once in an utterance, as in Lappin and Leass
                entity.salience += salience
                entity.asked_about = entity.asked_about or weight == 1 or mention is given
                seen.append(entity)


def stem_content(text: str) -> list[str]:
    """The stems of a text's content words, in order."""
    return stem_words([word for word in _WORD.findall(text.lower()) if not is_stop_word(word)])
