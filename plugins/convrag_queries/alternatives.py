"""Things that a conversation puts side by side: any of them may be what a follow-up is about. Rules for English."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from convrag import Turn
from convrag_queries.coordination import read_coordination
from convrag_queries.phrases import (
    Token,
    find_names,
    find_phrases,
    first_sentence,
    merge_names,
    read_phrase_after,
    split_tokens,
    stem_phrase,
)
from convrag_queries.references import find_reference

_ASKS_FOR_MEMBERS = re.compile(r"^\W*(?:which|who|what (?:are|were)|name|list)\b", re.IGNORECASE)
_OPENER = re.compile(r"^(?:(?:and|so|but|ok|okay|then)\b[\s,]*)?(?:(?:what|how) about\s+|and\s+)?", re.IGNORECASE)
_ITEM = re.compile(r"(?:^|\s)(?:\d{1,2}[.)]|[*•-])\s+(?P<item>[^\n.:;,]+)")
_CLAUSE = re.compile(r";|,?\s\b(?:while|whereas)\b")
_QUESTION_WORDS = frozenset(("who", "how", "what", "why", "when", "where"))

MOST_PEOPLE = 3
"""Names that a pronoun may choose from; more of them are a list, and the pronoun means what it is a list of."""

MOST_ALTERNATIVES = 10
"""Things that stand side by side; more of them are no choice, but a list."""

LONGEST_QUESTION = 40
"""Words of a question that is compared with another one."""


class Alternatives(NamedTuple):
    """Phrases of which a reference may mean any, and how they came to stand side by side.

    `one_by_one`: they were never spoken of together, so that "they" need not mean all of them.
    """

    phrases: tuple[str, ...]
    why: str
    one_by_one: bool = False


def find_side_by_side(turn: Turn) -> Alternatives | None:
    """What a question puts side by side: "A or B", "A instead of B", "the difference between A and B".

    An answer that names one of them has settled it.
    """
    phrases = _distinguish(read_coordination(turn.question), f"{turn.question} {turn.answer}")
    answered = stem_phrase(turn.answer)
    settled = sum(bool(find_own_stems(phrase, phrases) & answered) for phrase in phrases) == 1
    return Alternatives(phrases, "named side by side in the question") if phrases and not settled else None


def find_listed(turn: Turn) -> Alternatives | None:
    """What an answer lists, or sets against each other, where the question asked for it ("Which cheese is best?")."""
    if not _ASKS_FOR_MEMBERS.match(turn.question):
        return None
    items = [read_phrase_after(split_tokens(match["item"]), 0) for match in _ITEM.finditer(turn.answer)]
    sentence = first_sentence(turn.answer)
    clauses = [clause for clause in _CLAUSE.split(sentence) if clause.strip()]
    if len(items) > 1:
        listed = items
    elif not (listed := read_coordination(sentence, joined=("and", "or"))) and len(clauses) > 1:
        listed = [_read_subject(clause) for clause in clauses]
    asked = stem_phrase(turn.question)
    phrases = _distinguish([each for each in listed if not stem_phrase(each) <= asked], turn.answer)
    return Alternatives(phrases, "listed in the answer") if phrases else None


def find_parallel(first: Turn, second: Turn) -> Alternatives | None:
    """In what two questions differ that are else the same: "What does A do?", "What does B do?" or "And B?"."""
    earlier, later = first.question.strip(), _OPENER.sub("", second.question.strip())
    tokens, others = ([each for each in split_tokens(text) if not each.is_mark] for text in (earlier, later))
    if len(tokens) > LONGEST_QUESTION or len(others) > LONGEST_QUESTION:
        return None
    if find_reference(earlier) or find_reference(later):
        return None
    if len(others) <= 3 and len(later) < len(second.question.strip()):
        pair = [find_topic(earlier), read_phrase_after(others, 0)]
    else:
        pair = _read_difference(tokens, others)
    phrases = _distinguish(pair, "")
    return Alternatives(phrases[::-1], "two questions of the same form", one_by_one=True) if phrases else None


def find_people(turns: Sequence[Turn]) -> Alternatives | None:
    """The people that the last exchange may be about: names in its question and the first sentence of its answer.

    Names of places and dates are left out. A question that asks who someone is, is about who its answer names; another
    with a single name, about that. Where the last question refers back itself, the exchange before it counts, too.
    A sentence with more than MOST_PEOPLE names lists them.
    """
    names: list[str] = []
    for turn in reversed(turns):
        answered = find_names(first_sentence(turn.answer), places=False)
        asked = merge_names(
            name
            for name in (*answered, *find_names(turn.question, places=False))
            if stem_phrase(name) <= stem_phrase(turn.question)
        )
        refers = find_reference(turn.question) is not None
        if len(asked) == 1 and not refers and not _ASKS_FOR_MEMBERS.match(turn.question):
            names += asked
        elif _ASKS_FOR_MEMBERS.match(turn.question) and not read_coordination(turn.question):
            names += [name for name in answered if name not in asked]
        else:
            names += [*answered, *asked]
        if not refers:
            break
    phrases = merge_names(names)
    return Alternatives(tuple(phrases), "people of the last exchange") if 1 < len(phrases) <= MOST_PEOPLE else None


def find_own_stems(phrase: str, phrases: Sequence[str]) -> frozenset[str]:
    """The stems of a phrase that none of the others has: "Roman" of "Roman Empire" beside "Ottoman Empire"."""
    return stem_phrase(phrase) - frozenset[str]().union(*(stem_phrase(each) for each in phrases if each != phrase))


def find_topic(question: str) -> str:
    """What a question is about: its first name, else its first noun phrase after an article, else its first phrase."""
    if names := find_names(question):
        return names[0]
    tokens = split_tokens(question)
    articles = [place for place, token in enumerate(tokens) if token.lower in ("a", "an", "the")]
    after = (read_phrase_after(tokens, place) for place in articles)
    return next((each for each in after if each), next(iter(find_phrases(tokens)), ""))


def _read_subject(clause: str) -> str:
    """The phrase that a clause begins with, after an article; empty where it begins with another word."""
    tokens = split_tokens(clause)
    phrase = read_phrase_after(tokens, 0)
    names = find_names(clause)
    return names[0] if names and phrase.startswith(names[0]) else phrase


def _read_difference(first: Sequence[Token], second: Sequence[Token]) -> list[str]:
    """The phrases in which two rows of words differ in one place; none where they differ otherwise."""
    matcher = SequenceMatcher(None, [each.lower for each in first], [each.lower for each in second], autojunk=False)
    blocks = matcher.get_opcodes()
    changed = [block for block in blocks if block[0] != "equal"]
    same = sum(block[2] - block[1] for block in blocks if block[0] == "equal")
    if len(changed) != 1 or changed[0][0] != "replace" or same < max(2, max(len(first), len(second)) / 2):
        return []
    _, start, end, other_start, other_end = changed[0]
    before = first[start - 1] if start else None
    if before and (before.lower in _QUESTION_WORDS or (before.is_capitalised and before.is_content)):
        return []
    return [_read_block(first, start, end), _read_block(second, other_start, other_end)]


def _read_block(tokens: Sequence[Token], start: int, end: int) -> str:
    """The content words of a part that differs, with the noun that follows it: "savings" account."""
    while end < len(tokens) and tokens[end].is_content and not tokens[end].lower.endswith("ed"):
        end += 1
    return " ".join(token.text for token in tokens[start:end] if token.is_content)


def _distinguish(phrases: Iterable[str], text: str) -> tuple[str, ...]:
    """The phrases that differ, from two to MOST_ALTERNATIVES, or none.

    A noun that they share is added to each where the text has it so: of "the Roman or the Ottoman Empire" the first is
    the "Roman Empire" if the text says that somewhere.
    """
    distinct = [phrase for phrase in dict.fromkeys(phrases) if stem_phrase(phrase)]
    if not 1 < len(distinct) <= MOST_ALTERNATIVES:
        return ()
    for number, phrase in enumerate(distinct):
        head = distinct[-1].split()[-1]
        if re.search(rf"\b{re.escape(f'{phrase} {head}')}\b", text, re.IGNORECASE):
            distinct[number] = f"{phrase} {head}"
    stems = [stem_phrase(phrase) for phrase in distinct]
    kept = [
        phrase
        for number, phrase in enumerate(distinct)
        if not any(stems[number] <= other for place, other in enumerate(stems) if place < number)
    ]
    return tuple(kept) if len(kept) > 1 else ()
