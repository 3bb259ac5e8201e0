"""Where "it" stands for no thing: "it is raining", "is it safe to eat oysters", "how do I do it"."""

from __future__ import annotations

from convrag_resolve.reading import Reading
from convrag_resolve.vocabulary import BE, split_words

_WEATHER = split_words(
    "raining snowing rain rains snow snows rained snowed sunny windy foggy cloudy freezing dark late"
)
_SEEMS = split_words("seem seems seemed appear appears appeared turns turned matter matters takes took take mean means")
_DOERS = split_words("to i you we they should could can would must will and please don't")
_CLAUSE_STARTS = frozenset(("to", "that", "if", "when", "whether", "like"))


def is_expletive(reading: Reading, place: int) -> bool:
    """Whether "it" stands for nothing: "it is raining", "is it safe to eat oysters", "how long does it take to learn".

    "Is it safe to eat?" asks about something: there, nothing is said of what is eaten.
    """
    words = [token.lower for token in reading.tokens]
    before, after = words[max(0, place - 3) : place], words[place + 1 : place + 6]
    if _WEATHER & set(after[:2]) and not (set(after[:2]) & {"late", "dark"} and "is" not in after[:1] + before[-1:]):
        return True
    if before[-3:] in (["what", "time", "is"], ["what", "day", "is"]) or words[max(0, place - 2) : place] == [
        "make",
        "to",
    ]:
        return True
    if "there" in after[1:3]:
        return True  # "is it expensive there?"
    start = next((n for n, word in enumerate(after) if word in _CLAUSE_STARTS), None)
    if start is None:
        return False
    links_state = (before and before[-1] in BE) or (after and (after[0] in BE or after[0] in _SEEMS))
    if not links_state:
        return False
    rest = place + 1 + start
    if words[rest] == "like":
        rest += 1
    if words[rest] in ("that", "if", "whether", "when"):
        return rest + 2 < len(words)
    if words[rest : rest + 1] != ["to"] or [token.tag for token in reading.tokens[rest + 1 : rest + 2]] != ["verb"]:
        return False
    return any(phrase.first in (rest + 2, rest + 3) for phrase in reading.phrases)


def is_action(reading: Reading, place: int) -> bool:
    """Whether "it" stands for what is done ("how do I do it?"), which is no noun."""
    before = [token.lower for token in reading.tokens[max(0, place - 2) : place]]
    return before[-1:] in (["doing"], ["done"]) or (before[-1:] == ["do"] and before[0] in _DOERS)
