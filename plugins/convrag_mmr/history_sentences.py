"""The sentences of a history: extracted without filler, and shown as exchanges."""

import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from convrag import Turn
from convrag.sdk.text.analysis import count_words, find_stems
from convrag.sdk.text.sentences import split_sentences

_FILLER = re.compile(
    r"\b(?:thank you|thanks|i'm sorry|i don't have|i don't know|that's interesting|okay|sure)\b",
    re.IGNORECASE,
)
"""Beginnings of filler, the published system's (English), which drops all such sentences."""


class Sentence(NamedTuple):
    """A sentence of an answer (speaker "agent"), or a user's utterance; turns count from 1."""

    sentence: str
    speaker: str
    turn: int


def extract_sentences(turns: Iterable[Turn], min_words: int) -> list[Sentence]:
    """List the user's utterances and the sentences of answers in order, without repetitions.

    An utterance is one unit, whatever its length. Short sentences and filler of answers are left
    out.

    Args:
        turns: the history.
        min_words: the fewest words of a sentence of an answer, in any script.
    """
    found: dict[str, Sentence] = {}
    for number, turn in enumerate(turns, start=1):
        utterance = " ".join(turn.question.split())
        if utterance:
            found.setdefault(utterance, Sentence(utterance, "user", number))
        for text in split_sentences(turn.answer):
            if count_words(text) >= min_words and not is_filler(text):
                found.setdefault(text, Sentence(text, "agent", number))
    return list(found.values())


def is_filler(sentence: str) -> bool:
    """Tell whether a sentence is filler: a published beginning, and no content words after it.

    "Sure, the Moon is 384,400 km away" is not, though the published system drops it.
    """
    text = sentence.strip().replace("’", "'")
    if not _FILLER.match(text):
        return False
    return not find_stems(_FILLER.sub(" ", text), language="english")


def group_by_turn(
    selected: Sequence[Sentence], turns: Sequence[Turn], *, last_exchange: bool = True
) -> list[dict[str, Any]]:
    """Group selected sentences as exchanges, oldest first.

    Args:
        selected: the sentences, in the conversation's order.
        turns: the history.
        last_exchange: whether the last turn is complete, whatever of it was selected.

    Returns:
        `turn` (its number), `user` and `assistant` (the selected sentences of each, maybe empty)
        for each turn.
    """
    by_turn: dict[int, dict[str, list[str]]] = {}
    for sentence in selected:
        turn = by_turn.setdefault(sentence.turn, {"user": [], "agent": []})
        turn[sentence.speaker].append(sentence.sentence)
    if last_exchange:
        by_turn[len(turns)] = {"user": [turns[-1].question], "agent": [turns[-1].answer]}
    return [
        {
            "turn": number,
            "user": " ".join(by_turn[number]["user"]),
            "assistant": " ".join(by_turn[number]["agent"]),
        }
        for number in sorted(by_turn)
    ]


def list_utterances(exchanges: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """List the utterances of exchanges that are not empty: `turn`, `speaker` and `text`.

    The speaker is "User" or "Assistant".
    """
    return [
        {"turn": exchange["turn"], "speaker": role.capitalize(), "text": exchange[role]}
        for exchange in exchanges
        for role in ("user", "assistant")
        if exchange[role].strip()
    ]
