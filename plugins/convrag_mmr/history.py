"""The history becomes sentences that say something."""

from __future__ import annotations

import re
from collections.abc import Iterable, MutableMapping
from typing import NamedTuple

from convrag import Turn
from convrag.sdk.sentences import sentences

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")

# What thanks, apologies, offers of help and "I could not find this" are made of; a sentence of nothing else says
# nothing.
_FILLER_WORDS = """
a about absolutely afraid again all also am and answer answers any anything apologies apologise apologize appreciate
are as ask asking assist at available based be but by bye can can't cannot certainly clarify context correct could
couldn't course day definitely detail details didn't do document documents does doesn't don't else enough exactly feel
find fine for found free further glad good goodbye great happy have haven't hello help helpful helps hesitate hi hope
however i i'd i'll i'm i've if in indeed information interesting is isn't it it's just know knowledge let like may me
mention mentioned might more much my no not of oh ok okay on or other passage passages perfect please pleasure problem
provide provided question questions really right say so sorry specific sure tell text thank thanks that that's the
there this to too unable unfortunately very want was welcome well what whether will with wonderful would yes you you'd
you're your
"""
_FILLER = frozenset(_FILLER_WORDS.split())


class Sentence(NamedTuple):
    """A unit of the history: a user's utterance, or a sentence of an answer; `turn` counts from 1."""

    sentence: str
    speaker: str
    turn: int


def extract(turns: Iterable[Turn], min_words: int, split: MutableMapping[str, list[str]]) -> list[Sentence]:
    """The sentences of a history in order, without short ones, filler of the agent's, and what was said before.

    Args:
        turns: the history.
        min_words: words that a unit must have, separated by white space.
        split: answers that were split already; those that were not are added.
    """
    found: dict[str, Sentence] = {}
    for number, turn in enumerate(turns, start=1):
        if turn.answer not in split:
            split[turn.answer] = [text for text in sentences(turn.answer) if not is_filler(text)]
        user = " ".join(turn.question.split())
        for speaker, texts in (("user", [user]), ("agent", split[turn.answer])):
            for text in texts:
                if len(text.split()) >= min_words:
                    found.setdefault(text, Sentence(text, speaker, number))
    return list(found.values())


def is_filler(sentence: str) -> bool:
    """Whether all of a sentence is courtesy; "Sure, the Moon is 384,400 km away" is not."""
    words = _WORD.findall(sentence.lower().replace("’", "'"))
    return bool(words) and all(word in _FILLER for word in words)
