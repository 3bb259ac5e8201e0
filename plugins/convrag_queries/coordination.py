"""Coordinated phrases: "A or B", "A, B and C", "between A and B", "A instead of B". Rules for English."""

from __future__ import annotations

from collections.abc import Sequence

from convrag_queries.phrases import Token, read_phrase_after, read_phrase_before, split_tokens

_COMPARES = frozenset(
    """
    compare compared comparing comparison differ difference differences between both
    """.split()  # noqa: SIM905
)
_BEFORE_VERBS = frozenset(
    """
    i you we they can could should would will may might must to please
    """.split()  # noqa: SIM905
)


def read_coordination(text: str, joined: Sequence[str] = ("or",)) -> list[str]:
    """The phrases around the first coordination of two or more in a text; none where there is no coordination."""
    tokens = split_tokens(text)
    compares = False
    for place, token in enumerate(tokens):
        start = _find_second(tokens, place, compares=compares, joined=joined)
        compares = compares or token.lower in _COMPARES
        if not start:
            continue
        end = _skip_back(tokens, place)
        left, right = read_phrase_before(tokens, end), read_phrase_after(tokens, start)
        if left and right and not _is_verb(tokens, end, left):
            return [*_read_items_before(tokens, end, left), left, right]
    return []


def _find_second(tokens: Sequence[Token], place: int, *, compares: bool, joined: Sequence[str]) -> int:
    """Where the second of two phrases begins, if the word at a place joins phrases; else 0."""
    word = tokens[place].lower
    following = tokens[place + 1] if place + 1 < len(tokens) else None
    if following is None or not place:
        return 0
    if (word in ("instead", "rather") and following.lower in ("of", "than")) or (
        word in ("differ", "differs", "different") and following.lower == "from"
    ):
        return place + 2
    names = word == "and" and tokens[place - 1].is_capitalised and following.is_capitalised and place > 1
    if word in (*joined, "versus", "vs") or (compares and word == "and") or (names and "and" in joined):
        return place + 1
    compared = word in ("with", "to") and any(token.lower.startswith("compar") for token in tokens[:place])
    return place + 1 if compared else 0


def _is_verb(tokens: Sequence[Token], end: int, phrase: str) -> bool:
    """Whether the phrase that ends at a place is rather a verb: "can I add or delete storage"."""
    before = end - len(phrase.split()) - 1
    return before >= 0 and tokens[before].lower in _BEFORE_VERBS and phrase.islower()


def _skip_back(tokens: Sequence[Token], end: int) -> int:
    """The end without commas and words such as "does" before it: "How does A differ from B"."""
    while end and (tokens[end - 1].text == "," or tokens[end - 1].lower in ("do", "does")):
        end -= 1
    return end


def _read_items_before(tokens: Sequence[Token], end: int, last: str) -> list[str]:
    """The items before the last two of a list, "A, B" in "A, B, C or D"."""
    items: list[str] = []
    place = end - len(last.split())
    while place > 0 and tokens[place - 1].text == ",":
        if not (item := read_phrase_before(tokens, place - 1)):
            break
        items.insert(0, item)
        place -= 1 + len(item.split())
    return items
