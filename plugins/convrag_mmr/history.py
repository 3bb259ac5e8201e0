"""The sentences of a history: extracted from its turns, and shown to a language model as exchanges."""

import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from convrag import Turn
from convrag.sdk.sentences import split_sentences

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")

# The words of thanks, apologies, offers of help and "I could not find this". A sentence of these alone is filler.
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
    """A sentence of an answer, or a user's whole utterance; `speaker` is "user" or "agent", `turn` counts from 1."""

    sentence: str
    speaker: str
    turn: int


def extract_sentences(turns: Iterable[Turn], min_words: int) -> list[Sentence]:
    """The sentences of a history in order, without short ones, the agent's filler, and repetitions.

    Args:
        turns: the history.
        min_words: the fewest words of a sentence, separated by white space.
    """
    found: dict[str, Sentence] = {}
    for number, turn in enumerate(turns, start=1):
        utterance = " ".join(turn.question.split())
        said = [text for text in split_sentences(turn.answer) if not is_filler(text)]
        for speaker, texts in (("user", [utterance]), ("agent", said)):
            for text in texts:
                if len(text.split()) >= min_words:
                    found.setdefault(text, Sentence(text, speaker, number))
    return list(found.values())


def is_filler(sentence: str) -> bool:
    """Whether a sentence is courtesy only; "Sure, the Moon is 384,400 km away" is not."""
    words = _WORD.findall(sentence.lower().replace("’", "'"))
    return bool(words) and all(word in _FILLER for word in words)


def group_by_turn(
    selected: Sequence[Sentence], turns: Sequence[Turn], *, last_exchange: bool = True
) -> list[dict[str, Any]]:
    """Selected sentences as exchanges, oldest first.

    Args:
        selected: the sentences, in the conversation's order.
        turns: the history.
        last_exchange: whether the last turn is complete, whatever of it was selected.

    Returns:
        `turn` (its number), `user` and `assistant` (the selected sentences of each, maybe empty) for each turn.
    """
    by_turn: dict[int, dict[str, list[str]]] = {}
    for sentence in selected:
        by_turn.setdefault(sentence.turn, {"user": [], "agent": []})[sentence.speaker].append(sentence.sentence)
    if last_exchange:
        by_turn[len(turns)] = {"user": [turns[-1].question], "agent": [turns[-1].answer]}
    return [
        {"turn": number, "user": " ".join(by_turn[number]["user"]), "assistant": " ".join(by_turn[number]["agent"])}
        for number in sorted(by_turn)
    ]


def list_utterances(exchanges: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Exchanges as a list of utterances that are not empty: `turn`, `speaker` ("User" or "Assistant") and `text`."""
    return [
        {"turn": exchange["turn"], "speaker": role.capitalize(), "text": exchange[role]}
        for exchange in exchanges
        for role in ("user", "assistant")
        if exchange[role].strip()
    ]
